//! A node that crawls: carries out the commands of its membership.
//!
//! One task owns the [`Membership`] and everything that the protocol decides. Partitions run on threads of
//! their own ([`Parts`]); brokers, partitions and operators send [`Event`]s ([`Ears`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::{Message, Subject};
use tidewatch_cluster::desk::Ask;
use tidewatch_cluster::lease::Member;
use tidewatch_cluster::market::{Quote, WriteId};
use tidewatch_cluster::node::{Answer, Claim, Command, Manifest, Node as Membership, RequestId};
use tidewatch_cluster::wire;
use tidewatch_cluster::{Epoch, NodeId, Seat as Office, place};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_partition::{Net, Question, owner};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::broker::{Bucket, Written};
use crate::clock::Steady;
use crate::ears::Ears;
use crate::error::NodeError;
use crate::figures::{NodeFigures, Request};
use crate::node::{Node, NodeObserver, manifest_key, name};
use crate::part::{Means, Opening};
use crate::parts::Parts;
use crate::seeds::Seeds;
use crate::trade::Trade;
use crate::{links, record, slots};

/// How long a request to the brokers may take before its end counts as unknown.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Longest that the task sleeps.
const LONGEST_SLEEP: Span = Span::from_micros(200_000);
/// How often figures are computed.
const MEASURE_EVERY: Duration = Duration::from_secs(5);
/// How long a node that is told to stop may take to hand over.
const LAST_WAIT: Duration = Duration::from_secs(90);
/// Troubles that are remembered.
const MOST_TROUBLES: usize = 5;

/// An input of the node's task.
pub(crate) enum Event {
    Member(u64, NodeId, Member),
    Claim(u64, Office, Claim),
    Quote(u64, Quote),
    Answered(RequestId, Answer),
    Manifest(u32, Option<(u64, Manifest)>),
    TillRead(Option<(u64, Quote)>),
    /// The brokers did not answer.
    TillUnread,
    TillWritten(WriteId, Answer),
    Opened(u32),
    /// The `number`th checkpoint of an opening.
    Uploaded {
        partition: u32,
        epoch: Epoch,
        number: u64,
        position: u64,
        object: String,
    },
    Drained(u32),
    Ended(u32, Epoch, Result<(), NodeError>),
    Asked(Message),
    Reported(Message),
    Operator(Message),
    Trouble(String),
}

pub(crate) struct Running {
    node: Arc<Node>,
    observer: Arc<dyn NodeObserver>,
    clock: Steady,
    membership: Membership,
    parts: Parts,
    trade: Trade,
    ears: Ears,
    events: UnboundedSender<Event>,
    heard: UnboundedReceiver<Event>,
    measured: Instant,
    leaving: Option<Instant>,
    has_left: bool,
    was_active: bool,
    troubles: Vec<String>,
}

impl Running {
    pub(crate) async fn start(
        node: Arc<Node>,
        net: Arc<Net>,
        observer: Arc<dyn NodeObserver>,
    ) -> Result<Running, NodeError> {
        let clock = Steady::start();
        let (now, me) = (clock.now(), NodeId(record::random()));
        let (events, heard) = unbounded_channel();
        let seeds = Seeds::default();
        let ears = Ears::open(Arc::clone(&node), events.clone(), &seeds).await?;
        let trade = Trade::new(Arc::clone(&node), events.clone(), me, now);
        let means = Means { net, runtime: Handle::current(), seeds, events: events.clone() };
        let parts = Parts::new(Arc::clone(&node), means, clock, Arc::clone(trade.ledger()));
        Ok(Running {
            membership: Membership::new(now, me, node.home().id, node.record().partitions),
            node,
            observer,
            clock,
            parts,
            trade,
            ears,
            events,
            heard,
            measured: Instant::now(),
            leaving: None,
            has_left: false,
            was_active: false,
            troubles: Vec::new(),
        })
    }

