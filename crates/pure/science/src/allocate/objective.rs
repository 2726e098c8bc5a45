//! What a fetch rate is worth under each objective, and the rate a price buys.
//!
//! Every objective is Σ wᵢ·v(λᵢ, fᵢ) with v concave in the fetch rate f (costs count negatively).
//! Its marginal value m(f) = w·∂v/∂f falls with f, so a price ω buys the one rate with m(f) = ω,
//! or none when even the first fetch is worth less than ω. Rates are in fetches per unit time,
//! change rates in changes per the same unit, weights in any unit; the price is in weight × time.

use tidewatch_math::special::{g, g_inv};

/// What the allocation makes best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Objective {
    /// Most Σ w·F, F = (1 − e⁻ʳ)/r, r = λ/f: pages fetched at even intervals \[CGM03\].
    Freshness,
    /// Least Σ w·A, A = (½ − 1/r + (1 − e⁻ʳ)/r²)/f: mean age at even intervals \[CGM03\].
    Age,
    /// Least Σ w·ln(1 + λ/f): harmonic number of the missed changes \[K19\]. Starves nobody.
    Harmonic,
    /// Most Σ w·f/(f + λ): freshness when fetch times are Poisson too \[AHLPS18\].
    Memoryless,
}

impl Objective {
    /// All objectives, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Freshness, Self::Age, Self::Harmonic, Self::Memoryless];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Freshness => "freshness",
            Self::Age => "age",
            Self::Harmonic => "harmonic",
            Self::Memoryless => "memoryless",
        }
    }

    /// Whether a larger score is better (freshness) or a smaller one (age, staleness).
    pub const fn is_gain(self) -> bool {
        matches!(self, Self::Freshness | Self::Memoryless)
    }

    /// One page's score per unit of weight at a fetch rate; limits at f = 0 and λ ∈ {0, ∞}
    /// included. A page that never changes is fresh, of age zero and of cost zero at any rate.
    pub fn score(self, change_rate: f64, fetch_rate: f64) -> f64 {
        let (lambda, f) = (change_rate, fetch_rate);
        if lambda == 0.0 {
            return if self.is_gain() { 1.0 } else { 0.0 };
        }
        let r = lambda / f;
        match self {
            Self::Freshness if f == 0.0 || lambda.is_infinite() => 0.0,
            Self::Freshness => -(-r).exp_m1() / r,
            Self::Age if f == 0.0 => f64::INFINITY,
            Self::Age => age_shape(r) / f,
            Self::Harmonic => r.ln_1p(),
            Self::Memoryless => 1.0 / (1.0 + r),
        }
    }

    /// Marginal value per unit of weight, |∂score/∂f|, at f ≥ 0:
    ///
    /// | objective | formula, x = λ/f | at f = 0 |
    /// |---|---|---|
    /// | freshness | g(x)/λ, g(x) = 1 − (1 + x)e⁻ˣ | 1/λ |
    /// | age | (x²/2 − g(x))/λ² | ∞ |
    /// | harmonic | λ/(f(f + λ)) | ∞ |
    /// | memoryless | λ/(f + λ)² | 1/λ |
    pub fn marginal(self, change_rate: f64, fetch_rate: f64) -> f64 {
        let (lambda, f) = (change_rate, fetch_rate);
        if lambda == 0.0 {
            return 0.0;
        }
        let x = lambda / f;
        match self {
            Self::Freshness => g(x) / lambda,
            Self::Age if lambda.is_infinite() => 0.5 / (f * f),
            Self::Age => age_marginal_shape(x) / lambda / lambda,
            Self::Harmonic => 1.0 / (f * (1.0 + f / lambda)),
            Self::Memoryless => 1.0 / (lambda * (1.0 + f / lambda).powi(2)),
        }
    }

    /// The fetch rate at which weight × marginal value = price ≥ 0, zero where nothing is worth
    /// the price. Weight and change rate zero buy nothing; an infinite change rate takes the
    /// limit (given up for freshness; 1/√(2ω/w) for age; w/ω for harmonic).
    #[inline]
    pub fn rate(self, price: f64, weight: f64, change_rate: f64) -> f64 {
        match self {
            Self::Freshness => freshness(price, weight, change_rate),
            Self::Age => age(price, weight, change_rate),
            Self::Harmonic => harmonic(price, weight, change_rate),
            Self::Memoryless => memoryless(price, weight, change_rate),
        }
    }
}

