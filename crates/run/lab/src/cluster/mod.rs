//! A cluster on a virtual clock and a virtual broker: does the protocol keep its promises?
//!
//! Every node runs the state machines of `tidewatch-cluster`, and inside every partition a real frontier with
//! the price policy crawls a small web. Messages are lost, late and repeated; nodes crash, pause, leave and
//! are cut off; disks are lost; the broker is down; reads are old; clocks show wrong times and run at
//! different paces. All of it follows from a seed. A `Judge` with a clock of its own checks at every step
//! what the crate promises, and after a quiet time at the end that everything is owned, known and fetched.
//!
//! A [`Sabotage`] breaks one rule on purpose: it shows that the judge would notice.

mod broker;
mod judge;
mod part;
mod process;
mod town;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use tidewatch_cluster::market::clearing;
use tidewatch_cluster::node::{Answer, Manifest, OWNED_WITHIN};
use tidewatch_cluster::parcel::Parcel;
use tidewatch_cluster::{HomeId, NodeId, Seat};
use tidewatch_core::{Span, Time};
use tidewatch_math::Draws;
use tidewatch_policy::DemandCurve;

use self::broker::{Bucket, Stream};
pub use self::judge::Broken;
use self::judge::Judge;
use self::process::{Clock, Process};
use self::town::{FromBroker, Happening, Place, ToBroker, Town, Who};
use self::web::Web;

/// The gaps that the judge demands: a tenth shorter than the nodes', whose clocks may be that fast.
const TRUE_SHARE: f64 = 0.9;
/// The clearing price may differ by this much: curves are reported once a minute.
const PRICE: f64 = 0.02;
/// A run ends no later than this after the last fault; by then every page must be found and fetched
/// and the price be right.
const LONGEST_END: Span = Span::HOUR.times(24);

/// How large, how long and how troubled a run is.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Nodes.
    pub nodes: usize,
    /// Partitions.
    pub partitions: u32,
    /// Time with faults, before the quiet end.
    pub duration: Span,
    /// Faults per hour, of all kinds together.
    pub faults_per_hour: f64,
    /// How often each kind of fault comes, in parts of the sum.
    pub faults: FaultShares,
    /// Fetches per second for each partition.
    pub budget: f64,
    /// Share of messages that are lost, repeated and late, each.
    pub trouble: f64,
    /// Largest deviation of a clock's pace.
    pub pace: f64,
    /// Largest error of a wall clock, in seconds.
    pub skew: u64,
}

impl Settings {
    /// A cluster of some nodes for some time, with faults of every kind.
    pub fn new(nodes: usize, duration: Span) -> Settings {
        Settings {
            nodes,
            partitions: 2 * nodes as u32,
            duration,
            faults_per_hour: 12.0,
            faults: FaultShares { crash: 7, pause: 5, cut: 4, broker: 3, leave: 1 },
            budget: 0.02,
            trouble: 0.01,
            pace: 0.09,
            skew: 3600,
        }
    }

    /// The budget of all nodes, in fetches per second.
    fn whole_budget(&self) -> f64 {
        self.budget * f64::from(self.partitions)
    }

    /// When faults stop.
    fn quiet_from(&self) -> Time {
        Time::ZERO + self.duration
    }
}

/// How often each kind of fault comes.
#[derive(Clone, Copy, Debug)]
pub struct FaultShares {
    /// A process ends; three in ten lose their disk.
    pub crash: u64,
    /// A process stops and goes on.
    pub pause: u64,
    /// A node is cut off from the broker, one way or both.
    pub cut: u64,
    /// The broker is down.
    pub broker: u64,
    /// A node hands everything over and leaves.
    pub leave: u64,
}

