//! How much does it matter that a page is stale?
//!
//! A stale copy embarrasses a search engine only if it is shown, clicked and wrong: w = d·Σ c·b, with
//! b how often the page stands at a position of the results, c the chance of a click there and d the
//! chance that a stale copy gives a wrong answer `[WSY02]` ([`embarrassment`]). In clicks per second,
//! w is the weight that multiplies every loss curve.
//!
//! [`PageInterest`] learns the weight from a search log. A page's views give E, the clicks that its
//! positions alone would bring; its clicks C say how much more or less attractive it is. Clicks are
//! heavy-tailed, so a ratio of small numbers is mostly luck, and both parts are shrunk: the
//! multiplier (κ + C)/(κ + E) towards one, and the rate of E towards the [`WeightPrior`]. Old interest
//! fades with a half-life.
//!
//! ```
//! use tidewatch_science::weight::{ClickCurve, PageInterest, WeightPrior};
//! const DAY: f64 = 86_400.0;
//! let (curve, half_life) = (ClickCurve::default(), 7.0 * DAY);
//! let mut page = PageInterest::new(0.0);
//! for day in 1..=30 {
//!     page.view(f64::from(day) * DAY, 100.0, 1, &curve, half_life);
//!     page.click(f64::from(day) * DAY, 45.0, half_life);
//! }
//! let prior = WeightPrior { rate: 1.0 / DAY, seconds: DAY, strength: 5.0 };
//! let clicks_per_day = page.click_rate(30.0 * DAY, half_life, &prior) * DAY;
//! assert!((38.0..50.0).contains(&clicks_per_day));
//! ```

use crate::estimate::Evidence;

/// Chance of a click by position in the results, counted from 1 across result pages.
#[derive(Clone, Debug, PartialEq)]
pub struct ClickCurve {
    chances: Vec<f64>,
}

/// Chance at the first position and exponent of the decay for [`ClickCurve::default`]: published
/// click logs show about a third for the first result and a hyperbola after it.
const TYPICAL: (f64, f64) = (0.3, 1.0);
/// Positions in the table; beyond it the chance falls as 1/position.
const POSITIONS: usize = 50;

impl Default for ClickCurve {
    fn default() -> Self {
        Self::power(TYPICAL.0, TYPICAL.1)
    }
}

impl ClickCurve {
    /// c(j) = `first`·j^(−`exponent`). Clamps `first` to [0, 1] and `exponent` to [0, 10].
    pub fn power(first: f64, exponent: f64) -> Self {
        let (first, exponent) = (sane(first, 1.0), sane(exponent, 10.0));
        let chance = |j: usize| first * (j as f64).powf(-exponent);
        Self { chances: (1..=POSITIONS).map(chance).collect() }
    }

    /// The chance of a click at `position` ≥ 1; beyond the table that of its end, falling as 1/j.
    /// Position 0 stands for an unknown one and counts as the middle of the first page, 5.
    pub fn at(&self, position: u32) -> f64 {
        let position = if position == 0 { 5 } else { position } as usize;
        let n = self.chances.len();
        if position <= n {
            self.chances[position - 1]
        } else {
            self.chances[n - 1] * n as f64 / position as f64
        }
    }
}

/// Clamps to [0, `most`]; NaN becomes 0.
fn sane(x: f64, most: f64) -> f64 {
    if x > 0.0 { x.min(most) } else { 0.0 }
}

/// w = d·Σ c·b `[WSY02]`: clicks per second that find a wrong answer while the copy is stale.
/// `stale_is_wrong` is d; `shown` holds pairs of a position and how often per second the page is
/// shown there.
pub fn embarrassment(stale_is_wrong: f64, curve: &ClickCurve, shown: &[(u32, f64)]) -> f64 {
    let clicks: f64 = shown.iter().map(|&(at, rate)| curve.at(at) * sane(rate, f64::MAX)).sum();
    sane(stale_is_wrong, 1.0) * clicks
}

/// Views and clicks of one page, fading with a half-life: 32 bytes.
///
/// Times are seconds and may come in any order; a late report counts with its age.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PageInterest {
    /// E: clicks that the positions of the views would bring.
    expected: f64,
    /// C: clicks.
    clicks: f64,
    /// When the sums were last faded to.
    at: f64,
    /// When the page began to be watched.
    since: f64,
}

impl PageInterest {
    /// A page watched from `since` on, without views and clicks yet.
    pub fn new(since: f64) -> Self {
        Self { expected: 0.0, clicks: 0.0, at: since, since }
    }

    /// Records `count` views at time `at` and a position of the results (0: unknown).
    pub fn view(&mut self, at: f64, count: f64, position: u32, curve: &ClickCurve, half_life: f64) {
        let share = self.fade(at, half_life);
        self.expected += sane(count, f64::MAX) * curve.at(position) * share;
    }

    /// Records `count` clicks at time `at`.
    pub fn click(&mut self, at: f64, count: f64, half_life: f64) {
        let share = self.fade(at, half_life);
        self.clicks += sane(count, f64::MAX) * share;
    }

    /// Fades the sums to `at` if that is later. Returns the weight of an event at `at`: below one if the
    /// sums are of a later time.
    fn fade(&mut self, at: f64, half_life: f64) -> f64 {
        let later = at - self.at;
        if later > 0.0 {
            let share = (-later / half_life).exp2();
            self.expected *= share;
            self.clicks *= share;
            self.at = at;
            return 1.0;
        }
        // A time that is NaN counts as now.
        if later < 0.0 { (later / half_life).exp2() } else { 1.0 }
    }

