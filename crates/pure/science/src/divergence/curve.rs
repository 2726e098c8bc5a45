//! How a copy of a page diverges, from the model of its regions.
//!
//! Let a page have S static fragments, n fragments that are replaced faster than anyone looks
//! (advertisements), and a region of K items of f fragments each, updated at rate λ: an update puts up
//! one item and takes down the oldest; K = 1 is churn. After j updates, j ≤ K, two versions share
//! S + (K − j)f fragments and hold S + 2n + (K + j)f together. With T₀ = S + 2n + Kf, b = 2n/T₀ and
//! g = f/T₀
//!
//! D_j = 1 − (S + (K−j)f)/(S + 2n + (K+j)f) = (b + 2jg)/(1 + jg),
//!
//! and D_j = D_K for j > K, when all items are new. D_K is the *limit* A that is never passed, so
//! g = (A − b)/(K(2 − A)). The number of updates in time t is Poisson, hence
//!
//! D(t) = b + Σ_{j=1..K} d_j·P(N(t) ≥ j),  d_j = D_j − D_{j−1} > 0.
//!
//! P(N(t) ≥ j) is the chance that the j-th update has come, an Erlang law with density dF_j, and
//! U(t) = ∫₀ᵗ v dD(v), so
//!
//! U(t) = Σ_j d_j·(j/λ)·P(N(t) ≥ j+1):
//!
//! sums of positive terms, with no cancellation at any t. The jump b at time zero is worth nothing: no
//! refresh can keep such content. D_j is concave in j, hence D in t.

use tidewatch_math::special::{gamma_p, gamma_q, poisson_mass};

use crate::law::LossCurve;

/// Most items of a scroll region; with more, an item would hardly ever be pushed out.
const MOST_ITEMS: u8 = 64;
/// A rate below this, per second, is a page that changes once in thirty million years.
const LEAST_RATE: f64 = 1e-15;

/// The expected divergence of a page: static content, content too fast to keep, and one region that
/// churns (`items` = 1) or scrolls. 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DivergenceCurve {
    rate: f64,
    limit: f32,
    jump: f32,
    items: u8,
}

impl DivergenceCurve {
    /// A page that never changes.
    pub const STATIC: DivergenceCurve =
        DivergenceCurve { rate: 0.0, limit: 0.0, jump: 0.0, items: 1 };

    /// λ = `rate` updates a second of K = `items` items; the divergence is `jump` right after a fetch and
    /// tends to `limit`. Arguments are clamped to 0 ≤ `jump` ≤ `limit` ≤ 1, 1 ≤ `items` ≤ 64 and
    /// `rate` ≥ 0; NaN becomes 0.
    pub fn new(rate: f64, limit: f64, jump: f64, items: u8) -> Self {
        let limit = if limit > 0.0 { limit.min(1.0) } else { 0.0 };
        let jump = if jump > 0.0 { jump.min(limit) } else { 0.0 };
        let rate = if rate.is_finite() && rate > LEAST_RATE { rate } else { 0.0 };
        let items = items.clamp(1, MOST_ITEMS);
        DivergenceCurve { rate, limit: limit as f32, jump: jump as f32, items }
    }

    /// λ, updates per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// D(∞), the divergence that is never passed.
    pub fn limit(&self) -> f64 {
        f64::from(self.limit)
    }

    /// D(0+), the divergence right after a fetch: content that changes faster than anyone looks.
    pub fn jump(&self) -> f64 {
        f64::from(self.jump)
    }

    /// K, the items of the region; 1 for churn.
    pub fn items(&self) -> u8 {
        self.items
    }

    /// Whether a fetch is never worth anything.
    pub fn is_static(&self) -> bool {
        self.rate == 0.0 || self.limit <= self.jump
    }

    /// d_j, the rise of divergence by the j-th update, 1 ≤ j ≤ K:
    /// D_j − D_{j−1} = g(2 − b)/((1 + jg)(1 + (j−1)g)).
    fn rise(&self, j: u8) -> f64 {
        let (a, b, k) = (self.limit(), self.jump(), f64::from(self.items));
        let g = (a - b) / (k * (2.0 - a));
        let (j, before) = (f64::from(j), f64::from(j) - 1.0);
        g * (2.0 - b) / ((1.0 + j * g) * (1.0 + before * g))
    }

