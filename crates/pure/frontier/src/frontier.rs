//! The frontier's state. [`choose`] decides what to do next, [`report`] takes in how it went;
//! [`hosts`] and [`pages`] hold what is known of each host and page.

mod choose;
mod hosts;
mod pages;
mod report;
mod slots;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use serde::{Deserialize, Serialize};
use tidewatch_core::{Event, FetchKind, HostId, PageId, Rate, Span, Time};
use tidewatch_policy::explanation::{Due, Early};
use tidewatch_policy::order::Uniform;
use tidewatch_policy::{
    DemandCurve, Explanation, HintRecord, Policy, Return, Standing, WhatIf, saved,
};

use self::hosts::{Host, Server, nobody};
use self::pages::Pages;
pub use self::slots::SlowLane;
use self::slots::{Slots, Speed};
use crate::{Answer, HostMemo, Pacer, Politeness, Revisit, Unused};

/// An IP address that serves one or more hosts. The caller numbers addresses from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub u32);

/// Limits on concurrency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Requests and DNS look-ups in flight that are not slow ([`SlowLane`]).
    pub requests: usize,
    /// Jobs, including those that wait for their host or address.
    pub jobs: usize,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits { requests: usize::MAX, jobs: usize::MAX };
}

/// What a policy chose although it must not: a defect of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A page that it was never told of. The choice is ignored.
    UnknownPage(PageId),
    /// A page of a host whose gate is closed. The page waits until `opens`, or is passed over where
    /// the host has a job.
    ClosedHost {
        /// The page.
        page: PageId,
        /// When it was chosen.
        at: Time,
        /// When the gate opens.
        opens: Time,
    },
    /// A page that still rests. The policy is told that its fetch was stopped.
    RestingPage {
        /// The page.
        page: PageId,
        /// When it was chosen.
        at: Time,
        /// When its rest is over.
        opens: Time,
    },
}

/// A step of a job. Its host is busy until the caller reports back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Find the host's address; report with [`Frontier::resolved`].
    Resolve(HostId),
    /// Read the host's robots.txt; report with [`Frontier::robots_read`].
    ReadRobots(HostId),
    /// Fetch a page; report with [`Frontier::fetched`].
    Fetch(HostId, PageId),
}

/// An answer of [`Frontier::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Do this, and ask again.
    Do(Command),
    /// Ask again at this time, or after the next report.
    Wait(Time),
}

/// Counts of pages that rests and gaps keep from being fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptBack {
    /// Pages that rest after a visit.
    pub resting: u32,
    /// When the first of them may be fetched again.
    pub first: Time,
    /// Pages that do not rest, but whose host is busy or closed for its gap.
    pub waiting: u32,
}

/// What a robots.txt says of the whole host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRead {
    /// How the request went.
    pub answer: Answer,
    /// How long it took.
    pub took: Span,
    /// Crawl-delay, zero if none.
    pub crawl_delay: Span,
    /// When the file expires.
    pub good_until: Time,
}

/// Everything between a policy and the network. `'p` is `'static` unless the policy borrows
/// something, as the lab's oracles do.
#[derive(Serialize, Deserialize)]
pub struct Frontier<'p> {
    /// Saved and loaded separately.
    #[serde(skip, default = "nobody")]
    policy: Box<dyn Policy + 'p>,
    rules: Politeness,
    revisit: Revisit,
    limits: Limits,
    pacer: Pacer,
    pages: Pages,
    hosts: Vec<Host>,
    servers: Vec<Server>,
    /// Hosts with a waiting job, by when to try it again.
    waiting: BinaryHeap<Reverse<(Time, HostId)>>,
    /// When closed hosts open again: an idle policy is asked again then.
    openings: BinaryHeap<Reverse<Time>>,
    /// Hosts whose jobs ended since the policy was last asked.
    reopened: Vec<HostId>,
    jobs: usize,
    slots: Slots,
    moves: u64,
    /// Set while the policy is told or asked something.
    #[serde(skip)]
    is_asking: bool,
    #[serde(skip)]
    idled: u64,
    #[serde(skip)]
    defect: Option<Defect>,
}

impl<'p> Frontier<'p> {
    /// A frontier that knows no page, whose budget starts to run at `now`. Unused allowances are
    /// kept for a moment.
    pub fn new(
        policy: Box<dyn Policy + 'p>,
        rules: Politeness,
        limits: Limits,
        budget: Rate,
        now: Time,
    ) -> Self {
        Self::paced(policy, rules, limits, Pacer::new(budget, Unused::Keep, now))
    }

    /// A frontier that knows no page, with a pacer of one's own. No page rests until
    /// [`Frontier::set_revisit`].
    pub fn paced(
        mut policy: Box<dyn Policy + 'p>,
        rules: Politeness,
        limits: Limits,
        pacer: Pacer,
    ) -> Self {
        policy.learn(&Event::Budget(pacer.budget()));
        Frontier {
            policy,
            rules,
            revisit: Revisit::NONE,
            limits,
            pacer,
            pages: Pages::default(),
            hosts: Vec::new(),
            servers: Vec::new(),
            waiting: BinaryHeap::new(),
            openings: BinaryHeap::new(),
            reopened: Vec::new(),
            jobs: 0,
            slots: Slots::new(SlowLane::NONE),
            moves: 0,
            is_asking: false,
            idled: 0,
            defect: None,
        }
    }

