//! The simulated web and its visitors: answers the frontier's commands and tells it what happens.

use std::collections::BTreeMap;

use tidewatch_core::{
    Content, Discovery, Doubted, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen,
    Observation, Outcome, PageId, Signal, Span, Time,
};
use tidewatch_frontier::{Answer, Command, Defect, Frontier, HostMemo, Next, RobotsRead, ServerId};
use tidewatch_trace::Count;

use super::cleaning::Filters;
use super::learner::{Leads, Learner};
use super::meter::{Measures, Meter};
use super::{Cleaning, Logged, Onlooker, Settings, Start};
use crate::LabError;
use crate::world::World;

const CLICK: InterestKind = InterestKind::Click;
const VIEW: InterestKind = InterestKind::View;
/// A page or host of the trace that the frontier does not know yet.
const UNKNOWN: u32 = u32::MAX;

/// The state of one run.
pub(super) struct Crawl<'w> {
    world: &'w World,
    settings: &'w Settings,
    meter: Meter<'w>,
    /// `None` if nothing is done about waste.
    filters: Option<Filters<'w>>,
    /// `None` if no rules are learnt.
    learner: Option<Learner<'w>>,
    /// From the trace's numbers to the frontier's, and back.
    page_ids: Vec<u32>,
    pages: Vec<u32>,
    host_ids: Vec<u32>,
    hosts: Vec<u32>,
    /// Requests under way, by when they end. A host has one at most.
    requests: BTreeMap<(Time, HostId), Command>,
    /// Per page: how many of its links have appeared, and which are still shown.
    shown: Vec<Shown>,
    births: usize,
    signals: usize,
    log: Log,
    links: Vec<LinkSeen>,
    anchors: Vec<&'w str>,
    sketch: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Shown {
    appeared: u32,
    /// Rows of the trace's link table, from the top of the page.
    rows: Vec<u32>,
}

/// How far the search log has been passed on.
#[derive(Debug, Default)]
struct Log {
    clicks: usize,
    views: usize,
    pushes: u64,
    pending: Vec<Interest>,
}

impl<'w> Crawl<'w> {
    pub(super) fn new(world: &'w World, settings: &'w Settings) -> Result<Self, LabError> {
        let (from, until) = settings.window(world)?;
        Ok(Crawl {
            world,
            settings,
            meter: Meter::new(world, from, until),
            filters: (settings.cleaning != Cleaning::Nothing).then(|| Filters::new(world)),
            learner: match settings.cleaning {
                Cleaning::Nothing | Cleaning::Filters => None,
                Cleaning::Rules => Some(Learner::new(world, 0)),
                Cleaning::Labelled(hosts) => Some(Learner::new(world, hosts)),
            },
            page_ids: vec![UNKNOWN; world.len()],
            pages: Vec::new(),
            host_ids: vec![UNKNOWN; world.trace().hosts.len()],
            hosts: Vec::new(),
            requests: BTreeMap::new(),
            shown: vec![Shown::default(); world.len()],
            births: 0,
            signals: 0,
            log: Log::default(),
            links: Vec::new(),
            anchors: Vec::new(),
            sketch: Vec::new(),
        })
    }

    /// Tells the frontier what is known and held at time 0.
    pub(super) fn begin(&mut self, frontier: &mut Frontier<'_>) {
        let is_warm = self.settings.start == Start::Warm;
        let world = self.world;
        let pages = &world.trace().pages;
        for &page in world.by_hash() {
            let row = &pages[page as usize];
            let is_there = row.born == Time::ZERO;
            if is_there && (is_warm || row.is_seed || self.settings.reveal) {
                self.discover(frontier, page, Time::ZERO, None, is_warm);
            }
            let is_held = is_there && is_warm;
            if !(row.is_source || is_held) {
                self.meter.may_be_covered(page);
            }
        }
        if is_warm {
            let there = |page: &&u32| pages[**page as usize].born == Time::ZERO;
            for &page in world.by_hash().iter().filter(there) {
                let seen = self.observe(frontier, page, Time::ZERO);
                frontier.learn(&Event::Held(seen));
                self.meter.copy(page, Time::ZERO);
            }
        }
    }