impl std::fmt::Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// f = λ/g⁻¹(ωλ/w); nothing when w/λ ≤ ω. The slow form, kept as the check of the fast kernel.
fn freshness(price: f64, weight: f64, change_rate: f64) -> f64 {
    let y = price * change_rate / weight;
    if y < 1.0 && change_rate > 0.0 { change_rate / g_inv(y) } else { 0.0 }
}

/// f = λ/x with x²/2 − g(x) = ωλ²/w.
fn age(price: f64, weight: f64, change_rate: f64) -> f64 {
    if weight == 0.0 || change_rate == 0.0 || price == f64::INFINITY {
        0.0
    } else if price == 0.0 {
        f64::INFINITY
    } else if change_rate.is_infinite() {
        (0.5 * weight / price).sqrt()
    } else {
        change_rate / age_marginal_shape_inv(price * change_rate * (change_rate / weight))
    }
}

/// f = (2w/ω)/(1 + √(1 + 4w/(ωλ))) \[K19\], the root of f² + λf = wλ/ω without cancellation, as
/// 2/(q + √(q² + 4q/λ)) with q = ω/w, which has the right limits at ω = 0 and ∞.
#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "a branch would prevent vectorisation")]
pub(super) fn harmonic(price: f64, weight: f64, change_rate: f64) -> f64 {
    let q = price / weight;
    let rate = 2.0 / (q + (q * (q + 4.0 / change_rate)).sqrt());
    if (weight > 0.0) & (change_rate > 0.0) { rate } else { 0.0 }
}

/// f = √(wλ/ω) − λ = λ(s − 1)/(√s + 1) with s = w/(ωλ), nothing when s ≤ 1 \[AHLPS18\].
#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "a branch would prevent vectorisation")]
pub(super) fn memoryless(price: f64, weight: f64, change_rate: f64) -> f64 {
    // At price zero s is infinite; capped, it gives a rate above every bound.
    let s = (weight / (price * change_rate)).min(f64::MAX);
    let rate = change_rate * ((s - 1.0) / (s.sqrt() + 1.0));
    let worth = (s > 1.0) & (weight > 0.0) & (change_rate > 0.0) & (change_rate < f64::INFINITY);
    if worth { rate } else { 0.0 }
}

/// Below this the closed forms of age cancel and their series have long converged.
const SERIES_BELOW: f64 = 1.0;

/// (−1)^(k+1)/k! for k = 3, 4, …, 20; the next term is below a rounding for r < 1.
const AGE_SERIES: [f64; TERMS] = alternating(false);
/// (−1)^(k+1)·(k − 1)/k! for the same k.
const AGE_MARGINAL_SERIES: [f64; TERMS] = alternating(true);
const TERMS: usize = 18;

const fn alternating(with_factor: bool) -> [f64; TERMS] {
    let mut terms = [0.0; TERMS];
    let (mut index, mut reciprocal) = (0, 0.5);
    while index < TERMS {
        let k = (index + 3) as f64;
        reciprocal /= k;
        let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
        terms[index] = sign * reciprocal * if with_factor { k - 1.0 } else { 1.0 };
        index += 1;
    }
    terms
}

fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// f·A = ½ − 1/r + (1 − e⁻ʳ)/r² = Σ_{k≥3} (−1)^(k+1)·r^(k−2)/k! = r/6 − r²/24 + …; ½ at r = ∞.
fn age_shape(r: f64) -> f64 {
    if r < SERIES_BELOW {
        r * polynomial(r, &AGE_SERIES)
    } else if r.is_infinite() {
        0.5
    } else {
        0.5 - 1.0 / r - (-r).exp_m1() / (r * r)
    }
}