    /// Σ_j d_j·weight(j)·P(N ≥ j + more), smallest terms first, tails from the largest j down:
    /// P(N ≥ j) = P(N ≥ j+1) + P(N = j) adds positive numbers only.
    fn tails(&self, expected: f64, more: u8, weight: impl Fn(f64) -> f64) -> f64 {
        let k = self.items;
        let mut tail = gamma_p(f64::from(k + more), expected);
        let mut sum = 0.0;
        for j in (1..=k).rev() {
            sum += self.rise(j) * weight(f64::from(j)) * tail;
            tail += poisson_mass(f64::from(j + more) - 1.0, expected);
        }
        sum
    }

    fn expected(&self, elapsed: f64) -> f64 {
        if self.rate == 0.0 { 0.0 } else { self.rate * elapsed }
    }
}

impl LossCurve for DivergenceCurve {
    fn stale(&self, elapsed: f64) -> f64 {
        if elapsed <= 0.0 {
            return 0.0;
        }
        if elapsed == f64::INFINITY && !self.is_static() {
            return self.limit();
        }
        if self.is_static() {
            return self.jump();
        }
        (self.jump() + self.tails(self.expected(elapsed), 0, |_| 1.0)).min(self.limit())
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        if elapsed <= 0.0 || self.is_static() {
            return 1.0 - self.stale(elapsed);
        }
        let x = self.expected(elapsed);
        let left = (1..=self.items).map(|j| self.rise(j) * gamma_q(f64::from(j), x));
        (1.0 - self.limit()) + left.sum::<f64>()
    }

    /// λ Σ d_j P(N = j−1).
    fn slope(&self, elapsed: f64) -> f64 {
        if self.is_static() || elapsed == f64::INFINITY {
            return 0.0;
        }
        let x = self.expected(elapsed);
        let term = |j: u8| self.rise(j) * poisson_mass(f64::from(j) - 1.0, x);
        self.rate * (1..=self.items).map(term).sum::<f64>()
    }

    fn worth(&self, elapsed: f64) -> f64 {
        if self.is_static() || elapsed <= 0.0 {
            return 0.0;
        }
        if elapsed == f64::INFINITY {
            return self.worth_limit();
        }
        self.tails(self.expected(elapsed), 1, |j| j) / self.rate
    }

