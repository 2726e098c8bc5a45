//! Links between partitions, through a replicated log at the brokers.
//!
//! A parcel is published under its id once its sender has synced it, and again until the log has
//! acknowledged it; then the sender deletes it. The receiver reads its subject in order. What it has taken
//! in ([`Inbox`]) is committed with the links, so every parcel is taken in once, whatever stops when.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Stream;
use tidewatch_cluster::parcel::{Inbox, Link, Parcel, ParcelId, ParcelNumber, Taken};
use tidewatch_cluster::wire::{self, Crawl, Refused};
use tidewatch_partition::{Delivery, Exchange, Receipt};
use tidewatch_store::{Hops, Parcel as Packed, SentLink};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::clock::{Licence, Steady};
use crate::follow::{Follower, From};

/// Parcels under way at once.
const AT_ONCE: usize = 64;
/// How long an acknowledgement may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Wait before a parcel is published again.
const AGAIN: Duration = Duration::from_millis(250);
/// Most parcels that are taken in at once, so that a commit takes moments.
const MOST_TAKEN: usize = 32;

/// The subject of a partition's links.
pub(crate) fn subject(partition: u32) -> String {
    format!("tidewatch.links.{partition}")
}

/// The subjects of all partitions' links.
pub(crate) fn subject_all() -> String {
    "tidewatch.links.*".to_owned()
}

/// The links to and from one partition, as long as it is open here.
pub(crate) struct LinkLog(Arc<Inner>);

struct Inner {
    crawl: Crawl,
    context: Context,
    stream: Stream,
    runtime: Handle,
    clock: Steady,
    licence: Arc<Licence>,
    permits: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    inbox: Inbox,
    reader: Option<Follower>,
    /// Parcels that the log has not acknowledged.
    unacknowledged: BTreeMap<u64, Packed>,
    acknowledged: Vec<u64>,
    /// Messages that could not be read, and why the last one could not.
    poisoned: (u64, Option<String>),
    /// Why nothing more is read: the next message is from another version of the program.
    stalled: Option<String>,
}

impl LinkLog {
    pub(crate) fn new(
        crawl: Crawl,
        context: Context,
        stream: Stream,
        runtime: Handle,
        clock: Steady,
        licence: Arc<Licence>,
    ) -> LinkLog {
        let (permits, state) = (Semaphore::new(AT_ONCE), Mutex::default());
        LinkLog(Arc::new(Inner { crawl, context, stream, runtime, clock, licence, permits, state }))
    }

    /// Parcels that wait for an acknowledgement.
    pub(crate) fn waiting(&self) -> usize {
        self.0.state().unacknowledged.len()
    }

    /// Warnings about received messages, in sentences. `partition` receives them.
    pub(crate) fn troubles(&self, partition: u32) -> Vec<String> {
        let state = self.0.state();
        let (count, why) = &state.poisoned;
        let passed = why.as_ref().map(|why| {
            format!("partition {partition} passed over {count} messages that hold no links: {why}")
        });
        let stalled = state.stalled.as_ref().map(|why| {
            format!("partition {partition} takes no more links until this is mended: {why}")
        });
        passed.into_iter().chain(stalled).collect()
    }
}

