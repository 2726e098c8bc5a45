//! The simulated crawler: what is known, what is held, and what the policy is told.

use tidewatch_core::{
    Content, Discovery, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen, Observation,
    Outcome, PageId, Signal, Time,
};
use tidewatch_policy::{Gate, Policy};
use tidewatch_trace::Count;

use super::meter::{Measures, Meter};
use super::{Logged, Settings, Start};
use crate::LabError;
use crate::world::World;

const CLICK: InterestKind = InterestKind::Click;
const VIEW: InterestKind = InterestKind::View;
/// A page or host that the crawler has not met yet.
const UNKNOWN: u32 = u32::MAX;

/// The state of one run.
pub(super) struct Crawl<'w> {
    world: &'w World,
    settings: &'w Settings,
    meter: Meter<'w>,
    /// From the trace's numbers to the crawler's, and back.
    page_ids: Vec<u32>,
    pages: Vec<u32>,
    host_ids: Vec<u32>,
    hosts: Vec<u32>,
    gates: HostGates,
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
    /// Rows of the trace's link table.
    rows: Vec<u32>,
}

/// When hosts may be fetched from again, by the crawler's host number.
#[derive(Debug, Default)]
pub(super) struct HostGates(Vec<Time>);

impl Gate for HostGates {
    fn opens_at(&self, host: HostId) -> Time {
        self.0.get(host.index()).copied().unwrap_or(Time::ZERO)
    }
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
            page_ids: vec![UNKNOWN; world.len()],
            pages: Vec::new(),
            host_ids: vec![UNKNOWN; world.trace().hosts.len()],
            hosts: Vec::new(),
            gates: HostGates::default(),
            shown: vec![Shown::default(); world.len()],
            births: 0,
            signals: 0,
            log: Log::default(),
            links: Vec::new(),
            anchors: Vec::new(),
            sketch: Vec::new(),
        })
    }

    pub(super) fn gates(&self) -> &dyn Gate {
        &self.gates
    }

    /// Sets up what is known and held at time 0.
    pub(super) fn begin(&mut self, policy: &mut dyn Policy) {
        let is_warm = self.settings.start == Start::Warm;
        let pages = &self.world.trace().pages;
        for (page, row) in pages.iter().enumerate() {
            let page = page as u32;
            let is_there = row.born == Time::ZERO;
            if is_there && (is_warm || row.is_seed || self.settings.reveal) {
                self.discover(policy, page, Time::ZERO, None, is_warm);
            }
            let is_held = is_there && is_warm;
            if !(row.is_source || is_held) {
                self.meter.may_be_covered(page);
            }
        }
        if is_warm {
            let there = |page: &u32| pages[*page as usize].born == Time::ZERO;
            for page in (0..pages.len() as u32).filter(there) {
                let seen = self.observe(policy, page, Time::ZERO);
                policy.learn(&Event::Held(seen));
                self.meter.copy(page, Time::ZERO);
            }
        }
    }

    /// Lets time pass until `now`: births, hints and log pushes in their order.
    pub(super) fn advance(&mut self, policy: &mut dyn Policy, now: Time) {
        loop {
            let birth = self.next_birth();
            let hint = self.next_signal();
            let push = Time::ZERO + self.settings.log_push.times(self.log.pushes + 1);
            let next = birth.min(hint).min(push);
            if next > now {
                return;
            }
            if next == birth {
                let page = self.world.births()[self.births];
                self.births += 1;
                self.discover(policy, page, birth, None, false);
            } else if next == hint {
                self.hint(policy);
            } else {
                self.push_log(policy, push);
            }
        }
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
        let signals = self.world.trace().signals.as_ref();
        signals.and_then(|s| s.rows.get(self.signals)).map_or(Time::NEVER, |row| row.at)
    }

    /// Passes on a hint, if it is about a page the crawler knows.
    fn hint(&mut self, policy: &mut dyn Policy) {
        let Some(signals) = self.world.trace().signals.as_ref() else { return };
        let row = signals.rows[self.signals];
        self.signals += 1;
        let id = self.page_ids[row.page as usize];
        if id != UNKNOWN {
            let kind = &signals.kinds[row.kind as usize];
            policy.learn(&Event::Hinted(Signal { page: PageId(id), at: row.at, kind }));
        }
    }

    /// Tells the policy of the clicks and views up to `until`, on the pages that are logged.
    fn push_log(&mut self, policy: &mut dyn Policy, until: Time) {
        let world = self.world;
        self.log.clicks += self.read_log(world.clicks_by_time(self.log.clicks), until, CLICK);
        self.log.views += self.read_log(world.views_by_time(self.log.views), until, VIEW);
        self.log.pushes += 1;
        if world.trace().clicks.is_none() && world.trace().views.is_none() {
            // Nobody keeps a log, which is not to say that nobody clicks.
            return;
        }
        policy.learn(&Event::Log(&self.log.pending));
        self.log.pending.clear();
    }

    /// Moves rows up to `until` to what is pending; how many there were.
    fn read_log<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r Count>,
        until: Time,
        kind: InterestKind,
    ) -> usize {
        let mut read = 0;
        for row in rows.take_while(|row| row.at <= until) {
            read += 1;
            let is_logged = match self.settings.logged {
                Logged::Held => self.meter.first_copied(row.page).is_some_and(|at| at <= row.at),
                Logged::Known => self.page_ids[row.page as usize] != UNKNOWN,
            };
            if is_logged {
                let page = PageId(self.page_ids[row.page as usize]);
                self.log.pending.push(Interest { page, at: row.at, count: row.count, kind });
            }
        }
        read
    }

    /// Makes a page known, once.
    fn discover(
        &mut self,
        policy: &mut dyn Policy,
        page: u32,
        at: Time,
        via: Option<PageId>,
        is_held: bool,
    ) -> PageId {
        let row = &self.world.trace().pages[page as usize];
        let host = self.host(row.host);
        let id = PageId(self.pages.len() as u32);
        self.page_ids[page as usize] = id.0;
        self.pages.push(page);
        policy.learn(&Event::Discovered(Discovery {
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

    fn host(&mut self, host: u32) -> HostId {
        let id = &mut self.host_ids[host as usize];
        if *id == UNKNOWN {
            *id = self.hosts.len() as u32;
            self.hosts.push(host);
            self.gates.0.push(Time::ZERO);
        }
        HostId(*id)
    }

    /// Carries out a choice.
    pub(super) fn fetch(
        &mut self,
        policy: &mut dyn Policy,
        id: PageId,
        at: Time,
    ) -> Result<(), LabError> {
        let page = *self.pages.get(id.index()).ok_or(LabError::UnknownPage { page: id })?;
        self.pass_gate(id, page, at)?;
        self.take(policy, page, at);
        Ok(())
    }

    /// Fetches a page of the trace, known or not: what a recorded crawl did.
    pub(super) fn take_recorded(&mut self, policy: &mut dyn Policy, page: u32, at: Time) {
        if self.page_ids[page as usize] == UNKNOWN {
            self.discover(policy, page, at, None, false);
        }
        self.take(policy, page, at);
    }

    fn take(&mut self, policy: &mut dyn Policy, page: u32, at: Time) {
        let seen = self.observe(policy, page, at);
        let (kind, is_gone) = (seen.kind, seen.outcome == Outcome::Gone);
        policy.learn(&Event::Fetched(seen));
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

    fn pass_gate(&mut self, id: PageId, page: u32, at: Time) -> Result<(), LabError> {
        let host = self.world.trace().pages[page as usize].host;
        let gate = &mut self.gates.0[self.host_ids[host as usize] as usize];
        if *gate > at {
            return Err(LabError::ClosedHost { page: id, at, opens: *gate });
        }
        *gate = at + self.world.host_gap(host);
        Ok(())
    }

    pub(super) fn idle(&mut self, at: Time) {
        self.meter.count_idle(at);
    }

    pub(super) fn finish(self, end: Time) -> Measures {
        self.meter.finish(end)
    }

    /// What a fetch of `page` at `at` shows; pages it reveals become known on the way.
    fn observe(&mut self, policy: &mut dyn Policy, page: u32, at: Time) -> Observation<'_> {
        let row = &self.world.trace().pages[page as usize];
        let id = PageId(self.page_ids[page as usize]);
        let previous = self.meter.copied(page);
        let kind = self.kind(page);
        if row.died.is_some_and(|died| died <= at) {
            return Observation { page: id, at, kind, previous, outcome: Outcome::Gone };
        }
        let links_moved = self.show_links(page, at);
        self.reveal_links(policy, page, id, at);
        self.meter.close(page, at);
        self.meter.contents.sketch(page, self.settings.sketch_len, &mut self.sketch);
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

    fn kind(&self, page: u32) -> FetchKind {
        let is_source = self.world.trace().pages[page as usize].is_source;
        let was_fetched = self.meter.first_copied(page).is_some();
        match (was_fetched, is_source) {
            (true, true) => FetchKind::Source,
            (true, false) => FetchKind::Refresh,
            (false, false) if self.world.is_shown_by_source(page) => FetchKind::New,
            (false, _) => FetchKind::Frontier,
        }
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
            // Links that came and went between two looks were never seen.
            if table[row].disappears.is_none_or(|gone| gone > at) {
                shown.rows.push(row as u32);
                moved = true;
            }
        }
        moved
    }

    fn reveal_links(&mut self, policy: &mut dyn Policy, page: u32, id: PageId, at: Time) {
        let table = &self.world.trace().links;
        let rows = std::mem::take(&mut self.shown[page as usize].rows);
        self.links.clear();
        self.anchors.clear();
        for &row in &rows {
            let target = table[row as usize].page;
            self.anchors.extend(self.world.words().anchor(target));
            let is_new = self.page_ids[target as usize] == UNKNOWN;
            let target = if is_new {
                self.discover(policy, target, at, Some(id), false)
            } else {
                PageId(self.page_ids[target as usize])
            };
            self.links.push(LinkSeen { page: target, is_new });
        }
        self.shown[page as usize].rows = rows;
    }
}
