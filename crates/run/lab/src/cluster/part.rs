//! A partition at its owner: a real frontier and policy, an outbox, an inbox, and a disk.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

use tidewatch_cluster::Epoch;
use tidewatch_cluster::desk::{Asker, Slots};
use tidewatch_cluster::parcel::{Inbox, Link, Parcel, ParcelId, ParcelNumber, Taken};
use tidewatch_cluster::popular::Popular;
use tidewatch_core::{
    Content, Discovery, Event, HostId, LinkSeen, Observation, Outcome, PageId, PageKey, Rate,
    Reason, Span, Time,
};
use tidewatch_frontier::{
    Answer, Command, Frontier, HostMemo, Limits, Next, Politeness, RobotsRead, ServerId,
};
use tidewatch_policy::{DemandCurve, Policy, Setup, registry};

use super::web::Web;

/// The gap between two requests to a host, and to an address, on the node's clock.
pub(super) const HOST_GAP: Span = Span::SECOND.times(2);
pub(super) const ADDRESS_GAP: Span = Span::from_micros(500_000);
/// Time between two commits. Longer than in a real crawl, because each saves a whole frontier, and so that a
/// crash loses something.
const COMMIT_EVERY: Span = Span::SECOND.times(20);
/// Bytes of the memory of popular pages: 16 pages, so that some are evicted.
const POPULAR: usize = 16 * 16;

/// What survives a crash. One commit makes all of it durable.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The last owner that opened it.
    pub(super) epoch: Epoch,
    frontier: Rc<Vec<u8>>,
    /// Hosts and pages of the web by their numbers here, and back.
    hosts: Vec<u32>,
    pages: Vec<u32>,
    host_ids: BTreeMap<u32, HostId>,
    page_ids: BTreeMap<u32, PageId>,
    /// Pages with a copy, and when it was made.
    stored: BTreeMap<u32, Time>,
    outbox: BTreeMap<ParcelNumber, Row>,
    inbox: Inbox,
    /// Every message that this line of history has read, newest first. For the judge.
    read: Option<Rc<Read>>,
    last: Time,
}

/// A row of the outbox.
#[derive(Clone, Debug)]
struct Row {
    to: u32,
    links: Vec<u32>,
    counts: Vec<(PageKey, u32)>,
}

/// A message that was read: its place in the stream and its parcel, if that was taken in.
#[derive(Debug)]
struct Read {
    sequence: u64,
    taken: Option<ParcelId>,
    before: Option<Rc<Read>>,
}

impl Drop for Read {
    /// One by one: a long chain must not be dropped by recursion.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(read) = next {
            next = Rc::try_unwrap(read).ok().and_then(|mut read| read.before.take());
        }
    }
}

impl State {
    fn reads(&self) -> impl Iterator<Item = &Read> {
        std::iter::successors(self.read.as_deref(), |read| read.before.as_deref())
    }

    pub(super) fn has_taken(&self, id: ParcelId) -> bool {
        self.reads().any(|read| read.taken == Some(id))
    }

    /// The places of all messages that were read.
    pub(super) fn sequences(&self) -> BTreeSet<u64> {
        self.reads().map(|read| read.sequence).collect()
    }

    /// Whether a parcel counts as a repeat here although it was never taken: its sender was deposed.
    pub(super) fn refuses(&self, parcel: &Parcel) -> bool {
        self.inbox.clone().take(u64::MAX, parcel.id, parcel.oldest) == Taken::Repeat
    }

    pub(super) fn pages_stored(&self) -> BTreeSet<u32> {
        self.stored.keys().copied().collect()
    }

    pub(super) fn is_stored(&self, page: u32) -> bool {
        self.stored.contains_key(&page)
    }

    pub(super) fn is_known(&self, page: u32) -> bool {
        self.page_ids.contains_key(&page)
    }

    pub(super) fn position(&self) -> u64 {
        self.inbox.position()
    }
}

/// A request that waits for its slot or is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) number: u64,
    command: Command,
    pub(super) host: u32,
    pub(super) address: u32,
    pub(super) began: Time,
    /// Whether the judge is to be told when it ends.
    pub(super) is_watched: bool,
}

