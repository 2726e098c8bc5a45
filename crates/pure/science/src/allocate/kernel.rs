//! The rates a price buys for a tile of pages, written so that the compiler vectorises it.
//!
//! An allocation is a handful of passes over all pages, so this loop is where its time goes. For
//! freshness, f = λ/g⁻¹(y) with y = ωλ/w. As in `tidewatch_math`, L = −ln(1 − y), t = √(2L), and
//! g⁻¹(y)/t is smooth; what differs here is that its reciprocal t/g⁻¹ is approximated (the
//! division is needed anyway), and that the logarithm is spelled out in additions, shifts and one
//! division, because a call to the platform's `ln_1p` would force one page at a time. No branch
//! depends on a page: pages that are given up are computed with a harmless y and masked.

use super::objective::{Objective, harmonic, memoryless};

/// Pages handled at once: four arrays of this length stay in the first-level cache.
pub(super) const TILE: usize = 256;

/// t/g⁻¹ = P(t)/Q(t) for 0 ≤ t ≤ 8.6, all that a y below one in double precision can ask;
/// relative error 2.4·10⁻¹⁶ (rational fit of degree (7, 8) to 50-digit values of −1 − W₋₁(−q/e)).
const NUMERATOR: [f64; 8] = [
    1.0,
    1.0357047564570157,
    0.48494745303701503,
    0.12705707466411523,
    0.01936535923515661,
    0.0016131528075280024,
    6.094908692774495e-05,
    7.092321634264281e-07,
];
const DENOMINATOR: [f64; 9] = [
    1.0,
    1.369038089790331,
    0.8579601496342347,
    0.31377209853689436,
    0.07158401800006327,
    0.010100069418874653,
    0.0008136195949796287,
    3.0483438607255614e-05,
    3.545935545749008e-07,
];

/// (ln m − 2s)/(s·s²) with s = (m − 1)/(m + 1), in powers of s², for √½ ≤ m < √2: the minimax
/// coefficients of FreeBSD's `e_log.c`, error below 2⁻⁵⁸.
const LOGARITHM: [f64; 7] = [
    0.6666666666666735,
    0.3999999999940942,
    0.2857142874366239,
    0.22222198432149784,
    0.1818357216161805,
    0.15313837699209373,
    0.14798198605116586,
];

/// Σ cₖxᵏ for up to nine coefficients by Estrin's scheme: a tree four products deep where Horner's
/// rule would be a chain of eight, each waiting for the one before.
#[inline]
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let c = |k: usize| if k < N { coefficients[k] } else { 0.0 };
    let pair = |k: usize| c(k) + c(k + 1) * x;
    let square = x * x;
    let fourth = square * square;
    let low = pair(0) + pair(2) * square;
    let high = pair(4) + if N > 7 { pair(6) * square } else { c(6) * square };
    let top = if N > 8 { c(8) * fourth } else { 0.0 };
    if N > 8 { low + (high + top) * fourth } else { low + high * fourth }
}

/// −ln(1 − y) for 0 ≤ y < 1, within 3 ulp.
#[inline]
fn minus_ln_1m(y: f64) -> f64 {
    const ROOT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    /// Keeps exponents of u ≥ 2⁻⁵³ positive, so that a logical shift serves.
    const BIAS: u64 = 64;
    /// 2⁵²: its low bits hold an integer, which subtracting it turns into a number.
    const MAGIC: f64 = (1_u64 << 52) as f64;
    let u = 1.0 - y;
    // What the subtraction lost; zero for y above a half, so 1/u may be taken as 1 + y.
    let lost = ((1.0 - u) - y) * (1.0 + y);
    let biased = u.to_bits().wrapping_add(BIAS << 52);
    let exponent = biased.wrapping_sub(ROOT_HALF) >> 52;
    let m = f64::from_bits(biased.wrapping_sub(exponent << 52));
    let k = f64::from_bits(exponent | MAGIC.to_bits()) - (MAGIC + BIAS as f64);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // Subtracted from zero rather than negated: at y = 0 the result must be +0, not −0.
    0.0 - (k * std::f64::consts::LN_2 + ((s * z) * polynomial(z, &LOGARITHM) + 2.0 * s)) - lost
}