impl FaultShares {
    fn draw(&self, draws: &mut Draws) -> Fault {
        let kinds = [
            (Fault::Crash, self.crash),
            (Fault::Pause, self.pause),
            (Fault::Cut, self.cut),
            (Fault::Broker, self.broker),
        ];
        let sum = self.leave + kinds.iter().map(|(_, share)| share).sum::<u64>();
        let mut drawn = draws.below(sum.max(1));
        for (fault, share) in kinds {
            if drawn < share {
                return fault;
            }
            drawn -= share;
        }
        Fault::Leave
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Crash,
    Pause,
    Cut,
    Broker,
    Leave,
}

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Nodes ask addresses without a slot.
    NoDesk,
    /// A new desk does not wait.
    EagerDesk,
    /// Checkpoints claim a position beyond what was taken in.
    PurgeAhead,
    /// A node opens whatever is on its disk.
    StaleDisk,
    /// The broker does not check revisions of manifests.
    NoFence,
    /// The broker does not check revisions of claims and members.
    NoCompare,
    /// The broker loses the last seconds of its stream when it fails, although it had acknowledged them.
    UnsyncedBroker,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Messages sent, requests and answers.
    pub messages: u64,
    /// Messages and bytes by kind ([`tidewatch_cluster::wire::Kind`]).
    pub kinds: [(u64, u64); 9],
    /// Requests to hosts.
    pub requests: u64,
    /// Those for pages.
    pub fetches: u64,
    /// Requests aborted because a slot ended.
    pub aborted: u64,
    /// Faults of each kind: crash, disk lost, pause, cut, broker, leave.
    pub faults: [u32; 6],
    /// Claims won, of partitions.
    pub claims: u64,
    /// Time simulated, in seconds.
    pub seconds: f64,
    /// From the last fault until every partition had an owner, in seconds.
    pub owned_after: f64,
    /// Largest number of links' messages that waited.
    pub waiting: usize,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Promises not kept; empty if all were.
    pub broken: Vec<Broken>,
    /// What was counted.
    pub figures: Figures,
}

/// Runs a cluster.
pub fn run(settings: Settings, seed: u64, sabotage: Option<Sabotage>) -> Outcome {
    Cluster::new(settings, seed, sabotage).run()
}

struct Cluster {
    town: Town,
    processes: Vec<Option<Process>>,
    lives: Vec<u32>,
    members: Bucket,
    claims: Bucket,
    checkpoints: Bucket,
    stream: Stream,
    /// The last messages published, which an unsynced broker loses.
    fresh: Vec<(Time, u32, u64)>,
}

impl Cluster {
    fn new(settings: Settings, seed: u64, sabotage: Option<Sabotage>) -> Cluster {
        let mut draws = Draws::of(seed, "cluster", 0);
        let web = Web::new(settings.partitions, settings.duration, &mut draws);
        let gap = |gap: Span| Span::from_micros((gap.as_micros() as f64 * TRUE_SHARE) as u64);
        let judge = Judge::new(gap(part::HOST_GAP), gap(part::ADDRESS_GAP));
        let mut cluster = Cluster {
            processes: (0..settings.nodes).map(|_| None).collect(),
            lives: vec![0; settings.nodes],
            members: Bucket::default(),
            claims: Bucket::default(),
            checkpoints: Bucket::default(),
            stream: Stream::default(),
            fresh: Vec::new(),
            town: Town::new(settings, sabotage, web, judge, draws),
        };
        for slot in 0..settings.nodes {
            let begins = cluster.town.millis(0, 20_000);
            cluster.town.after(begins, Happening::Restart(slot));
        }
        cluster.town.after(Span::MINUTE, Happening::Fault);
        cluster
    }

    fn run(mut self) -> Outcome {
        let quiet = self.town.settings.quiet_from();
        let mut owned = None;
        let mut next_look = quiet;
        while self.town.judge.broken().is_empty() {
            let Some(event) = self.town.next() else { break };
            self.happen(event);
            if self.town.now < next_look {
                continue;
            }
            next_look = self.town.now + Span::SECOND.times(5);
            let after = self.town.now.since(quiet);
            if owned.is_none() {
                owned = self.orphan().is_none().then_some(after);
                if let Some(partition) = self.orphan().filter(|_| after > OWNED_WITHIN) {
                    self.town.judge.object(Broken::Orphan { partition, after });
                }
            } else if self.unfetched() == (0, 0) && after > Span::MINUTE.times(10)
                || after > LONGEST_END
            {
                break;
            }
        }
        self.finish(owned)
    }

    /// A partition that crawls nowhere.
    fn orphan(&self) -> Option<u32> {
        let crawls = |partition: &u32| {
            self.processes.iter().flatten().any(|process| process.crawls(*partition, &self.town))
        };
        (0..self.town.settings.partitions).find(|partition| !crawls(partition))
    }