    /// Lets the crawl run until `end`. Requests still under way then are lost.
    pub(super) fn run(
        &mut self,
        frontier: &mut Frontier<'_>,
        end: Time,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), LabError> {
        let mut now = Time::ZERO;
        while now < end {
            self.advance(frontier, now);
            while let Some(request) = self.requests.first_entry().filter(|r| r.key().0 <= now) {
                let command = request.remove();
                self.answer(frontier, command, self.time_of(command), now);
            }
            let wait = self.work(frontier, now, onlooker)?;
            let request = self.requests.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            now = wait.min(request).min(self.next_event()).max(now);
        }
        self.advance(frontier, end);
        Ok(())
    }

    /// Carries out what the frontier wants at `now`; returns when to ask it again.
    fn work(
        &mut self,
        frontier: &mut Frontier<'_>,
        now: Time,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Time, LabError> {
        loop {
            let idled = frontier.idled();
            onlooker.before(frontier, now);
            let next = frontier.next(now);
            onlooker.after(frontier);
            self.hear_returns(frontier, now);
            self.meter.count_idle(frontier.idled() - idled, now);
            if let Some(defect) = frontier.defect() {
                return Err(match defect {
                    Defect::UnknownPage(page) => LabError::UnknownPage { page },
                    Defect::ClosedHost { page, at, opens } => {
                        LabError::ClosedHost { page, at, opens }
                    }
                    Defect::RestingPage { page, at, opens } => {
                        LabError::RestingPage { page, at, opens }
                    }
                });
            }
            match next {
                Next::Wait(until) => return Ok(until),
                Next::Do(command) => self.begin_request(frontier, command, now),
            }
        }
    }

    /// Learns what pages brought that were fetched a while ago.
    fn hear_returns(&mut self, frontier: &mut Frontier<'_>, now: Time) {
        for of_page in frontier.take_returns() {
            let page = self.pages[of_page.page.index()];
            self.meter.waste.returned(page, of_page.expected, of_page.clicks);
            if self.learner.as_mut().is_some_and(|learner| learner.came(page, &of_page)) {
                self.judge_again(frontier, page, now);
            }
        }
    }

    /// Judges the known pages of a page's host again.
    fn judge_again(&mut self, frontier: &mut Frontier<'_>, page: u32, at: Time) {
        let Some(learner) = &mut self.learner else { return };
        let (page_ids, waste) = (&self.page_ids, &mut self.meter.waste);
        learner.judge_again(page, |page, doubt| {
            waste.doubted(page, doubt);
            let page = PageId(page_ids[page as usize]);
            frontier.learn(&Event::Doubted(Doubted { page, at, doubt }));
        });
    }

    fn begin_request(&mut self, frontier: &mut Frontier<'_>, command: Command, now: Time) {
        let took = self.time_of(command);
        if took == Span::ZERO {
            return self.answer(frontier, command, took, now);
        }
        let (Command::Resolve(host) | Command::ReadRobots(host) | Command::Fetch(host, _)) =
            command;
        self.requests.insert((now + took, host), command);
    }

    /// How long a command takes.
    fn time_of(&self, command: Command) -> Span {
        match command {
            Command::Resolve(_) => Span::ZERO,
            Command::ReadRobots(_) => self.settings.robots_time.unwrap_or(Span::ZERO),
            Command::Fetch(..) => self.settings.fetch_time,
        }
    }

    fn answer(&mut self, frontier: &mut Frontier<'_>, command: Command, took: Span, at: Time) {
        let (answer, good_until) = (Answer::Usual, Time::NEVER);
        match command {
            // The trace does not say which hosts share an address: each has its own.
            Command::Resolve(host) => frontier.resolved(host, ServerId(host.0), good_until, at),
            Command::ReadRobots(host) => {
                let crawl_delay = self.world.host_gap(self.hosts[host.index()]);
                let read = RobotsRead { answer, took, crawl_delay, good_until };
                frontier.robots_read(host, &read, at);
            }
            Command::Fetch(host, page) => {
                frontier.fetched(host, answer, took, at);
                self.take(frontier, self.pages[page.index()], at);
            }
        }
    }

    /// Tells the frontier what happened up to `now`: births, hints and log pushes, by time.
    fn advance(&mut self, frontier: &mut Frontier<'_>, now: Time) {
        while self.next_event() <= now {
            let (birth, hint, push) = (self.next_birth(), self.next_signal(), self.next_push());
            if birth <= hint.min(push) {
                let page = self.world.births()[self.births];
                self.births += 1;
                self.discover(frontier, page, birth, None, false);
            } else if hint <= push {
                self.hint(frontier);
            } else {
                self.push_log(frontier, push);
            }
        }
    }

    /// When the frontier is next told something that it did not ask for.
    fn next_event(&mut self) -> Time {
        self.next_birth().min(self.next_signal()).min(self.next_push())
    }

    fn next_push(&self) -> Time {
        Time::ZERO + self.settings.log_push.times(self.log.pushes + 1)
    }

    /// Birth of the next page that becomes known without a link.
    fn next_birth(&mut self) -> Time {
        let trace = self.world.trace();
        while let Some(&page) = self.world.births().get(self.births) {
            let row = &trace.pages[page as usize];
            if row.is_seed || self.settings.reveal {
                return row.born;
            }
            self.births += 1;
        }
        Time::NEVER
    }

    fn next_signal(&self) -> Time {
        self.world.signal(self.signals).map_or(Time::NEVER, |(_, at, _)| at)
    }

    /// Passes on a hint, if it is about a page that the frontier knows.
    fn hint(&mut self, frontier: &mut Frontier<'_>) {
        let Some((page, at, kind)) = self.world.signal(self.signals) else { return };
        self.signals += 1;
        let id = self.page_ids[page as usize];
        if id != UNKNOWN {
            frontier.learn(&Event::Hinted(Signal { page: PageId(id), at, kind }));
        }
    }

    /// Tells of the clicks and views up to `until`, on the pages that are logged.
    fn push_log(&mut self, frontier: &mut Frontier<'_>, until: Time) {
        let world = self.world;
        self.log.clicks += self.read_log(world.clicks_by_time(self.log.clicks), until, CLICK);
        self.log.views += self.read_log(world.views_by_time(self.log.views), until, VIEW);
        self.log.pushes += 1;
        if world.trace().clicks.is_none() && world.trace().views.is_none() {
            // Without a log nothing is known; an empty one would say that nobody clicks.
            return;
        }
        frontier.learn(&Event::Log(&self.log.pending));
        self.log.pending.clear();
    }

    /// Moves rows up to `until` to `pending`; returns how many rows it read.
    fn read_log<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r Count>,
        until: Time,
        kind: InterestKind,
    ) -> usize {
        let mut read = 0;
        for row in rows.take_while(|row| row.at <= until) {
            read += 1;
            let shown = match self.settings.logged {
                Logged::Held => self.meter.stands_in(row.page),
                Logged::Known => Some(row.page),
            };
            let is_logged = |page: &u32| match self.settings.logged {
                Logged::Held => self.meter.first_copied(*page).is_some_and(|at| at <= row.at),
                Logged::Known => self.page_ids[*page as usize] != UNKNOWN,
            };
            if let Some(page) = shown.filter(is_logged) {
                let page = PageId(self.page_ids[page as usize]);
                self.log.pending.push(Interest { page, at: row.at, count: row.count, kind });
            }
        }
        read
    }

