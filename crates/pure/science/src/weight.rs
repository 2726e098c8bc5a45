//! How much does it matter that a page is stale? Its embarrassment weight.
//!
//! A stale copy embarrasses only if it is shown, clicked, and wrong: w = d·Σ c·b, with b how often
//! the page stands at a position of the results, c the chance of a click there, d the chance that a
//! stale copy gives a wrong answer `[WSY02]`. In clicks per second it is the weight that every
//! loss curve is multiplied with.
//!
//! Where a search log exists the weight is learnt. A page's views give the clicks that its positions
//! alone would bring (E); its clicks (C) say how much more or less attractive it is. Clicks are so
//! heavy-tailed that a ratio of small numbers is mostly luck, so both are shrunk: the multiplier
//! (κ + C)/(κ + E) towards one, with κ fitted over all pages, and the rate of E towards what is known
//! without a log (links, or nothing). Old interest fades with a half-life.

use crate::estimate::{Evidence, fit_shape};

/// Chance of a click by position in the results, counted from 1 across result pages.
#[derive(Clone, Debug, PartialEq)]
pub struct ClickCurve {
    chances: Vec<f64>,
}

/// Chance at the first position and exponent of the decay, where nothing has been measured: about
/// what published click logs show, a third for the first result and a hyperbola after it.
const TYPICAL: (f64, f64) = (0.3, 1.0);
/// Positions held; clicks beyond are rare enough to share the hyperbola of the last.
const POSITIONS: usize = 50;

impl Default for ClickCurve {
    fn default() -> Self {
        Self::power(TYPICAL.0, TYPICAL.1)
    }
}

impl ClickCurve {
    /// c(j) = first·j^(−exponent). The first is clamped to [0, 1], the exponent to [0, 10].
    pub fn power(first: f64, exponent: f64) -> Self {
        let (first, exponent) = (sane(first, 1.0), sane(exponent, 10.0));
        let chance = |j: usize| first * (j as f64).powf(-exponent);
        Self { chances: (1..=POSITIONS).map(chance).collect() }
    }

    /// From measured chances at positions 1, 2, …; each is clamped to [0, 1]. `None` if empty.
    pub fn from_chances(chances: &[f64]) -> Option<Self> {
        let chances: Vec<f64> = chances.iter().take(POSITIONS).map(|&c| sane(c, 1.0)).collect();
        (!chances.is_empty()).then_some(Self { chances })
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

    /// This curve corrected by views and clicks counted at positions 1, 2, …: each position's
    /// multiplier is shrunk towards one, as strongly as the positions agree with the curve.
    pub fn learned(&self, views: &[f64], clicks: &[f64]) -> Self {
        let seen: Vec<Evidence> = (0..POSITIONS)
            .map(|i| {
                let count = |counts: &[f64]| sane(counts.get(i).copied().unwrap_or(0.0), f64::MAX);
                Evidence { changes: count(clicks), time: self.at(i as u32 + 1) * count(views) }
            })
            .collect();
        let strength = fit_shape(|| seen.iter().map(|&evidence| (evidence, 1.0)));
        let corrected =
            |(i, e): (usize, &Evidence)| (self.at(i as u32 + 1) * e.shrunk(strength, 1.0)).min(1.0);
        Self { chances: seen.iter().enumerate().map(corrected).collect() }
    }
}

/// Clamps to [0, `most`]; NaN becomes 0.
fn sane(x: f64, most: f64) -> f64 {
    if x > 0.0 { x.min(most) } else { 0.0 }
}

/// w = d·Σ c·b `[WSY02]`: the rate of clicks that find a stale copy wrong while it is stale, from
/// how often per second the page is shown at each position.
pub fn embarrassment(stale_is_wrong: f64, curve: &ClickCurve, shown: &[(u32, f64)]) -> f64 {
    let clicks: f64 = shown.iter().map(|&(at, rate)| curve.at(at) * sane(rate, f64::MAX)).sum();
    sane(stale_is_wrong, 1.0) * clicks
}

/// What users did with one page, fading with a half-life: 32 bytes.
///
/// Times are seconds and may come in any order; what is reported late counts with its age.
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
    /// Nothing yet, from `since` on.
    pub fn new(since: f64) -> Self {
        Self { expected: 0.0, clicks: 0.0, at: since, since }
    }

    /// `count` views at a position (0: unknown).
    pub fn view(&mut self, at: f64, count: f64, position: u32, curve: &ClickCurve, half_life: f64) {
        let share = self.fade(at, half_life);
        self.expected += sane(count, f64::MAX) * curve.at(position) * share;
    }

    /// `count` clicks.
    pub fn click(&mut self, at: f64, count: f64, half_life: f64) {
        let share = self.fade(at, half_life);
        self.clicks += sane(count, f64::MAX) * share;
    }

