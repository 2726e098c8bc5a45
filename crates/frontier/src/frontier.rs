//! Hosts, their jobs, and what is to be done next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use tidewatch_core::{Event, HostId, PageId, Rate, Span, Time};
use tidewatch_policy::{Choice, Gate, Policy, Standing, WhatIf, Why};

use crate::{Answer, HostMemo, Pacer, Politeness};

/// A host with a job is looked at again after this long: nobody knows when a
/// request will end, and being told too often costs more than being a moment late.
const BUSY_LOOK: Span = Span::from_micros(100_000);
/// A policy that had nothing worth fetching is asked again after this long,
/// and after twice as long each time, unless it learns something.
const FIRST_IDLE_LOOK: Span = Span::from_micros(25_000);
const LAST_IDLE_LOOK: Span = Span::SECOND;

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

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Host {
    memo: HostMemo,
    server: Option<ServerId>,
    resolved_until: Time,
    robots_until: Time,
    job: Option<Job>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Job {
    page: PageId,
    /// Whether a request of this job occupies the host's server.
    holds_server: bool,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Server {
    opens: Time,
    is_busy: bool,
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
    /// The host of every page, by page number.
    host_of: Vec<HostId>,
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

struct Gates<'f> {
    hosts: &'f [Host],
    servers: &'f [Server],
    now: Time,
}

impl Gate for Gates<'_> {
    fn opens_at(&self, host: HostId) -> Time {
        let Some(host) = self.hosts.get(host.index()) else { return Time::ZERO };
        if host.job.is_some() {
            return host.memo.opens.max(self.now + BUSY_LOOK);
        }
        let server = host.server.map(|server| self.servers[server.0 as usize]);
        host.memo.opens.max(server.map_or(Time::ZERO, |server| server.opens_at(self.now)))
    }
}

/// Stands in for a policy that is still to be loaded.
struct Nobody;

impl Policy for Nobody {
    fn learn(&mut self, _: &Event<'_>) {}

    fn choose(&mut self, _: Time, _: &dyn Gate) -> Choice {
        Choice::Idle
    }
}

fn nobody() -> Box<dyn Policy> {
    Box::new(Nobody)
}

impl Server {
    fn opens_at(self, now: Time) -> Time {
        if self.is_busy { now + BUSY_LOOK } else { self.opens }
    }
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
            host_of: Vec::new(),
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

    /// The whole state as bytes, from which [`Frontier::load`] goes on without the history
    /// before it. `None` if the policy cannot be saved.
    pub fn save(&self) -> Option<Vec<u8>> {
        postcard::to_stdvec(&(self.policy.save()?, self)).ok()
    }

    /// The frontier that was saved, with a new policy of the same name. `None` if the bytes
    /// make no sense.
    pub fn load(mut policy: Box<dyn Policy>, saved: &[u8]) -> Option<Frontier> {
        let (known, mut frontier): (Vec<u8>, Frontier) = postcard::from_bytes(saved).ok()?;
        policy.load(&known).then(|| {
            frontier.policy = policy;
            frontier
        })
    }

    /// All that decides about a page at `now`, as far as the policy can tell.
    pub fn why(&mut self, page: PageId, now: Time) -> Option<Why> {
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

    /// The budget now.
    pub fn budget(&self) -> Rate {
        self.pacer.budget()
    }

    /// How many pages each host has, by host number.
    pub fn pages_by_host(&self) -> Vec<u32> {
        let mut pages = vec![0; self.hosts.len()];
        self.host_of.iter().for_each(|host| pages[host.index()] += 1);
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
        PageId(self.host_of.len() as u32)
    }

    /// The host of a page.
    pub fn host_of(&self, page: PageId) -> HostId {
        self.host_of[page.index()]
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
        if let Event::Discovered(found) = event {
            debug_assert_eq!(found.page.index(), self.host_of.len(), "pages are numbered in order");
            self.host_of.push(found.host);
        }
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

    /// What to do at `now`.
    pub fn next(&mut self, now: Time) -> Next {
        if self.requests >= self.limits.requests {
            return Next::Wait(Time::NEVER);
        }
        loop {
            if let Some(command) = self.next_waiting(now) {
                return Next::Do(command);
            }
            match self.next_chosen(now) {
                Ok(Some(command)) => return Next::Do(command),
                Ok(None) => {}
                Err(look) => {
                    let waiting = self.waiting.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
                    return Next::Wait(look.min(waiting));
                }
            }
        }
    }

    /// The step of a job that has waited long enough.
    fn next_waiting(&mut self, now: Time) -> Option<Command> {
        while let Some(&Reverse((at, host))) = self.waiting.peek() {
            if at > now {
                return None;
            }
            self.waiting.pop();
            self.moves += 1;
            if let Some(command) = self.step(host, now) {
                return Some(command);
            }
        }
        None
    }

    /// Asks the policy for a page. `Err` says when to ask again.
    fn next_chosen(&mut self, now: Time) -> Result<Option<Command>, Time> {
        if self.jobs >= self.limits.jobs {
            return Err(Time::NEVER);
        }
        let look = self.pacer.next().max(self.next_look);
        if look > now {
            return Err(look);
        }
        self.moves += 1;
        let gates = Gates { hosts: &self.hosts, servers: &self.servers, now };
        let Choice::Fetch(page) = self.policy.choose(now, &gates) else {
            self.next_look = self.after_idling(now);
            return Err(self.next_look);
        };
        self.pacer.spend(now);
        let host = self.host_of[page.index()];
        let state = &mut self.hosts[host.index()];
        debug_assert!(state.job.is_none(), "a policy chose a page of a host whose gate is closed");
        if state.job.is_some() {
            // A defect of the policy must not make the crawler rude: the page waits.
            return Err(now + BUSY_LOOK);
        }
        state.job = Some(Job { page, holds_server: false });
        self.jobs += 1;
        Ok(self.step(host, now))
    }

    /// When to ask a policy again that had nothing to fetch.
    fn after_idling(&mut self, now: Time) -> Time {
        while self.openings.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.openings.pop();
        }
        let look = now + self.idle_look;
        self.idle_look = self.idle_look.times(2).min(LAST_IDLE_LOOK);
        self.openings.peek().map_or(look, |Reverse(at)| look.min(*at))
    }

    /// Starts the next step of a host's job, or lets it wait.
    fn step(&mut self, host: HostId, now: Time) -> Option<Command> {
        let state = &mut self.hosts[host.index()];
        let job = state.job.as_mut()?;
        let server = match state.server {
            Some(server) if state.resolved_until > now => server,
            _ => {
                self.requests += 1;
                return Some(Command::Resolve(host));
            }
        };
        let server = &mut self.servers[server.0 as usize];
        let opens = state.memo.opens.max(server.opens_at(now));
        if opens > now {
            self.waiting.push(Reverse((opens, host)));
            return None;
        }
        server.is_busy = true;
        job.holds_server = true;
        self.requests += 1;
        let is_ready = state.robots_until > now;
        Some(if is_ready { Command::Fetch(host, job.page) } else { Command::ReadRobots(host) })
    }

    /// The host has that address until `good_until`. Servers are numbered as they come up.
    pub fn resolved(&mut self, host: HostId, server: ServerId, good_until: Time, now: Time) {
        if self.servers.len() <= server.0 as usize {
            self.servers.resize(server.0 as usize + 1, Server::default());
        }
        self.requests -= 1;
        let state = &mut self.hosts[host.index()];
        state.server = Some(server);
        // Good for this job at least, however short-lived the name's record is.
        state.resolved_until = good_until.max(now + BUSY_LOOK);
        self.wait(host, now);
    }

    /// The host's robots.txt was read; its page's turn comes after the gap.
    pub fn robots_read(&mut self, host: HostId, read: &RobotsRead, now: Time) {
        let state = &mut self.hosts[host.index()];
        state.memo.crawl_delay = read.crawl_delay;
        // Good for this job at least.
        state.robots_until = read.good_until.max(now + Span::HOUR);
        self.leave(host, read.answer, read.took, now);
        self.wait(host, now);
    }

    /// The host's page was fetched or not; its job is over. The outcome goes to
    /// [`Frontier::learn`].
    pub fn fetched(&mut self, host: HostId, answer: Answer, took: Span, now: Time) {
        self.leave(host, answer, took, now);
        self.end_job(host);
    }

    /// No page request was made for the job (unknown name, robots.txt says no
    /// or cannot be had): it is over, and its allowance goes to another page.
    /// `answer` is how the request that decided it went, if there was one.
    pub fn given_up(&mut self, host: HostId, answer: Option<(Answer, Span)>, now: Time) {
        if let Some((answer, took)) = answer {
            self.leave(host, answer, took, now);
        } else {
            self.requests -= 1;
            self.release(host);
        }
        self.pacer.refund();
        self.end_job(host);
    }

    /// Closes a host until `at`, as when its robots.txt cannot be had.
    pub fn close(&mut self, host: HostId, at: Time) {
        let memo = &mut self.hosts[host.index()].memo;
        memo.opens = memo.opens.max(at);
    }

    fn wait(&mut self, host: HostId, now: Time) {
        let state = &self.hosts[host.index()];
        if state.job.is_some() {
            self.waiting.push(Reverse((now.max(state.memo.opens), host)));
        }
    }

    /// Ends a request: host and address are closed for their gaps.
    fn leave(&mut self, host: HostId, answer: Answer, took: Span, now: Time) {
        self.requests -= 1;
        self.hosts[host.index()].memo.answered(&self.rules, answer, took, now);
        let gap = self.rules.address_gap;
        if let Some(server) = self.release(host) {
            server.opens = now + gap;
        }
    }

    /// Frees the server that the host's job occupies, if it does.
    fn release(&mut self, host: HostId) -> Option<&mut Server> {
        let state = &mut self.hosts[host.index()];
        let job = state.job.as_mut()?;
        if !std::mem::take(&mut job.holds_server) {
            return None;
        }
        let server = &mut self.servers[state.server?.0 as usize];
        server.is_busy = false;
        Some(server)
    }

    fn end_job(&mut self, host: HostId) {
        let state = &mut self.hosts[host.index()];
        if state.job.take().is_some() {
            self.jobs -= 1;
            let server = state.server.map(|server| self.servers[server.0 as usize].opens);
            self.openings
                .extend([Some(state.memo.opens), server].into_iter().flatten().map(Reverse));
        }
    }
}

#[cfg(test)]
mod tests;