    /// E and C as evidence of the page's attractiveness. In a log without views E is taken to be C, so
    /// that clicks raise the rate and not the multiplier.
    fn evidence(&self) -> Evidence {
        let expected = if self.expected > 0.0 { self.expected } else { self.clicks };
        Evidence { changes: self.clicks, time: expected }
    }

    /// Expected clicks per second at `now`.
    pub fn click_rate(&self, now: f64, half_life: f64, prior: &WeightPrior) -> f64 {
        let mut faded = *self;
        faded.fade(now, half_life);
        let evidence = faded.evidence();
        // Watching for an age a with fading weights is worth (1 − 2^(−a/h))·h/ln 2 seconds.
        let age = (faded.at - self.since).max(0.0);
        let memory = half_life / std::f64::consts::LN_2;
        let watched = -(-age / memory).exp_m1() * memory;
        let demand = (prior.rate * prior.seconds + evidence.time) / (prior.seconds + watched);
        demand * evidence.shrunk(prior.strength, 1.0)
    }
}

/// Expected clicks of a page before its log says anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightPrior {
    /// Clicks per second, from links or from all pages.
    pub rate: f64,
    /// How many seconds of log the prior rate is worth; positive.
    pub seconds: f64,
    /// κ: after this many expected clicks, a page's own ratio C/E counts one half.
    pub strength: f64,
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact by construction")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: f64 = 86_400.0;
    /// A dozen roundings.
    const CLOSED: f64 = 1e-12;
    /// What a prior worth a second and a thousandth of a click may change.
    const WEAK_PRIOR: f64 = 1e-3;
    /// A sum of three products below one.
    const ROUNDING: f64 = 1e-15;

    #[test]
    fn weight_is_the_published_sum() {
        let curve = ClickCurve::power(0.6, 1.0);
        let shown = [(1, 0.01), (3, 0.2), (100, 1.0)];
        // Position 100 lies beyond the table of fifty: 0.6/50·50/100.
        let sum = 0.6 * 0.01 + 0.2 * 0.2 + 0.006 * 1.0;
        assert!((embarrassment(0.4, &curve, &shown) - 0.4 * sum).abs() < ROUNDING);
        assert_eq!(embarrassment(f64::NAN, &curve, &shown), 0.0);
        assert_eq!(ClickCurve::power(7.0, f64::NAN).at(2), 1.0);
    }

    /// A page clicked at a steady rate is found to be, from a log with or without views.
    #[test]
    fn steady_interest_is_measured() {
        let curve = ClickCurve::default();
        let prior = WeightPrior { rate: 1e-6, seconds: DAY, strength: 5.0 };
        for with_views in [true, false] {
            let mut page = PageInterest::new(0.0);
            for hour in 1..=24 * 60 {
                let at = f64::from(hour) * 3600.0;
                if with_views {
                    page.view(at, 10.0, 1, &curve, 7.0 * DAY);
                }
                page.click(at, 6.0, 7.0 * DAY);
            }
            let rate = page.click_rate(60.0 * DAY, 7.0 * DAY, &prior);
            // The prior's day against ten days of memory: a tenth; hourly steps add a little.
            assert!((rate * 3600.0 - 6.0).abs() < 0.75, "{with_views} {}", rate * 3600.0);
        }
    }

    #[test]
    fn interest_fades_by_half() {
        let curve = ClickCurve::default();
        let prior = WeightPrior { rate: 0.0, seconds: 1.0, strength: 1e-3 };
        let mut page = PageInterest::new(-1e9);
        page.view(0.0, 100.0, 1, &curve, DAY);
        page.click(0.0, 30.0, DAY);
        let (now, later) = (page.click_rate(0.0, DAY, &prior), page.click_rate(DAY, DAY, &prior));
        assert!((later / now - 0.5).abs() < WEAK_PRIOR, "{}", later / now);
        // Told late, it counts as if told in time.
        let mut late = PageInterest::new(-1e9);
        late.click(DAY, 0.0, DAY);
        late.view(0.0, 100.0, 1, &curve, DAY);
        late.click(0.0, 30.0, DAY);
        let told_late = late.click_rate(DAY, DAY, &prior);
        assert!((told_late / later - 1.0).abs() < CLOSED);
    }

    #[test]
    fn without_a_log_the_prior_stands() {
        let prior = WeightPrior { rate: 2e-5, seconds: DAY, strength: 3.0 };
        let page = PageInterest::new(100.0);
        assert!((page.click_rate(100.0, DAY, &prior) / 2e-5 - 1.0).abs() < CLOSED);
        // Watched and never shown: below the prior, never zero.
        let quiet = page.click_rate(100.0 * DAY, DAY, &prior);
        assert!(quiet > 0.0 && quiet < 2e-5);
    }

    proptest! {
        #[test]
        fn rates_are_finite_and_not_negative(
            events in proptest::collection::vec((any::<f64>(), any::<f64>(), any::<u32>(), any::<bool>()), 0..20),
        ) {
            let curve = ClickCurve::default();
            let prior = WeightPrior { rate: 1e-6, seconds: DAY, strength: 2.0 };
            let mut page = PageInterest::new(0.0);
            for (at, count, position, is_click) in events {
                let (at, count) = (at % 1e12, count % 1e12);
                if is_click {
                    page.click(at, count, DAY);
                } else {
                    page.view(at, count, position, &curve, DAY);
                }
            }
            let rate = page.click_rate(1e12, DAY, &prior);
            prop_assert!(rate.is_finite() && rate >= 0.0, "{rate}");
        }
    }
}
