//! Hosts whose crawl delay, not the budget, is the limit.
//!
//! A host may be fetched from once in a *cycle*: the fetch and the gap after it. Its own price is
//! ω_h = max(ω, the price at which its own demand is one fetch a cycle), so that its pages are fetched by
//! worth, and the rest of the budget goes elsewhere at ω. The cycle is observed: after a fetch the gate
//! says when the host opens again.

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Time};

use crate::Gate;

/// Weight of the latest fetch in moving averages.
const LATELY: f32 = 0.1;
/// A host busy for this share of the time is *crowded* and may need its own price.
const CROWDED: f32 = 0.7;
/// A host that is closed for longer rests, for whatever reason, and shows no cycle.
const LONGEST_CYCLE: f32 = 86_400.0;
/// A cycle counts for at most this many of the usual length.
const MOST_CYCLES: f32 = 4.0;
/// After this many cycles without a fetch a host is no longer crowded.
const QUIET_CYCLES: f32 = 3.0;

/// All hosts.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Hosts {
    hosts: Vec<Host>,
    /// Hosts of fetches that ended since the gate was last asked.
    ended: Vec<HostId>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Host {
    /// Start of the last fetch.
    taken: Time,
    /// Seconds from one fetch to the next that is allowed; 0 where nothing keeps them apart.
    cycle: f32,
    /// Moving average of the share of the time that it is closed.
    busy: f32,
    /// ln(ω_h/ω), at least zero.
    log_factor: f32,
}

/// A host that needs a price of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowded {
    pub(super) host: HostId,
    /// Fetches per second.
    pub(super) allowed: f64,
    /// Its price over the global one so far.
    factor: f64,
}

impl Crowded {
    /// Its price so far, where the global one is `price`.
    pub(super) fn price(&self, price: f64) -> f64 {
        self.factor * price
    }
}

impl Hosts {
    /// Adds a host.
    pub(super) fn add(&mut self, host: HostId) {
        let hosts = self.hosts.len().max(host.index() + 1);
        self.hosts.resize(hosts, Host::default());
    }

    /// A fetch from a host begins.
    pub(super) fn took(&mut self, host: HostId, now: Time) {
        let host = &mut self.hosts[host.index()];
        let passed = (now.since(host.taken).seconds() as f32).max(f32::MIN_POSITIVE);
        host.busy += LATELY * ((host.cycle / passed).min(1.0) - host.busy);
        host.taken = now;
    }

    /// A fetch from a host has ended.
    pub(super) fn ended(&mut self, host: HostId) {
        self.ended.push(host);
    }

    /// Asks the gate how long hosts stay closed after the fetches that ended.
    pub(super) fn look(&mut self, gate: &dyn Gate) {
        for id in self.ended.drain(..) {
            let host = &mut self.hosts[id.index()];
            let seen = gate.opens_at(id).since(host.taken).seconds() as f32;
            if seen > LONGEST_CYCLE {
                continue;
            }
            let is_first = host.cycle <= 0.0;
            // One rest of an hour does not make a host slow.
            let seen = if is_first { seen } else { seen.min(MOST_CYCLES * host.cycle) };
            host.cycle = if is_first { seen } else { host.cycle + LATELY * (seen - host.cycle) };
        }
    }

    /// The host's price over the global one.
    pub(super) fn factor(&self, host: HostId) -> f64 {
        f64::from(self.hosts[host.index()].log_factor).exp()
    }

    /// Whether a host is busy most of the time.
    pub(super) fn is_crowded(&self, host: HostId, now: Time) -> bool {
        let host = self.hosts[host.index()];
        let quiet = now.since(host.taken).seconds() as f32;
        host.busy >= CROWDED && quiet < QUIET_CYCLES * host.cycle
    }

    /// Lists the crowded hosts and resets the prices of all.
    pub(super) fn crowded(&mut self, now: Time) -> Vec<Crowded> {
        let ids = (0..self.hosts.len() as u32).map(HostId);
        let crowded = ids.filter(|id| self.is_crowded(*id, now));
        let crowded = crowded.map(|host| Crowded {
            host,
            allowed: f64::from(self.hosts[host.index()].cycle).recip(),
            factor: self.factor(host),
        });
        let crowded = crowded.collect();
        self.hosts.iter_mut().for_each(|host| host.log_factor = 0.0);
        crowded
    }

    /// Sets a host's price as a multiple of the global one.
    pub(super) fn set_factor(&mut self, host: HostId, factor: f64) {
        let log = factor.max(1.0).ln() as f32;
        self.hosts[host.index()].log_factor = if log.is_finite() { log } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_core::Span;

    struct After(Span, Time);

    impl Gate for After {
        fn opens_at(&self, host: HostId) -> Time {
            if host.0 == 0 { self.1 + self.0 } else { Time::ZERO }
        }
    }

    /// A host that was closed until further notice, and is open again, is not slow. (It had a cycle of
    /// centuries and therefore a price at which it was never fetched again.)
    #[test]
    fn a_rest_is_no_cycle() {
        let mut hosts = Hosts::default();
        hosts.add(HostId(0));
        let mut now = Time::ZERO;
        for rest in [Span::FOREVER, Span::ZERO, Span::ZERO] {
            hosts.took(HostId(0), now);
            hosts.ended(HostId(0));
            hosts.look(&After(rest, now));
            now = now + Span::MINUTE;
            assert!(!hosts.is_crowded(HostId(0), now));
        }
        assert!(hosts.hosts[0].cycle <= 0.0, "{:?}", hosts.hosts[0]);
    }

    #[test]
    fn a_host_fetched_without_pause_is_crowded() {
        let mut hosts = Hosts::default();
        hosts.add(HostId(1));
        let mut now = Time::ZERO;
        for _ in 0..100 {
            for host in [HostId(0), HostId(1)] {
                hosts.took(host, now);
                hosts.ended(host);
            }
            hosts.look(&After(Span::SECOND.times(10), now));
            now = now + Span::SECOND.times(11);
        }
        assert!(hosts.is_crowded(HostId(0), now) && !hosts.is_crowded(HostId(1), now));
        let crowded = hosts.crowded(now);
        assert_eq!(crowded.len(), 1);
        assert!((crowded[0].allowed - 0.1).abs() < 1e-6 && crowded[0].host == HostId(0));
        hosts.set_factor(HostId(0), 3.0);
        assert!((hosts.crowded(now)[0].price(2.0) - 6.0).abs() < 1e-5, "the search starts there");
        assert!((hosts.factor(HostId(0)) - 1.0).abs() < 1e-9, "and all prices are reset");
        hosts.set_factor(HostId(0), 3.0);
        assert!((hosts.factor(HostId(0)) - 3.0).abs() < 1e-6);
        assert!((hosts.factor(HostId(1)) - 1.0).abs() < 1e-9);
    }
}
