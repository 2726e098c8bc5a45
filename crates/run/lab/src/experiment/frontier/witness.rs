//! Records how an order spends its fetches.

use rustc_hash::FxHashSet;
use tidewatch_core::{Discovery, Event, HostId, Time};
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
    /// Seeds known, and those fetched.
    pub(super) seeds: usize,
    pub(super) seeds_fetched: usize,
}

/// Wraps a policy and counts its choices. Weights are what orders are judged by, so only an oracle is told
/// them.
pub(super) struct Witness<'p> {
    inner: &'p mut dyn Policy,
    is_oracle: bool,
    moment: Time,
    host: Vec<HostId>,
    is_fetched: Vec<bool>,
    is_seed: Vec<bool>,
    hosts: FxHashSet<HostId>,
    spent: Spent,
}

impl<'p> Witness<'p> {
    /// Counts known pages and visited hosts until `moment`.
    pub(super) fn new(inner: &'p mut dyn Policy, moment: Time, is_oracle: bool) -> Self {
        let (host, is_fetched, is_seed) = (Vec::new(), Vec::new(), Vec::new());
        let (hosts, spent) = (FxHashSet::default(), Spent::default());
        Witness { inner, is_oracle, moment, host, is_fetched, is_seed, hosts, spent }
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
            self.is_seed.push(found.via.is_none());
            self.spent.known += usize::from(found.at <= self.moment);
            self.spent.seeds += usize::from(found.via.is_none());
            let weight = if self.is_oracle { found.weight } else { 1.0 };
            self.inner.learn(&Event::Discovered(Discovery { weight, ..*found }));
            return;
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
        let is_first_of_seed = !was_fetched && self.is_seed[page.index()];
        self.spent.seeds_fetched += usize::from(is_first_of_seed);
        if now <= self.moment && self.hosts.insert(self.host[page.index()]) {
            self.spent.hosts += 1;
        }
        choice
    }
}
