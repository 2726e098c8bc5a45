//! Records how an order spends its fetches.

use rustc_hash::FxHashSet;
use tidewatch_core::{Event, HostId, Time};
use tidewatch_policy::{Choice, Gate, Policy};

/// How an order spent its fetches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Pages known and hosts fetched from by the given moment.
    pub(super) known: usize,
    pub(super) hosts: usize,
    /// Choices of the whole run: first fetches, refreshes, and idle.
    pub(super) first: usize,
    pub(super) again: usize,
    pub(super) idle: usize,
}

/// Wraps a policy and counts its choices.
pub(super) struct Witness<'p> {
    inner: &'p mut dyn Policy,
    moment: Time,
    host: Vec<HostId>,
    is_fetched: Vec<bool>,
    hosts: FxHashSet<HostId>,
    spent: Spent,
}

impl<'p> Witness<'p> {
    /// Counts known pages and visited hosts until `moment`.
    pub(super) fn new(inner: &'p mut dyn Policy, moment: Time) -> Self {
        let (host, is_fetched, hosts) = (Vec::new(), Vec::new(), FxHashSet::default());
        Witness { inner, moment, host, is_fetched, hosts, spent: Spent::default() }
    }

    pub(super) fn spent(&self) -> Spent {
        self.spent
    }
}

impl Policy for Witness<'_> {
    fn learn(&mut self, event: &Event<'_>) {
        if let Event::Discovered(found) = event {
            self.host.push(found.host);
            self.is_fetched.push(found.is_held);
            self.spent.known += usize::from(found.at <= self.moment);
        }
        self.inner.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let choice = self.inner.choose(now, gate);
        let Choice::Fetch(page) = choice else {
            self.spent.idle += 1;
            return choice;
        };
        let was_fetched = std::mem::replace(&mut self.is_fetched[page.index()], true);
        self.spent.again += usize::from(was_fetched);
        self.spent.first += usize::from(!was_fetched);
        if now <= self.moment && self.hosts.insert(self.host[page.index()]) {
            self.spent.hosts += 1;
        }
        choice
    }
}