    pub(crate) async fn run(&mut self, stop: &AtomicBool) -> Result<(), NodeError> {
        loop {
            let now = self.clock.now();
            if stop.load(Ordering::Relaxed) && self.leaving.is_none() {
                self.leave(now);
            }
            let is_late = self.leaving.is_some_and(|since| since.elapsed() > LAST_WAIT);
            if self.has_left && self.parts.is_quiet() || is_late {
                return Ok(());
            }
            let wake = self.membership.tick(now);
            self.trade.turn(now, self.membership.me()).await;
            self.pass_lease_on(now);
            while let Some(command) = self.membership.next_command() {
                self.perform(command).await?;
            }
            self.measure(now);
            let wake = self.clock.instant(wake.min(now + LONGEST_SLEEP));
            let heard = tokio::time::timeout_at(wake.into(), self.heard.recv()).await;
            if let Ok(Some(event)) = heard {
                self.hear(event).await?;
            }
            while let Ok(event) = self.heard.try_recv() {
                self.hear(event).await?;
            }
        }
    }

    fn leave(&mut self, now: Time) {
        self.leaving = Some(Instant::now());
        self.membership.leave(now);
    }

    /// Stops everything that is left.
    pub(crate) fn end(&mut self) {
        self.parts.end();
    }

    /// Whether this node owns a partition and may act.
    fn is_mine(&self, now: Time, partition: u32) -> bool {
        self.membership.may_act(now, Office::Partition(partition)).is_some()
    }

    fn pass_lease_on(&mut self, now: Time) {
        let ends = self.membership.lease_ends(now);
        let is_active = ends.is_some_and(|ends| ends > now) && self.node.broker().is_connected();
        if is_active != std::mem::replace(&mut self.was_active, is_active) {
            self.observer.note(if is_active {
                "the brokers answer: the node crawls"
            } else {
                "the brokers do not answer: the node pauses until they do"
            });
        }
        self.parts.look_after(ends.unwrap_or(Time::ZERO), is_active);
    }

    async fn perform(&mut self, command: Command) -> Result<(), NodeError> {
        let (crawl, node) = (self.node.record().crawl(), Arc::clone(&self.node));
        let buckets = node.buckets();
        match command {
            Command::Member { request, node, expected, member } => {
                let (key, bytes) = (format!("{:016x}", node.0), wire::encode(crawl, &member));
                self.write(request, &buckets.members, key, bytes, expected);
            }
            Command::Claim { request, seat, expected, claim } => {
                let bytes = wire::encode(crawl, &claim);
                self.write(request, &buckets.claims, seat.key(), bytes, expected);
            }
            Command::PutManifest { request, partition, expected, manifest } => {
                let (key, bytes) = (manifest_key(partition), wire::encode(crawl, &manifest));
                self.write(request, &buckets.manifests, key, bytes, expected);
            }
            Command::ReadManifest { partition } => self.read_manifest(partition),
            Command::Open { partition: number, epoch, local, restore } => {
                self.open(Opening { number, epoch, local, restore }).await?;
            }
            Command::Drain { partition } => self.parts.drain(partition),
            Command::Close { partition } => self.parts.close(partition),
            Command::Checkpointed { partition, position } => self.purge(partition, position),
            Command::PriceWon { epoch } => self.trade.won(self.clock.now(), epoch),
            Command::PriceLost => self.trade.lost(),
            Command::Left => self.has_left = true,
        }
        Ok(())
    }

    fn write(
        &self,
        request: RequestId,
        bucket: &Bucket,
        key: String,
        bytes: Vec<u8>,
        expected: u64,
    ) {
        let (bucket, events) = (bucket.clone(), self.events.clone());
        tokio::spawn(async move {
            let answer = answer(bucket.update(&key, bytes, expected)).await;
            let _ = events.send(Event::Answered(request, answer));
        });
    }

