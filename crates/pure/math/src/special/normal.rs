//! The error function and the normal law.

use super::polynomial;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, TAU};

/// erf(x)/x as a function of x² on [0, 1], relative error 7·10⁻¹⁹.
const CENTRE: ([f64; 6], [f64; 6]) = (
    [
        FRAC_2_SQRT_PI,
        0.14351136472580583,
        0.04548423764684131,
        0.0018775850145434445,
        0.00019689147659918057,
        7.798709921834344e-08,
    ],
    [
        1.0,
        0.4605169688618138,
        0.0938150123735864,
        0.01069346410937838,
        0.0006925374311671329,
        2.0812043409510066e-05,
    ],
);

/// e^(x²)·erfc(x) on [0.46, 4], relative error 2·10⁻¹⁸.
const MIDDLE: ([f64; 8], [f64; 9]) = (
    [
        0.9999999999851982,
        1.7181143876318317,
        1.4692789538711062,
        0.7758463649568301,
        0.26964752212674736,
        0.06143900567810947,
        0.008527769439959285,
        0.0005631713034491112,
    ],
    [
        1.0,
        2.846493554474498,
        3.6812029820358045,
        2.8353983331873502,
        1.429131669588631,
        0.48549248384516946,
        0.10939709419085282,
        0.015115069250844246,
        0.00099819532603062,
    ],
);

/// e^(x²)·erfc(x) on [4, 28], relative error 4·10⁻¹⁸.
const TAIL: ([f64; 7], [f64; 8]) = (
    [
        1.0026436513053587,
        2.125144074912606,
        2.194098548770824,
        1.360988578071593,
        0.578619053771948,
        0.14519901360071372,
        0.026451158456957044,
    ],
    [
        1.0,
        3.2673294390138605,
        4.844191565007386,
        4.378284173031936,
        2.5409687321032934,
        1.049017298659488,
        0.25735855080755654,
        0.046883457667925205,
    ],
);

/// Up to here erf is below a half and its complement loses nothing.
const SMALL: f64 = 0.46875;

/// The error function 2/√π·∫₀ˣ e^(−s²) ds, for every real x. At most 4 ulp.
fn erf(x: f64) -> f64 {
    if x.abs() <= 1.0 {
        let square = x * x;
        x * (polynomial(square, &CENTRE.0) / polynomial(square, &CENTRE.1))
    } else {
        (1.0 - erfc(x.abs())).copysign(x)
    }
}

/// The complement 1 − erf(x), with full relative accuracy in the upper tail. At most 6 ulp while
/// the result is a normal number (x < 26.5), then fading to 0.
fn erfc(x: f64) -> f64 {
    if x < SMALL {
        1.0 - erf(x)
    } else if x > 28.0 {
        0.0
    } else {
        let (p, q) = if x <= 4.0 {
            (polynomial(x, &MIDDLE.0), polynomial(x, &MIDDLE.1))
        } else {
            (polynomial(x, &TAIL.0), polynomial(x, &TAIL.1))
        };
        exp_minus_square(x) * (p / q)
    }
}

/// e^(−x²) without the rounding of x², which e would magnify: x = head + rest with a head whose
/// square is exact.
fn exp_minus_square(x: f64) -> f64 {
    let head = f64::from(x as f32);
    let rest = (x - head) * (x + head);
    (-head * head).exp() * (-rest).exp()
}

