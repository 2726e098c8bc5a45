//! A node's process: the state machines of `tidewatch-cluster`, and what their commands do.

mod heard;

use std::collections::BTreeMap;
use std::rc::Rc;

use tidewatch_cluster::desk::{Ask, Desk, Reply, Wish};
use tidewatch_cluster::market::{Demand, Purse, Till, Want};
use tidewatch_cluster::node::{Command, Manifest, Node};
use tidewatch_cluster::{HomeId, NodeId, Seat, place, wire};
use tidewatch_core::{Span, Time};
use tidewatch_policy::DemandCurve;

use super::Sabotage;
use super::part::{ADDRESS_GAP, Part};
use super::town::{Asked, CRAWL, Happening, Place, ToBroker, Town, Who};
use super::web::Web;

const SLOWEST: Span = Span::SECOND.times(5);

/// A clock that shows another time than the true one and runs at another pace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// True time and own time when the process began.
    pub(super) began: (Time, Time),
    pub(super) pace: f64,
    /// What its wall clock is ahead, in seconds.
    pub(super) skew: i64,
}

impl Clock {
    fn local(&self, now: Time) -> Time {
        let passed = now.since(self.began.0).as_micros() as f64 * self.pace;
        self.began.1 + Span::from_micros(passed as u64)
    }

    /// The true time of one of its own.
    fn true_time(&self, local: Time) -> Time {
        let passed = local.since(self.began.1).as_micros() as f64 / self.pace;
        self.began.0 + Span::from_micros(passed.ceil() as u64)
    }

    fn wall(&self, now: Time) -> Time {
        // A day, so that no clock is before the beginning of time.
        let shifted = now + Span::DAY;
        if self.skew < 0 {
            shifted - Span::SECOND.times(self.skew.unsigned_abs())
        } else {
            shifted + Span::SECOND.times(self.skew.unsigned_abs())
        }
    }
}

pub(super) struct Process {
    who: Who,
    clock: Clock,
    pub(super) node: Node,
    me: NodeId,
    purse: Purse,
    till: Option<Till>,
    till_waits: Time,
    parts: BTreeMap<u32, Part>,
    desks: BTreeMap<u32, Desk>,
    opening: BTreeMap<u32, Command>,
    seen: [u64; 3],
    reported: DemandCurve,
    next_watch: Time,
    next_load: Time,
    objects: u64,
    pub(super) paused_until: Time,
    pub(super) has_left: bool,
}

impl Process {
    pub(super) fn new(
        who: Who,
        clock: Clock,
        node: NodeId,
        home: HomeId,
        town: &mut Town,
    ) -> Process {
        let local = clock.local(town.now);
        town.nodes.insert(node, who);
        Process {
            who,
            clock,
            node: Node::new(local, node, home, town.settings.partitions),
            me: node,
            purse: Purse::new(local),
            till: None,
            till_waits: local,
            parts: BTreeMap::new(),
            desks: BTreeMap::new(),
            opening: BTreeMap::new(),
            seen: [0; 3],
            reported: DemandCurve::new(|_| 0.0),
            next_watch: local,
            next_load: local,
            objects: 0,
            paused_until: Time::ZERO,
            has_left: false,
        }
    }

    pub(super) const fn life(&self) -> u32 {
        self.who.life
    }

    fn local(&self, town: &Town) -> Time {
        self.clock.local(town.now)
    }

    /// One turn of the process's loop.
    pub(super) fn step(&mut self, town: &mut Town) {
        let local = self.local(town);
        self.node.tick(local);
        self.obey(town);
        if local >= self.next_watch {
            self.next_watch = local + Span::SECOND.times(2);
            town.ask_broker(self.who, ToBroker::Watch { seen: self.seen });
        }
        self.confess(town);
        self.trade(town);
        let numbers: Vec<u32> = self.parts.keys().copied().collect();
        for partition in numbers {
            self.work(partition, town);
        }
        let pause = town.millis(300, 1200);
        town.after(pause, Happening::Step(self.who));
    }

