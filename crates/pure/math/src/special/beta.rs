//! The regularised incomplete beta function and Student's t.

use super::exponential::minus_ln_1p;
use super::gamma::{LARGEST_SHAPE, guarded, stirling_error, term_limit};
use super::{ln_gamma, normal_quantile, polynomial};
use crate::roots::{Stop, newton, upper_end};
use std::f64::consts::{PI, TAU};

/// lnΓ(a + b) − lnΓ(a), for large a without the cancellation of two large logarithms.
fn ln_gamma_step(a: f64, b: f64) -> f64 {
    if a < 10.0 {
        return ln_gamma(a + b) - ln_gamma(a);
    }
    let ratio = b / a;
    b * (a + b).ln() - a * minus_ln_1p(ratio) - 0.5 * ratio.ln_1p() + stirling_error(a + b)
        - stirling_error(a)
}

/// xᵃyᵇ/B(a, b) with y = 1 − x given, so that neither of them has to be formed by subtraction.
fn front(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if a.min(b) >= 10.0 {
        // As a deviation from the peak at a/(a + b): nothing of the size of a·ln a has to cancel.
        let n = a + b;
        let gap = x * b - y * a;
        let fall = a * minus_ln_1p(gap / a) + b * minus_ln_1p(-gap / b);
        let correction = stirling_error(n) - stirling_error(a) - stirling_error(b);
        return (correction - fall).exp() * (a / n * b / TAU).sqrt();
    }
    let (large, small) = if a >= b { (a, b) } else { (b, a) };
    let ln_x = if x > 0.5 { (-y).ln_1p() } else { x.ln() };
    let ln_y = if y > 0.5 { (-x).ln_1p() } else { y.ln() };
    (ln_gamma_step(large, small) - ln_gamma(small) + a * ln_x + b * ln_y).exp()
}

/// The continued fraction of the incomplete beta function (modified Lentz), which converges
/// quickly for x < (a + 1)/(a + b + 2).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut c = 1.0;
    let mut d = 1.0 / guarded(1.0 - (a + b) * x / (a + 1.0), TINY);
    let mut h = d;
    for m in 1..term_limit(a.max(b)) {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = h;
        for numerator in [even, odd] {
            d = 1.0 / guarded(1.0 + numerator * d, TINY);
            c = guarded(1.0 + numerator / c, TINY);
            h *= d * c;
        }
        if (h - before).abs() <= f64::EPSILON * h.abs() {
            break;
        }
    }
    h
}

/// The regularised incomplete beta function Iₓ(a, b), for a, b in (0, 10¹⁰\], given both x in \[0, 1\]
/// and y = 1 − x; NaN outside. Relative error about ε·(20 + 10·ln(1 + a + b) + 4·|xb − ya|) where it
/// is below a half, absolute above, and ε·max/min of the shapes when one of them is small and the
/// other large; the work grows as √max(a, b).
fn beta_of_pair(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let served = |shape: f64| shape > 0.0 && shape <= LARGEST_SHAPE;
    if !(served(a) && served(b) && x >= 0.0 && y >= 0.0) {
        f64::NAN
    } else if x == 0.0 || y == 0.0 {
        if x == 0.0 { 0.0 } else { 1.0 }
    } else if x < (a + 1.0) / (a + b + 2.0) {
        front(a, b, x, y) * fraction(a, b, x) / a
    } else {
        1.0 - front(a, b, x, y) * fraction(b, a, y) / b
    }
}

/// P(T > t) for Student's t with `freedom` > 0 degrees of freedom and t ≥ 0:
/// ½·I(ν/2, ½) at ν/(ν + t²).
fn student_t_tail(freedom: f64, t: f64) -> f64 {
    let whole = freedom + t * t;
    0.5 * beta_of_pair(0.5 * freedom, 0.5, freedom / whole, t * t / whole)
}

/// From this many degrees of freedom on the quantile is expanded in their inverse.
const MANY: f64 = 1e4;

/// The t with P(T ≤ t) = p for Student's t with `freedom` > 0 degrees of freedom, p in (0, 1);
/// ±∞ at the ends, NaN outside. Relative error below 3·10⁻¹³ for min(p, 1 − p) above 10⁻¹⁶ (worst just below 10⁴ degrees).
pub fn student_t_quantile(freedom: f64, p: f64) -> f64 {
    if !(freedom > 0.0 && (0.0..=1.0).contains(&p)) {
        return f64::NAN;
    }
    let z = normal_quantile(p);
    if freedom >= MANY || p == 0.0 || p == 0.5 || p == 1.0 {
        return cornish_fisher(freedom, z);
    }
    let q = p.min(1.0 - p);
    let peak = ln_gamma_step(0.5 * freedom, 0.5).exp() / (freedom * PI).sqrt();
    let density = |t: f64| peak * (-0.5 * (freedom + 1.0) * (t * t / freedom).ln_1p()).exp();
    let gap = |t: f64| q - student_t_tail(freedom, t);
    let high = upper_end(gap, z.abs());
    newton(|t| (gap(t), density(t)), (0.0, high), z.abs(), Stop::default())
        .map_or(f64::NAN, |root| root.x.copysign(z))
}

