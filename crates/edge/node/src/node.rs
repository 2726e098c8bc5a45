//! A node: joins a cluster, and does what its membership says.
//!
//! One task owns the [`Membership`] and everything else that the protocol decides. Partitions run on
//! threads of their own; brokers, partitions and operators send it [`Event`]s.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::Stream;
use async_nats::{Message, Subject};
use futures_util::StreamExt as _;
use tidewatch_cluster::desk::{Ask, Asker, Desk};
use tidewatch_cluster::lease::Member;
use tidewatch_cluster::market::{Demand, Purse, Quote, Till, Want, WriteId};
use tidewatch_cluster::node::{Answer, Claim, Command, Manifest, Node as Membership, RequestId};
use tidewatch_cluster::wire::{self, Crawl};
use tidewatch_cluster::{Epoch, HomeId, NodeId, Seat as Office};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_partition::{AddressGate, Config, Ledger, Net, Seat, Status, Stop, Watch, owner};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use crate::broker::{Broker, Bucket, Written};
use crate::checkpoint::Checkpoints;
use crate::clock::{Licence, Steady};
use crate::error::NodeError;
use crate::figures::{self, NodeFigures, PartitionFigures, Request};
use crate::follow::{Follower, From};
use crate::links::{self, LinkLog};
use crate::part::{Order, Seeds, Task};
use crate::record::{self, Home, Record};
use crate::slots::{self, DeskSlots};

/// The bucket of the crawl's record and its seeds.
pub(crate) const CRAWL: &str = "tidewatch-crawl";
const MEMBERS: &str = "tidewatch-members";
const CLAIMS: &str = "tidewatch-claims";
const MANIFESTS: &str = "tidewatch-checkpoints";
const QUOTES: &str = "tidewatch-quotes";
const LINKS: &str = "tidewatch-links";
/// The key of the quote.
const QUOTE: &str = "quote";
/// The subject of reports to the keeper of the price.
const DEMAND: &str = "tidewatch.demand";
/// Partitions of a cluster, unless its first node says otherwise.
pub const PARTITIONS: u32 = 16;
/// How long a request to the brokers may take before its end counts as unknown.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest that the task sleeps.
const LONGEST_SLEEP: Span = Span::from_micros(200_000);
/// How often load and figures are computed.
const MEASURE_EVERY: Duration = Duration::from_secs(5);
/// How long a node that is told to stop may take to hand over.
const LAST_WAIT: Duration = Duration::from_secs(90);

/// What a node is told when it joins.
#[derive(Clone)]
pub struct NodeConfig {
    /// The directory of this node.
    pub dir: PathBuf,
    /// Addresses of the brokers, separated by commas.
    pub brokers: String,
    /// Where checkpoints go: a directory that all nodes share.
    pub checkpoints: String,
    /// How often each partition is checkpointed.
    pub checkpoint_every: Duration,
    /// Settings of the crawl; limits and memory are this node's, the budget is that of the whole crawl.
    pub crawl: Config,
    /// URLs to start from.
    pub seeds: Vec<CanonicalUrl>,
    /// Partitions of a new cluster.
    pub partitions: Option<u32>,
}

/// Follows a node.
pub trait NodeObserver: Send + Sync {
    /// A watcher for a partition that is being opened.
    fn watch(&self, partition: u32) -> Box<dyn Watch + Send>;
    /// Something that an operator may want to know, in a sentence.
    fn note(&self, note: &str);
    /// The node's figures, every few seconds.
    fn progress(&self, figures: &NodeFigures);
}

/// What the node's task hears.
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

/// A node that has joined and does not run yet.
pub struct Node {
    config: NodeConfig,
    record: Record,
    home: Home,
    broker: Broker,
    buckets: Buckets,
    links: Stream,
    checkpoints: Checkpoints,
}

#[derive(Clone)]
struct Buckets {
    crawl: Bucket,
    members: Bucket,
    claims: Bucket,
    manifests: Bucket,
    quotes: Bucket,
}

