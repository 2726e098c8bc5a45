//! Follows the brokers' buckets and listens to messages of other nodes and operators.

use std::sync::Arc;

use async_nats::Message;
use futures_util::StreamExt as _;
use tidewatch_cluster::wire::{self, Crawl};
use tidewatch_cluster::{NodeId, Seat as Office};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use crate::broker::{BrokerError, Bucket};
use crate::error::NodeError;
use crate::figures;
use crate::follow::{Entry, Follower, From};
use crate::node::Node;
use crate::record;
use crate::running::Event;
use crate::seeds::Seeds;
use crate::trade::DEMAND;

/// Tasks that listen until they are dropped, and send events.
pub(crate) struct Ears {
    node: Arc<Node>,
    events: UnboundedSender<Event>,
    tasks: Vec<AbortHandle>,
}

impl Ears {
    /// Begins to read the buckets, and to listen to nodes and operators.
    pub(crate) async fn open(
        node: Arc<Node>,
        events: UnboundedSender<Event>,
        seeds: &Seeds,
    ) -> Result<Ears, NodeError> {
        let mut ears = Ears { node: Arc::clone(&node), events, tasks: Vec::new() };
        let (crawl, buckets) = (node.record().crawl(), node.buckets());
        ears.follow(&buckets.members, move |key, entry, bytes| {
            let (id, revision) = (u64::from_str_radix(key, 16).ok()?, entry.sequence);
            Some(read(bytes, crawl, |member| Event::Member(revision, NodeId(id), member)))
        });
        ears.follow(&buckets.claims, move |key, entry, bytes| {
            let (seat, revision) = (Office::of_key(key)?, entry.sequence);
            Some(read(bytes, crawl, |claim| Event::Claim(revision, seat, claim)))
        });
        ears.follow(&buckets.quotes, move |_, entry, bytes| {
            Some(read(bytes, crawl, |quote| Event::Quote(entry.sequence, quote)))
        });
        let seeds = seeds.clone();
        ears.follow(&buckets.crawl, move |key, entry, bytes| {
            if key.starts_with("seeds.") {
                seeds.add(record::read_seeds(bytes));
            }
            // The bucket holds the crawl's record at least.
            if entry.behind == 0 {
                seeds.complete();
            }
            None
        });
        let reports = ears.listen(DEMAND.to_owned(), Event::Reported).await?;
        let questions = ears.listen(figures::ALL.to_owned(), Event::Operator).await?;
        ears.tasks.extend([reports, questions]);
        Ok(ears)
    }

    fn follow(
        &mut self,
        bucket: &Bucket,
        read: impl Fn(&str, &Entry, &[u8]) -> Option<Event> + Send + 'static,
    ) {
        let (stream, prefix) = bucket.stream();
        let mut follower = Follower::start(stream.clone(), format!("{prefix}>"), From::Newest);
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            while let Some(entry) = follower.next().await {
                let key = entry.subject.strip_prefix(&prefix).unwrap_or_default();
                let bytes = entry.payload.as_deref().unwrap_or_default();
                if let Some(event) = read(key, &entry, bytes)
                    && events.send(event).is_err()
                {
                    return;
                }
            }
        });
        self.tasks.push(task.abort_handle());
    }

    /// Listens to a subject until the caller aborts it.
    pub(crate) async fn listen(
        &self,
        subject: String,
        event: fn(Message) -> Event,
    ) -> Result<AbortHandle, NodeError> {
        let failed = |error| BrokerError::failed("listen to nodes", error);
        let mut messages = self.node.broker().client().subscribe(subject).await.map_err(failed)?;
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                if events.send(event(message)).is_err() {
                    return;
                }
            }
        });
        Ok(task.abort_handle())
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// The event of a message, or that it was passed over.
fn read<M: wire::Message>(bytes: &[u8], crawl: Crawl, event: impl FnOnce(M) -> Event) -> Event {
    match wire::decode(crawl, bytes) {
        Ok(message) => event(message),
        Err(refused) => Event::Trouble(format!("a message was passed over: {refused}")),
    }
}