/// The quantile of t from that of the normal law, to ν⁻⁴ (Abramowitz and Stegun 26.7.5). For
/// ν ≥ 10⁴ and |z| < 8.3 the next term is below 10⁻¹⁵ of the result.
fn cornish_fisher(freedom: f64, z: f64) -> f64 {
    if z.is_infinite() {
        return z;
    }
    let s = z * z;
    let terms = [
        1.0,
        polynomial(s, &[1.0, 1.0]) / 4.0,
        polynomial(s, &[3.0, 16.0, 5.0]) / 96.0,
        polynomial(s, &[-15.0, 17.0, 19.0, 3.0]) / 384.0,
        polynomial(s, &[-945.0, -1920.0, 1482.0, 776.0, 79.0]) / 92160.0,
    ];
    z * polynomial(1.0 / freedom, &terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Reference values: mpmath 1.3 with 60 digits, `betainc` regularised and `findroot` on the
    // distribution function of t, the arguments taken as exact doubles.
    const BETA: [(f64, f64, f64, f64); 11] = [
        (0.5, 0.5, 0.1, 0.20483276469913345),
        (0.5, 0.5, 0.4, 0.4359057831510251),
        (2.0, 3.0, 0.2, 0.18080000000000002),
        (2.0, 3.0, 0.3, 0.3483),
        (5.0, 0.5, 0.3, 0.0006913033857629761),
        (10.0, 20.0, 0.2, 0.049263517304212516),
        (10.0, 20.0, 0.32, 0.45565763260959447),
        (0.5, 50.0, 0.003, 0.41546033165970864),
        (100.0, 80.0, 0.5, 0.06736217465832808),
        (1000.0, 0.5, 0.99, 7.366397738015053e-06),
        (0.2, 0.3, 1e-20, 6.452877343511497e-05),
    ];
    // The last two come from the expansion in 1/ν to ν⁻³, good to 10⁻²⁰ there.
    const STUDENT: [(f64, f64, f64); 19] = [
        (1.0, 0.975, 12.706204736174694),
        (2.0, 0.975, 4.302652729749462),
        (3.0, 0.975, 3.1824463052837086),
        (4.0, 0.9, 1.533206274058944),
        (5.0, 0.995, 4.032142983555227),
        (9.0, 0.975, 2.262157162798205),
        (9.0, 0.025, -2.2621571627982053),
        (19.0, 0.975, 2.093024054408309),
        (30.0, 0.975, 2.0422724563012378),
        (99.0, 0.975, 1.9842169515864172),
        (1000.0, 0.975, 1.962339080826408),
        (7.5, 0.75, 0.7085995804442595),
        (3.0, 1e-08, -479.5250695797383),
        (50.0, 1e-10, -7.948243747646223),
        (9999.0, 0.975, 1.9602012636213573),
        (10001.0, 0.975, 1.9602012161646407),
        (10001.0, 0.9999999999, 6.367940678172021),
        (1000000.0, 0.975, 1.9599663568141066),
        (100000000.0, 0.975, 1.9599640082627665),
    ];

    const STUDENT_ERROR: f64 = 3e-13;
    /// A few dozen roundings of numbers below one.
    const ROUNDING: f64 = 1e-14;

    fn beta_regularised(a: f64, b: f64, x: f64) -> f64 {
        beta_of_pair(a, b, x, 1.0 - x)
    }

    /// What the documentation promises.
    fn limit(a: f64, b: f64, x: f64) -> f64 {
        let off = (x * b - (1.0 - x) * a).abs();
        f64::EPSILON * (20.0 + 10.0 * (1.0 + a + b).ln() + 4.0 * off)
    }

    #[test]
    fn reference_values() {
        for (a, b, x, value) in BETA {
            let limit = limit(a, b, x);
            let found = beta_regularised(a, b, x);
            assert!((found / value - 1.0).abs() <= limit, "I({a}, {b}; {x}) = {found}");
        }
        for (freedom, p, value) in STUDENT {
            let found = student_t_quantile(freedom, p);
            assert!(
                (found / value - 1.0).abs() <= STUDENT_ERROR,
                "t({freedom}; {p}) = {found}, not {value}"
            );
        }
    }

    #[test]
    fn ends_of_the_domains() {
        assert_eq!((beta_regularised(2.0, 3.0, 0.0), beta_regularised(2.0, 3.0, 1.0)), (0.0, 1.0));
        assert!(
            beta_regularised(0.0, 1.0, 0.5).is_nan() && beta_regularised(1.0, 1.0, 1.5).is_nan()
        );
        assert_eq!(student_t_quantile(5.0, 0.5), 0.0);
        assert_eq!(student_t_quantile(5.0, 1.0), f64::INFINITY);
        assert!(student_t_quantile(0.0, 0.9).is_nan() && student_t_quantile(3.0, 1.1).is_nan());
    }

    proptest! {
        #[test]
        fn symmetric(a in 0.1..80.0_f64, b in 0.1..80.0_f64, x in 0.0..1.0_f64) {
            let sum = beta_regularised(a, b, x) + beta_of_pair(b, a, 1.0 - x, x);
            prop_assert!((sum - 1.0).abs() <= 2.0 * limit(a, b, x));
        }

        /// With whole b, Iₓ(1, b) = 1 − (1 − x)ᵇ.
        #[test]
        fn closed_form(b in 1_u32..50, x in 0.0..1.0_f64) {
            let closed = -(f64::from(b) * (-x).ln_1p()).exp_m1();
            prop_assert!((beta_regularised(1.0, f64::from(b), x) - closed).abs() <= ROUNDING);
        }

        /// One and two degrees of freedom have elementary quantiles.
        #[test]
        fn student_closed_forms(p in 0.001..0.999_f64) {
            prop_assume!((p - 0.5).abs() > 1e-3);
            let one = -1.0 / (PI * p).tan();
            let two = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
            // Near a half the tail is ½ minus a little: the error is that of a half.
            let limit = STUDENT_ERROR + f64::EPSILON / (p - 0.5).abs();
            prop_assert!((student_t_quantile(1.0, p) / one - 1.0).abs() <= limit);
            prop_assert!((student_t_quantile(2.0, p) / two - 1.0).abs() <= limit);
            prop_assert!((student_t_tail(2.0, two.abs()) - p.min(1.0 - p)).abs() <= ROUNDING);
        }
    }
}
