//! Hosts, their jobs, and what is to be done next.
//!
//! The state and what may be asked of it are here; [`choose`] says what is to be done next,
//! [`report`] takes in how it went, [`hosts`] and [`pages`] hold what is known of each host and page.

mod choose;
mod hosts;
mod pages;
mod report;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use serde::{Deserialize, Serialize};
use tidewatch_core::{Event, FetchKind, HostId, PageId, Rate, Span, Time};
use tidewatch_policy::{DemandCurve, Explanation, Policy, Standing, WhatIf, saved};

use self::hosts::{Host, Server, nobody};
use self::pages::Pages;
use crate::{Answer, HostMemo, Pacer, Politeness};

/// A policy that had nothing worth fetching is asked again after this long, and after twice as long
/// each time, unless it learns something.
const FIRST_IDLE_LOOK: Span = Span::from_micros(25_000);

/// An address behind one or more hosts: dense, numbered by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub u32);

/// How much may go on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Requests and look-ups under way.
    pub requests: usize,
    /// Jobs, those that wait for their host or address included.
    pub jobs: usize,
}

/// What the crawler is asked to do. The host stays occupied until it reports back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Find the host's address; report with [`Frontier::resolved`].
    Resolve(HostId),
    /// Read the host's robots.txt; report with [`Frontier::robots_read`].
    ReadRobots(HostId),
    /// Fetch a page; report with [`Frontier::fetched`].
    Fetch(HostId, PageId),
}

/// An answer to "what now?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Do this, and ask again.
    Do(Command),
    /// Nothing before this time, unless a report comes in earlier.
    Wait(Time),
}

/// What robots.txt asks for, as far as it concerns the whole host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRead {
    /// How the request went.
    pub answer: Answer,
    /// How long it took.
    pub took: Span,
    /// Crawl-delay, zero if none.
    pub crawl_delay: Span,
    /// Until when the file is taken at its word.
    pub good_until: Time,
}

/// Everything between a policy and the network.
#[derive(Serialize, Deserialize)]
pub struct Frontier {
    /// Saved and loaded by itself.
    #[serde(skip, default = "nobody")]
    policy: Box<dyn Policy>,
    rules: Politeness,
    limits: Limits,
    pacer: Pacer,
    pages: Pages,
    hosts: Vec<Host>,
    servers: Vec<Server>,
    /// Hosts whose job waits, by when to look at it again.
    waiting: BinaryHeap<Reverse<(Time, HostId)>>,
    /// When hosts left open again: then an idle policy may have a page after all.
    openings: BinaryHeap<Reverse<Time>>,
    jobs: usize,
    requests: usize,
    next_look: Time,
    idle_look: Span,
    moves: u64,
}

impl Frontier {
    /// A frontier that knows no page; `now` is when the budget starts to run.
    pub fn new(
        mut policy: Box<dyn Policy>,
        rules: Politeness,
        limits: Limits,
        budget: Rate,
        now: Time,
    ) -> Self {
        policy.learn(&Event::Budget(budget));
        Frontier {
            policy,
            rules,
            limits,
            pacer: Pacer::new(budget, now),
            pages: Pages::default(),
            hosts: Vec::new(),
            servers: Vec::new(),
            waiting: BinaryHeap::new(),
            openings: BinaryHeap::new(),
            jobs: 0,
            requests: 0,
            next_look: Time::ZERO,
            idle_look: FIRST_IDLE_LOOK,
            moves: 0,
        }
    }

    /// Writes the whole state, from which [`Frontier::load`] goes on without the history before
    /// it. `false` if the policy cannot be saved.
    pub fn save(&self, to: &mut dyn io::Write) -> io::Result<bool> {
        Ok(self.policy.save(to)? && saved::write(self, to)?)
    }

    /// The frontier that was saved, with a new policy of the same name. `None` if the bytes
    /// make no sense.
    pub fn load(mut policy: Box<dyn Policy>, from: &mut dyn io::Read) -> Option<Frontier> {
        if !policy.load(from) {
            return None;
        }
        let mut frontier: Frontier = saved::read(from)?;
        frontier.policy = policy;
        Some(frontier)
    }

    /// All that decides about a page at `now`, as far as the policy can tell.
    pub fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        self.policy.why(page, now)
    }

    /// What another budget would bring, as far as the policy can tell.
    pub fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        self.policy.what_if(budget.as_per_second())
    }

    /// How things stand, as far as the policy can tell.
    pub fn standing(&self) -> Option<Standing> {
        self.policy.standing()
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

    /// Adds the next host, with what is remembered of it.
    pub fn add_host(&mut self, memo: HostMemo) -> HostId {
        self.hosts.push(Host {
            memo,
            server: None,
            resolved_until: Time::ZERO,
            robots_until: Time::ZERO,
            job: None,
        });
        HostId(self.hosts.len() as u32 - 1)
    }

    /// What is remembered of a host.
    pub fn memo(&self, host: HostId) -> HostMemo {
        self.hosts[host.index()].memo
    }

    /// The number of the next page to become known.
    pub fn next_page(&self) -> PageId {
        PageId(self.pages.len() as u32)
    }

    /// The host of a page.
    pub fn host_of(&self, page: PageId) -> HostId {
        self.pages.host(page)
    }

    /// What a fetch of `page` is for, given what the frontier was told: whether the page is a
    /// source, whether a source revealed it, and whether a copy is held. Ask before telling how the
    /// fetch ended.
    pub fn fetch_kind(&self, page: PageId) -> FetchKind {
        self.pages.fetch_kind(page)
    }

    /// Counts every change that [`Frontier::next`] made to the state: when it
    /// stands still, asking left no trace.
    pub const fn moves(&self) -> u64 {
        self.moves
    }

    /// Pages that were chosen and have no outcome yet.
    pub fn under_way(&self) -> impl Iterator<Item = PageId> {
        self.hosts.iter().filter_map(|host| host.job.map(|job| job.page))
    }

    /// The page that a host's job is about.
    pub fn job_of(&self, host: HostId) -> Option<PageId> {
        self.hosts[host.index()].job.map(|job| job.page)
    }

    /// Starts again after the crawler died or stopped: jobs are forgotten (the
    /// caller has told the policy how their pages ended) and every host counts
    /// as just asked.
    pub fn resume(&mut self, now: Time) {
        for host in &mut self.hosts {
            host.job = None;
            host.server = None;
            host.memo = host.memo.resumed(&self.rules, now);
        }
        // Addresses are numbered anew.
        self.servers.clear();
        self.waiting.clear();
        self.openings.clear();
        self.openings.extend(self.hosts.iter().map(|host| Reverse(host.memo.opens)));
        (self.jobs, self.requests) = (0, 0);
        self.next_look = Time::ZERO;
    }

    /// Hosts that have a job, and requests under way.
    pub const fn activity(&self) -> (usize, usize) {
        (self.jobs, self.requests)
    }

    /// Tells the policy something. Pages are discovered in the order of their
    /// numbers, after their host was added.
    pub fn learn(&mut self, event: &Event<'_>) {
        self.pages.learn(event);
        self.next_look = Time::ZERO;
        self.idle_look = FIRST_IDLE_LOOK;
        self.policy.learn(event);
    }

    /// Sets another budget.
    pub fn set_budget(&mut self, budget: Rate, now: Time) {
        self.pacer.set(budget, now);
        self.learn(&Event::Budget(budget));
    }

    /// Sets other rules.
    pub fn set_rules(&mut self, rules: Politeness, limits: Limits) {
        (self.rules, self.limits) = (rules, limits);
    }
}

#[cfg(test)]
mod tests;