    /// Pages that are not stored by their owners: how many, and the first.
    fn unfetched(&self) -> (u32, u32) {
        let states: Vec<_> = self.processes.iter().flatten().flat_map(Process::states).collect();
        let is_stored = |page: &u32| states.iter().any(|(_, state)| state.is_stored(*page));
        let missing: Vec<u32> =
            (0..self.town.web.pages()).filter(|page| !is_stored(page)).collect();
        (missing.len() as u32, missing.first().copied().unwrap_or(0))
    }

    fn finish(mut self, owned: Option<Span>) -> Outcome {
        if self.town.judge.broken().is_empty() {
            let (missing, first) = self.unfetched();
            let pages = self.town.web.pages();
            if missing > 0 {
                self.town.judge.object(Broken::Unfetched { missing, pages, first });
            }
            let states: Vec<_> =
                self.processes.iter().flatten().flat_map(Process::states).collect();
            self.town.judge.check_links(|partition, page| {
                states.iter().any(|(number, state)| *number == partition && state.is_known(page))
            });
            let mut read: BTreeMap<u32, BTreeSet<u64>> =
                states.iter().map(|(number, state)| (*number, state.sequences())).collect();
            for (number, sequences) in &mut read {
                let waiting = self.stream.read(*number, 0, usize::MAX);
                sequences.extend(waiting.into_iter().map(|(sequence, _)| sequence));
            }
            self.town.judge.check_parcels(|partition, sequence| {
                read.get(&partition).is_some_and(|read| read.contains(&sequence))
            });
            if let Some((found, wanted)) = self.wrong_price() {
                self.town.judge.object(Broken::Price { found, wanted });
            }
        }
        let mut figures = self.town.figures;
        figures.seconds = self.town.now.seconds();
        figures.owned_after = owned.map_or(f64::NAN, Span::seconds);
        Outcome { broken: self.town.judge.broken().to_vec(), figures }
    }

    /// A node's price that differs from the one that clears the curves last reported, and that one.
    fn wrong_price(&self) -> Option<(f64, f64)> {
        let markets: Vec<_> = self.processes.iter().flatten().map(Process::market).collect();
        let curves: Vec<&DemandCurve> = markets.iter().map(|(curve, _)| *curve).collect();
        let wanted = clearing(&curves, self.town.settings.whole_budget());
        let is_off = |found: &f64| (found - wanted).abs() > PRICE * wanted;
        markets.iter().map(|(_, price)| *price).find(is_off).map(|found| (found, wanted))
    }

    fn happen(&mut self, event: Happening) {
        let town = &mut self.town;
        let who = match &event {
            Happening::Fault => return self.fail(),
            Happening::Restart(slot) => return self.start(*slot),
            Happening::ToBroker(who, _) => {
                let who = *who;
                let Happening::ToBroker(_, ask) = event else { return };
                return self.serve(who, ask);
            }
            Happening::Served { who, partition, number } => {
                let (slot, life, partition, number) = (who.slot, who.life, *partition, *number);
                let process = self.processes[slot].as_mut();
                if let Some(process) = process.filter(|process| process.life() == life) {
                    process.served(partition, number, town);
                }
                return;
            }
            Happening::Step(who)
            | Happening::FromBroker(who, _)
            | Happening::Timeout(who, _)
            | Happening::ToDesk { to: who, .. }
            | Happening::FromDesk { to: who, .. }
            | Happening::Report(who, _)
            | Happening::Opened { who, .. }
            | Happening::Done { who, .. }
            | Happening::SlotEnds { who, .. } => *who,
        };
        let Some(process) = self.processes[who.slot].as_mut() else { return };
        if process.life() != who.life {
            return;
        }
        if town.now < process.paused_until {
            let until = process.paused_until;
            return town.at(until, event);
        }
        match event {
            Happening::Step(_) => process.step(town),
            Happening::FromBroker(_, tell) => process.told(tell, town),
            Happening::Timeout(_, asked) => {
                process.answered_by_broker(asked, Answer::Unknown, town);
            }
            Happening::ToDesk { from, desk, ask, .. } => process.answer(from, desk, ask, town),
            Happening::FromDesk { ask, reply, .. } => process.answered(ask, reply, town),
            Happening::Report(_, demand) => process.heard_report(*demand, town),
            Happening::Opened { partition, epoch, .. } => process.opened(partition, epoch, town),
            Happening::Done { partition, epoch, number, .. } => {
                process.done(partition, epoch, number, town);
            }
            Happening::SlotEnds { partition, epoch, number, .. } => {
                process.slot_ends(partition, epoch, number, town);
            }
            Happening::ToBroker(..)
            | Happening::Served { .. }
            | Happening::Fault
            | Happening::Restart(_) => {}
        }
        if process.has_left {
            self.stop(who.slot);
            let back = self.town.millis(60_000, 600_000);
            self.town.after(back, Happening::Restart(who.slot));
        }
    }

