//! The function g of fresh copies, and its inverse.
//!
//! With changes at rate λ and a fetch every I, one more fetch gains freshness
//! ∂F/∂f = g(λI)/λ where g(x) = 1 − (1 + x)e⁻ˣ \[CGM03\]. It is the chance that a Poisson number of
//! mean x exceeds one, and the incomplete gamma function P(2, x). An allocation needs g⁻¹ for each
//! page at each trial of the price, so the inverse is direct: no iteration, one logarithm, one
//! square root and one rational function.
//!
//! The derivation. With q = 1 − y, (1 + x)e⁻ˣ = q means x − ln(1 + x) = L with L = −ln q. In
//! t = √(2L) the solution is analytic, x = t + t²/3 + t³/36 − …, with its nearest singularities at
//! |t| = 2√π off the real axis, and grows like t²/2 + ln(1 + t²/2). So x/t is a smooth, slowly growing function
//! on the whole half line, and one rational function of degree (10, 9) with positive coefficients
//! follows it to 7·10⁻²⁰ for t ≤ 8.7, which is all that a y below one in double precision can ask.

use super::polynomial;

/// g(x)/x² = P(x)/Q(x) on [0, 1.75], relative error 2.5·10⁻¹⁷.
const G_OVER_SQUARE: ([f64; 6], [f64; 7]) = (
    [
        0.5,
        -0.07342809462946992,
        0.013628408945177157,
        -0.0008809573083206892,
        4.759426952846123e-05,
        -9.775518506001576e-07,
    ],
    [
        1.0,
        0.5198104774077225,
        0.12379713616229542,
        0.017483556804858538,
        0.0015667519818499192,
        8.616181389474518e-05,
        2.3408395645483713e-06,
    ],
);

/// Above it 1 − (1 + x)e⁻ˣ subtracts less than a half, which costs no accuracy.
const G_SMALL: f64 = 1.75;

/// x/t = P(t)/Q(t) on [0, 8.7], relative error 7·10⁻²⁰.
const INVERSE_NEAR: ([f64; 11], [f64; 10]) = (
    [
        1.0,
        1.65286351538306,
        1.2743260141651491,
        0.5940566204780621,
        0.182847770881957,
        0.038207010986136,
        0.005372571961022843,
        0.00048630543937151793,
        2.5773443064698122e-05,
        6.659166360698268e-07,
        5.704402052072172e-09,
    ],
    [
        1.0,
        1.3195301820497267,
        0.8067048423707962,
        0.2922050938901124,
        0.06769327241592622,
        0.010149338647074044,
        0.0009525569158310605,
        5.1307855992881254e-05,
        1.3316084738621705e-06,
        1.1409276620153836e-08,
    ],
);

/// x/t = P(t)/Q(t) on [8.6, 39], relative error 7·10⁻¹⁹.
const INVERSE_FAR: ([f64; 9], [f64; 8]) = (
    [
        0.9999925955276793,
        1.0862164158384435,
        0.515176105314472,
        0.13193902997671017,
        0.01850999101521217,
        0.0012689392562556712,
        3.819891856106956e-05,
        4.405335217445202e-07,
        1.412435079368353e-09,
    ],
    [
        1.0,
        0.7528747856447442,
        0.236441584298179,
        0.03591948771422038,
        0.002521416019174632,
        7.632678006828698e-05,
        8.810485939324176e-07,
        2.8248819650388248e-09,
    ],
);

/// Where the near approximation hands over to the far one.
const NEAR: f64 = 8.65;

/// g(x) = 1 − (1 + x)e⁻ˣ = P(2, x) = P(Poisson(x) > 1), for x ≥ 0.
///
/// At most 4 ulp for every x ≥ 0, subnormal results included; g(0) = 0, g(∞) = 1. For x < 0 the
/// formula itself is evaluated, which has no use here; NaN gives NaN.
#[inline]
pub fn g(x: f64) -> f64 {
    if (0.0..G_SMALL).contains(&x) {
        let (p, q) = &G_OVER_SQUARE;
        // The squares last: their product may be subnormal and must round only once.
        x * (x * (polynomial(x, p) / polynomial(x, q)))
    } else {
        1.0 - g_complement(x)
    }
}

/// 1 − g(x) = (1 + x)e⁻ˣ = P(Poisson(x) ≤ 1), without the rounding of g near one. At most 3 ulp
/// (in the subnormal range, of the smallest normal number); 0 at ∞.
#[inline]
fn g_complement(x: f64) -> f64 {
    if x == f64::INFINITY { 0.0 } else { (1.0 + x) * (-x).exp() }
}

/// The x ≥ 0 with g(x) = y, for y in \[0, 1\].
///
/// At most 5 ulp for the y given (y = 1 − 2⁻⁵³ is as good as y = 10⁻³⁰⁰; what a rounded y means
/// for x is the caller's affair, see [`g_complement_inv`]). g⁻¹(0) = 0, g⁻¹(1) = ∞, NaN outside.
#[inline]
pub fn g_inv(y: f64) -> f64 {
    near_inverse((-2.0 * (-y).ln_1p()).sqrt())
}

