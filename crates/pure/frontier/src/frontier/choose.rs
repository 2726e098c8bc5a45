//! What is to be done next: a job that has waited long enough, or a page that the policy chooses.

use std::cmp::Reverse;

use tidewatch_core::{HostId, Span, Time};
use tidewatch_policy::Choice;

use super::hosts::{BUSY_LOOK, Gates, Job};
use super::{Command, Frontier, Next};

/// Longest that a policy which had nothing to fetch is not asked.
const LAST_IDLE_LOOK: Span = Span::SECOND;

impl Frontier {
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
        while self.openings.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.openings.pop();
        }
        let gates = Gates { hosts: &self.hosts, servers: &self.servers, rules: &self.rules, now };
        let Choice::Fetch(page) = self.policy.choose(now, &gates) else {
            self.next_look = self.after_idling(now);
            return Err(self.next_look);
        };
        self.pacer.spend(now);
        let host = self.pages.host(page);
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
}