    fn read_manifest(&self, partition: u32) {
        let (bucket, events) = (self.node.buckets().manifests.clone(), self.events.clone());
        let crawl = self.node.record().crawl();
        tokio::spawn(async move {
            let key = manifest_key(partition);
            // Without an answer the lease will show what is to be done.
            while !events.is_closed() {
                if let Ok(Ok(read)) = tokio::time::timeout(PATIENCE, bucket.get(&key)).await {
                    let read = read.and_then(|(revision, bytes)| {
                        Some((revision, wire::decode(crawl, &bytes).ok()?))
                    });
                    let _ = events.send(Event::Manifest(partition, read));
                    return;
                }
            }
        });
    }

    /// Deletes links at the brokers and older files that the newest checkpoint replaces.
    fn purge(&mut self, partition: u32, position: u64) {
        let accepted = self.parts.accepted(partition);
        let (stream, checkpoints) = (self.node.links().clone(), self.node.checkpoints().clone());
        tokio::spawn(async move {
            // If this fails, the next checkpoint deletes them.
            let purge = stream.purge().filter(links::subject(partition)).sequence(position + 1);
            let _ = purge.await;
            if let Some(object) = accepted {
                let _ = checkpoints.prune(partition, &object).await;
            }
        });
    }

    async fn open(&mut self, opening: Opening) -> Result<(), NodeError> {
        let Some(opening) = self.parts.admit(opening) else { return Ok(()) };
        let subject = slots::subject(opening.number);
        let questions = self.ears.listen(subject, Event::Asked).await?;
        let nodes = self.membership.members().count() as u32;
        self.parts.start(opening, nodes, questions, Arc::clone(&self.observer));
        Ok(())
    }

    async fn hear(&mut self, event: Event) -> Result<(), NodeError> {
        let now = self.clock.now();
        match event {
            Event::Member(revision, node, member) => {
                if member == Member::Dead {
                    self.trade.bury(node);
                }
                self.membership.member_seen(now, revision, node, member);
            }
            Event::Claim(revision, seat, claim) => {
                if seat == Office::Price {
                    self.trade.hurry(now);
                }
                self.membership.claim_seen(now, revision, seat, claim);
            }
            Event::Quote(revision, quote) => {
                self.trade.hear_quote(now, self.membership.me(), revision, &quote);
            }
            Event::Answered(request, answer) => self.membership.answered(now, request, answer),
            Event::Manifest(partition, read) => {
                self.membership.manifest_read(now, partition, read);
            }
            Event::TillRead(read) => self.trade.read_back(read),
            Event::TillUnread => self.trade.not_read(),
            Event::TillWritten(write, answer) => self.trade.written(now, write, answer),
            Event::Opened(partition) => {
                if self.parts.opened(partition, now) {
                    self.membership.opened(now, partition);
                    self.trade.hurry(now);
                }
            }
            Event::Uploaded { partition, epoch, number, position, object } => {
                if self.parts.uploaded(partition, epoch, number, &object) {
                    self.membership.checkpoint(now, partition, position, object);
                }
            }
            Event::Drained(partition) => self.membership.drained(now, partition),
            Event::Ended(partition, epoch, ended) => self.ended(partition, epoch, ended).await?,
            Event::Asked(message) => self.answer_desk(message, now).await,
            Event::Reported(message) => self.trade.hear_demand(now, &message.payload),
            Event::Operator(message) => self.answer_operator(message, now).await,
            Event::Trouble(told) => self.trouble(told),
        }
        Ok(())
    }

    fn trouble(&mut self, told: String) {
        if self.troubles.contains(&told) {
            return;
        }
        self.observer.note(&told);
        self.troubles.push(told);
        let old = self.troubles.len().saturating_sub(MOST_TROUBLES);
        self.troubles.drain(..old);
    }

    async fn ended(
        &mut self,
        partition: u32,
        epoch: Epoch,
        ended: Result<(), NodeError>,
    ) -> Result<(), NodeError> {
        let next = self.parts.ended(partition, epoch);
        // A partition that was taken away may have failed for that reason.
        if self.membership.held().any(|(_, held)| held == epoch) {
            ended?;
        }
        match next {
            Some(opening) => self.open(opening).await,
            None => Ok(()),
        }
    }

