//! What to do next: a job that has waited long enough, or a page that the policy chooses.

use std::cmp::Reverse;

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Reason, Time};
use tidewatch_policy::explanation::Obstacle;
use tidewatch_policy::{Choice, Gate};

use super::hosts::{BUSY_LOOK, Gates, Job};
use super::slots::Speed;
use super::{Command, Defect, Frontier, Next};

/// What a policy may see, as a borrow of single fields: the policy itself is asked meanwhile.
macro_rules! gates {
    ($frontier:ident, $reopened:expr, $now:expr) => {
        Gates {
            hosts: &$frontier.hosts,
            servers: &$frontier.servers,
            rules: &$frontier.rules,
            pages: &$frontier.pages,
            revisit: &$frontier.revisit,
            reopened: $reopened,
            slots: &$frontier.slots,
            requests: $frontier.limits.requests,
            now: $now,
        }
    };
}

impl Frontier<'_> {
    /// What to do at `now`.
    pub fn next(&mut self, now: Time) -> Next {
        self.slots.age(now);
        loop {
            if !self.slots.has_room(Speed::Quick, self.limits.requests) {
                return Next::Wait(self.slots.frees_at());
            }
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

    /// What keeps a page from being fetched at `now`, whatever the policy wants: the obstacle that
    /// lasts longest.
    pub(super) fn obstacle(&self, page: PageId, now: Time) -> Option<Obstacle> {
        let slots = self.slots.aged(now);
        let gates = Gates { slots: &slots, ..gates!(self, &[], now) };
        let host = self.pages.host(page)?;
        let (rests, opens) = (gates.page_opens_at(page), gates.opens_at(host));
        let state = &self.hosts[host.index()];
        if rests > now && rests >= opens {
            Some(Obstacle::Rest(rests))
        } else if state.memo.troubles > 0 && state.memo.opens > now {
            Some(Obstacle::Trouble { until: opens, errors: state.memo.troubles })
        } else if state.job.is_some() {
            Some(Obstacle::Busy)
        } else {
            (opens > now).then_some(Obstacle::Gap(opens))
        }
    }

    /// Asks the policy and does nothing with its choice.
    pub(crate) fn choose_only(&mut self, now: Time) {
        self.is_asking = true;
        let reopened = std::mem::take(&mut self.reopened);
        self.policy.choose(now, &gates!(self, &reopened, now));
        self.is_asking = false;
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
        let look = self.pacer.next();
        if look > now {
            return Err(look);
        }
        self.moves += 1;
        while self.openings.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.openings.pop();
        }
        self.is_asking = true;
        let reopened = std::mem::take(&mut self.reopened);
        let gates = gates!(self, &reopened, now);
        let choice = self.policy.choose(now, &gates);
        self.is_asking = false;
        let Choice::Fetch(page) = choice else {
            self.idled += 1;
            let opens = self.openings.peek().map_or(Time::NEVER, |Reverse(at)| *at);
            // A slot that becomes free opens hosts too.
            let has_room = |speed| self.slots.has_room(speed, self.limits.requests);
            let is_open = has_room(Speed::Unknown) && has_room(Speed::Slow);
            let frees = if is_open { Time::NEVER } else { self.slots.frees_at() };
            self.pacer.idle(now, opens.min(frees));
            return Err(self.pacer.next());
        };
        let Some(host) = self.pages.host(page) else {
            self.defect.get_or_insert(Defect::UnknownPage(page));
            return Err(now + BUSY_LOOK);
        };
        let rests_until = gates.page_opens_at(page);
        if rests_until > now {
            self.refuse(page, rests_until, now);
            return Err(self.pacer.next());
        }
        let opens = gates.opens_at(host);
        if opens > now {
            self.defect.get_or_insert(Defect::ClosedHost { page, at: now, opens });
        }
        self.pacer.spend(now);
        let state = &mut self.hosts[host.index()];
        if state.job.is_some() {
            return Err(now + BUSY_LOOK);
        }
        state.job = Some(Job { page, holds_server: false, slot: None });
        self.jobs += 1;
        Ok(self.step(host, now))
    }

    /// Tells the policy that a page it chose too early is not fetched.
    fn refuse(&mut self, page: PageId, opens: Time, now: Time) {
        self.defect.get_or_insert(Defect::RestingPage { page, at: now, opens });
        let (kind, outcome) = (self.pages.fetch_kind(page), Outcome::Failed(Reason::OwnStop));
        let seen = Observation { page, at: now, kind, previous: None, outcome };
        self.policy.learn(&Event::Fetched(seen));
        self.pacer.idle(now, Time::NEVER);
    }

    /// Starts the next step of a host's job, or lets it wait.
    fn step(&mut self, host: HostId, now: Time) -> Option<Command> {
        let state = &mut self.hosts[host.index()];
        let job = state.job.as_mut()?;
        if !self.slots.has_room(state.speed, self.limits.requests) {
            self.waiting.push(Reverse((now + BUSY_LOOK, host)));
            return None;
        }
        let server = match state.server {
            Some(server) if state.resolved_until > now => server,
            _ => {
                job.slot = Some(self.slots.begin(state.speed, now));
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
        job.slot = Some(self.slots.begin(state.speed, now));
        let is_ready = state.memo.robots_until > now;
        Some(if is_ready { Command::Fetch(host, job.page) } else { Command::ReadRobots(host) })
    }
}
