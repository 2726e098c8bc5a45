//! Differences of exponentials and logarithms that cancel when written as they stand.
//!
//! The freshness and age formulas are full of (1 − e⁻ˣ)/x and its successors
//! φₙ(x) = (Tₙ₋₁ − e⁻ˣ)·(−1)ⁿ⁻¹/xⁿ, Tₖ being the Taylor polynomial of e⁻ˣ; each loses all digits
//! for small x if evaluated literally.

use super::polynomial;

/// (1 − e⁻ˣ)/x: mean freshness of a page changing x times between fetches on average, and the
/// mean of e⁻ˢ over \[0, x\]. For every real x; 1 at 0, 0 at ∞. At most 3 ulp.
#[inline]
pub fn expm1_over(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { -(-x).exp_m1() / x }
}

/// (e⁻ˣ − 1 + x)/x² on [0, 2], relative error 3·10⁻¹⁸.
const SECOND: ([f64; 6], [f64; 7]) = (
    [
        0.5,
        0.07275034704627717,
        0.013959978983657216,
        0.0009068055274375026,
        5.4217688038855856e-05,
        1.1164419432268124e-06,
    ],
    [
        1.0,
        0.47883402742588715,
        0.10419796710929045,
        0.01331009780567352,
        0.0010647600656064678,
        5.134174753661116e-05,
        1.1904096618580953e-06,
    ],
);

/// (e⁻ˣ − 1 + x)/x² = (1 − (1 − e⁻ˣ)/x)/x for x ≥ 0: staleness per expected change. ½ at 0, 0 at
/// ∞, NaN below 0. At most 3 ulp.
#[inline]
pub fn expm2_over(x: f64) -> f64 {
    if x > 2.0 {
        (1.0 - expm1_over(x)) / x
    } else if x >= 0.0 {
        polynomial(x, &SECOND.0) / polynomial(x, &SECOND.1)
    } else {
        f64::NAN
    }
}

/// x/(eˣ − 1), the Bernoulli function of maximum-likelihood rates, for every real x: 1 at 0, 0 at
/// ∞, −x towards −∞. At most 3 ulp.
#[inline]
pub fn over_expm1(x: f64) -> f64 {
    if x == 0.0 {
        1.0
    } else if x > 700.0 {
        x * (-x).exp()
    } else {
        x / x.exp_m1()
    }
}

/// ln(1 − e⁻ˣ) for x > 0: log of the chance of at least one event. −∞ at 0. At most 3 ulp.
#[inline]
pub fn ln_1m_exp(x: f64) -> f64 {
    if x < std::f64::consts::LN_2 { (-(-x).exp_m1()).ln() } else { (-(-x).exp()).ln_1p() }
}

/// (x − ln(1 + x))/(x²/2) on [−0.35, 0.6], relative error 5·10⁻¹⁸.
const LOG_GAP: ([f64; 7], [f64; 8]) = (
    [
        1.0,
        3.0525472917458583,
        3.572269568641316,
        2.001952391325598,
        0.5457074530852286,
        0.0643860094546371,
        0.0022710960689524976,
    ],
    [
        1.0,
        3.719213958412525,
        5.551745540916335,
        4.2435091060635735,
        1.7531930033676297,
        0.37810130794394387,
        0.03719648801924034,
        0.001152915018211805,
    ],
);

/// x − ln(1 + x) for x > −1, never negative: the large-deviation rate of Poisson and gamma laws.
/// At most 4 ulp.
#[inline]
pub fn minus_ln_1p(x: f64) -> f64 {
    if (-0.35..=0.6).contains(&x) {
        0.5 * x * x * (polynomial(x, &LOG_GAP.0) / polynomial(x, &LOG_GAP.1))
    } else {
        x - x.ln_1p()
    }
}

