//! What is known of a host and of the server behind it, and when each may get a request.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Event, HostId, PageId, Span, Time};
use tidewatch_policy::{Choice, Gate, Policy};

use super::ServerId;
use super::pages::Pages;
use super::slots::{Slot, Slots, Speed};
use crate::{HostMemo, Politeness, Revisit};

/// How soon to look at a busy server again. Nobody knows when its request ends, and polling more
/// often would cost more than the delay.
pub(super) const BUSY_LOOK: Span = Span::from_micros(100_000);
/// How soon to look at a host with a job again, if its gap is shorter.
const SOONEST_LOOK: Span = Span::from_micros(10_000);

/// The state of a host.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Host {
    pub(super) memo: HostMemo,
    pub(super) server: Option<ServerId>,
    pub(super) resolved_until: Time,
    pub(super) job: Option<Job>,
    pub(super) speed: Speed,
}

impl Host {
    /// Whether the host has a job, or may not be asked yet.
    pub(super) fn is_closed(&self, now: Time) -> bool {
        self.job.is_some() || self.memo.opens > now
    }
}

/// A page to be fetched, with the look-up and robots.txt that come before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) page: PageId,
    /// Whether a request of this job occupies the host's server.
    pub(super) holds_server: bool,
    /// The request or look-up under way.
    pub(super) slot: Option<Slot>,
}

/// The state of an address: one request at a time, whatever its host.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Server {
    pub(super) opens: Time,
    pub(super) is_busy: bool,
}

/// What a policy sees of hosts and resting pages.
pub(super) struct Gates<'f> {
    pub(super) hosts: &'f [Host],
    pub(super) servers: &'f [Server],
    pub(super) rules: &'f Politeness,
    pub(super) pages: &'f Pages,
    pub(super) revisit: &'f Revisit,
    /// Hosts whose jobs ended since the policy was last asked.
    pub(super) reopened: &'f [HostId],
    pub(super) slots: &'f Slots,
    pub(super) requests: usize,
    pub(super) now: Time,
}

impl Gate for Gates<'_> {
    fn opens_at(&self, host: HostId) -> Time {
        let Some(host) = self.hosts.get(host.index()) else { return Time::ZERO };
        if host.job.is_some() {
            // Not before its gap, even if its request ends at once.
            let gap = host.memo.least_gap(self.rules).max(SOONEST_LOOK);
            return host.memo.opens.max(self.now + gap);
        }
        if !self.slots.has_room(host.speed, self.requests) {
            return host.memo.opens.max(self.now + BUSY_LOOK);
        }
        let server = host.server.map(|server| self.servers[server.0 as usize]);
        host.memo.opens.max(server.map_or(Time::ZERO, |server| server.opens_at(self.now)))
    }

    fn reopened(&self) -> &[HostId] {
        self.reopened
    }

    fn page_opens_at(&self, page: PageId) -> Time {
        self.pages.opens_at(page, self.revisit)
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

pub(super) fn nobody() -> Box<dyn Policy> {
    Box::new(Nobody)
}

impl Server {
    pub(super) fn opens_at(self, now: Time) -> Time {
        if self.is_busy { now + BUSY_LOOK } else { self.opens }
    }
}