    fn start(&mut self, slot: usize) {
        if self.processes[slot].is_some() {
            return;
        }
        self.lives[slot] += 1;
        let town = &mut self.town;
        let who = Who { slot, life: self.lives[slot] };
        let deviation = town.settings.pace * (2.0 * town.draws.uniform() - 1.0);
        let skew = town.draws.below(2 * town.settings.skew + 1).cast_signed()
            - town.settings.skew.cast_signed();
        let began = Time::from_micros(1 + town.draws.below(1 << 40));
        let clock = Clock { began: (town.now, began), pace: 1.0 + deviation, skew };
        let (node, home) = (NodeId(town.draws.word()), HomeId(slot as u64 + 1));
        let process = Process::new(who, clock, node, home, town);
        town.after(Span::ZERO, Happening::Step(who));
        self.processes[slot] = Some(process);
    }

    fn stop(&mut self, slot: usize) {
        if let Some(mut process) = self.processes[slot].take() {
            process.die(&mut self.town);
        }
    }

    /// Something goes wrong.
    fn fail(&mut self) {
        if self.town.is_quiet() {
            return;
        }
        let town = &mut self.town;
        let rate = town.settings.faults_per_hour / 3600.0;
        let next = Span::from_seconds(town.draws.exponential(rate)).unwrap_or(Span::HOUR);
        town.after(next, Happening::Fault);
        let slot = town.draws.below(town.settings.nodes as u64) as usize;
        let quiet = town.settings.quiet_from();
        let shares = town.settings.faults;
        let fault = shares.draw(&mut town.draws);
        let long = town.millis(1000, 120_000);
        match fault {
            Fault::Crash => {
                let loses_disk = town.draws.chance(0.3);
                town.figures.faults[0] += 1;
                town.figures.faults[1] += u32::from(loses_disk);
                if loses_disk {
                    town.disks[slot].clear();
                }
                let back = (town.now + long).min(quiet);
                town.at(back, Happening::Restart(slot));
                self.stop(slot);
            }
            Fault::Pause => {
                town.figures.faults[2] += 1;
                if let Some(process) = &mut self.processes[slot] {
                    process.pause((town.now + long).min(quiet));
                }
            }
            Fault::Cut => {
                town.figures.faults[3] += 1;
                let until = (town.now + long).min(quiet);
                let ways = town.draws.below(3);
                for way in 0..2 {
                    if ways == 2 || ways == way {
                        town.cuts[slot][way as usize] = until;
                    }
                }
            }
            Fault::Broker => {
                town.figures.faults[4] += 1;
                let down = town.millis(2000, 60_000);
                town.broker_down_until = (town.now + down).min(quiet);
                if town.sabotages(Sabotage::UnsyncedBroker) {
                    self.forget_unsynced();
                }
            }
            Fault::Leave => {
                town.figures.faults[5] += 1;
                if let Some(process) = &mut self.processes[slot] {
                    process.leave(town);
                }
            }
        }
    }

    fn forget_unsynced(&mut self) {
        let now = self.town.now;
        for (at, to, sequence) in std::mem::take(&mut self.fresh) {
            if now.since(at) < Span::MINUTE {
                self.stream.lose(to, sequence);
            }
        }
    }

    /// The broker does what it is asked.
    fn serve(&mut self, who: Who, ask: ToBroker) {
        if self.town.now < self.town.broker_down_until {
            return;
        }
        let now = self.town.now;
        let stale = !self.town.is_quiet() && self.town.draws.chance(0.2);
        let tell = match ask {
            ToBroker::Put { place, key, expected, value, asked } => {
                let answer = self.put(place, &key, expected, &value);
                FromBroker::Answered { asked, answer }
            }
            ToBroker::ReadManifest { partition } => {
                let found = self.checkpoints.get(now, &Seat::Partition(partition).key(), stale);
                FromBroker::Manifest { partition, found }
            }
            ToBroker::ReadQuote => {
                FromBroker::Quote { found: self.checkpoints.get(now, "quote", stale) }
            }
            ToBroker::Watch { seen } => self.watch(seen),
            ToBroker::Publish { from, epoch, number, to, id, bytes } => {
                self.publish(to, &id, &bytes);
                FromBroker::Acknowledged { from, epoch, number }
            }
            ToBroker::Read { partition, epoch, position } => {
                let messages = self.stream.read(partition, position, 50);
                if messages.is_empty() {
                    return;
                }
                FromBroker::Messages { partition, epoch, messages }
            }
            ToBroker::Purge { partition, position } => return self.purge(partition, position),
        };
        self.town.tell(who, tell);
    }

