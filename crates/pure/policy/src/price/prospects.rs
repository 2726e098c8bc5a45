//! Prospects, the frontier: pages not on sources, or there before anybody looked. They bring the
//! clicks that pages found in the same way on their host have brought, or on average where little is
//! known of the host. Readers follow links, so that a page is clicked more where pages that show it
//! are: what they hand on, each its clicks divided by its links, is the first step of the walk of
//! `[TTKN15]`, and the predictor learns what it is worth.

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Span};

use super::clicks::UNIT;
use super::predict::Predictor;
use tidewatch_science::estimate::Evidence;

/// For so long a prospect brings clicks once it is in the collection. Until then it waits: unlike
/// news, what nobody has fetched yet is clicked next month as it is today.
const LIFE: Span = Span::WEEK.times(2);
/// Before anything is known a prospect has the clicks of a copy without a log, or of a copy of weight
/// one if those are fewer. So many pages is that belief worth.
const PAGES: f64 = 1.0;
/// Shape of the distribution of hosts' means about the average of all.
const HOST_SHAPE: f64 = 1.0;

/// What prospects have brought.
#[derive(Debug, Serialize, Deserialize)]
pub struct Prospects {
    predictor: Predictor,
    /// Clicks and pages, by host and of all.
    hosts: Vec<Evidence>,
    all: Evidence,
    /// Clicks of one of which nothing is known.
    assumed: f64,
}

impl Default for Prospects {
    fn default() -> Self {
        Prospects {
            predictor: Predictor::default(),
            hosts: Vec::new(),
            all: Evidence::default(),
            assumed: UNIT * LIFE.seconds(),
        }
    }
}

impl Prospects {
    /// Mean clicks of prospects on a host.
    pub fn mean(&self, host: HostId) -> f64 {
        let own = self.hosts.get(host.index()).copied().unwrap_or_default();
        let all = (self.all.changes + self.assumed * PAGES) / (self.all.time + PAGES);
        own.shrunk(HOST_SHAPE, all)
    }

    /// A copy of weight one has so many clicks a second.
    pub fn assume(&mut self, unit: f64) {
        self.assumed = unit.min(UNIT) * LIFE.seconds();
    }

    /// By how much one of which this is seen is expected to be clicked more than others of its host.
    pub fn factor(&self, features: &[u32]) -> f64 {
        self.predictor.factor(features)
    }

    /// A prospect of which this was seen, and that was judged by this factor, had so many clicks in
    /// so many seconds after its fetch.
    pub fn learn(&mut self, host: HostId, features: &[u32], factor: f64, seen: f64, clicks: f64) {
        if !clicks.is_finite() {
            return;
        }
        let hosts = self.hosts.len().max(host.index() + 1);
        self.hosts.resize(hosts, Evidence::default());
        // Of a page that is clicked more than others of its host a part tells as much as more time.
        let part = seen / LIFE.seconds();
        let base = part * self.mean(host);
        // Pages of a host differ far more than chance makes them: the variance of a page's clicks
        // is m(1 + m/a), not m, so that each counts for that much less.
        let counts = (1.0 + base * factor / self.predictor.shape()).recip();
        for evidence in [&mut self.hosts[host.index()], &mut self.all] {
            evidence.changes += counts * clicks;
            evidence.time += counts * part * factor;
        }
        self.predictor.learn(features, base, clicks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostId = HostId(0);

    #[test]
    fn where_nobody_clicks_copies_prospects_are_worth_no_more() {
        let mut prospects = Prospects::default();
        let before = prospects.mean(HOST);
        prospects.assume(UNIT / 8.0);
        assert!((before / prospects.mean(HOST) - 8.0).abs() < 1e-9);
        // Copies that are clicked much say nothing of what nobody has chosen yet.
        prospects.assume(8.0 * UNIT);
        assert!((before / prospects.mean(HOST) - 1.0).abs() < 1e-9);
    }

    /// One page in fifty is clicked, fifteen times a day. A few dozen pages without a click end the
    /// exploring no more; some hundred pages tell the mean, 14 · 15 / 50 = 4.2 clicks, to its
    /// standard error, half of it for four clicked pages.
    #[test]
    fn few_clicked_pages_of_many_are_worth_exploring() {
        let mut prospects = Prospects::default();
        let before = prospects.mean(HOST);
        for page in 1..=200 {
            let clicks = if page % 50 == 0 { 15.0 } else { 0.0 };
            prospects.learn(HOST, &[page], 1.0, Span::DAY.seconds(), clicks);
            if page == 40 {
                assert!(prospects.mean(HOST) > 0.5 * before, "{}", prospects.mean(HOST));
            }
        }
        let mean = prospects.mean(HOST);
        assert!((mean / 4.2 - 1.0).abs() < 0.5, "{mean}");
    }
}