/// The position of an encoded [`Inbox`].
pub(crate) fn position(mark: Option<&[u8]>) -> u64 {
    mark.and_then(|mark| postcard::from_bytes::<Inbox>(mark).ok())
        .map_or(0, |inbox| inbox.position())
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whatever panicked left the maps whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a parcel until the log has acknowledged it.
    async fn publish(&self, id: ParcelId) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        while !self.licence.is_closed() {
            let Some((to, bytes)) = self.message(id) else { return };
            let message = PublishMessage::build().payload(bytes.into()).message_id(id.message_id());
            if self.licence.until(self.clock.now()).is_some()
                && let Ok(sent) = self.context.send_publish(subject(to), message).await
                && let Ok(Ok(_)) = tokio::time::timeout(PATIENCE, sent.into_future()).await
            {
                let mut state = self.state();
                state.unacknowledged.remove(&id.number.0);
                state.acknowledged.push(id.number.0);
                return;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// The message of a parcel and its receiver.
    fn message(&self, id: ParcelId) -> Option<(u32, Vec<u8>)> {
        let state = self.state();
        let (oldest, _) = state.unacknowledged.first_key_value()?;
        let packed = state.unacknowledged.get(&id.number.0)?;
        let links = packed.links.iter().map(|sent| Link {
            url: sent.url.clone(),
            depth: sent.depth,
            hops: sent.hops.bits(),
            is_source: sent.is_source,
            via: sent.via.clone(),
        });
        let (oldest, links) = (ParcelNumber(*oldest), links.collect());
        let parcel = Parcel { id, oldest, links, counts: Vec::new() };
        Some((packed.to, wire::encode(self.crawl, &parcel)))
    }
}

impl Exchange for LinkLog {
    fn resume(&self, to: u32, mark: Option<Vec<u8>>) {
        let inbox = mark.and_then(|mark| postcard::from_bytes::<Inbox>(&mark).ok());
        let mut state = self.0.state();
        state.inbox = inbox.unwrap_or_default();
        let from = From::After(state.inbox.position());
        let _inside = self.0.runtime.enter();
        state.reader = Some(Follower::start(self.0.stream.clone(), subject(to), from));
    }

    fn send(&self, receipt: Receipt, parcel: Packed) {
        let id = ParcelId { from: receipt.from, number: ParcelNumber(receipt.number) };
        self.0.state().unacknowledged.insert(receipt.number, parcel);
        let inner = Arc::clone(&self.0);
        self.0.runtime.spawn(async move { inner.publish(id).await });
    }

    fn receive(&self, _to: u32) -> Vec<Delivery> {
        let state = &mut *self.0.state();
        let Some(reader) = &mut state.reader else { return Vec::new() };
        let mut deliveries = Vec::new();
        while deliveries.len() < MOST_TAKEN
            && let Some(entry) = reader.try_next()
        {
            match wire::decode::<Parcel>(self.0.crawl, &entry.payload.unwrap_or_default()) {
                Ok(parcel) => {
                    if state.inbox.take(entry.sequence, parcel.id, parcel.oldest) == Taken::New {
                        deliveries.push(delivery(parcel));
                    }
                }
                Err(refused @ Refused::Version(_)) => {
                    // It holds links, which must not be lost. The position stays before it, so it is read
                    // by whoever can.
                    (state.stalled, state.reader) = (Some(refused.to_string()), None);
                    break;
                }
                Err(refused) => {
                    state.inbox.pass(entry.sequence);
                    state.poisoned = (state.poisoned.0 + 1, Some(refused.to_string()));
                }
            }
        }
        if let Some(last) = deliveries.last_mut() {
            last.mark = postcard::to_stdvec(&state.inbox).ok();
        }
        deliveries
    }

    fn acknowledge(&self, _receipt: Receipt) {
        // The log keeps parcels until the receiver's checkpoint; nobody waits for this.
    }

    fn acknowledged(&self, _from: u32) -> Vec<u64> {
        std::mem::take(&mut self.0.state().acknowledged)
    }
}

fn delivery(parcel: Parcel) -> Delivery {
    let receipt = Receipt { from: parcel.id.from, number: parcel.id.number.0 };
    let links = parcel.links.into_iter().map(|link| SentLink {
        url: link.url,
        depth: link.depth,
        hops: Hops::of_bits(link.hops),
        is_source: link.is_source,
        via: link.via,
    });
    Delivery { receipt, mark: None, links: links.collect() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tidewatch_core::Time;

    use super::*;
    use crate::Broker;
    use crate::dev::{Brokers, Habits};

    const CRAWL: Crawl = Crawl(7);
    const PARTITION: u32 = 3;
    /// How long a new stream may have no leader on a busy machine.
    const LEADERLESS: Duration = Duration::from_secs(30);

    fn parcel(count: u64) -> Parcel {
        let link = |n| Link {
            url: format!("https://a.example/{n}"),
            depth: 1,
            hops: 0,
            is_source: false,
            via: None,
        };
        let id = ParcelId { from: 1, number: ParcelNumber(count) };
        Parcel { id, oldest: ParcelNumber(0), links: vec![link(count)], counts: Vec::new() }
    }

    async fn open(broker: &Broker, mark: Option<Vec<u8>>) -> LinkLog {
        let stream = broker.log("links", &subject_all()).await.unwrap();
        let licence = Arc::new(Licence::default());
        licence.set_end(Time::NEVER);
        let runtime = Handle::current();
        let context = broker.context().clone();
        let log = LinkLog::new(CRAWL, context, stream, runtime, Steady::start(), licence);
        log.resume(PARTITION, mark);
        log
    }

    /// What comes until there are `count` deliveries, or for a few seconds.
    async fn take(log: &LinkLog, count: usize) -> Vec<Delivery> {
        let (began, mut all) = (Instant::now(), Vec::new());
        while all.len() < count && began.elapsed() < PATIENCE {
            all.extend(log.receive(PARTITION));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        all
    }

    /// Publishes as soon as the new stream has a leader that takes messages.
    async fn publish(broker: &Broker, message: Vec<u8>) {
        let publish = async || {
            let to = subject(PARTITION);
            let sent = broker.context().publish(to, message.clone().into()).await;
            sent.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())
        };
        let began = Instant::now();
        while let Err(error) = publish().await {
            assert!(began.elapsed() < LEADERLESS, "{error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_cannot_be_read_is_passed_over_and_what_another_version_sent_is_kept() {
        let Some(program) = tidewatch_testing::nats::server() else { return };
        let dir = tempfile::tempdir().unwrap();
        let brokers = Brokers::start(&program, dir.path(), Habits::default()).unwrap();
        let (broker, _) = Broker::connect(&brokers.urls()).await.unwrap();
        let log = open(&broker, None).await;
        let mut newer = wire::encode(CRAWL, &parcel(2));
        newer[4] += 1;
        let messages = [
            b"poison".to_vec(),
            wire::encode(Crawl(8), &parcel(9)),
            wire::encode(CRAWL, &parcel(1)),
            newer,
            wire::encode(CRAWL, &parcel(3)),
        ];
        for message in messages {
            publish(&broker, message).await;
        }
        let taken = take(&log, 2).await;
        assert_eq!(taken.len(), 1, "{taken:?}");
        assert_eq!(taken[0].links[0].url, "https://a.example/1");
        let told = log.troubles(PARTITION);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("passed over 2 messages") && told[0].contains("another crawl"));
        assert!(told[1].contains("takes no more links") && told[1].contains("same version"));
        // The links wait at the brokers for a node that reads them.
        let mark = taken[0].mark.clone();
        assert_eq!(position(mark.as_deref()), 3);
        drop(log);
        let again = open(&broker, mark).await;
        assert!(take(&again, 1).await.is_empty() && !again.troubles(PARTITION).is_empty());
    }
}