impl Node {
    /// Joins the cluster at the brokers, or begins one. Returns what could not be checked, in sentences.
    pub async fn join(config: NodeConfig) -> Result<(Node, Vec<String>), NodeError> {
        let checkpoints = Checkpoints::open(&config.checkpoints)?;
        let (broker, mut notes) = Broker::connect(&config.brokers).await?;
        let buckets = Buckets {
            crawl: broker.bucket(CRAWL).await?,
            members: broker.bucket(MEMBERS).await?,
            claims: broker.bucket(CLAIMS).await?,
            manifests: broker.bucket(MANIFESTS).await?,
            quotes: broker.bucket(QUOTES).await?,
        };
        let links = broker.log(LINKS, &links::subject_all()).await?;
        let Config { policy, seed, budget, .. } = &config.crawl;
        let partitions = config.partitions.unwrap_or(PARTITIONS);
        let new = Record::new(partitions, policy, *seed, budget.as_per_second());
        let record = Record::agree(&buckets.crawl, new).await?;
        if let Some(asked) = config.partitions.filter(|asked| *asked != record.partitions) {
            return Err(NodeError::OtherPartitions { was: record.partitions, asked });
        }
        if record.policy != *policy || record.seed != *seed {
            return Err(NodeError::OtherPolicy { was: record.policy, was_seed: record.seed });
        }
        let home = Home::open(&config.dir, record.crawl())?;
        record::publish_seeds(&buckets.crawl, &config.seeds).await?;
        notes.extend(buckets.crawl.clock_note(&format!("clock.{:016x}", home.id.0)).await?);
        Ok((Node { config, record, home, broker, buckets, links, checkpoints }, notes))
    }

    /// What all nodes of the cluster agree on.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The name of this node for operators.
    pub fn name(&self) -> String {
        name(self.home.id)
    }

    /// Crawls until `stop` is set or the operator drains the node; everything is handed over or
    /// checkpointed when it returns. Must be called within a runtime of several threads.
    pub async fn run(
        self,
        net: Arc<Net>,
        observer: Arc<dyn NodeObserver>,
        stop: Arc<AtomicBool>,
    ) -> Result<(), NodeError> {
        let mut task = Box::pin(Running::start(self, net, observer)).await?;
        let ended = Box::pin(task.run(&stop)).await;
        task.end();
        ended
    }
}

fn name(home: HomeId) -> String {
    format!("{:016x}", home.0)
}

/// A partition that this node has open, opens or closes.
struct Open {
    epoch: Epoch,
    licence: Arc<Licence>,
    links: Arc<LinkLog>,
    status: Arc<Mutex<Option<Status>>>,
    stop: Stop,
    order: Arc<AtomicU8>,
    desk: Option<Desk>,
    questions: Option<AbortHandle>,
    next_checkpoint: Instant,
    /// The number of the newest checkpoint that was handed in.
    handed_in: u64,
    /// Checkpoints handed in since the last one was accepted.
    unanswered: Vec<String>,
    /// Fetches when the load was measured last, and the load.
    fetches: u64,
    load: f64,
}

impl Open {
    fn order(&self, order: Order) {
        // A partition that is to be closed stays so.
        if self.order.fetch_max(order as u8, Ordering::Relaxed) < order as u8 {
            self.stop.flag.store(true, Ordering::Relaxed);
        }
    }

    fn close(&self) {
        self.licence.close();
        self.order(Order::Close);
    }
}