/// G(x) = x²/2 − g(x) = Σ_{k≥3} (−1)^(k+1)·(k − 1)·xᵏ/k! = x³/3 − x⁴/8 + …
fn age_marginal_shape(x: f64) -> f64 {
    if x < SERIES_BELOW {
        x * x * x * polynomial(x, &AGE_MARGINAL_SERIES)
    } else {
        0.5 * x * x - g(x)
    }
}

/// z/x = P(z)/Q(z) with G(x) = v, z = ∛(3v), for 0 ≤ z ≤ [`AGE_FAR`]; relative error 1.9·10⁻⁸
/// (rational fit of degree (6, 7) to 60-digit values; P and Q stay above 0.95).
const AGE_NUMERATOR: [f64; 7] = [
    0.9999999814576276,
    -0.11023826936119854,
    0.06105942947397106,
    0.0036026213556577596,
    0.0010671482590155902,
    0.0002295619379461602,
    9.507763032846384e-06,
];
const AGE_DENOMINATOR: [f64; 8] = [
    1.0,
    0.014760875635277941,
    0.060827747390286444,
    0.010287875456143873,
    0.0021231251606729767,
    0.0003935222843258103,
    5.3871387760183344e-05,
    4.4092650827825186e-07,
];

/// From here on x > 40, where g(x) is one to the last bit.
const AGE_FAR: f64 = 14.2;