impl Flight {
    /// It begins.
    pub(super) fn begin(self, local: Time) -> Flight {
        Flight { began: local, ..self }
    }

    /// Whether it fetches a page.
    pub(super) const fn is_page(&self) -> bool {
        matches!(self.command, Command::Fetch(..))
    }
}

/// An open partition.
pub(super) struct Part {
    pub(super) epoch: Epoch,
    state: State,
    frontier: Frontier<'static>,
    /// Crawl time and the node's time at the opening.
    base: (Time, Time),
    popular: Popular,
    found: BTreeMap<u32, Row>,
    count: u64,
    next_flight: u64,
    pub(super) waiting: Vec<Flight>,
    pub(super) flights: BTreeMap<u64, Flight>,
    pub(super) slots: Slots,
    sending: BTreeMap<ParcelNumber, Time>,
    pub(super) is_draining: bool,
    is_dirty: bool,
    pub(super) next_checkpoint: Time,
    next_commit: Time,
    next_counts: Time,
    next_demand: Time,
    demand: Option<DemandCurve>,
    fetches: u32,
}

fn policy() -> Box<dyn Policy> {
    // The registry always has it.
    (registry::find("price").unwrap_or(&registry::POLICIES[0]).make)(Setup::seeded(7))
}

fn rules() -> Politeness {
    Politeness {
        least_gap: HOST_GAP,
        most_gap: HOST_GAP,
        patience: 0,
        address_gap: ADDRESS_GAP,
        ..Politeness::default()
    }
}

impl Part {
    /// Opens a partition under a new epoch, at the node's wall clock `wall`, which may be wrong. All hosts
    /// count as just asked.
    pub(super) fn open(
        partition: u32,
        epoch: Epoch,
        mut state: State,
        wall: Time,
        local: Time,
        web: &Web,
    ) -> Part {
        let is_new = state.epoch == Epoch(0);
        state.epoch = epoch;
        let crawl = wall.max(state.last);
        let limits = Limits { requests: 8, jobs: 16 };
        let loaded = Frontier::load(policy(), &mut &state.frontier[..]);
        let mut frontier =
            loaded.unwrap_or_else(|| Frontier::new(policy(), rules(), limits, Rate::ZERO, crawl));
        let lost: Vec<PageId> = frontier.under_way().collect();
        for page in lost {
            let kind = frontier.fetch_kind(page);
            let previous = state.stored.get(&state.pages[page.index()]).copied();
            let outcome = Outcome::Failed(Reason::IdleTimeout);
            frontier.learn(&Event::Fetched(Observation {
                page,
                at: crawl,
                kind,
                previous,
                outcome,
            }));
        }
        frontier.resume(crawl);
        let mut part = Part {
            epoch,
            state,
            frontier,
            base: (crawl, local),
            popular: Popular::new(POPULAR),
            found: BTreeMap::new(),
            count: 0,
            next_flight: 0,
            waiting: Vec::new(),
            flights: BTreeMap::new(),
            slots: Slots::new(Asker { partition, epoch }),
            sending: BTreeMap::new(),
            is_draining: false,
            is_dirty: true,
            next_checkpoint: local + Span::MINUTE,
            next_commit: local,
            next_counts: local + Span::MINUTE,
            next_demand: local,
            demand: None,
            fetches: 0,
        };
        if is_new && web.owner(0) == partition {
            part.know(0, None, crawl, web);
        }
        part
    }

    fn crawl_time(&self, local: Time) -> Time {
        self.base.0 + local.since(self.base.1)
    }

    /// Makes a page known.
    fn know(&mut self, page: u32, via: Option<PageId>, at: Time, web: &Web) -> LinkSeen {
        if let Some(known) = self.state.page_ids.get(&page) {
            return LinkSeen { page: *known, is_new: false };
        }
        let number = web.host(page);
        let host = *self.state.host_ids.entry(number).or_insert_with(|| {
            self.state.hosts.push(number);
            self.frontier.add_host(HostMemo::default())
        });
        let id = self.frontier.next_page();
        let url = web.url(page);
        self.frontier.learn(&Event::Discovered(Discovery {
            page: id,
            host,
            key: PageKey::of(&url),
            url: &url,
            at,
            via,
            is_source: web.is_hub(page),
            is_held: false,
            weight: 1.0,
        }));
        self.state.pages.push(page);
        self.state.page_ids.insert(page, id);
        self.is_dirty = true;
        LinkSeen { page: id, is_new: true }
    }