    fn worth_limit(&self) -> f64 {
        if self.is_static() {
            return 0.0;
        }
        (1..=self.items).map(|j| self.rise(j) * f64::from(j)).sum::<f64>() / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Poisson;
    use proptest::prelude::*;
    use tidewatch_math::Draws;
    use tidewatch_math::quadrature::{Aim, integrate};

    /// The parameters are kept in single precision.
    const SINGLE: f64 = 1e-6;
    /// A dozen roundings, and those of the incomplete gamma function.
    const CLOSED: f64 = 1e-12;
    /// The search for U⁻¹ stops there at the latest.
    const INVERSE: f64 = 1e-9;
    /// Quadrature of a smooth function, asked for nine digits.
    const QUADRATURE: f64 = 1e-7;

    /// The model itself: sets of fragments, updated.
    fn literal(statics: u32, fast: u32, item: u32, k: u32, updates: u32) -> f64 {
        let (kept, union) = (
            f64::from(statics + k.saturating_sub(updates) * item),
            f64::from(statics + 2 * fast + (k + updates.min(k)) * item),
        );
        1.0 - kept / union
    }

    #[test]
    fn follows_from_counting_fragments() {
        let (statics, fast, item, k) = (37, 5, 3, 4);
        let d: Vec<f64> = (0..9).map(|j| literal(statics, fast, item, k, j)).collect();
        let curve = DivergenceCurve::new(0.3, d[4], d[0], 4);
        for t in [0.01, 0.5, 3.0, 20.0, 200.0] {
            let x: f64 = 0.3 * t;
            let chance = |j: usize| poisson_mass(j as f64, x);
            let few: f64 = (0..8).map(|j| d[j] * chance(j)).sum();
            let many = d[8] * gamma_p(8.0, x);
            assert!((curve.stale(t) - (few + many)).abs() < SINGLE, "t = {t}");
        }
    }

    #[test]
    fn churn_alone_is_the_classic_law() {
        let (curve, law) = (DivergenceCurve::new(0.02, 1.0, 0.0, 1), Poisson::new(0.02).unwrap());
        for t in [1e-6, 0.1, 10.0, 80.0, 1e4] {
            assert!((curve.stale(t) / law.stale(t) - 1.0).abs() < CLOSED);
            assert!((curve.worth(t) / law.worth(t) - 1.0).abs() < CLOSED, "t = {t}");
        }
        assert!((curve.elapsed_at(5.0) / law.elapsed_at(5.0) - 1.0).abs() < INVERSE);
    }

    #[test]
    fn static_pages_are_never_due() {
        let fast = DivergenceCurve::new(1.0, 0.4, 0.4, 1);
        assert_eq!(DivergenceCurve::STATIC.elapsed_at(1e-9).to_bits(), f64::INFINITY.to_bits());
        assert_eq!(fast.elapsed_at(1e-9).to_bits(), f64::INFINITY.to_bits());
        assert!((fast.stale(1.0) - 0.4).abs() < SINGLE && fast.worth(1e9) == 0.0);
    }

    /// Simulated regions, seen after a time: the mean divergence is the curve's.
    #[test]
    fn agrees_with_simulated_updates() {
        const PAGES: u64 = 20_000;
        let (statics, fast, item, k, t) = (20, 2, 4, 3, 5.0);
        let d: Vec<f64> = (0..=k).map(|j| literal(statics, fast, item, k, j)).collect();
        let curve = DivergenceCurve::new(0.4, d[3], d[0], 3);
        let (mut sum, mut squares) = (0.0, 0.0);
        for page in 0..PAGES {
            let mut draws = Draws::of(4, "longevity.curve", page);
            let (mut at, mut updates) = (draws.exponential(0.4), 0);
            while at < t {
                updates += 1;
                at += draws.exponential(0.4);
            }
            let seen = literal(statics, fast, item, k, updates);
            sum += seen;
            squares += seen * seen;
        }
        let mean = sum / PAGES as f64;
        let error = ((squares / PAGES as f64 - mean * mean) / PAGES as f64).sqrt();
        assert!((mean - curve.stale(t)).abs() < 4.0 * error, "{mean} {}", curve.stale(t));
    }

    proptest! {
        #[test]
        fn worth_is_its_definition(
            rate in 0.01f64..3.0, limit in 0.05f64..1.0, part in 0.0f64..0.9, items in 1u8..=20, t in 0.01f64..60.0,
        ) {
            let curve = DivergenceCurve::new(rate, limit, limit * part, items);
            let aim = Aim { absolute: 1e-12, relative: 1e-9, evaluations: 100_000 };
            let area = integrate(|v| curve.stale(v), 0.0, t, aim).unwrap().value;
            let literal = t * curve.stale(t) - area;
            prop_assert!((curve.worth(t) - literal).abs() < QUADRATURE * (1.0 + t), "{} {literal}", curve.worth(t));
            prop_assert!((curve.stale(t) + curve.fresh(t) - 1.0).abs() < SINGLE);
        }

        #[test]
        fn inverse_undoes_worth(
            rate in 1e-9f64..1.0, limit in 0.01f64..1.0, items in 1u8..=64, share in 1e-9f64..0.999,
        ) {
            let curve = DivergenceCurve::new(rate, limit, 0.0, items);
            let worth = share * curve.worth_limit();
            let t = curve.elapsed_at(worth);
            prop_assert!((curve.worth(t) / worth - 1.0).abs() < SINGLE, "{t} {} {worth}", curve.worth(t));
        }

        /// Worth into time at every magnitude: never NaN, later for more worth.
        #[test]
        fn every_worth_has_its_time(
            rate in -30.0..30.0_f64, limit in -9.0..0.0_f64, part in 0.0..1.0_f64, items in 1u8..=64,
            worth in -30.0..30.0_f64, more in 0.0..3.0_f64,
        ) {
            let (rate, limit, worth) = (10_f64.powf(rate), 10_f64.powf(limit), 10_f64.powf(worth));
            let curve = DivergenceCurve::new(rate, limit, limit * part, items);
            let (time, later) = (curve.elapsed_at(worth), curve.elapsed_at(worth * 10_f64.powf(more)));
            prop_assert!(time > 0.0 && later >= time * (1.0 - SINGLE), "{curve:?} {worth}: {time} {later}");
            prop_assert!(worth < curve.worth_limit() || time == f64::INFINITY, "{curve:?} {worth}");
            let (stale, worth) = (curve.stale(worth), curve.worth(worth));
            prop_assert!((0.0..=1.0).contains(&stale) && worth >= 0.0, "{curve:?} {stale} {worth}");
        }

        #[test]
        fn anything_makes_a_curve(rate: f64, limit: f64, jump: f64, items: u8, t: f64) {
            let curve = DivergenceCurve::new(rate, limit, jump, items);
            let d = curve.stale(t.abs());
            prop_assert!((0.0..=1.0).contains(&d) || t.is_nan(), "{d}");
            prop_assert!(curve.elapsed_at(1.0) >= 0.0);
        }
    }
}