/// The x with G(x) = v > 0: a rational start and one Newton step, G′ = x(1 − e⁻ˣ), which squares
/// its error to below rounding; √(2(v + 1)) far out.
fn age_marginal_shape_inv(v: f64) -> f64 {
    let z = (3.0 * v).cbrt();
    if z > AGE_FAR {
        return (2.0 * (v + 1.0)).sqrt();
    }
    let x = z * (polynomial(z, &AGE_DENOMINATOR) / polynomial(z, &AGE_NUMERATOR));
    x - (age_marginal_shape(x) - v) / (x * -(-x).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::super::kernel;
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::roots::{Stop, bisect};

    /// Twenty roundings: five ulp of g⁻¹, its conditioning of two, and the divisions.
    const CLOSE: f64 = 20.0 * f64::EPSILON;
    /// Central differences with a step of 10⁻⁵ err by its square over the scale of f.
    const DIFFERENCE: f64 = 1e-6;

    /// Page and price such that the page is not at the very edge of being given up, where a
    /// rounding of the price moves the rate by any amount.
    fn case() -> impl Strategy<Value = (f64, f64, f64)> {
        (-8.0..8.0_f64, -8.0..8.0_f64, -12.0..12.0_f64)
            .prop_map(|(w, l, p)| (w.exp(), l.exp(), p.exp()))
    }

    proptest! {
        #[test]
        fn rate_inverts_marginal((weight, change, price) in case()) {
            for objective in Objective::ALL {
                let rate = objective.rate(price, weight, change);
                let first = weight * objective.marginal(change, 0.0);
                if rate == 0.0 {
                    prop_assert!(first <= price * (1.0 + CLOSE), "{objective}");
                } else {
                    let value = weight * objective.marginal(change, rate);
                    prop_assert!((value / price - 1.0).abs() <= CLOSE, "{objective}: {value} {price}");
                }
            }
        }

        /// Price into rate: never NaN, falling with the price, zero only where nothing is worth it.
        #[test]
        fn every_price_buys_a_rate(
            weight in -30.0..30.0_f64, change in -30.0..30.0_f64, price in -30.0..30.0_f64,
            more in 0.0..3.0_f64,
        ) {
            let (weight, change) = (10_f64.powf(weight), 10_f64.powf(change));
            let (price, dearer) = (10_f64.powf(price), 10_f64.powf(price + more));
            for objective in Objective::ALL {
                let slow = |price| objective.rate(price, weight, change);
                let fast = |price| {
                    let mut rate = [0.0];
                    kernel::rates(objective, &[price], &[weight], &[change], &mut rate);
                    rate[0]
                };
                for (some, fewer) in [(slow(price), slow(dearer)), (fast(price), fast(dearer))] {
                    prop_assert!(some.is_finite() && some >= 0.0, "{objective}: {some}");
                    prop_assert!(fewer <= some * (1.0 + CLOSE), "{objective}: {some} then {fewer}");
                    let is_worth = weight * objective.marginal(change, 0.0) > price * (1.0 + CLOSE);
                    prop_assert!(some > 0.0 || !is_worth, "{objective}: {some}");
                }
            }
        }

        #[test]
        fn marginal_is_the_slope_of_the_score(change in 0.01..100.0_f64, rate in 0.1..10.0_f64) {
            for objective in Objective::ALL {
                let h = 1e-5 * rate;
                let slope = (objective.score(change, rate + h) - objective.score(change, rate - h))
                    / (2.0 * h);
                let marginal = objective.marginal(change, rate);
                let scale = objective.score(change, rate).abs() / rate;
                prop_assert!((slope.abs() - marginal).abs() <= DIFFERENCE * scale.max(marginal));
                prop_assert_eq!(slope >= 0.0 || marginal < DIFFERENCE * scale, objective.is_gain());
            }
        }

        #[test]
        fn age_inverse_agrees_with_bisection(log in -40.0..40.0_f64) {
            let v = log.exp();
            let slow = bisect(|x| age_marginal_shape(x) - v, (1e-20, 1e20), Stop::default());
            let slow = slow.unwrap().x;
            prop_assert!((age_marginal_shape_inv(v) / slow - 1.0).abs() <= CLOSE, "{}", slow);
        }
    }

    #[test]
    fn limits_are_values_not_nan() {
        for objective in Objective::ALL {
            for change in [0.0, 1.0, f64::INFINITY] {
                for fetch in [0.0, 1.0] {
                    assert!(
                        !objective.score(change, fetch).is_nan(),
                        "{objective} {change} {fetch}"
                    );
                    assert!(
                        !objective.marginal(change, fetch).is_nan(),
                        "{objective} {change} {fetch}"
                    );
                }
                for weight in [0.0, 1.0] {
                    let rate = objective.rate(1.0, weight, change);
                    assert!(rate.is_finite() && rate >= 0.0, "{objective} {weight} {change}");
                    assert!(rate == 0.0 || (weight > 0.0 && change > 0.0));
                    assert_eq!(objective.rate(f64::INFINITY, weight, change), 0.0, "{objective}");
                    let free = objective.rate(0.0, weight, change);
                    let useful = rate > 0.0 || (weight, change) == (1.0, 1.0);
                    assert_eq!(free > 1e100, useful, "{objective} {weight} {change}: {free}");
                }
            }
        }
        assert_eq!(Objective::Freshness.rate(1.0, 1.0, f64::INFINITY), 0.0);
        assert_eq!(Objective::Harmonic.rate(2.0, 1.0, f64::INFINITY), 0.5);
        assert_eq!(Objective::Age.rate(2.0, 1.0, f64::INFINITY), 0.5);
    }

    #[test]
    fn nothing_is_given_up_for_age_and_harmonic() {
        for price in [1e-6, 1.0, 1e6] {
            assert!(Objective::Age.rate(price, 1e-3, 1e3) > 0.0);
            assert!(Objective::Harmonic.rate(price, 1e-3, 1e3) > 0.0);
        }
        assert_eq!(Objective::Freshness.rate(1.0, 1.0, 1.0), 0.0);
        assert_eq!(Objective::Memoryless.rate(1.0, 1.0, 1.0), 0.0);
    }
}