    /// Makes a page of the trace known to the frontier.
    fn discover(
        &mut self,
        frontier: &mut Frontier<'_>,
        page: u32,
        at: Time,
        via: Option<PageId>,
        is_held: bool,
    ) -> PageId {
        let row = &self.world.trace().pages[page as usize];
        let host = self.host(frontier, row.host);
        let id = PageId(self.pages.len() as u32);
        self.page_ids[page as usize] = id.0;
        self.pages.push(page);
        self.meter.waste.discovered(page);
        if let Some(filters) = &mut self.filters {
            filters.discovered(page, via.map(|via| self.pages[via.index()]));
        }
        if let Some(learner) = &mut self.learner {
            learner.discovered(page);
        }
        frontier.learn(&Event::Discovered(Discovery {
            page: id,
            host,
            key: self.world.key(page),
            url: &row.url,
            at,
            via,
            is_source: row.is_source,
            is_held,
            weight: row.weight,
        }));
        if self.settings.logged == Logged::Known {
            self.catch_up(page, id);
        }
        id
    }

    /// Puts the clicks that a page had before it was known into the next push.
    fn catch_up(&mut self, page: u32, id: PageId) {
        let pushed = Time::ZERO + self.settings.log_push.times(self.log.pushes);
        for (rows, kind) in [(self.world.clicks_of(page), CLICK), (self.world.views_of(page), VIEW)]
        {
            let past = rows.iter().take_while(|row| self.log.pushes > 0 && row.at <= pushed);
            self.log.pending.extend(past.map(|row| Interest {
                page: id,
                at: row.at,
                count: row.count,
                kind,
            }));
        }
    }