/// The x ≥ 0 with (1 + x)e⁻ˣ = q, for q in \[0, 1\]: the inverse of g for arguments so close to one
/// that only their complement q = 1 − y is known well. At most 5 ulp, except that near q = 1 the
/// rounding of q itself is all there is: use [`g_inv`] for q above a half.
#[inline]
pub fn g_complement_inv(q: f64) -> f64 {
    let t = (-2.0 * q.ln()).sqrt();
    if t <= NEAR {
        near_inverse(t)
    } else {
        let (p, q) = &INVERSE_FAR;
        if t == f64::INFINITY { t } else { t * (polynomial(t, p) / polynomial(t, q)) }
    }
}

#[inline]
fn near_inverse(t: f64) -> f64 {
    let (p, q) = &INVERSE_NEAR;
    if t == f64::INFINITY { t } else { t * (polynomial(t, p) / polynomial(t, q)) }
}

/// [`g_inv`] of every element, in place, bit for bit the same.
///
/// In blocks: first the logarithms, which are calls, then the roots and rational functions in a
/// loop without calls or branches, which the compiler turns into vector code.
pub fn g_inv_slice(values: &mut [f64]) {
    const BLOCK: usize = 64;
    for block in values.chunks_mut(BLOCK) {
        for value in block.iter_mut() {
            *value = -2.0 * (-*value).ln_1p();
        }
        for value in block {
            *value = near_inverse(value.sqrt());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::{Stop, bisect};
    use crate::testing::{Double, assert_ulps, ulps};
    use proptest::prelude::*;

    /// What the documentation of each function promises.
    const G_ULPS: u64 = 4;
    const COMPLEMENT_ULPS: u64 = 3;
    const INVERSE_ULPS: u64 = 5;

    // Reference values: mpmath 1.3, the argument taken as the exact double, g as the regularised
    // incomplete gamma function P(2, x) with 60 digits, the inverses as −1 − W₋₁(−q/e) with 400
    // digits, then rounded to the nearest double.
    const G: [(f64, f64); 25] = [
        (1e-160, 5e-321),
        (1e-100, 5e-201),
        (1e-20, 5e-41),
        (1e-08, 4.999999966666667e-17),
        (0.0001, 4.9996666791663335e-09),
        (0.01, 4.966791334026589e-05),
        (0.1, 0.00467884016044447),
        (0.3, 0.03693631311376677),
        (0.5, 0.09020401043104986),
        (0.75, 0.17335853270322427),
        (1.0, 0.26424111765711533),
        (1.25, 0.3553642070645723),
        (1.5, 0.4421745996289254),
        (1.7, 0.5067544850576164),
        (1.74, 0.5190741023094285),
        (1.76, 0.5251561758483806),
        (2.0, 0.5939941502901619),
        (3.0, 0.8008517265285442),
        (5.0, 0.9595723180054871),
        (10.0, 0.9995006007726127),
        (20.0, 0.9999999567157739),
        (30.0, 0.9999999999970991),
        (36.0, 0.9999999999999915),
        (100.0, 1.0),
        (700.0, 1.0),
    ];
    const G_COMPLEMENT: [(f64, f64); 8] = [
        (1e-08, 1.0),
        (0.5, 0.9097959895689501),
        (2.0, 0.40600584970983805),
        (10.0, 0.0004993992273873333),
        (36.5, 5.27573142167305e-15),
        (100.0, 3.757276735781044e-42),
        (500.0, 3.569412779777384e-215),
        (700.0, 6.911633257175599e-302),
    ];
    const G_INV: [(f64, f64); 21] = [
        (1e-300, 1.4142135623730952e-150),
        (1e-100, 1.414213562373095e-50),
        (1e-20, 1.4142135624397617e-10),
        (1e-12, 1.4142142290401938e-06),
        (1e-08, 0.00014142802333612885),
        (1e-05, 0.0044788163184577776),
        (0.001, 0.04540201776948956),
        (0.01, 0.14855474025326595),
        (0.1, 0.5318116083896121),
        (0.25, 0.9612787631147771),
        (0.4, 1.3764213420628868),
        (0.5, 1.6783469900166605),
        (0.6, 2.0223132453246566),
        (0.75, 2.6926345288896956),
        (0.9, 3.8897201698674295),
        (0.99, 6.638352067993811),
        (0.999, 9.233413476451585),
        (0.999999, 16.68842079082944),
        (0.999999999, 23.939727895037286),
        (0.999999999999, 31.099896029053795),
        (0.9999999999999999, 40.461567483087464),
    ];
    const G_COMPLEMENT_INV: [(f64, f64); 10] = [
        (0.5, 1.6783469900166605),
        (0.1, 3.889720169867429),
        (1e-05, 14.236627712003017),
        (1e-12, 31.09987319576915),
        (1e-16, 40.56870918918821),
        (1e-17, 42.926463533331656),
        (1e-40, 96.68515330518728),
        (1e-100, 235.72541016192412),
        (1e-200, 466.6647703353572),
        (1e-307, 713.4651577808755),
    ];

    #[test]
    fn reference_values() {
        assert_ulps("g", g, &G, G_ULPS);
        assert_ulps("g_complement", g_complement, &G_COMPLEMENT, COMPLEMENT_ULPS);
        assert_ulps("g_inv", g_inv, &G_INV, INVERSE_ULPS);
        assert_ulps("g_complement_inv", g_complement_inv, &G_COMPLEMENT_INV, INVERSE_ULPS);
    }

    #[test]
    fn ends_of_the_domains() {
        assert_eq!((g(0.0), g(f64::INFINITY)), (0.0, 1.0));
        assert_eq!((g_inv(0.0), g_inv(1.0)), (0.0, f64::INFINITY));
        assert_eq!((g_complement_inv(1.0), g_complement_inv(0.0)), (0.0, f64::INFINITY));
        assert_eq!((g_complement(0.0), g_complement(f64::INFINITY)), (1.0, 0.0));
        assert!(g(f64::NAN).is_nan() && g_inv(-0.1).is_nan() && g_inv(1.1).is_nan());
        assert!(g_complement_inv(-1e-9).is_nan() && g_complement_inv(1.0 + 1e-9).is_nan());
        assert!(g_complement_inv(f64::from_bits(1)).is_finite());
    }

    /// S = eˣ − 1 − x in double-double, a series of positive terms: g = S/(1 + x + S) needs no
    /// exponential and cancels nowhere.
    fn slow_tail(x: f64) -> Double {
        let x = Double(x, 0.0);
        let mut term = x.times(x).over(2.0);
        let mut total = Double(0.0, 0.0);
        let mut k = 2.0;
        while term.0 > total.0 * 1e-34 {
            total = total.plus(term);
            k += 1.0;
            term = term.times(x).over(k);
        }
        total
    }

    /// S·(1 − y) − y·(1 + x), whose sign is that of g(x) − y.
    fn slow_gap(x: f64, y: f64) -> f64 {
        let q = Double(1.0, 0.0).plus(Double(-y, 0.0));
        let one_plus_x = Double(1.0, 0.0).plus(Double(x, 0.0));
        slow_tail(x).times(q).plus(one_plus_x.times(Double(-y, 0.0))).0
    }

    #[test]
    fn inverse_agrees_with_bisection_in_double_double_on_a_grid() {
        let mut worst = 0;
        for k in 0..=600 {
            let s = f64::from(k) / 600.0 * 55.2 - 27.6;
            // Logistic grid: dense towards 10⁻¹² and 1 − 10⁻¹² alike.
            let y = 1.0 / (1.0 + (-s).exp());
            let slow = bisect(|x| slow_gap(x, y), (1e-8, 60.0), Stop::default()).unwrap();
            worst = worst.max(ulps(g_inv(y), slow.x));
        }
        assert!(worst <= INVERSE_ULPS, "{worst} ulp");
    }

    #[test]
    fn g_agrees_with_double_double_on_a_grid() {
        for k in 1..4000 {
            let x = f64::from(k) / 100.0;
            let tail = slow_tail(x);
            let whole = tail.plus(Double(1.0, 0.0).plus(Double(x, 0.0)));
            let off = ulps(g(x), tail.0 / whole.0);
            assert!(off <= G_ULPS, "g({x}): {off} ulp");
        }
    }

    proptest! {
        #[test]
        fn round_trip(exponent in -27.0..0.0_f64, side: bool) {
            // Relative error of y = g(g_inv(y)) is that of x times the condition x·g'(x)/g(x) ≤ 2.
            let y = exponent.exp();
            let y = if side { 1.0 - y } else { y };
            prop_assume!(y > 0.0 && y < 1.0);
            prop_assert!(ulps(g(g_inv(y)), y) <= 2 * INVERSE_ULPS + G_ULPS);
        }

        #[test]
        fn slice_is_the_same_bit_for_bit(mut values in prop::collection::vec(-0.1..1.1_f64, 0..200)) {
            // Which of the NaNs comes out is the processor's affair.
            let bits = |x: f64| if x.is_nan() { 0 } else { x.to_bits() };
            let one_by_one: Vec<u64> = values.iter().map(|&y| bits(g_inv(y))).collect();
            g_inv_slice(&mut values);
            let together: Vec<u64> = values.iter().map(|&x| bits(x)).collect();
            prop_assert_eq!(one_by_one, together);
        }

        #[test]
        fn monotone_and_bounded(a in 0.0..50.0_f64, step in 1e-6..1.0_f64) {
            prop_assert!(g(a) <= g(a + step) && g(a + step) <= 1.0);
            let y = a / 50.0;
            let z = (y + step * 1e-3).min(1.0);
            prop_assert!(g_inv(y) <= g_inv(z));
        }

        #[test]
        fn complement_inverse_round_trips(exponent in -700.0..-0.7_f64) {
            let q = exponent.exp();
            // The condition of q in x is x²/(1 + x): x ulps of x become x² / (1 + x) of q.
            let x = g_complement_inv(q);
            let limit = INVERSE_ULPS as f64 * (x + 1.0) + COMPLEMENT_ULPS as f64;
            prop_assert!(ulps(g_complement(x), q) as f64 <= 2.0 * limit);
        }
    }
}