struct Running {
    node: Node,
    membership: Membership,
    clock: Steady,
    purse: Purse,
    till: Option<Till>,
    /// The quote is being read for the till.
    is_reading: bool,
    ledger: Arc<Ledger>,
    net: Arc<Net>,
    observer: Arc<dyn NodeObserver>,
    parts: BTreeMap<u32, Open>,
    /// Threads that have not ended, by partition and epoch.
    threads: BTreeMap<(u32, u64), std::thread::JoinHandle<()>>,
    /// Openings that wait for an earlier thread of the partition to end.
    waiting: Vec<Command>,
    seeds: Seeds,
    events: UnboundedSender<Event>,
    heard: UnboundedReceiver<Event>,
    followers: Vec<AbortHandle>,
    /// Nodes that were buried.
    dead: BTreeSet<NodeId>,
    /// The name under which the purse reports.
    named: NodeId,
    measured: Instant,
    leaving: Option<Instant>,
    has_left: bool,
    was_active: bool,
    troubles: Vec<String>,
}

impl Running {
    async fn start(
        node: Node,
        net: Arc<Net>,
        observer: Arc<dyn NodeObserver>,
    ) -> Result<Running, NodeError> {
        let clock = Steady::start();
        let now = clock.now();
        let me = NodeId(record::random());
        let membership = Membership::new(now, me, node.home.id, node.record.partitions);
        let (events, heard) = unbounded_channel();
        let mut running = Running {
            membership,
            clock,
            purse: Purse::new(now),
            till: None,
            is_reading: false,
            ledger: Arc::new(Ledger::new(Rate::ZERO, 1.0)),
            net,
            observer,
            parts: BTreeMap::new(),
            threads: BTreeMap::new(),
            waiting: Vec::new(),
            seeds: Seeds::default(),
            events,
            heard,
            followers: Vec::new(),
            dead: BTreeSet::new(),
            named: me,
            measured: Instant::now(),
            leaving: None,
            has_left: false,
            was_active: false,
            troubles: Vec::new(),
            node,
        };
        running.follow().await?;
        Ok(running)
    }

    /// Starts to read the buckets, and to listen to nodes and operators.
    async fn follow(&mut self) -> Result<(), NodeError> {
        let crawl = self.node.record.crawl();
        let buckets = self.node.buckets.clone();
        self.follow_bucket(&buckets.members, move |key, revision, bytes| {
            let id = u64::from_str_radix(key, 16).ok()?;
            Some(read(bytes, crawl, |member| Event::Member(revision, NodeId(id), member)))
        });
        self.follow_bucket(&buckets.claims, move |key, revision, bytes| {
            let seat = Office::of_key(key)?;
            Some(read(bytes, crawl, |claim| Event::Claim(revision, seat, claim)))
        });
        self.follow_bucket(&buckets.quotes, move |_, revision, bytes| {
            Some(read(bytes, crawl, |quote| Event::Quote(revision, quote)))
        });
        let seeds = Arc::clone(&self.seeds);
        self.follow_bucket(&buckets.crawl, move |key, _, bytes| {
            if key.starts_with("seeds.") {
                let mut seeds = seeds.lock().unwrap_or_else(PoisonError::into_inner);
                seeds.extend(record::read_seeds(bytes));
            }
            None
        });
        self.listen(DEMAND.to_owned(), Event::Reported).await?;
        self.listen(figures::ALL.to_owned(), Event::Operator).await?;
        Ok(())
    }

