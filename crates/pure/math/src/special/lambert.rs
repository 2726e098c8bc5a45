//! The Lambert function: solutions w of w·eʷ = z, on both real branches.
//!
//! Both branches meet at z = −1/e with a square root singularity, where 1 + e·z is what carries
//! the information; it is formed with twice the working precision, so the result is good there too.

use super::{g_complement_inv, g_inv, polynomial};
use std::f64::consts::E;

/// e − E, the part of e below the nearest double.
const E_LOW: f64 = 1.4456468917292502e-16;

/// (W₀ + 1)/p on 0 ≤ p ≤ 1 with p = √(2(1 + e·z)).
const PRINCIPAL: ([f64; 7], [f64; 7]) = (
    [
        1.0,
        1.7597546692340316,
        1.1216210559294397,
        0.3138793764394024,
        0.036866285935019796,
        0.001375037359959743,
        3.737705746874314e-06,
    ],
    [
        1.0,
        2.0930880025673644,
        1.66653927900748,
        0.6292447653452182,
        0.1141738810453239,
        0.008841739904873604,
        0.00020208728691054875,
    ],
);

/// Exact to rounding: 1 + e·z.
#[inline]
fn above_branch_point(z: f64) -> f64 {
    E.mul_add(z, 1.0) + E_LOW * z
}

/// The principal branch W₀(z) ≥ −1 for z ≥ −1/e; NaN below, ∞ at ∞. At most 5 ulp, relative
/// to the nearest double argument (next to −1/e the function is as sensitive as a square root).
pub fn lambert_w0(z: f64) -> f64 {
    let y = above_branch_point(z);
    if y <= 0.2 {
        // The nearest double to −1/e lies just below it; it stands for the branch point.
        let y = if y > -f64::EPSILON { y.max(0.0) } else { y };
        let p = (2.0 * y).sqrt();
        return p * (polynomial(p, &PRINCIPAL.0) / polynomial(p, &PRINCIPAL.1)) - 1.0;
    }
    if z == 0.0 || z == f64::INFINITY {
        return z;
    }
    let log = z.ln_1p();
    let mut w = if z > 3.0 { z.ln() - z.ln().ln() } else { log * (1.0 - 0.25 * log) };
    for _ in 0..HALLEY_STEPS {
        w -= halley(w, z);
    }
    w
}

/// From the starting values above (within 0.3) cubic convergence takes three; one is spare.
const HALLEY_STEPS: u32 = 4;

/// Halley's step for w·eʷ = z. In the form w − z·e⁻ʷ it neither overflows for large z nor loses
/// relative accuracy for small.
fn halley(w: f64, z: f64) -> f64 {
    let gap = w - z * (-w).exp();
    gap / ((w + 1.0) - 0.5 * (w + 2.0) * gap / (w + 1.0))
}

/// The lower branch W₋₁(z) ≤ −1 for −1/e ≤ z ≤ 0; −∞ at 0, NaN outside. At most 5 ulp. It is the
/// inverse of g in another dress: W₋₁(z) = −1 − g⁻¹(1 + e·z).
pub fn lambert_wm1(z: f64) -> f64 {
    let y = above_branch_point(z);
    if y <= 0.5 {
        let y = if y > -f64::EPSILON { y.max(0.0) } else { y };
        -1.0 - g_inv(y)
    } else {
        -1.0 - g_complement_inv(-E * z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_ulps;
    use proptest::prelude::*;

    // Reference values: mpmath 1.3, `lambertw` with 60 digits at the exact double argument,
    // rounded to the nearest double.
    const W0: [(f64, f64); 23] = [
        (-0.3678794411714423, -0.9999999846957459),
        (-0.367879441, -0.9999694706982086),
        (-0.36, -0.8060843159708176),
        (-0.3, -0.4894022271802149),
        (-0.2, -0.25917110181907377),
        (-0.184, -0.2320599391670096),
        (-0.183, -0.2304207252419848),
        (-0.1, -0.11183255915896297),
        (-1e-05, -1.0000100001500027e-05),
        (-1e-100, -1e-100),
        (1e-200, 1e-200),
        (1e-09, 9.999999990000001e-10),
        (0.1, 0.09127652716086226),
        (0.5, 0.35173371124919584),
        (1.0, 0.5671432904097838),
        (2.0, 0.8526055020137255),
        (2.9, 1.0326156691660666),
        (3.1, 1.0667683070416147),
        (10.0, 1.7455280027406994),
        (1000.0, 5.249602852401596),
        (10000000000.0, 20.028685413304952),
        (1e+100, 224.8431064451185),
        (1e+300, 684.2472086297608),
    ];
    const WM1: [(f64, f64); 13] = [
        (-0.3678794411714423, -1.0000000153042543),
        (-0.367879441, -1.0000305299231629),
        (-0.36, -1.2227701339785062),
        (-0.3, -1.7813370234216277),
        (-0.2, -2.5426413577735265),
        (-0.184, -2.6778240730898446),
        (-0.183, -2.68651331273479),
        (-0.1, -3.577152063957297),
        (-0.01, -6.472775124394005),
        (-1e-05, -14.163600815810183),
        (-1e-20, -49.962984276674476),
        (-1e-100, -235.72115887568532),
        (-1e-300, -697.3227762954601),
    ];

    const ULPS: u64 = 5;

    #[test]
    fn reference_values() {
        assert_ulps("lambert_w0", lambert_w0, &W0, ULPS);
        assert_ulps("lambert_wm1", lambert_wm1, &WM1, ULPS);
    }

    #[test]
    fn ends_of_the_domains() {
        let branch = -1.0 / E;
        assert!(
            (lambert_w0(branch) + 1.0).abs() < 1e-7 && (lambert_wm1(branch) + 1.0).abs() < 1e-7
        );
        assert_eq!((lambert_w0(0.0), lambert_w0(f64::INFINITY)), (0.0, f64::INFINITY));
        assert_eq!(lambert_wm1(0.0), f64::NEG_INFINITY);
        assert!(lambert_w0(-0.4).is_nan() && lambert_wm1(-0.4).is_nan());
        assert!(lambert_wm1(0.1).is_nan() && lambert_w0(f64::NAN).is_nan());
    }

    proptest! {
        /// ln|w| + w = ln|z|: the defining equation, without overflow.
        #[test]
        fn solves_its_equation(exponent in -600.0..700.0_f64) {
            const ROUNDING: f64 = 20.0 * f64::EPSILON;
            let z = exponent.exp();
            let w = lambert_w0(z);
            prop_assert!((w.ln() + w - exponent).abs() <= ROUNDING * (1.0 + exponent.abs()));
            let z = -(-exponent.abs() - 1.001).exp();
            let w = lambert_wm1(z);
            prop_assert!(((-w).ln() + w - (-z).ln()).abs() <= ROUNDING * (1.0 + w.abs()));
        }
    }
}