    /// Asks the frontier for requests, which then wait for their slots.
    pub(super) fn choose(&mut self, local: Time, web: &Web) {
        let now = self.crawl_time(local);
        while !self.is_draining {
            let Next::Do(command) = self.frontier.next(now) else { break };
            self.is_dirty = true;
            let host = match command {
                Command::Resolve(host) => {
                    let server = ServerId(web.address(self.state.hosts[host.index()]));
                    self.frontier.resolved(host, server, now + Span::DAY, now);
                    continue;
                }
                Command::ReadRobots(host) | Command::Fetch(host, _) => {
                    self.state.hosts[host.index()]
                }
            };
            self.next_flight += 1;
            let (number, address) = (self.next_flight, web.address(host));
            self.waiting.push(Flight {
                number,
                command,
                host,
                address,
                began: local,
                is_watched: true,
            });
        }
    }

    /// A request ended; `true_now` is when the web is looked at, `None` if it was aborted.
    pub(super) fn ended(&mut self, flight: Flight, local: Time, true_now: Option<Time>, web: &Web) {
        self.is_dirty = true;
        let (now, took) = (self.crawl_time(local), local.since(flight.began));
        let answer = if true_now.is_some() { Answer::Usual } else { Answer::Nothing };
        match flight.command {
            Command::Resolve(_) => {}
            Command::ReadRobots(host) => {
                let good_until = now + Span::DAY;
                let read = RobotsRead { answer, took, crawl_delay: Span::ZERO, good_until };
                self.frontier.robots_read(host, &read, now);
            }
            Command::Fetch(host, page) => {
                self.frontier.fetched(host, answer, took, now);
                self.learn(page, now, true_now, web);
            }
        }
    }

    fn learn(&mut self, id: PageId, at: Time, true_now: Option<Time>, web: &Web) {
        let page = self.state.pages[id.index()];
        let kind = self.frontier.fetch_kind(id);
        let previous = self.state.stored.get(&page).copied();
        let Some(true_now) = true_now else {
            let outcome = Outcome::Failed(Reason::IdleTimeout);
            let seen = Observation { page: id, at, kind, previous, outcome };
            return self.frontier.learn(&Event::Fetched(seen));
        };
        let mut links = Vec::new();
        for link in web.links(page, true_now).collect::<Vec<u32>>() {
            let to = web.owner(link);
            if to == web.owner(page) {
                links.push(self.know(link, Some(id), at, web));
            } else if self.popular.pass(PageKey::of(&web.url(link)), to) {
                self.row(to).links.push(link);
            }
        }
        let content =
            Content { changed: previous.map(|_| true), links: &links, ..Content::default() };
        let outcome = Outcome::Fetched(content);
        self.frontier.learn(&Event::Fetched(Observation { page: id, at, kind, previous, outcome }));
        self.state.stored.insert(page, at);
        self.fetches += 1;
    }

    fn row(&mut self, to: u32) -> &mut Row {
        let new = Row { to, links: Vec::new(), counts: Vec::new() };
        self.found.entry(to).or_insert(new)
    }

    /// [`Part::commit`], but not more often than every [`COMMIT_EVERY`].
    pub(super) fn commit_in_time(&mut self, local: Time) -> Option<State> {
        if local < self.next_commit {
            return None;
        }
        self.next_commit = local + COMMIT_EVERY;
        self.commit(local)
    }

    /// Moves what was found to the outbox and returns the new durable state, if anything has changed.
    pub(super) fn commit(&mut self, local: Time) -> Option<State> {
        if local >= self.next_counts {
            self.next_counts = local + Span::MINUTE.times(10);
            for count in self.popular.counts() {
                self.row(count.to).counts.push((count.page, count.links));
            }
        }
        self.is_dirty |= !self.found.is_empty();
        if !self.is_dirty {
            return None;
        }
        for (_, row) in std::mem::take(&mut self.found) {
            self.count += 1;
            if let Some(number) = ParcelNumber::new(self.epoch, self.count) {
                self.state.outbox.insert(number, row);
            }
        }
        let mut bytes = Vec::new();
        let is_saved = self.frontier.save(&mut bytes).unwrap_or(false);
        assert!(is_saved, "the price policy can be saved");
        (self.state.frontier, self.is_dirty) = (Rc::new(bytes), false);
        self.state.last = self.crawl_time(local);
        Some(self.state.clone())
    }