    fn host(&mut self, frontier: &mut Frontier<'_>, host: u32) -> HostId {
        let id = &mut self.host_ids[host as usize];
        if *id == UNKNOWN {
            let crawl_delay = self.world.host_gap(host);
            let known = HostMemo { crawl_delay, robots_until: Time::NEVER, ..HostMemo::default() };
            let is_known = self.settings.robots_time.is_none();
            *id = frontier.add_host(if is_known { known } else { HostMemo::default() }).0;
            self.hosts.push(host);
        }
        HostId(*id)
    }

    /// Fetches a page of the trace, known or not, as a recorded crawl did.
    pub(super) fn take_recorded(&mut self, frontier: &mut Frontier<'_>, page: u32, at: Time) {
        if self.page_ids[page as usize] == UNKNOWN {
            self.discover(frontier, page, at, None, false);
        }
        self.take(frontier, page, at);
    }

    fn take(&mut self, frontier: &mut Frontier<'_>, page: u32, at: Time) {
        let seen = self.observe(frontier, page, at);
        let (kind, is_gone) = (seen.kind, seen.outcome == Outcome::Gone);
        frontier.learn(&Event::Fetched(seen));
        self.meter.count(page, at, kind);
        if is_gone {
            self.meter.drop_copy(page, at);
            return;
        }
        let is_first = matches!(kind, FetchKind::New | FetchKind::Frontier);
        if is_first && !self.world.trace().pages[page as usize].is_source {
            self.meter.first_fetch(page, at);
        }
        self.meter.copy(page, at);
    }

    pub(super) fn finish(mut self, end: Time) -> Measures {
        if let Some(learner) = &self.learner {
            self.meter.waste.mirrors(&learner.mirrors());
        }
        self.meter.finish(end)
    }