    /// Carries out the node's commands.
    fn obey(&mut self, town: &mut Town) {
        while let Some(command) = self.node.next_command() {
            match command {
                Command::Member { request, node, expected, member } => {
                    let (place, key) = (Place::Members, format!("{:016x}", node.0));
                    self.put(town, place, key, expected, &member, Asked::Node(request));
                }
                Command::Claim { request, seat, expected, claim } => {
                    self.put(
                        town,
                        Place::Claims,
                        seat.key(),
                        expected,
                        &claim,
                        Asked::Node(request),
                    );
                }
                Command::ReadManifest { partition } => {
                    town.ask_broker(self.who, ToBroker::ReadManifest { partition });
                }
                Command::PutManifest { request, partition, expected, manifest } => {
                    let key = Seat::Partition(partition).key();
                    self.put(
                        town,
                        Place::Checkpoints,
                        key,
                        expected,
                        &manifest,
                        Asked::Node(request),
                    );
                }
                Command::Open { partition, epoch, .. } => {
                    self.opening.insert(partition, command);
                    let took = town.millis(200, 4000);
                    town.after(took, Happening::Opened { who: self.who, partition, epoch });
                }
                Command::Drain { partition } => {
                    if let Some(part) = self.parts.get_mut(&partition) {
                        part.is_draining = true;
                        part.waiting.clear();
                    }
                }
                Command::Close { partition } => self.close(partition, town),
                Command::Checkpointed { partition, position } => {
                    town.ask_broker(self.who, ToBroker::Purge { partition, position });
                }
                Command::PriceWon { epoch } => {
                    let budget = town.settings.whole_budget();
                    self.till = Some(Till::new(epoch, budget));
                    self.purse.hurry(self.local(town));
                }
                Command::PriceLost => self.till = None,
                Command::Left => self.has_left = true,
            }
        }
        self.be_named(town);
    }

    /// The node was buried and goes on under a new name: the old one spends nothing any more.
    fn be_named(&mut self, town: &mut Town) {
        if self.me != self.node.me() {
            self.quit(town);
            self.me = self.node.me();
            town.nodes.insert(self.me, self.who);
            self.purse = Purse::new(self.local(town));
        }
    }

    /// The process ends, or goes on under another name.
    pub(super) fn quit(&self, town: &mut Town) {
        let budget = town.settings.whole_budget();
        town.judge.grant(town.now, self.me, (0.0, Time::ZERO), budget);
    }

    /// Tells the judge what the node may spend now.
    fn confess(&self, town: &mut Town) {
        let local = self.local(town);
        let budget = town.settings.whole_budget();
        let ends = self.node.lease_ends(local).map_or(Time::ZERO, |end| self.clock.true_time(end));
        town.judge.grant(town.now, self.me, (self.purse.rate(), ends), budget);
    }

    fn put<M: wire::Message>(
        &self,
        town: &mut Town,
        place: Place,
        key: String,
        expected: u64,
        message: &M,
        asked: Asked,
    ) {
        let value = wire::encode(CRAWL, message);
        town.count(M::KIND as usize, value.len());
        town.ask_broker(self.who, ToBroker::Put { place, key, expected, value, asked });
        town.after(SLOWEST, Happening::Timeout(self.who, asked));
    }

    /// Aborts everything of a partition.
    fn close(&mut self, partition: u32, town: &mut Town) {
        self.opening.remove(&partition);
        self.desks.remove(&partition);
        if let Some(part) = self.parts.remove(&partition) {
            for flight in part.flights.values().filter(|flight| flight.is_watched) {
                town.judge.ended(town.now, flight.host, flight.address, part.epoch);
            }
        }
    }

    /// Aborts everything, as the end of the process does.
    pub(super) fn die(&mut self, town: &mut Town) {
        let numbers: Vec<u32> = self.parts.keys().copied().collect();
        numbers.into_iter().for_each(|partition| self.close(partition, town));
        self.quit(town);
    }