    /// Parcels to publish now: new ones, and those without an acknowledgement for a while.
    pub(super) fn publish(&mut self, local: Time, from: u32, web: &Web) -> Vec<(u32, Parcel)> {
        let Some((oldest, _)) = self.state.outbox.first_key_value() else { return Vec::new() };
        let (oldest, mut parcels) = (*oldest, Vec::new());
        for (number, row) in &self.state.outbox {
            let is_waiting = self
                .sending
                .get(number)
                .is_some_and(|at| local.since(*at) < Span::SECOND.times(10));
            if is_waiting || parcels.len() >= 20 {
                continue;
            }
            self.sending.insert(*number, local);
            let link = |page: &u32| Link {
                url: web.url(*page),
                depth: 1,
                hops: 0,
                is_source: web.is_hub(*page),
                via: None,
            };
            let links = row.links.iter().map(link).collect();
            let id = ParcelId { from, number: *number };
            parcels.push((row.to, Parcel { id, oldest, links, counts: row.counts.clone() }));
        }
        parcels
    }

    /// The broker has a parcel.
    pub(super) fn acknowledged(&mut self, number: ParcelNumber) {
        self.sending.remove(&number);
        self.is_dirty |= self.state.outbox.remove(&number).is_some();
    }

    /// Takes in a message; `true` if its parcel was taken twice.
    pub(super) fn take(&mut self, sequence: u64, parcel: &Parcel, local: Time, web: &Web) -> bool {
        let before = self.state.inbox.position();
        let taken = self.state.inbox.take(sequence, parcel.id, parcel.oldest);
        self.is_dirty |= self.state.inbox.position() != before;
        if self.state.inbox.position() == before {
            return false;
        }
        let (is_new, is_known) = (taken == Taken::New, self.state.has_taken(parcel.id));
        let (taken, before) = (is_new.then_some(parcel.id), self.state.read.take());
        self.state.read = Some(Rc::new(Read { sequence, taken, before }));
        if !is_new {
            return false;
        }
        let at = self.crawl_time(local);
        for link in &parcel.links {
            if let Some(page) = web.find(&link.url) {
                self.know(page, None, at, web);
            }
        }
        is_known
    }

    /// The demand, which is worked out anew every few minutes.
    pub(super) fn demand(&mut self, local: Time) -> Option<&DemandCurve> {
        if local >= self.next_demand {
            self.next_demand = local + Span::MINUTE.times(10);
            self.demand = self.frontier.demand();
        }
        self.demand.as_ref()
    }

    pub(super) fn set_budget(&mut self, rate: f64, local: Time) {
        let now = self.crawl_time(local);
        if let Some(rate) = Rate::per_second(rate)
            && (rate.as_per_second() - self.frontier.budget().as_per_second()).abs()
                > 0.02 * self.frontier.budget().as_per_second()
        {
            self.frontier.set_budget(rate, now);
        }
    }

    pub(super) const fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.flights.is_empty()
    }

    /// Addresses that requests wait for or use, and whether one is under way.
    pub(super) fn addresses(&self) -> BTreeMap<u32, bool> {
        let mut all: BTreeMap<u32, bool> =
            self.waiting.iter().map(|flight| (flight.address, false)).collect();
        all.extend(self.flights.values().map(|flight| (flight.address, true)));
        all
    }

    /// Whether an address has a request under way.
    pub(super) fn is_busy(&self, address: u32) -> bool {
        self.flights.values().any(|flight| flight.address == address)
    }

    /// Until when requests to an address may last.
    pub(super) fn until(&self, local: Time, address: u32) -> Option<Time> {
        let ip: IpAddr = Web::ip(address);
        self.slots.until(local, ip)
    }

    /// Fetches since the last call.
    pub(super) fn count_fetches(&mut self) -> u32 {
        std::mem::take(&mut self.fetches)
    }
}