    /// What a fetch of `page` at `at` shows; pages it reveals become known on the way.
    fn observe(&mut self, frontier: &mut Frontier<'_>, page: u32, at: Time) -> Observation<'_> {
        let row = &self.world.trace().pages[page as usize];
        let id = PageId(self.page_ids[page as usize]);
        let previous = self.meter.copied(page);
        let kind = frontier.fetch_kind(id);
        if row.died.is_some_and(|died| died <= at) {
            return Observation { page: id, at, kind, previous, outcome: Outcome::Gone };
        }
        self.meter.close(page, at);
        self.meter.contents.sketch(page, self.settings.sketch_len, &mut self.sketch);
        if previous.is_none() && self.meets_copy(frontier, page, at) {
            return Observation { page: id, at, kind, previous, outcome: Outcome::Gone };
        }
        let links_moved = self.show_links(page, at);
        self.reveal_links(frontier, page, id, at);
        let changed = previous.map(|then| {
            links_moved || self.world.next_change(page, then).is_some_and(|change| change <= at)
        });
        let last_modified = self.settings.last_modified.then(|| self.world.last_change(page, at));
        let content = Content {
            changed,
            last_modified,
            sketch: &self.sketch,
            links: &self.links,
            anchors: &self.anchors,
        };
        Observation { page: id, at, kind, previous, outcome: Outcome::Fetched(content) }
    }

    /// Learns from a page that was just fetched for the first time; whether the filters leave it out.
    fn meets_copy(&mut self, frontier: &mut Frontier<'_>, page: u32, at: Time) -> bool {
        let Some(filters) = &mut self.filters else { return false };
        let Some(identity) = self.meter.contents.identity(page) else { return false };
        let is_copy = filters.is_repeat(page, identity, &self.sketch);
        let Some(learner) = &mut self.learner else { return is_copy };
        if learner.fetched(page, identity, &self.sketch, is_copy) {
            self.judge_again(frontier, page, at);
        }
        let reviewed = self.learner.as_mut().map(|learner| learner.read(page, at));
        for page in reviewed.unwrap_or_default() {
            self.judge_again(frontier, page, at);
        }
        is_copy
    }

    /// Makes the target of a link on `via` known, or finds the known page of which it is another address;
    /// `None` if the filters refuse it.
    fn admit(
        &mut self,
        frontier: &mut Frontier<'_>,
        target: u32,
        (via, via_id): (u32, PageId),
        at: Time,
    ) -> Option<LinkSeen> {
        if self.filters.as_ref().is_some_and(|filters| !filters.admit(target, via)) {
            return None;
        }
        let doubt = match self.learner.as_mut().map(|learner| learner.meet(target)) {
            Some(Leads::To(known, chance)) => {
                self.meter.waste.judged(target, chance, at);
                self.meter.waste.merged(target, known);
                let page = PageId(self.page_ids[known as usize]);
                return Some(LinkSeen { page, is_new: false });
            }
            Some(Leads::Anew(doubt)) => doubt,
            None => 0.0,
        };
        self.meter.waste.judged(target, doubt, at);
        let page = self.discover(frontier, target, at, Some(via_id), false);
        if let Some(learner) = self.learner.as_mut().filter(|_| doubt > 0.0) {
            learner.told(target, doubt);
            frontier.learn(&Event::Doubted(Doubted { page, at, doubt }));
        }
        Some(LinkSeen { page, is_new: true })
    }

    /// Brings the list of links that `page` shows up to `at`; whether it changed.
    fn show_links(&mut self, page: u32, at: Time) -> bool {
        let rows = self.world.link_rows(page);
        let table = &self.world.trace().links;
        let shown = &mut self.shown[page as usize];
        let before = shown.rows.len();
        shown.rows.retain(|&row| table[row as usize].disappears.is_none_or(|gone| gone > at));
        let mut moved = shown.rows.len() != before;
        while rows.start + (shown.appeared as usize) < rows.end {
            let row = rows.start + shown.appeared as usize;
            if table[row].appears > at {
                break;
            }
            shown.appeared += 1;
            // Nobody saw a link that came and went between two visits.
            if table[row].disappears.is_none_or(|gone| gone > at) {
                shown.rows.push(row as u32);
                moved = true;
            }
        }
        if moved {
            shown.rows.sort_by_cached_key(|&row| self.world.place(&table[row as usize]));
        }
        moved
    }

    fn reveal_links(&mut self, frontier: &mut Frontier<'_>, page: u32, id: PageId, at: Time) {
        let table = &self.world.trace().links;
        let rows = std::mem::take(&mut self.shown[page as usize].rows);
        self.links.clear();
        self.anchors.clear();
        for &row in &rows {
            let target = table[row as usize].page;
            let seen = match self.page_ids[target as usize] {
                UNKNOWN => self.admit(frontier, target, (page, id), at),
                known => Some(LinkSeen { page: PageId(known), is_new: false }),
            };
            let Some(seen) = seen else { continue };
            self.anchors.extend(self.world.words().anchor(target));
            self.links.push(seen);
        }
        self.shown[page as usize].rows = rows;
    }
}