    /// Writes the whole state for [`Frontier::load`]. `false` if the policy cannot be saved.
    pub fn save(&self, to: &mut dyn io::Write) -> io::Result<bool> {
        Ok(self.policy.save(to)? && saved::write(self, to)?)
    }

    /// Reads what [`Frontier::save`] wrote; `policy` is a new one of the same name. `None` if the
    /// bytes are damaged or of another version.
    pub fn load(mut policy: Box<dyn Policy + 'p>, from: &mut dyn io::Read) -> Option<Self> {
        if !policy.load(from) {
            return None;
        }
        let mut frontier: Self = saved::read(from)?;
        frontier.policy = policy;
        Some(frontier)
    }

    /// All that decides about a page at `now`: the policy's reasons, as far as it can tell, and what
    /// is in the way.
    pub fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        let why = self.policy.why(page, now)?;
        let job = self.job_of(self.pages.host(page)?);
        if job == Some(page) {
            let (due, early) = (Due::UnderWay, Early::No);
            return Some(Explanation { due, early, is_gone: false, ..why });
        }
        Some(Explanation { obstacle: self.obstacle(page, now), ..why })
    }

    /// Predicted figures at another budget, if the policy can tell. Gaps between requests and rests between
    /// visits bound the fetches.
    pub fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        let budget = budget.as_per_second();
        let then = self.policy.what_if(budget.min(self.most_per_second()))?;
        Some(WhatIf { budget, ..then })
    }

    /// Fetches per second that gaps and rests allow in the coming week. Pages never fetched count once.
    /// Scans all pages.
    fn most_per_second(&self) -> f64 {
        let mut allowed = vec![0.0; self.hosts.len()];
        for (page, host) in self.pages.all().zip(self.pages.hosts()) {
            let rest = self.pages.rest(page, &self.revisit).unwrap_or(Span::WEEK);
            allowed[host.index()] += rest.seconds().recip();
        }
        let by_gap =
            |host: &Host| host.memo.gap.max(host.memo.least_gap(&self.rules)).seconds().recip();
        self.hosts.iter().zip(allowed).map(|(host, by_rests)| by_rests.min(by_gap(host))).sum()
    }

    /// The doubt about a page that the policy knows; `None` if it does not weigh doubts.
    pub fn doubt(&self, page: PageId) -> Option<f64> {
        self.policy.doubt(page)
    }

    /// Clicks of pages fetched a while ago, since the last call. The policy's choices do not depend on them.
    pub fn take_returns(&mut self) -> Vec<Return> {
        self.policy.take_returns()
    }

    /// Price and freshness, as far as the policy can tell.
    pub fn standing(&self) -> Option<Standing> {
        self.policy.standing()
    }

    /// How hints have proved themselves, as far as the policy reads them.
    pub fn hint_records(&self, most: usize) -> Vec<HintRecord> {
        self.policy.hint_records(most)
    }

    /// The budget that the policy would spend at each price, if it has a price.
    pub fn demand(&self) -> Option<DemandCurve> {
        self.policy.demand()
    }

    /// The budget now.
    pub fn budget(&self) -> Rate {
        self.pacer.budget()
    }

    /// How many pages each host has, by host number.
    pub fn pages_by_host(&self) -> Vec<u32> {
        let mut pages = vec![0; self.hosts.len()];
        self.pages.hosts().iter().for_each(|host| pages[host.index()] += 1);
        pages
    }

    /// Adds the next host; `memo` is what is already known of it.
    pub fn add_host(&mut self, memo: HostMemo) -> HostId {
        let speed = Speed::Unknown;
        self.hosts.push(Host { memo, server: None, resolved_until: Time::ZERO, job: None, speed });
        HostId(self.hosts.len() as u32 - 1)
    }

    /// Sets the least time between two requests to a host; `None` for the usual one.
    pub(crate) fn set_gap(&mut self, host: HostId, gap: Option<Span>) {
        self.hosts[host.index()].memo.own_gap = gap;
    }

    /// What politeness remembers of a host.
    pub fn memo(&self, host: HostId) -> HostMemo {
        self.hosts[host.index()].memo
    }

    /// The number of the next page to become known.
    pub fn next_page(&self) -> PageId {
        PageId(self.pages.len() as u32)
    }

    /// The host of a page.
    pub fn host_of(&self, page: PageId) -> HostId {
        self.pages.hosts()[page.index()]
    }

    /// What a fetch of `page` is for, given what the frontier was told: whether the page is a
    /// source, whether a source revealed it, and whether a copy is held. Ask before telling how the
    /// fetch ended.
    pub fn fetch_kind(&self, page: PageId) -> FetchKind {
        self.pages.fetch_kind(page)
    }

    /// Counts the changes that [`Frontier::next`] made to the state. A call that made none need not
    /// be on the tape.
    pub const fn moves(&self) -> u64 {
        self.moves
    }

    /// How often the policy was asked and had no page, since this frontier was made or loaded.
    pub const fn idled(&self) -> u64 {
        self.idled
    }

    /// The first defect of the policy, since this frontier was made or loaded.
    pub const fn defect(&self) -> Option<Defect> {
        self.defect
    }

    /// Pages that were chosen and have no outcome yet.
    pub fn under_way(&self) -> impl Iterator<Item = PageId> {
        self.hosts.iter().filter_map(|host| host.job.map(|job| job.page))
    }

    /// The page of a host's job.
    pub fn job_of(&self, host: HostId) -> Option<PageId> {
        self.hosts[host.index()].job.map(|job| job.page)
    }

    /// Starts again after the crawler stopped or died. Forgets all jobs (the caller has told the policy
    /// how their pages ended) and treats every host as if it had just answered.
    pub fn resume(&mut self, now: Time) {
        for host in &mut self.hosts {
            host.job = None;
            host.server = None;
            host.memo = host.memo.resumed(&self.rules, now);
        }
        // The caller numbers addresses anew.
        self.servers.clear();
        self.waiting.clear();
        self.openings.clear();
        self.reopened.clear();
        self.openings.extend(self.hosts.iter().map(|host| Reverse(host.memo.opens)));
        (self.jobs, self.slots) = (0, Slots::new(self.slots.lane()));
        self.pacer.look_now();
    }

    /// Hosts that have a job, and requests under way.
    pub fn activity(&self) -> (usize, usize) {
        (self.jobs, self.slots.under_way())
    }

    /// Tells the policy something. Pages are discovered in the order of their
    /// numbers, after their host was added.
    pub fn learn(&mut self, event: &Event<'_>) {
        self.pages.learn(event, &self.revisit);
        self.pacer.wake();
        self.is_asking = true;
        self.policy.learn(event);
        self.is_asking = false;
    }

    /// Sets another budget.
    pub fn set_budget(&mut self, budget: Rate, now: Time) {
        self.pacer.set(budget, now);
        self.learn(&Event::Budget(budget));
    }

    /// Whether nothing can be fetched at `now` nor within `patience`: there is no job, the policy had no
    /// page when it was last asked, and every page that may be fetched again has a host that stays
    /// closed for longer. A host's usual gap is always waited for. Scans all pages.
    pub fn is_done(&self, patience: Span, now: Time) -> bool {
        let is_far = |opens: Time, gap: Span| opens > now + patience.max(gap);
        let Some(asked) = self.pacer.idled().filter(|_| self.jobs == 0) else { return false };
        self.pages.all().all(|page| {
            let memo = &self.hosts[self.host_of(page).index()].memo;
            let (rests, opens) = (self.pages.opens_at(page, &self.revisit), memo.opens);
            // The policy had its chance to choose what was open when it was asked. What has opened since,
            // it had not.
            rests.max(opens) <= asked || is_far(rests, Span::ZERO) || is_far(opens, memo.gap)
        })
    }

    /// Counts pages that rests and gaps keep from being fetched at `now`. Scans all pages.
    pub fn kept_back(&self, now: Time) -> KeptBack {
        let closed: Vec<bool> = self.hosts.iter().map(|host| host.is_closed(now)).collect();
        let mut kept = KeptBack { resting: 0, first: Time::NEVER, waiting: 0 };
        for (page, host) in self.pages.all().zip(self.pages.hosts()) {
            let opens = self.pages.opens_at(page, &self.revisit);
            if opens > now {
                kept.resting += 1;
                kept.first = kept.first.min(opens);
            } else if closed[host.index()] {
                kept.waiting += 1;
            }
        }
        kept
    }

    /// Sets how long pages rest between two fetches.
    pub fn set_revisit(&mut self, rule: Revisit) {
        self.revisit = rule;
        self.pacer.look_now();
    }

    /// Whether a panic that was caught is the policy's own, so that [`Frontier::fall_back`] helps.
    pub const fn is_policys_fault(&self) -> bool {
        self.is_asking
    }

    /// Replaces the policy by one that visits every page in turn: the policy has panicked and its
    /// state cannot be trusted. The frontier's own state is whole, because whatever it does with an
    /// input comes before the policy hears of it.
    pub fn fall_back(&mut self) {
        let mut policy = Box::new(Uniform::fixed_order(0));
        policy.learn(&Event::Budget(self.pacer.budget()));
        for page in self.pages.all() {
            policy.learn(&Event::Discovered(self.pages.discovery(page)));
        }
        (self.policy, self.is_asking) = (policy, false);
        self.pacer.look_now();
    }

    /// Replaces the policy by one that does nothing.
    pub(crate) fn silence(&mut self) {
        self.policy = nobody();
    }

    /// Gives slow requests slots of their own.
    pub fn set_slow_lane(&mut self, lane: SlowLane) {
        self.slots.set_lane(lane);
        self.pacer.look_now();
    }

    /// Sets other rules.
    pub(crate) fn set_rules(&mut self, rules: Politeness, limits: Limits) {
        (self.rules, self.limits) = (rules, limits);
    }
}

#[cfg(test)]
mod tests;