    fn follow_bucket(
        &mut self,
        bucket: &Bucket,
        read: impl Fn(&str, u64, &[u8]) -> Option<Event> + Send + 'static,
    ) {
        let (stream, prefix) = bucket.stream();
        let mut follower = Follower::start(stream.clone(), format!("{prefix}>"), From::Newest);
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            while let Some(entry) = follower.next().await {
                let key = entry.subject.strip_prefix(&prefix).unwrap_or_default();
                let bytes = entry.payload.unwrap_or_default();
                if let Some(event) = read(key, entry.sequence, &bytes)
                    && events.send(event).is_err()
                {
                    return;
                }
            }
        });
        self.followers.push(task.abort_handle());
    }

    async fn listen(
        &mut self,
        subject: String,
        event: fn(Message) -> Event,
    ) -> Result<AbortHandle, NodeError> {
        let failed = |error| crate::BrokerError::failed("listen to nodes", error);
        let client = self.node.broker.client();
        let mut messages = client.subscribe(subject).await.map_err(failed)?;
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                if events.send(event(message)).is_err() {
                    return;
                }
            }
        });
        self.followers.push(task.abort_handle());
        Ok(task.abort_handle())
    }

    async fn run(&mut self, stop: &AtomicBool) -> Result<(), NodeError> {
        loop {
            let now = self.clock.now();
            if stop.load(Ordering::Relaxed) && self.leaving.is_none() {
                self.leave(now);
            }
            let is_late = self.leaving.is_some_and(|since| since.elapsed() > LAST_WAIT);
            if self.has_left && self.threads.is_empty() || is_late {
                return Ok(());
            }
            let wake = self.membership.tick(now);
            self.trade(now).await;
            self.look_after_parts(now);
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
    fn end(&mut self) {
        self.parts.values().for_each(Open::close);
        self.followers.iter().for_each(AbortHandle::abort);
        for (_, thread) in std::mem::take(&mut self.threads) {
            let _ = thread.join();
        }
    }

    /// Leases, held requests, checkpoints that are due.
    fn look_after_parts(&mut self, now: Time) {
        let end = self.membership.lease_ends(now);
        let is_active = end.is_some_and(|end| end > now) && self.node.broker.is_connected();
        if is_active != std::mem::replace(&mut self.was_active, is_active) {
            self.observer.note(if is_active {
                "the brokers answer: the node crawls"
            } else {
                "the brokers do not answer: the node pauses until they do"
            });
        }
        let every = self.node.config.checkpoint_every;
        for part in self.parts.values_mut() {
            part.licence.set_end(end.unwrap_or(Time::ZERO));
            part.stop.hold.store(!is_active, Ordering::Relaxed);
            if part.desk.is_some() && part.next_checkpoint <= Instant::now() && is_active {
                part.next_checkpoint = Instant::now() + every;
                part.order(Order::Checkpoint);
            }
        }
    }

    /// Reports demand, and clears the market where this node keeps the price.
    async fn trade(&mut self, now: Time) {
        let me = self.membership.me();
        if me != self.named {
            // This node was buried and goes on under a new name, which has no grant yet.
            (self.named, self.purse) = (me, Purse::new(now));
            self.ledger.set_total(Rate::ZERO);
        }
        if self.purse.next_report() <= now {
            let (curve, pages) = (self.ledger.demand(), self.ledger.pages());
            let demand = self.purse.report(now, me, curve, pages, [0.0, 0.0]);
            let bytes = wire::encode(self.node.record.crawl(), &demand);
            let _ = self.node.broker.client().publish(DEMAND, bytes.into()).await;
        }
        let Some(till) = &mut self.till else { return };
        let want = till.want(now, |node| !self.dead.contains(&node));
        let (bucket, events) = (self.node.buckets.quotes.clone(), self.events.clone());
        let crawl = self.node.record.crawl();
        match want {
            Some(Want::Read) if self.is_reading => {}
            Some(Want::Read) => {
                self.is_reading = true;
                tokio::spawn(async move {
                    let read = tokio::time::timeout(PATIENCE, bucket.get(QUOTE)).await;
                    let event = match read {
                        Ok(Ok(read)) => Event::TillRead(read.and_then(|(revision, bytes)| {
                            Some((revision, wire::decode(crawl, &bytes).ok()?))
                        })),
                        _ => Event::TillUnread,
                    };
                    let _ = events.send(event);
                });
            }
            Some(Want::Write { write, expected, quote }) => {
                let bytes = wire::encode(crawl, &quote);
                tokio::spawn(async move {
                    let answer = answer(bucket.update(QUOTE, bytes, expected)).await;
                    let _ = events.send(Event::TillWritten(write, answer));
                });
            }
            Some(Want::Deposed) => self.till = None,
            None => {}
        }
    }

    async fn perform(&mut self, command: Command) -> Result<(), NodeError> {
        let crawl = self.node.record.crawl();
        match command {
            Command::Member { request, node, expected, member } => {
                let key = format!("{:016x}", node.0);
                let bytes = wire::encode(crawl, &member);
                self.write(request, self.node.buckets.members.clone(), key, bytes, expected);
            }
            Command::Claim { request, seat, expected, claim } => {
                let bytes = wire::encode(crawl, &claim);
                self.write(request, self.node.buckets.claims.clone(), seat.key(), bytes, expected);
            }
            Command::PutManifest { request, partition, expected, manifest } => {
                let (bytes, key) = (wire::encode(crawl, &manifest), format!("p.{partition}"));
                self.write(request, self.node.buckets.manifests.clone(), key, bytes, expected);
            }
            Command::ReadManifest { partition } => self.read_manifest(partition),
            Command::Open { partition, epoch, .. } => {
                let is_busy = self.threads.keys().any(|(number, _)| *number == partition);
                if is_busy {
                    self.waiting.push(command);
                } else {
                    self.open(command, partition, epoch).await?;
                }
            }
            Command::Drain { partition } => {
                if let Some(part) = self.parts.get(&partition) {
                    part.order(Order::Drain);
                }
            }
            Command::Close { partition } => {
                self.waiting.retain(|waits| !matches!(waits, Command::Open { partition: number, .. } if *number == partition));
                self.forget(partition);
            }
            Command::Checkpointed { partition, position } => self.purge(partition, position),
            Command::PriceWon { epoch } => {
                self.till = Some(Till::new(epoch, self.node.record.budget_per_s));
                self.purse.hurry(self.clock.now());
            }
            Command::PriceLost => self.till = None,
            Command::Left => self.has_left = true,
        }
        Ok(())
    }

    fn write(
        &self,
        request: RequestId,
        bucket: Bucket,
        key: String,
        bytes: Vec<u8>,
        expected: u64,
    ) {
        let events = self.events.clone();
        tokio::spawn(async move {
            let answer = answer(bucket.update(&key, bytes, expected)).await;
            let _ = events.send(Event::Answered(request, answer));
        });
    }

    fn read_manifest(&self, partition: u32) {
        let (bucket, events) = (self.node.buckets.manifests.clone(), self.events.clone());
        let crawl = self.node.record.crawl();
        tokio::spawn(async move {
            // Without an answer the lease will show what is to be done.
            while !events.is_closed() {
                if let Ok(Ok(read)) =
                    tokio::time::timeout(PATIENCE, bucket.get(&format!("p.{partition}"))).await
                {
                    let read = read.and_then(|(revision, bytes)| {
                        Some((revision, wire::decode(crawl, &bytes).ok()?))
                    });
                    let _ = events.send(Event::Manifest(partition, read));
                    return;
                }
            }
        });
    }

    /// Deletes what the newest checkpoint has made superfluous: links at the brokers, older files.
    fn purge(&mut self, partition: u32, position: u64) {
        let stream = self.node.links.clone();
        let unanswered =
            self.parts.get_mut(&partition).map(|part| std::mem::take(&mut part.unanswered));
        // With several it is not known which one was accepted: the next one will clean up.
        let accepted = unanswered.unwrap_or_default();
        let accepted = <[String; 1]>::try_from(accepted).ok();
        let checkpoints = self.node.checkpoints.clone();
        tokio::spawn(async move {
            // What is left is deleted after the next checkpoint.
            let purge = stream.purge().filter(links::subject(partition)).sequence(position + 1);
            let _ = purge.await;
            if let Some([object]) = accepted {
                let _ = checkpoints.prune(partition, &object).await;
            }
        });
    }

    /// Opens a partition on a thread of its own.
    async fn open(
        &mut self,
        command: Command,
        partition: u32,
        epoch: Epoch,
    ) -> Result<(), NodeError> {
        let Command::Open { local, restore, .. } = command else { return Ok(()) };
        let count = self.node.record.partitions;
        let (crawl, clock) = (self.node.record.crawl(), self.clock);
        let licence = Arc::new(Licence::default());
        let (broker, runtime) = (&self.node.broker, Handle::current());
        let links = Arc::new(LinkLog::new(
            crawl,
            broker.context().clone(),
            self.node.links.clone(),
            runtime.clone(),
            clock,
            Arc::clone(&licence),
        ));
        let me = Asker { partition, epoch };
        let client = broker.client().clone();
        let slots = DeskSlots::new(crawl, count, me, client, clock, Arc::clone(&licence));
        let gap = self.node.config.crawl.politeness.address_gap;
        let gap = Duration::from_micros(gap.as_micros());
        let seat = Seat {
            number: partition,
            count,
            first_parcel: None,
            exchange: Arc::clone(&links) as _,
            ledger: Arc::clone(&self.ledger),
            gate: Arc::new(AddressGate::with_slots(gap, Arc::new(slots))),
            stuck: None,
        };
        let nodes = self.membership.members().count().max(1) as u32;
        let mut config = self.node.config.crawl.divided(count.div_ceil(nodes));
        // A partition begins with next to nothing and is granted its share within seconds.
        config.budget = Rate::per_second(1e-3).unwrap_or(Rate::ZERO);
        let (stop, order) = (Stop::default(), Arc::new(AtomicU8::new(Order::Run as u8)));
        let status = Arc::new(Mutex::new(None));
        let task = Task {
            number: partition,
            epoch,
            local,
            restore,
            dir: self.node.home.partition(partition),
            staging: self.node.home.staging(partition),
            config,
            seat,
            licence: Arc::clone(&licence),
            net: Arc::clone(&self.net),
            runtime,
            checkpoints: self.node.checkpoints.for_partition(),
            seeds: Arc::clone(&self.seeds),
            status: Arc::clone(&status),
            stop: stop.clone(),
            order: Arc::clone(&order),
            events: self.events.clone(),
        };
        let (watch, events) = (self.observer.watch(partition), self.events.clone());
        let thread = std::thread::spawn(move || {
            let ended = task.run(watch);
            let _ = events.send(Event::Ended(partition, epoch, ended));
        });
        self.threads.insert((partition, epoch.0), thread);
        let questions = self.listen(slots::subject(partition), Event::Asked).await?;
        let open = Open {
            epoch,
            licence,
            links,
            status,
            stop,
            order,
            desk: None,
            questions: Some(questions),
            next_checkpoint: Instant::now() + self.node.config.checkpoint_every,
            handed_in: 0,
            unanswered: Vec::new(),
            fetches: self.ledger.fetches_of(partition),
            load: 0.0,
        };
        self.parts.insert(partition, open);
        Ok(())
    }

    /// Lets go of a partition.
    fn forget(&mut self, partition: u32) {
        if let Some(mut part) = self.parts.remove(&partition) {
            part.close();
            part.questions.take().into_iter().for_each(|task| task.abort());
            self.ledger.leave(partition);
        }
    }

    async fn hear(&mut self, event: Event) -> Result<(), NodeError> {
        let now = self.clock.now();
        match event {
            Event::Member(revision, node, member) => {
                if member == Member::Dead {
                    self.dead.insert(node);
                }
                self.membership.member_seen(now, revision, node, member);
            }
            Event::Claim(revision, seat, claim) => {
                if seat == Office::Price {
                    self.purse.hurry(now);
                }
                self.membership.claim_seen(now, revision, seat, claim);
            }
            Event::Quote(revision, quote) => {
                let me = self.membership.me();
                if let Some(rate) = self.purse.hear(now, me, revision, &quote) {
                    self.ledger.set_total(Rate::per_second(rate).unwrap_or(Rate::ZERO));
                }
            }
            Event::Answered(request, answer) => self.membership.answered(now, request, answer),
            Event::Manifest(partition, read) => {
                self.membership.manifest_read(now, partition, read);
            }
            Event::TillRead(read) => {
                self.is_reading = false;
                if let Some(till) = &mut self.till {
                    till.read(read);
                }
            }
            Event::TillUnread => self.is_reading = false,
            Event::TillWritten(write, answer) => {
                if let Some(till) = &mut self.till {
                    till.written(now, write, answer);
                }
            }
            Event::Opened(partition) => self.opened(partition, now),
            Event::Uploaded { partition, epoch, number, position, object } => {
                // An upload may end after a later one: the fence must not go back.
                let part = self.parts.get_mut(&partition);
                if let Some(part) =
                    part.filter(|part| part.epoch == epoch && number > part.handed_in)
                {
                    part.handed_in = number;
                    part.unanswered.push(object.clone());
                    self.membership.checkpoint(now, partition, position, object);
                }
            }
            Event::Drained(partition) => self.membership.drained(now, partition),
            Event::Ended(partition, epoch, ended) => self.ended(partition, epoch, ended).await?,
            Event::Asked(message) => self.answer_desk(message, now).await,
            Event::Reported(message) => {
                let demand = wire::decode::<Demand>(self.node.record.crawl(), &message.payload);
                if let (Some(till), Ok(demand)) = (&mut self.till, demand) {
                    till.hear(now, demand);
                }
            }
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
        let old = self.troubles.len().saturating_sub(5);
        self.troubles.drain(..old);
    }

    fn opened(&mut self, partition: u32, now: Time) {
        let gap = self.node.config.crawl.politeness.address_gap;
        let Some(part) = self.parts.get_mut(&partition) else { return };
        // After a checkpoint the partition opens again under the same epoch, and so does its desk.
        part.desk.get_or_insert_with(|| Desk::new(now, gap));
        self.membership.opened(now, partition);
        self.purse.hurry(now);
    }

    async fn ended(
        &mut self,
        partition: u32,
        epoch: Epoch,
        ended: Result<(), NodeError>,
    ) -> Result<(), NodeError> {
        if let Some(thread) = self.threads.remove(&(partition, epoch.0)) {
            let _ = thread.join();
        }
        if self.parts.get(&partition).is_some_and(|part| part.epoch == epoch) {
            self.forget(partition);
        }
        // A partition that was taken away may have failed for that reason.
        let is_held = self.membership.held().any(|(_, held)| held == epoch);
        if is_held {
            ended?;
        }
        let place = self.waiting.iter().position(
            |waits| matches!(waits, Command::Open { partition: number, .. } if *number == partition),
        );
        if let Some(place) = place {
            let command = self.waiting.remove(place);
            self.perform(command).await?;
        }
        Ok(())
    }

    async fn answer_desk(&mut self, message: Message, now: Time) {
        let crawl = self.node.record.crawl();
        let (Ok(ask), Some(reply)) = (wire::decode::<Ask>(crawl, &message.payload), message.reply)
        else {
            return;
        };
        let number = tidewatch_cluster::place::desk(ask.address, self.node.record.partitions);
        if self.membership.may_act(now, Office::Partition(number)).is_none() {
            return;
        }
        let desk = self.parts.get_mut(&number).and_then(|part| part.desk.as_mut());
        if let Some(desk) = desk {
            let answer = desk.ask(now, ask);
            self.send(reply, wire::encode(crawl, &answer)).await;
        }
    }

    async fn send(&self, to: Subject, bytes: Vec<u8>) {
        // Whoever asked will ask again.
        let _ = self.node.broker.client().publish(to, bytes.into()).await;
    }

    /// Loads for the placement, and figures for the observer.
    fn measure(&mut self, now: Time) {
        let passed = self.measured.elapsed();
        if passed < MEASURE_EVERY {
            return;
        }
        self.measured = Instant::now();
        for (number, part) in &mut self.parts {
            let fetches = self.ledger.fetches_of(*number);
            part.load = fetches.saturating_sub(part.fetches) as f64 / passed.as_secs_f64();
            part.fetches = fetches;
            self.membership.set_load(*number, part.load as f32);
        }
        self.observer.progress(&self.figures(now));
    }

    fn figures(&self, now: Time) -> NodeFigures {
        let partition = |(number, part): (&u32, &Open)| PartitionFigures {
            number: *number,
            epoch: part.epoch.0,
            is_open: self.membership.may_act(now, Office::Partition(*number)).is_some(),
            fetches_per_s: part.load,
            parcels: part.links.waiting(),
            status: part.status.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        let poisoned = self.parts.iter().filter_map(|(number, part)| {
            let (count, why) = part.links.poisoned();
            Some(format!(
                "partition {number} passed over {count} messages that hold no links: {}",
                why?
            ))
        });
        NodeFigures {
            home: self.node.name(),
            place: place(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            is_leaving: self.leaving.is_some(),
            is_active: self.was_active,
            keeps_price: self.till.is_some(),
            price: self.purse.price(),
            granted_per_s: self.purse.rate(),
            partitions: self.parts.iter().map(partition).collect(),
            notes: self.troubles.iter().cloned().chain(poisoned).collect(),
        }
    }

    async fn answer_operator(&mut self, message: Message, now: Time) {
        let Some(reply) = message.reply else { return };
        let Ok(request) = serde_json::from_slice::<Request>(&message.payload) else { return };
        let told = match request {
            Request::Figures => serde_json::to_vec(&self.figures(now)),
            Request::Move { partition, to } => {
                let is_mine = self.membership.may_act(now, Office::Partition(partition)).is_some();
                if !is_mine {
                    return;
                }
                let homes = self.membership.members().map(|(_, renewal)| renewal.home);
                let found = homes.into_iter().find(|home| name(*home).starts_with(&to));
                serde_json::to_vec(&match found {
                    Some(home) => {
                        self.membership.give(now, partition, home);
                        format!("partition {partition} moves to {}", name(home))
                    }
                    None => format!("there is no node {to}"),
                })
            }
            Request::Drain { home } if self.node.name().starts_with(&home) => {
                self.leave(now);
                serde_json::to_vec(&format!("{} hands everything over and ends", self.node.name()))
            }
            Request::Drain { .. } => return,
            Request::Why { url } => {
                let Ok(url) = CanonicalUrl::parse(&url) else { return };
                let number = owner(&url, self.node.record.partitions);
                if self.membership.may_act(now, Office::Partition(number)).is_none() {
                    return;
                }
                return self.explain(number, url, reply);
            }
        };
        self.send(reply, told.unwrap_or_default()).await;
    }

    /// Asks a partition's thread about a page, and passes its answer on.
    fn explain(&self, number: u32, url: CanonicalUrl, reply: Subject) {
        let (dir, client) = (self.node.home.partition(number), self.node.broker.client().clone());
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || {
            if let Ok(Some(answer)) = tidewatch_partition::ask_running(&dir, &url) {
                let bytes = serde_json::to_vec(&answer).unwrap_or_default();
                let _ = runtime.block_on(client.publish(reply, bytes.into()));
            }
        });
    }
}

/// The event of a message, or that it was passed over.
fn read<M: wire::Message>(bytes: &[u8], crawl: Crawl, event: impl FnOnce(M) -> Event) -> Event {
    match wire::decode(crawl, bytes) {
        Ok(message) => event(message),
        Err(refused) => Event::Trouble(format!("a message was passed over: {refused}")),
    }
}

/// Where this process runs, for people.
fn place() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} process {}", host.trim(), std::process::id())
}

/// How a write ended, within the time that it may take.
async fn answer(write: impl Future<Output = Written>) -> Answer {
    match tokio::time::timeout(PATIENCE, write).await {
        Ok(Written::Done(revision)) => Answer::Done(revision),
        Ok(Written::Refused) => Answer::Refused,
        Ok(Written::Unknown) | Err(_) => Answer::Unknown,
    }
}