/// ((1 + u)ᵏ − 1)/k for u > −1, continuous at k = 0 where it is ln(1 + u) (the Box–Cox
/// transform). Relative error a few ulp times 1 + |k·ln(1 + u)|.
#[inline]
pub fn power_over(u: f64, k: f64) -> f64 {
    let log = u.ln_1p();
    // (e^z − 1)/z with z = k·ln(1 + u), times ln(1 + u).
    log * expm1_over(-k * log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_ulps;
    use proptest::prelude::*;

    // Reference values: mpmath 1.3 with 60 digits, the argument taken as the exact double, the
    // literal formula, then rounded to the nearest double.
    const EXPM1_OVER: [(f64, f64); 17] = [
        (1e-300, 1.0),
        (1e-20, 1.0),
        (1e-09, 0.9999999995),
        (0.0001, 0.999950001666625),
        (0.1, 0.9516258196404043),
        (0.7, 0.7191638517265578),
        (1.0, 0.6321205588285577),
        (1.9, 0.4475954635670342),
        (2.1, 0.4178778913081038),
        (2.9, 0.3258540620495148),
        (3.5, 0.27708646187933755),
        (10.0, 0.09999546000702375),
        (40.0, 0.025),
        (300.0, 0.0033333333333333335),
        (1000000.0, 1e-06),
        (-0.5, 1.2974425414002564),
        (-3.0, 6.361845641062556),
    ];
    const EXPM2_OVER: [(f64, f64); 15] = [
        (1e-300, 0.5),
        (1e-20, 0.5),
        (1e-09, 0.4999999998333333),
        (0.0001, 0.49998333374999165),
        (0.1, 0.4837418035959573),
        (0.7, 0.4011944975334888),
        (1.0, 0.36787944117144233),
        (1.9, 0.29073922970156096),
        (2.1, 0.2772010041389982),
        (2.9, 0.2324641165346501),
        (3.5, 0.20654672517733214),
        (10.0, 0.09000045399929762),
        (40.0, 0.024375),
        (300.0, 0.003322222222222222),
        (1000000.0, 9.99999e-07),
    ];
    const OVER_EXPM1: [(f64, f64); 10] = [
        (1e-20, 1.0),
        (1e-05, 0.9999950000083333),
        (0.5, 0.7707470412683991),
        (1.0, 0.5819767068693265),
        (5.0, 0.03391827453152116),
        (50.0, 9.643749239819589e-21),
        (500.0, 3.562288203370643e-215),
        (-1e-05, 1.0000050000083334),
        (-0.5, 1.2707470412683992),
        (-30.0, 30.000000000002807),
    ];
    const LN_1M_EXP: [(f64, f64); 10] = [
        (1e-200, -460.51701859880916),
        (1e-09, -20.723265837446412),
        (0.01, -4.610166019324897),
        (0.5, -0.9327521295671886),
        (0.69, -0.6963042971440567),
        (0.7, -0.6863410028083852),
        (1.0, -0.4586751453870819),
        (5.0, -0.006760749449488557),
        (30.0, -9.357622968840613e-14),
        (100.0, -3.720075976020836e-44),
    ];
    const MINUS_LN_1P: [(f64, f64); 13] = [
        (-0.999, 5.908755278982136),
        (-0.5, 0.19314718055994531),
        (-0.35, 0.08078291609245425),
        (-0.34, 0.07551544396166583),
        (-0.1, 0.005360515657826302),
        (-1e-06, 5.000003333335833e-13),
        (1e-150, 5e-301),
        (1e-06, 4.999996666669166e-13),
        (0.2, 0.017678443206045377),
        (0.59, 0.12626598376785983),
        (0.61, 0.13376582100362835),
        (3.0, 1.6137056388801094),
        (1000000.0, 999986.184488442),
    ];

    #[test]
    fn reference_values() {
        assert_ulps("expm1_over", expm1_over, &EXPM1_OVER, 3);
        assert_ulps("expm2_over", expm2_over, &EXPM2_OVER, 3);
        assert_ulps("over_expm1", over_expm1, &OVER_EXPM1, 3);
        assert_ulps("ln_1m_exp", ln_1m_exp, &LN_1M_EXP, 3);
        assert_ulps("minus_ln_1p", minus_ln_1p, &MINUS_LN_1P, 4);
    }

    #[test]
    fn ends_of_the_domains() {
        let end = f64::INFINITY;
        assert_eq!((expm1_over(0.0), expm2_over(0.0)), (1.0, 0.5));
        assert_eq!((expm1_over(end), expm2_over(end)), (0.0, 0.0));
        assert!(expm2_over(-1.0).is_nan() && expm2_over(f64::NAN).is_nan());
        assert_eq!((over_expm1(0.0), over_expm1(800.0)), (1.0, 0.0));
        assert_eq!(over_expm1(-800.0), 800.0);
        assert_eq!(ln_1m_exp(0.0), -end);
        assert_eq!(power_over(1.0, 0.0), std::f64::consts::LN_2);
        assert_eq!(power_over(3.0, 1.0), 3.0);
    }

    proptest! {
        /// φₙ(x)·x = 1/(n−1)! − φₙ₋₁… ties the three to one another across their seams.
        #[test]
        fn recurrences_hold(x in 0.0..50.0_f64) {
            const ROUNDING: f64 = 8.0 * f64::EPSILON;
            prop_assert!((x * expm2_over(x) + expm1_over(x) - 1.0).abs() <= ROUNDING);
        }

        #[test]
        fn power_over_is_the_literal_form_where_that_is_sound(u in 0.5..20.0_f64, k in 0.5..3.0_f64) {
            let literal = ((1.0 + u).powf(k) - 1.0) / k;
            prop_assert!((power_over(u, k) / literal - 1.0).abs() < 100.0 * f64::EPSILON);
        }
    }
}