    /// The market: reports, and the till if it is here.
    fn trade(&mut self, town: &mut Town) {
        let local = self.local(town);
        if local >= self.purse.next_report() && self.node.lease_ends(local).is_some() {
            let demand = self.report(local);
            if let Some((owner, _)) = self.node.owner_of(Seat::Price)
                && let Some(to) = town.nodes.get(&owner.node).copied()
            {
                let bytes = wire::encode(CRAWL, &demand);
                town.count(wire::Kind::Demand as usize, bytes.len());
                town.send(&Happening::Report(to, Box::new(demand)));
            }
        }
        if local >= self.next_load {
            self.next_load = local + Span::MINUTE.times(5);
            for (partition, part) in &mut self.parts {
                self.node.set_load(*partition, part.count_fetches() as f32 / 300.0);
            }
            self.spread(local);
        }
        if local < self.till_waits || self.node.may_act(local, Seat::Price).is_none() {
            return;
        }
        let node = &self.node;
        let want = self.till.as_mut().and_then(|till| till.want(local, |id| !node.is_dead(id)));
        match want {
            Some(Want::Read) => {
                self.till_waits = local + Span::SECOND.times(2);
                town.ask_broker(self.who, ToBroker::ReadQuote);
            }
            Some(Want::Write { write, expected, quote }) => {
                let (place, key) = (Place::Checkpoints, "quote".into());
                self.put(town, place, key, expected, &quote, Asked::Till(write));
            }
            Some(Want::Deposed) => self.till = None,
            None => {}
        }
    }

    fn report(&mut self, local: Time) -> Demand {
        let mut curve = DemandCurve::new(|_| 0.0);
        let mut pages = 0;
        for part in self.parts.values_mut() {
            pages += part.state().pages_stored().len() as u64;
            if let Some(demand) = part.demand(local) {
                curve.add(demand);
            }
        }
        self.reported = curve.clone();
        self.purse.report(local, self.me, Some(curve), pages, [0.0; 2])
    }

    /// Spreads the node's grant over its partitions by demand.
    fn spread(&mut self, local: Time) {
        let rate = self.purse.rate();
        let zero = || DemandCurve::new(|_| 0.0);
        let curves: Vec<DemandCurve> = self
            .parts
            .values_mut()
            .map(|part| part.demand(local).cloned().unwrap_or_else(zero))
            .collect();
        let shares = DemandCurve::split(&curves, rate);
        for (part, share) in self.parts.values_mut().zip(shares) {
            part.set_budget(share, local);
        }
    }

    /// One turn of a partition.
    fn work(&mut self, partition: u32, town: &mut Town) {
        let local = self.local(town);
        let Some(part) = self.parts.get_mut(&partition) else { return };
        let seat = Seat::Partition(partition);
        let Some(epoch) = self.node.may_act(local, seat).filter(|epoch| *epoch == part.epoch)
        else {
            return;
        };
        part.choose(local, &town.web);
        if let Some(state) = part.commit_in_time(local) {
            town.disks[self.who.slot].insert(partition, state);
        }
        for (to, parcel) in part.publish(local, partition, &town.web) {
            town.judge.act(town.now, partition, epoch, "published links");
            let bytes = wire::encode(CRAWL, &parcel);
            town.count(wire::Kind::Parcel as usize, bytes.len());
            let (number, id) = (parcel.id.number, parcel.id.message_id());
            let ask = ToBroker::Publish { from: partition, epoch, number, to, id, bytes };
            town.ask_broker(self.who, ask);
        }
        let position = part.state().position();
        if town.draws.chance(0.5) {
            town.ask_broker(self.who, ToBroker::Read { partition, epoch, position });
        }
        self.begin_requests(partition, town);
        self.checkpoint(partition, town);
    }

    fn checkpoint(&mut self, partition: u32, town: &mut Town) {
        let local = self.local(town);
        let Some(part) = self.parts.get_mut(&partition) else { return };
        let is_last = part.is_draining && part.is_quiet();
        if !is_last && local < part.next_checkpoint {
            return;
        }
        part.next_checkpoint = local + Span::MINUTE.times(5);
        if let Some(state) = part.commit(local) {
            town.disks[self.who.slot].insert(partition, state);
        }
        self.objects += 1;
        let name = format!("{partition}/{}/{}/{}", part.epoch.0, self.who.life, self.objects);
        let state = part.state().clone();
        let mut position = state.position();
        if town.sabotages(Sabotage::PurgeAhead) {
            position += 5;
        }
        town.objects.insert(name.clone(), Rc::new(state));
        self.node.checkpoint(local, partition, position, name);
        if is_last {
            self.close(partition, town);
            self.node.drained(local, partition);
        }
        self.obey(town);
    }