/// The standard normal quantile Φ⁻¹(p), for p in \[0, 1\]: ±∞ at the ends, 0 at a half, NaN
/// outside. Relative error below 10⁻¹⁵·4. A rational guess (Abramowitz and Stegun 26.2.23, good to
/// 4.5·10⁻⁴) and two steps of Halley's method on the exact function.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p.min(1.0 - p);
    if q == 0.0 {
        return f64::INFINITY.copysign(p - 0.5);
    }
    if q == 0.5 {
        return 0.0;
    }
    let t = (-2.0 * q.ln()).sqrt();
    let mut x = t - polynomial(t, &[2.515517, 0.802853, 0.010328])
        / polynomial(t, &[1.0, 1.432788, 0.189269, 0.001308]);
    for _ in 0..2 {
        // Near the centre the gap is taken from a half, near the tail from zero: either way it is
        // a difference of nearby numbers, exact.
        let gap = if q > 0.25 {
            (0.5 - q) - 0.5 * erf(x * FRAC_1_SQRT_2)
        } else {
            0.5 * erfc(x * FRAC_1_SQRT_2) - q
        };
        let step = gap * TAU.sqrt() * (0.5 * x * x).exp();
        x += step / (1.0 - 0.5 * x * step);
    }
    if p < 0.5 { -x } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_ulps;
    use proptest::prelude::*;

    // Reference values: mpmath 1.3 with 60 digits (`erf`, `erfc`, `erfinv` on the exact double),
    // rounded to the nearest double.
    const ERF: [(f64, f64); 15] = [
        (1e-300, 1.1283791670955126e-300),
        (1e-10, 1.1283791670955126e-10),
        (0.01, 0.011283415555849618),
        (0.3, 0.3286267594591274),
        (0.46, 0.4846553900016797),
        (0.5, 0.5204998778130465),
        (0.8, 0.7421009647076605),
        (0.99, 0.8385080695553698),
        (1.01, 0.8468104962282768),
        (1.5, 0.9661051464753108),
        (2.0, 0.9953222650189527),
        (3.0, 0.9999779095030014),
        (5.0, 0.9999999999984626),
        (-0.7, -0.6778011938374184),
        (-2.5, -0.999593047982555),
    ];
    const ERFC: [(f64, f64); 18] = [
        (-3.0, 1.9999779095030015),
        (-0.5, 1.5204998778130465),
        (1e-10, 0.999999999887162),
        (0.3, 0.6713732405408726),
        (0.46, 0.5153446099983203),
        (0.47, 0.5062549491139179),
        (0.5, 0.4795001221869535),
        (0.9, 0.20309178757716786),
        (1.0, 0.15729920705028513),
        (1.7, 0.01620954140922544),
        (2.5, 0.0004069520174449589),
        (3.9, 3.4792248597231765e-08),
        (4.1, 6.700027654084918e-09),
        (6.0, 2.1519736712498913e-17),
        (10.0, 2.088487583762545e-45),
        (15.3, 7.9765601254207e-104),
        (20.0, 5.395865611607901e-176),
        (26.0, 5.663192408856143e-296),
    ];
    const QUANTILE: [(f64, f64); 17] = [
        (1e-300, -37.0470962993612),
        (1e-100, -21.273453560965326),
        (1e-16, -8.222082216130435),
        (1e-06, -4.753424308822899),
        (0.001, -3.0902323061678136),
        (0.025, -1.9599639845400543),
        (0.1, -1.2815515655446004),
        (0.24, -0.7063025628400875),
        (0.26, -0.643345405392917),
        (0.4, -0.2533471031357997),
        (0.499, -0.002506630899571766),
        (0.501, 0.002506630899571766),
        (0.6, 0.2533471031357997),
        (0.9, 1.2815515655446006),
        (0.975, 1.9599639845400538),
        (0.995, 2.5758293035489004),
        (0.999999, 4.753424308817087),
    ];

    /// What the documentation of `normal_quantile` promises.
    const QUANTILE_ERROR: f64 = 4e-15;

    #[test]
    fn reference_values() {
        assert_ulps("erf", erf, &ERF, 4);
        assert_ulps("erfc", erfc, &ERFC, 6);
        for (p, value) in QUANTILE {
            let found = normal_quantile(p);
            assert!((found / value - 1.0).abs() <= QUANTILE_ERROR, "{p}: {found}, not {value}");
        }
    }

    #[test]
    fn ends_of_the_domains() {
        let end = f64::INFINITY;
        assert_eq!((erf(0.0), erf(end), erf(-end)), (0.0, 1.0, -1.0));
        assert_eq!((erfc(-end), erfc(0.0), erfc(end)), (2.0, 1.0, 0.0));
        assert_eq!(
            (normal_quantile(0.0), normal_quantile(0.5), normal_quantile(1.0)),
            (-end, 0.0, end)
        );
        assert!(normal_quantile(1.1).is_nan() && erf(f64::NAN).is_nan() && erfc(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn odd_and_complementary(x in -6.0..6.0_f64) {
            prop_assert_eq!(erf(-x), -erf(x));
            prop_assert!((erf(x) + erfc(x) - 1.0).abs() <= 2.0 * f64::EPSILON);
        }

        #[test]
        fn quantile_inverts_the_distribution(exponent in -600.0..-0.7_f64) {
            let p = exponent.exp();
            let x = normal_quantile(p);
            // A relative error of x becomes x² as large in the tail.
            let limit = 20.0 * f64::EPSILON * (1.0 + x * x);
            let found = 0.5 * erfc(-x * FRAC_1_SQRT_2);
            prop_assert!((found / p - 1.0).abs() <= limit, "{x}");
        }
    }
}
