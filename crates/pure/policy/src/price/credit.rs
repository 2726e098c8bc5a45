//! A page stands on several sources. What the visit that found it has earned is only what would have
//! been lost until the next of them was looked at: of clicks that fade at rate μ, found at t₁ and seen
//! elsewhere at t₂, the part 1 − e^(−μ(t₂ − t₁)). The mean over a host's pages, κ, scales what its
//! sources are worth.

use serde::{Deserialize, Serialize};
use tidewatch_core::HostId;

/// Pages whose credit is as good as a host's own.
const OTHERS: f64 = 5.0;

/// Credit that visits have earned, and pages it was earned with.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Earned {
    credit: f64,
    pages: f64,
}

/// Credit by host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Credits {
    hosts: Vec<Earned>,
    all: Earned,
}

impl Credits {
    /// A visit to a source of a host has earned this part of a page's clicks.
    pub fn count(&mut self, host: HostId, part: f64) {
        let hosts = self.hosts.len().max(host.index() + 1);
        self.hosts.resize(hosts, Earned::default());
        for earned in [&mut self.hosts[host.index()], &mut self.all] {
            earned.credit += part;
            earned.pages += 1.0;
        }
    }

    /// κ of a host.
    pub fn of(&self, host: HostId) -> f64 {
        let all = (self.all.credit + 1.0) / (self.all.pages + 1.0);
        let own = self.hosts.get(host.index()).copied().unwrap_or_default();
        (own.credit + OTHERS * all) / (own.pages + OTHERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_apart_and_the_unknown_is_like_the_rest() {
        let (alone, shared) = (HostId(0), HostId(4));
        let mut credits = Credits::default();
        assert!((credits.of(HostId(9)) - 1.0).abs() < 1e-12, "nothing is known yet");
        for _ in 0..1000 {
            credits.count(alone, 1.0);
            credits.count(shared, 0.2);
        }
        assert!((credits.of(alone) - 1.0).abs() < 0.01 && (credits.of(shared) - 0.2).abs() < 0.01);
        assert!((credits.of(HostId(9)) - 0.6).abs() < 0.01);
    }
}