    fn put(&mut self, place: Place, key: &str, expected: u64, value: &[u8]) -> Answer {
        let now = self.town.now;
        let sabotage = self.town.sabotage;
        let (bucket, ignores) = match place {
            Place::Members => (&mut self.members, Sabotage::NoCompare),
            Place::Claims => (&mut self.claims, Sabotage::NoCompare),
            Place::Checkpoints => (&mut self.checkpoints, Sabotage::NoFence),
        };
        let is_ignored = sabotage == Some(ignores) && key != "quote";
        let found = bucket.get(now, key, false).map_or(0, |found| found.0);
        let expected = if is_ignored { found } else { expected };
        let answer = bucket.put(now, key, expected, value.to_vec());
        if matches!(answer, Answer::Done(_)) {
            match (place, Seat::of_key(key)) {
                (Place::Claims, Some(Seat::Partition(_))) => self.town.figures.claims += 1,
                (Place::Checkpoints, Some(Seat::Partition(partition))) => {
                    self.fenced(partition, value);
                }
                _ => {}
            }
        }
        answer
    }

    fn fenced(&mut self, partition: u32, value: &[u8]) {
        let now = self.town.now;
        let Some(manifest) = Process::manifest_of(&mut self.town, value) else { return };
        self.town.judge.fenced(now, partition, manifest.epoch);
        if let Some(state) = self.town.object(Some(&manifest)) {
            self.town.judge.checkpointed(now, partition, state.pages_stored());
        }
    }

    fn watch(&self, seen: [u64; 3]) -> FromBroker {
        let buckets = [
            (Place::Members, &self.members),
            (Place::Claims, &self.claims),
            (Place::Checkpoints, &self.checkpoints),
        ];
        let mut entries = Vec::new();
        for (at, (place, bucket)) in buckets.into_iter().enumerate() {
            let new = bucket.since(seen[at]).into_iter();
            let is_watched = |key: &str| place != Place::Checkpoints || key == "quote";
            let new = new.filter(|(key, ..)| is_watched(key));
            entries.extend(new.map(|(key, revision, value)| (place, key, revision, value)));
        }
        let seen = [self.members.revision(), self.claims.revision(), self.checkpoints.revision()];
        FromBroker::Watched { entries: Rc::new(entries), seen }
    }

    fn publish(&mut self, to: u32, id: &str, bytes: &[u8]) {
        let now = self.town.now;
        let (sequence, is_new) = self.stream.publish(now, to, id, bytes.to_vec());
        let waiting = self.stream.waiting();
        self.town.figures.waiting = self.town.figures.waiting.max(waiting);
        if !is_new {
            return;
        }
        if self.town.sabotage == Some(Sabotage::UnsyncedBroker) {
            self.fresh.push((now, to, sequence));
        }
        if let Some(parcel) = self.town.read::<Parcel>(bytes) {
            self.town.judge.published(to, sequence, parcel.id);
            for link in &parcel.links {
                if let Some(page) = self.town.web.find(&link.url) {
                    self.town.judge.acknowledged(to, page);
                }
            }
        }
    }

    /// Deletes messages, each of which the accepted checkpoint must have taken in.
    fn purge(&mut self, partition: u32, position: u64) {
        let now = self.town.now;
        let key = Seat::Partition(partition).key();
        let manifest: Option<Manifest> = self
            .checkpoints
            .get(now, &key, false)
            .and_then(|(_, bytes)| Process::manifest_of(&mut self.town, &bytes));
        let state = self.town.object(manifest.as_ref());
        for (_, bytes) in self.stream.purge(partition, position) {
            let Some(parcel) = self.town.read::<Parcel>(&bytes) else { continue };
            let is_in = state
                .as_ref()
                .is_some_and(|state| state.has_taken(parcel.id) || state.refuses(&parcel));
            if !is_in {
                self.town.judge.deleted(now, partition, parcel.id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
