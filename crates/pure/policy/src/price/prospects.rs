//! Prospects, the frontier: pages that are not on a source, or were on it before its first visit. Their
//! expected clicks are those of earlier prospects of the host, shrunk towards the average of all hosts,
//! times factors by the page's features and its levels ([`super::predict`]).

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Span};

use super::clicks::UNIT;
use super::predict::{Levels, Predictor};
use tidewatch_science::estimate::Evidence;

/// The time over which a prospect's clicks count once it is fetched. Unlike news, it does not lose value
/// while it waits.
const LIFE: Span = Span::WEEK.times(2);
/// Strength, in pages, of the prior: a prospect has the clicks of a copy without a log, or of a copy of
/// weight one if those are fewer.
const PAGES: f64 = 1.0;
/// Shape of the distribution of hosts' means about the average of all.
const HOST_SHAPE: f64 = 1.0;

/// Clicks of prospects so far.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Prospects {
    predictor: Predictor,
    /// Clicks and pages, by host and of all.
    hosts: Vec<Evidence>,
    all: Evidence,
    /// Prior clicks of a prospect.
    assumed: f64,
}

/// What was known of a prospect when it was fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Described<'a> {
    pub(super) features: &'a [u32],
    pub(super) levels: Levels,
    /// The factor of the features.
    pub(super) factor: f64,
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
    pub(super) fn mean(&self, host: HostId) -> f64 {
        let own = self.hosts.get(host.index()).copied().unwrap_or_default();
        let all = (self.all.changes + self.assumed * PAGES) / (self.all.time + PAGES);
        own.shrunk(HOST_SHAPE, all)
    }

    /// Sets the prior from the clicks per second of a copy of weight one.
    pub(super) fn assume(&mut self, unit: f64) {
        self.assumed = unit.min(UNIT) * LIFE.seconds();
    }

    /// The factor of its features on a prospect's expected clicks.
    pub(super) fn factor(&self, features: &[u32]) -> f64 {
        self.predictor.factor(features)
    }

    /// The factor of its levels on a prospect's expected clicks.
    pub(super) fn level_factor(&self, levels: Levels) -> f64 {
        self.predictor.level_factor(levels)
    }

    /// Clicks expected of a prospect in `seen` seconds after its fetch, and what it tells of others.
    pub(super) fn expected(&self, host: HostId, page: Described<'_>, seen: f64) -> (f64, f64) {
        let factor = page.factor * self.level_factor(page.levels);
        let expected = seen / LIFE.seconds() * self.mean(host) * factor;
        (expected, self.predictor.tells(expected))
    }

    /// A prospect had `clicks` in `seen` seconds after its fetch.
    pub(super) fn learn(&mut self, host: HostId, page: Described<'_>, seen: f64, clicks: f64) {
        if !clicks.is_finite() {
            return;
        }
        let hosts = self.hosts.len().max(host.index() + 1);
        self.hosts.resize(hosts, Evidence::default());
        // A page from which more clicks are expected counts as more time.
        let part = seen / LIFE.seconds();
        let base = part * self.mean(host);
        let Described { features, levels, factor } = page;
        let factor = factor * self.level_factor(levels);
        // Pages of a host differ far more than chance makes them: the variance of a page's clicks
        // is m(1 + m/a), not m, so that each counts for that much less.
        let counts = (1.0 + base * factor / self.predictor.shape()).recip();
        for evidence in [&mut self.hosts[host.index()], &mut self.all] {
            evidence.changes += counts * clicks;
            evidence.time += counts * part * factor;
        }
        self.predictor.learn(features, levels, base, clicks);
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
        for number in 1..=200 {
            let clicks = if number % 50 == 0 { 15.0 } else { 0.0 };
            let page = Described { features: &[number], levels: [0.0; 2], factor: 1.0 };
            prospects.learn(HOST, page, Span::DAY.seconds(), clicks);
            if number == 40 {
                assert!(prospects.mean(HOST) > 0.5 * before, "{}", prospects.mean(HOST));
            }
        }
        let mean = prospects.mean(HOST);
        assert!((mean / 4.2 - 1.0).abs() < 0.5, "{mean}");
    }
}
