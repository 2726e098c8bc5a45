//! Credit of a source for a page that several sources show: the clicks that would have been lost until
//! the next of them was visited. If clicks fade at rate μ and the page was found at t₁ and seen elsewhere
//! at t₂, that is the share 1 − e^(−μ(t₂ − t₁)). The mean over a host's pages, κ, scales the value of its
//! sources.

use serde::{Deserialize, Serialize};
use tidewatch_core::HostId;

/// Prior pages of a host, with the mean credit of all hosts.
const OTHERS: f64 = 5.0;

/// Sum of credit, and number of pages.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Earned {
    credit: f64,
    pages: f64,
}

/// Credit by host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Credits {
    hosts: Vec<Earned>,
    all: Earned,
}

impl Credits {
    /// A source of a host has earned the share `part` of a page's clicks.
    pub(super) fn count(&mut self, host: HostId, part: f64) {
        let hosts = self.hosts.len().max(host.index() + 1);
        self.hosts.resize(hosts, Earned::default());
        for earned in [&mut self.hosts[host.index()], &mut self.all] {
            earned.credit += part;
            earned.pages += 1.0;
        }
    }

    /// κ of a host.
    pub(super) fn of(&self, host: HostId) -> f64 {
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