    /// Asks desks for slots, and begins what has one.
    fn begin_requests(&mut self, partition: u32, town: &mut Town) {
        let local = self.local(town);
        let Some(part) = self.parts.get_mut(&partition) else { return };
        let epoch = part.epoch;
        let mut asks: Vec<Ask> = Vec::new();
        for (address, is_busy) in part.addresses() {
            asks.extend(part.slots.question(local, Web::ip(address), is_busy));
        }
        let mut begun = Vec::new();
        let ignores_slots = town.sabotages(Sabotage::NoDesk);
        let mut busy: Vec<u32> = part.flights.values().map(|flight| flight.address).collect();
        part.waiting.retain(|flight| {
            let until = part.slots.until(local, Web::ip(flight.address));
            let may = until.is_some() || ignores_slots;
            let begins = may && (ignores_slots || !busy.contains(&flight.address));
            if begins {
                busy.push(flight.address);
                begun.push((*flight, until.unwrap_or(Time::NEVER)));
            }
            !begins
        });
        for (flight, until) in begun {
            town.judge.act(town.now, partition, epoch, "asked a host");
            town.judge.request(town.now, flight.host, flight.address, epoch);
            town.figures.requests += 1;
            town.figures.fetches += u64::from(flight.is_page());
            let number = flight.number;
            part.flights.insert(number, flight.begin(local));
            let is_slow = town.draws.chance(0.02);
            let took = if is_slow { town.millis(3000, 60_000) } else { town.millis(20, 1500) };
            let who = self.who;
            town.after(took, Happening::Served { who, partition, number });
            town.after(took, Happening::Done { who, partition, epoch, number });
            let ends = self.clock.true_time(until);
            town.at(ends, Happening::SlotEnds { who, partition, epoch, number });
        }
        asks.into_iter().for_each(|ask| self.ask(ask, town));
    }

    /// Sends a question to the owner of the address's desk.
    fn ask(&self, ask: Ask, town: &mut Town) {
        let desk = place::desk(ask.address, town.settings.partitions);
        let Some((owner, _)) = self.node.owner_of(Seat::Partition(desk)) else { return };
        let Some(to) = town.nodes.get(&owner.node).copied() else { return };
        let bytes = wire::encode(CRAWL, &ask).len();
        town.count(wire::Kind::Ask as usize, bytes);
        town.send(&Happening::ToDesk { from: self.who, to, desk, ask });
    }

    /// A question for a desk that should be here.
    pub(super) fn answer(&mut self, from: Who, desk: u32, ask: Ask, town: &mut Town) {
        let local = self.local(town);
        if self.node.may_act(local, Seat::Partition(desk)).is_none() {
            return;
        }
        let Some(open) = self.desks.get_mut(&desk) else { return };
        let reply = open.ask(local, ask);
        if ask.wish != Wish::GiveBack {
            town.send(&Happening::FromDesk { to: from, ask, reply });
        }
    }

    pub(super) fn answered(&mut self, ask: Ask, reply: Reply, town: &Town) {
        let local = self.local(town);
        let Some(part) = self.parts.get_mut(&ask.from.partition) else { return };
        if part.epoch == ask.from.epoch {
            part.slots.replied(local, ask.address, ask.number, reply);
        }
    }

    /// A partition was opened: from the disk, from a checkpoint, or new.
    pub(super) fn opened(
        &mut self,
        partition: u32,
        epoch: tidewatch_cluster::Epoch,
        town: &mut Town,
    ) {
        let local = self.local(town);
        let is_it =
            |command: &Command| matches!(command, Command::Open { epoch: e, .. } if *e == epoch);
        if !self.opening.get(&partition).is_some_and(is_it) {
            return;
        }
        let Some(Command::Open { local: last, restore, .. }) = self.opening.remove(&partition)
        else {
            return;
        };
        let disk = town.disks[self.who.slot].get(&partition);
        let newest = |state: &&super::part::State| {
            last.is_some_and(|line| line.has(state.epoch))
                || town.sabotage == Some(Sabotage::StaleDisk)
        };
        let state = match disk.filter(newest) {
            Some(state) => state.clone(),
            None => town
                .object(restore.as_ref())
                .map_or_else(Default::default, |state| (*state).clone()),
        };
        let wall = self.clock.wall(town.now);
        let mut part = Part::open(partition, epoch, state, wall, local, &town.web);
        if let Some(state) = part.commit(local) {
            town.disks[self.who.slot].insert(partition, state);
        }
        let mut desk = Desk::new(local, ADDRESS_GAP);
        if town.sabotages(Sabotage::EagerDesk) {
            desk = Desk::new(Time::ZERO, ADDRESS_GAP);
        }
        self.desks.insert(partition, desk);
        self.parts.insert(partition, part);
        self.node.opened(local, partition);
        self.spread(local);
        self.purse.hurry(local);
    }

