//! Reports of the caller: hosts and servers close for their gaps, jobs go on or end.

use std::cmp::Reverse;

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Reason, Span, Time};

use super::hosts::{BUSY_LOOK, Server};
use super::slots::Speed;
use super::{Frontier, RobotsRead, ServerId};
use crate::Answer;

impl Frontier<'_> {
    /// The host's name resolved to `server`, which holds until `good_until`.
    pub fn resolved(&mut self, host: HostId, server: ServerId, good_until: Time, now: Time) {
        if self.servers.len() <= server.0 as usize {
            self.servers.resize(server.0 as usize + 1, Server::default());
        }
        self.end_request(host, now);
        let state = &mut self.hosts[host.index()];
        state.server = Some(server);
        // At least until this job's next step, however short the record's time to live is.
        state.resolved_until = good_until.max(now + BUSY_LOOK);
        self.wait(host, now);
    }

    /// The host's robots.txt was read. The page follows after the gap.
    pub fn robots_read(&mut self, host: HostId, read: &RobotsRead, now: Time) {
        let state = &mut self.hosts[host.index()];
        state.memo.crawl_delay = read.crawl_delay;
        // Long enough for this job.
        state.memo.robots_until = read.good_until.max(now + Span::HOUR);
        self.leave(host, read.answer, read.took, now);
        self.wait(host, now);
    }

    /// The page request ended, and with it the host's job. The outcome goes to [`Frontier::learn`].
    pub fn fetched(&mut self, host: HostId, answer: Answer, took: Span, now: Time) {
        self.leave(host, answer, took, now);
        self.end_job(host);
    }

    /// The host's job ended without a page request: its name is unknown, or robots.txt forbids the
    /// page or cannot be read. Another page gets its allowance. `answer` is that of the request that
    /// ended the job, if there was one.
    pub fn given_up(&mut self, host: HostId, answer: Option<(Answer, Span)>, now: Time) {
        if let Some((answer, took)) = answer {
            self.leave(host, answer, took, now);
        } else {
            self.end_request(host, now);
            self.release(host);
        }
        self.pacer.refund(now);
        self.end_job(host);
    }

    /// Closes a host until `at`, for example because its robots.txt cannot be read.
    pub fn close(&mut self, host: HostId, at: Time) {
        let memo = &mut self.hosts[host.index()].memo;
        memo.opens = memo.opens.max(at);
    }

    /// Lets a page be tried as if for the first time, because what kept it back is gone: the scope is
    /// wider, or the operator has mended the cause of its failures. The policy hears of an interruption
    /// of ours, after which every policy tries a page again.
    pub(crate) fn reopen_page(&mut self, page: PageId, now: Time) {
        self.pages.reopen(page);
        let (kind, outcome) = (self.pages.fetch_kind(page), Outcome::Failed(Reason::OwnStop));
        self.learn(&Event::Fetched(Observation { page, at: now, kind, previous: None, outcome }));
    }

    /// Ends a host's rest after errors; its gap stays.
    pub(crate) fn reopen_host(&mut self, host: HostId, now: Time) {
        let memo = &mut self.hosts[host.index()].memo;
        memo.troubles = 0;
        memo.opens = memo.opens.min(now + memo.gap);
        self.openings.push(Reverse(memo.opens));
        self.reopened.push(host);
        self.pacer.look_now();
    }

    fn wait(&mut self, host: HostId, now: Time) {
        let state = &self.hosts[host.index()];
        if state.job.is_some() {
            self.waiting.push(Reverse((now.max(state.memo.opens), host)));
        }
    }

    /// Ends a request: host and address are closed for their gaps.
    fn leave(&mut self, host: HostId, answer: Answer, took: Span, now: Time) {
        self.end_request(host, now);
        if answer != Answer::Nothing {
            self.slots.answered(took);
        }
        let is_slow = answer == Answer::Nothing || took >= self.slots.lane().after;
        self.hosts[host.index()].speed = if is_slow { Speed::Slow } else { Speed::Quick };
        self.hosts[host.index()].memo.answered(&self.rules, answer, took, now);
        let own_gap = self.hosts[host.index()].memo.own_gap;
        let gap = self.rules.address_gap.min(own_gap.unwrap_or(Span::FOREVER));
        if let Some(server) = self.release(host) {
            server.opens = now + gap;
        }
    }

    /// Frees the slot of the host's request.
    fn end_request(&mut self, host: HostId, now: Time) {
        let job = self.hosts[host.index()].job.as_mut();
        if let Some(slot) = job.and_then(|job| job.slot.take()) {
            self.slots.end(slot, now);
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
            self.reopened.push(host);
            let server = state.server.map(|server| self.servers[server.0 as usize].opens);
            self.openings
                .extend([Some(state.memo.opens), server].into_iter().flatten().map(Reverse));
        }
    }
}