    /// Brings the sums up to `at` if that is later; gives the weight of something that happened at
    /// `at`, below one if the sums are of a later time.
    fn fade(&mut self, at: f64, half_life: f64) -> f64 {
        let later = at - self.at;
        if later > 0.0 {
            let share = (-later / half_life).exp2();
            self.expected *= share;
            self.clicks *= share;
            self.at = at;
            return 1.0;
        }
        // Also for a time that is no number: it counts as now.
        if later < 0.0 { (later / half_life).exp2() } else { 1.0 }
    }

    /// E and C as evidence about the page's attractiveness. Clicks in a log without views stand for
    /// themselves: they raise the rate, not the multiplier.
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

/// What is believed of a page's clicks before its log says anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightPrior {
    /// Clicks per second, from links or from all pages.
    pub rate: f64,
    /// How many seconds of log that belief is worth; positive.
    pub seconds: f64,
    /// κ: how many expected clicks it takes to believe half of a page's own ratio C/E.
    pub strength: f64,
}

impl WeightPrior {
    /// κ fitted to the pages of a collection: small if pages differ in attractiveness, large if
    /// positions explain their clicks.
    pub fn fit_strength<'a, I>(pages: impl Fn() -> I) -> f64
    where
        I: Iterator<Item = &'a PageInterest>,
    {
        fit_shape(|| pages().map(|page| (page.evidence(), 1.0)))
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact by construction")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;

    const DAY: f64 = 86_400.0;

    #[test]
    fn weight_is_the_published_sum() {
        let curve = ClickCurve::from_chances(&[0.5, 0.2, 0.1]).unwrap();
        let shown = [(1, 0.01), (3, 0.2), (6, 1.0)];
        // The sixth position lies beyond the table: 0.1·3/6.
        let sum = 0.5 * 0.01 + 0.1 * 0.2 + 0.05 * 1.0;
        assert!((embarrassment(0.4, &curve, &shown) - 0.4 * sum).abs() < 1e-15);
        assert_eq!(embarrassment(f64::NAN, &curve, &shown), 0.0);
        assert_eq!(ClickCurve::from_chances(&[]), None);
        assert_eq!(ClickCurve::from_chances(&[f64::NAN, 7.0]).unwrap().at(2), 1.0);
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
        assert!((later / now - 0.5).abs() < 1e-3, "{}", later / now);
        // Told late, it counts as if told in time.
        let mut late = PageInterest::new(-1e9);
        late.click(DAY, 0.0, DAY);
        late.view(0.0, 100.0, 1, &curve, DAY);
        late.click(0.0, 30.0, DAY);
        let told_late = late.click_rate(DAY, DAY, &prior);
        assert!((told_late / later - 1.0).abs() < 1e-12);
    }

    #[test]
    fn without_a_log_the_prior_stands() {
        let prior = WeightPrior { rate: 2e-5, seconds: DAY, strength: 3.0 };
        let page = PageInterest::new(100.0);
        assert!((page.click_rate(100.0, DAY, &prior) / 2e-5 - 1.0).abs() < 1e-12);
        // Watched and never shown: below the prior, never zero.
        let quiet = page.click_rate(100.0 * DAY, DAY, &prior);
        assert!(quiet > 0.0 && quiet < 2e-5);
    }

    /// Pages whose clicks follow their positions alone need a strong κ, differing ones a weak one.
    #[test]
    fn strength_tells_luck_from_merit() {
        let curve = ClickCurve::default();
        let population = |spread: bool| -> Vec<PageInterest> {
            (0..400)
                .map(|i| {
                    let mut draws = Draws::of(2, "weight", i);
                    let merit = if spread { draws.exponential(1.0) } else { 1.0 };
                    let mut page = PageInterest::new(0.0);
                    page.view(0.0, 30.0, 1, &curve, DAY);
                    let mut until = draws.exponential(9.0 * merit);
                    while until < 1.0 {
                        page.click(0.0, 1.0, DAY);
                        until += draws.exponential(9.0 * merit);
                    }
                    page
                })
                .collect()
        };
        let (same, differing) = (population(false), population(true));
        let strong = WeightPrior::fit_strength(|| same.iter());
        let weak = WeightPrior::fit_strength(|| differing.iter());
        assert!(strong > 30.0 && (0.5..2.0).contains(&weak), "{strong} {weak}");
    }

    #[test]
    fn a_curve_is_learned_where_it_was_measured() {
        let base = ClickCurve::power(0.3, 1.0);
        let views = [10_000.0, 10_000.0, 10_000.0];
        let learned = base.learned(&views, &[5000.0, 600.0, 1000.0]);
        assert!((learned.at(1) - 0.5).abs() < 0.01 && (learned.at(2) - 0.06).abs() < 0.01);
        assert!((learned.at(3) - 0.1).abs() < 0.01);
        assert!(
            (learned.at(20) / base.at(20) - 1.0).abs() < 1e-9,
            "unseen positions keep the curve"
        );
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