    /// A request ended.
    pub(super) fn done(
        &mut self,
        partition: u32,
        epoch: tidewatch_cluster::Epoch,
        number: u64,
        town: &mut Town,
    ) {
        let local = self.local(town);
        let Some(part) = self.parts.get_mut(&partition).filter(|part| part.epoch == epoch) else {
            return;
        };
        let Some(flight) = part.flights.remove(&number) else { return };
        part.ended(flight, local, Some(town.now), &town.web);
        self.give_back(partition, flight.address, town);
    }

    /// Gives back a slot that nothing waits for.
    fn give_back(&mut self, partition: u32, address: u32, town: &mut Town) {
        let local = self.local(town);
        let Some(part) = self.parts.get_mut(&partition) else { return };
        let is_wanted = part.waiting.iter().any(|flight| flight.address == address);
        if !part.is_busy(address) && !is_wanted && town.draws.chance(0.5) {
            let ask = part.slots.give_back(local, Web::ip(address));
            ask.into_iter().for_each(|ask| self.ask(ask, town));
        }
    }

    /// A slot may have ended: its request is aborted unless the slot was prolonged.
    pub(super) fn slot_ends(
        &mut self,
        partition: u32,
        epoch: tidewatch_cluster::Epoch,
        number: u64,
        town: &mut Town,
    ) {
        let local = self.local(town);
        let (who, clock) = (self.who, self.clock);
        let Some(part) = self.parts.get_mut(&partition).filter(|part| part.epoch == epoch) else {
            return;
        };
        let Some(flight) = part.flights.get(&number).copied() else { return };
        if let Some(until) = part.until(local, flight.address) {
            town.at(clock.true_time(until), Happening::SlotEnds { who, partition, epoch, number });
            return;
        }
        part.flights.remove(&number);
        if flight.is_watched {
            town.judge.ended(town.now, flight.host, flight.address, epoch);
        }
        town.figures.aborted += 1;
        part.ended(flight, local, None, &town.web);
    }

    /// The states of the open partitions.
    pub(super) fn states(&self) -> impl Iterator<Item = (u32, &super::part::State)> {
        self.parts.iter().map(|(partition, part)| (*partition, part.state()))
    }

    /// Whether a partition crawls here.
    pub(super) fn crawls(&self, partition: u32, town: &Town) -> bool {
        let local = self.local(town);
        self.parts.contains_key(&partition)
            && self.node.may_act(local, Seat::Partition(partition)).is_some()
    }

    /// The demand curve that was reported last, and the last price heard.
    pub(super) fn market(&self) -> (&DemandCurve, f64) {
        (&self.reported, self.purse.price())
    }

    /// A server has answered a request.
    pub(super) fn served(&mut self, partition: u32, number: u64, town: &mut Town) {
        let Some(part) = self.parts.get_mut(&partition) else { return };
        if let Some(flight) = part.flights.get_mut(&number)
            && std::mem::take(&mut flight.is_watched)
        {
            town.judge.ended(town.now, flight.host, flight.address, part.epoch);
        }
    }

    /// The process stops for a while. Requests under way go on, and nobody can abort them: that is not
    /// promised, so the judge looks away.
    pub(super) fn pause(&mut self, until: Time) {
        self.paused_until = until;
        let flights = self.parts.values_mut().flat_map(|part| part.flights.values_mut());
        flights.for_each(|flight| flight.is_watched = false);
    }

    /// Leaves the cluster for good.
    pub(super) fn leave(&mut self, town: &Town) {
        let local = self.local(town);
        self.node.leave(local);
    }

    pub(super) fn manifest_of(town: &mut Town, bytes: &[u8]) -> Option<Manifest> {
        town.read(bytes)
    }
}