    async fn answer_desk(&mut self, message: Message, now: Time) {
        let record = self.node.record();
        let (crawl, count) = (record.crawl(), record.partitions);
        let (Ok(ask), Some(reply)) = (wire::decode::<Ask>(crawl, &message.payload), message.reply)
        else {
            return;
        };
        let desk = place::desk(ask.address, count);
        if self.is_mine(now, desk)
            && let Some(answer) = self.parts.ask_desk(desk, now, ask)
        {
            self.send(reply, wire::encode(crawl, &answer)).await;
        }
    }

    async fn send(&self, to: Subject, bytes: Vec<u8>) {
        // The caller asks again if it is lost.
        let _ = self.node.broker().client().publish(to, bytes.into()).await;
    }

    /// Loads for the placement, and figures for the observer.
    fn measure(&mut self, now: Time) {
        if self.measured.elapsed() < MEASURE_EVERY {
            return;
        }
        self.measured = Instant::now();
        for (partition, load) in self.parts.measure() {
            self.membership.set_load(partition, load);
        }
        self.observer.progress(&self.figures(now));
    }

    fn figures(&self, now: Time) -> NodeFigures {
        let (price, granted_per_s, keeps_price) = self.trade.figures();
        NodeFigures {
            home: self.node.name(),
            place: place_of_process(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            is_leaving: self.leaving.is_some(),
            is_active: self.was_active,
            keeps_price,
            price,
            granted_per_s,
            indexed: self.observer.indexed(),
            partitions: self.parts.figures(|partition| self.is_mine(now, partition)),
            notes: self.troubles.iter().cloned().chain(self.parts.troubles()).collect(),
        }
    }

    async fn answer_operator(&mut self, message: Message, now: Time) {
        let Some(reply) = message.reply else { return };
        let Ok(request) = serde_json::from_slice::<Request>(&message.payload) else { return };
        let told = match request {
            Request::Figures => serde_json::to_vec(&self.figures(now)),
            Request::Move { partition, to } => {
                if !self.is_mine(now, partition) {
                    return;
                }
                let homes = self.membership.members().map(|(_, renewal)| renewal.home);
                let found = homes.into_iter().find(|home| name(*home) == to);
                serde_json::to_vec(&match found {
                    Some(home) => {
                        self.membership.give(now, partition, home);
                        format!("partition {partition} moves to {}", name(home))
                    }
                    None => format!("there is no node {to}"),
                })
            }
            Request::Drain { home } if self.node.name() == home => {
                self.leave(now);
                serde_json::to_vec(&format!("{} hands everything over and ends", self.node.name()))
            }
            Request::Drain { .. } => return,
            Request::Why { url } => {
                let Ok(url) = CanonicalUrl::parse(&url) else { return };
                let number = owner(&url, self.node.record().partitions);
                if !self.is_mine(now, number) {
                    return;
                }
                return self.explain(number, url, reply);
            }
        };
        self.send(reply, told.unwrap_or_default()).await;
    }

    /// Asks a partition's thread about a page, and passes its answer on.
    fn explain(&self, number: u32, url: CanonicalUrl, reply: Subject) {
        let (dir, client) =
            (self.node.home().partition(number), self.node.broker().client().clone());
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || {
            if let Ok(Some(answer)) = tidewatch_partition::ask_running(&dir, &Question::Why(url)) {
                let bytes = serde_json::to_vec(&answer).unwrap_or_default();
                let _ = runtime.block_on(client.publish(reply, bytes.into()));
            }
        });
    }
}

/// Where this process runs, for people.
fn place_of_process() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} process {}", host.trim(), std::process::id())
}

/// How a write ended, within the time that it may take.
pub(crate) async fn answer(write: impl Future<Output = Written>) -> Answer {
    match tokio::time::timeout(PATIENCE, write).await {
        Ok(Written::Done(revision)) => Answer::Done(revision),
        Ok(Written::Refused) => Answer::Refused,
        Ok(Written::Unknown) | Err(_) => Answer::Unknown,
    }
}