/// λ/g⁻¹(ωλ/w), zero when w/λ ≤ ω or λ = 0; within 12 ulp of the slow form.
#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "a branch would prevent vectorisation")]
pub(super) fn freshness(price: f64, weight: f64, change_rate: f64) -> f64 {
    let y = price * change_rate / weight;
    let worth = (y < 1.0) & (change_rate > 0.0);
    let y = if worth { y } else { 0.5 };
    let t = (2.0 * minus_ln_1m(y)).sqrt();
    let rate = change_rate * polynomial(t, &NUMERATOR) / (t * polynomial(t, &DENOMINATOR));
    if worth { rate } else { 0.0 }
}

/// Writes to `rates` what `prices` buy, page by page. All slices have one length.
pub(super) fn rates(
    objective: Objective,
    prices: &[f64],
    weights: &[f64],
    change_rates: &[f64],
    rates: &mut [f64],
) {
    match objective {
        Objective::Freshness => each(freshness, prices, weights, change_rates, rates),
        Objective::Harmonic => each(harmonic, prices, weights, change_rates, rates),
        Objective::Memoryless => each(memoryless, prices, weights, change_rates, rates),
        Objective::Age => {
            each(|p, w, c| Objective::Age.rate(p, w, c), prices, weights, change_rates, rates);
        }
    }
}

#[inline]
fn each(
    rate: impl Fn(f64, f64, f64) -> f64,
    prices: &[f64],
    weights: &[f64],
    change_rates: &[f64],
    rates: &mut [f64],
) {
    let pages = prices.iter().zip(weights).zip(change_rates);
    for (out, ((&price, &weight), &change)) in rates.iter_mut().zip(pages) {
        *out = rate(price, weight, change);
    }
}

/// Sum of a tile in eight lanes: at most 32 roundings deep, and always in the same order.
pub(super) fn sum(tile: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (eights, rest) = tile.as_chunks::<8>();
    for eight in eights {
        for (lane, term) in lanes.iter_mut().zip(eight) {
            *lane += term;
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, term| sum + term)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 5 of g⁻¹ itself, 3 of the logarithm halved by the root, and a rounding for each operation.
    const FRESHNESS_ULPS: f64 = 12.0;

    #[test]
    fn logarithm_agrees_with_the_library() {
        for k in 0..200_000 {
            let y = f64::from(k) / 200_000.0;
            for y in [y, y * y * y * 1e-9, 1.0 - (1.0 - y) * (1.0 - y) * 1e-9] {
                let (fast, slow) = (minus_ln_1m(y), -(-y).ln_1p());
                assert!((fast - slow).abs() <= 3.0 * f64::EPSILON * slow, "{y}: {fast} {slow}");
            }
        }
    }

    proptest! {
        #[test]
        fn fast_and_slow_freshness_agree(log in -60.0..40.0_f64, change in 1e-9..1e9_f64) {
            // y = 1/(1 + e^−s) covers both ends; the price is exactly one, so y is exact too.
            let y = 1.0 / (1.0 + (-log).exp());
            let slow = Objective::Freshness.rate(y, change, change);
            let fast = freshness(y, change, change);
            prop_assert!((fast - slow).abs() <= FRESHNESS_ULPS * f64::EPSILON * slow);
        }
    }

    #[test]
    fn worthless_pages_get_nothing() {
        for (weight, change) in
            [(0.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, f64::INFINITY), (1.0, 1.0)]
        {
            assert_eq!(freshness(1.0, weight, change), 0.0);
        }
        assert!(freshness(1.0 - f64::EPSILON, 1.0, 1.0) > 0.0);
        assert_eq!(freshness(0.0, 1.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn sum_counts_every_page_of_any_length() {
        let terms: Vec<f64> = (0..TILE).map(|k| k as f64).collect();
        for n in 0..TILE {
            assert_eq!(sum(&terms[..n]), (n * n.saturating_sub(1) / 2) as f64);
        }
    }
}
