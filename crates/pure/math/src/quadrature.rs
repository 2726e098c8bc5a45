//! Integrals of functions of one variable, with an error estimate and a bounded bill.
//!
//! [`integrate`] is the adaptive Gauss–Kronrod pair (7, 15) that always splits the worst
//! interval, with QUADPACK's error estimate \[PDUK83\]: the choice for smooth or piecewise smooth
//! functions on a finite interval. [`integrate_tail`] is a double
//! exponential rule \[TM74\], for \[a, ∞).
//!
//! Running out of evaluations is not an error: the [`Integral`] says so and its error estimate
//! tells how far it got. A value that is infinite or NaN is an error.

use crate::{MathError, Sum};
use std::f64::consts::FRAC_PI_2;

/// What to reach: an error of at most `absolute + relative·|value|`, within the evaluations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// Absolute error.
    pub absolute: f64,
    /// Error relative to the value.
    pub relative: f64,
    /// Most evaluations of the function.
    pub evaluations: u32,
}

impl Default for Aim {
    /// Ten digits within ten thousand evaluations.
    fn default() -> Self {
        Self { absolute: 0.0, relative: 1e-10, evaluations: 10_000 }
    }
}

impl Aim {
    /// The given relative error within ten thousand evaluations.
    pub fn relative(relative: f64) -> Self {
        Self { relative, ..Self::default() }
    }

    fn reached(&self, value: f64, error: f64) -> bool {
        error <= self.absolute + self.relative * value.abs()
    }
}

/// An integral and what is known about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Integral {
    /// The value.
    pub value: f64,
    /// Estimated absolute error, rounding included.
    pub error: f64,
    /// Evaluations of the function.
    pub evaluations: u32,
    /// Whether the aim was reached.
    pub converged: bool,
}

/// Positive nodes of the 15-point Kronrod rule, descending; every second is a Gauss node.
const NODES: [f64; 8] = [
    0.9914553711208126,
    0.9491079123427585,
    0.8648644233597691,
    0.7415311855993945,
    0.5860872354676911,
    0.4058451513773972,
    0.20778495500789848,
    0.0,
];
const KRONROD: [f64; 8] = [
    0.022935322010529224,
    0.06309209262997856,
    0.10479001032225019,
    0.14065325971552592,
    0.1690047266392679,
    0.19035057806478542,
    0.20443294007529889,
    0.20948214108472782,
];
const GAUSS: [f64; 4] =
    [0.1294849661688697, 0.27970539148927664, 0.3818300505051189, 0.4179591836734694];
const POINTS: u32 = 15;

fn finite(x: f64, value: f64) -> Result<f64, MathError> {
    if value.is_nan() {
        return Err(MathError::NotANumber { x });
    }
    MathError::check(value.is_finite(), "the integrand", value, "finite inside the interval")
}

/// One interval of the partition.
#[derive(Clone, Copy)]
struct Piece {
    low: f64,
    high: f64,
    value: f64,
    error: f64,
}

/// The two rules on one interval.
fn piece(f: &mut impl FnMut(f64) -> f64, low: f64, high: f64) -> Result<Piece, MathError> {
    let (centre, half) = (f64::midpoint(low, high), 0.5 * (high - low));
    let mut at = |node: f64| {
        let x = centre + half * node;
        finite(x, f(x))
    };
    let mut values = [(0.0, 0.0); 8];
    for (pair, &node) in values.iter_mut().zip(&NODES) {
        *pair = if node == 0.0 { (at(0.0)?, 0.0) } else { (at(-node)?, at(node)?) };
    }
    let weighted = |g: &dyn Fn(f64, f64) -> f64| -> f64 {
        values.iter().zip(&KRONROD).map(|(&(a, b), w)| w * g(a, b)).sum()
    };
    let kronrod = weighted(&|a, b| a + b);
    let gauss: f64 =
        values.iter().skip(1).step_by(2).zip(&GAUSS).map(|(&(a, b), w)| w * (a + b)).sum();
    let mean = 0.5 * kronrod;
    let magnitude = half * weighted(&|a, b| a.abs() + b.abs());
    // The centre stands alone: its empty partner must not count as a deviation of −mean.
    let spread =
        half * (weighted(&|a, b| (a - mean).abs() + (b - mean).abs()) - KRONROD[7] * mean.abs());
    let error = quadpack_error(half * (kronrod - gauss).abs(), spread, magnitude);
    Ok(Piece { low, high, value: half * kronrod, error })
}

/// QUADPACK's estimate: the difference of the rules overstates the error of the better one, the
/// more so the smaller it is against the spread of the function; never below rounding.
fn quadpack_error(difference: f64, spread: f64, magnitude: f64) -> f64 {
    let scaled = if spread > 0.0 && difference > 0.0 {
        spread * (200.0 * difference / spread).powf(1.5).min(1.0)
    } else {
        difference
    };
    scaled.max(50.0 * f64::EPSILON * magnitude)
}

/// ∫ₐᵇ f by adaptive Gauss–Kronrod, for finite a and b (b < a gives the negative).
///
/// Like every rule that samples, it cannot see what lies between its points: a narrow peak, or a
/// kink within the last half per cent of an interval, may go unnoticed. Split at known ones.
pub fn integrate(
    mut f: impl FnMut(f64) -> f64,
    a: f64,
    b: f64,
    aim: Aim,
) -> Result<Integral, MathError> {
    MathError::check(a.is_finite(), "lower limit", a, "finite; see integrate_tail")?;
    MathError::check(b.is_finite(), "upper limit", b, "finite; see integrate_tail")?;
    let mut pieces = vec![piece(&mut f, a, b)?];
    let mut evaluations = POINTS;
    loop {
        let value = pieces.iter().map(|p| p.value).collect::<Sum>().value();
        let error = pieces.iter().map(|p| p.error).collect::<Sum>().value();
        let converged = aim.reached(value, error);
        let (worst, Piece { low, high, .. }) = worst_of(&pieces);
        let middle = f64::midpoint(low, high);
        let splittable = middle != low && middle != high;
        if converged || !splittable || evaluations + 2 * POINTS > aim.evaluations {
            return Ok(Integral { value, error, evaluations, converged });
        }
        pieces[worst] = piece(&mut f, low, middle)?;
        pieces.push(piece(&mut f, middle, high)?);
        evaluations += 2 * POINTS;
    }
}

fn worst_of(pieces: &[Piece]) -> (usize, Piece) {
    let worse = |best: (usize, Piece), next: (usize, &Piece)| {
        if next.1.error > best.1.error { (next.0, *next.1) } else { best }
    };
    pieces.iter().enumerate().fold((0, pieces[0]), worse)
}

/// ∫ₐ^∞ f by the exp-sinh rule, for finite a; f may be singular at a, integrably, and must
/// decay at least like x⁻¹⁻ᵟ. Ordinary exponential and algebraic decays converge quickly;
/// oscillating ones do not, and the error says so.
pub fn integrate_tail(
    mut f: impl FnMut(f64) -> f64,
    a: f64,
    aim: Aim,
) -> Result<Integral, MathError> {
    MathError::check(a.is_finite(), "lower limit", a, "finite")?;
    double_exponential(aim, |t| {
        let step = (FRAC_PI_2 * t.sinh()).exp();
        let x = a + step;
        if x == a {
            return Ok(None);
        }
        Ok(Some(step * FRAC_PI_2 * t.cosh() * finite(x, f(x))?))
    })
}

/// The trapezoidal rule over |t| ≤ 6.1, halving the step until two levels agree. `term` gives
/// f(x(t))·x'(t), or nothing where x rounds to an end.
///
/// The error is the difference of the last two levels (the better one is usually right to twice
/// as many digits), plus the outermost terms, which measure what was cut off.
fn double_exponential(
    aim: Aim,
    mut term: impl FnMut(f64) -> Result<Option<f64>, MathError>,
) -> Result<Integral, MathError> {
    /// sinh(6.1)·π/2 ≈ 350: e to that is still a finite number.
    const REACH: f64 = 6.1;
    const MOST_LEVELS: i32 = 20;
    let (mut total, mut magnitude) = (Sum::new(), Sum::new());
    let mut outermost = [(0.0, 0.0); 2];
    let mut evaluations = 0;
    let mut best = Integral { value: 0.0, error: f64::INFINITY, evaluations: 0, converged: false };
    for level in 0..MOST_LEVELS {
        let step = 2.0_f64.powi(-level);
        let (first, stride) = if level == 0 { (0, 1) } else { (1, 2) };
        let most = (REACH / step) as u32;
        if evaluations + most > aim.evaluations {
            break;
        }
        for k in (first..=most).step_by(stride) {
            for (side, sign) in [-1.0, 1.0].into_iter().enumerate() {
                let t = sign * f64::from(k) * step;
                if k == 0 && side == 1 {
                    continue;
                }
                let Some(value) = term(t)? else { continue };
                evaluations += 1;
                total.add(value);
                magnitude.add(value.abs());
                if t.abs() >= outermost[side].0 {
                    outermost[side] = (t.abs(), value.abs());
                }
            }
        }
        let value = step * total.value();
        let rounding = 8.0 * f64::EPSILON * step * magnitude.value();
        let cut = outermost[0].1 + outermost[1].1;
        let error = (value - best.value).abs() + cut + rounding;
        // The first two levels are too coarse for their agreement to mean anything.
        let converged = level >= 3 && aim.reached(value, error);
        best = Integral { value, error, evaluations, converged };
        if converged {
            break;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    type Case = (&'static str, fn(f64) -> f64, f64, f64, f64);

    /// Smooth, peaked, kinked and oscillating; the values are elementary.
    const FINITE: [Case; 6] = [
        ("exp", f64::exp, 0.0, 1.0, std::f64::consts::E - 1.0),
        ("peak", |x| 1.0 / (1e-6 + x * x), -1.0, 1.0, 3139.5926542564594),
        ("kink", |x| (x - 0.3).abs(), 0.0, 1.0, 0.29),
        ("waves", |x| (100.0 * x).sin(), 0.0, PI / 2.0, 0.0),
        ("step", |x| if x < 0.123 { 0.0 } else { 1.0 }, 0.0, 1.0, 0.877),
        ("backwards", |x| x, 1.0, 0.0, -0.5),
    ];

    type Tail = (&'static str, fn(f64) -> f64, f64, f64);

    const INFINITE: [Tail; 5] = [
        ("exp", |x| (-x).exp(), 0.0, 1.0),
        ("exp from 3", |x| (-x).exp(), 3.0, 0.04978706836786394),
        ("gauss", |x| (-x * x).exp(), 0.0, 0.886226925452758),
        ("pareto", |x| x.powf(-1.5), 1.0, 2.0),
        ("singular", |x| (-x).exp() / x.sqrt(), 0.0, 1.772453850905516),
    ];

    #[track_caller]
    fn assert_honest(name: &str, found: Integral, exact: f64) {
        let off = (found.value - exact).abs();
        assert!(found.converged, "{name}: {found:?}");
        assert!(off <= found.error, "{name}: off by {off:e}, claimed {:e}", found.error);
    }

    #[test]
    fn values_lie_within_their_errors() {
        let aim = Aim { absolute: 1e-11, ..Aim::default() };
        for (name, f, a, b, exact) in FINITE {
            assert_honest(name, integrate(f, a, b, aim).unwrap(), exact);
        }
        for (name, f, a, exact) in INFINITE {
            assert_honest(name, integrate_tail(f, a, aim).unwrap(), exact);
        }
    }

    #[test]
    fn smooth_functions_are_cheap() {
        let one = integrate(f64::exp, 0.0, 1.0, Aim::default()).unwrap();
        assert_eq!(one.evaluations, 15);
        let tail = integrate_tail(|x| (-x).exp(), 0.0, Aim::default()).unwrap();
        // Steps 1, ½, …, 1/32 over |t| ≤ 6.1.
        assert!(tail.evaluations <= 391, "{tail:?}");
    }

    #[test]
    fn a_spent_budget_is_told() {
        let few = Aim { evaluations: 100, ..Aim::default() };
        let spent = integrate(|x| 1.0 / x.abs().sqrt(), -1.0, 1.1, few).unwrap();
        assert!(!spent.converged && spent.evaluations <= 100);
        assert!((spent.value - 2.0 - 2.0 * 1.1_f64.sqrt()).abs() <= spent.error, "{spent:?}");
        // Not integrable: the error stays as large as the value.
        let endless = integrate_tail(|x| 1.0 / (1.0 + x), 0.0, Aim::default()).unwrap();
        assert!(!endless.converged && endless.error > 0.01 * endless.value, "{endless:?}");
    }

    #[test]
    fn bad_functions_and_limits_are_refused() {
        assert!(integrate(|_| f64::NAN, 0.0, 1.0, Aim::default()).is_err());
        assert!(integrate(|_| f64::INFINITY, 0.0, 1.0, Aim::default()).is_err());
        assert!(integrate(f64::exp, 0.0, f64::INFINITY, Aim::default()).is_err());
        assert!(integrate_tail(|_| f64::NAN, 0.0, Aim::default()).is_err());
    }

    proptest! {
        /// The 15-point rule is exact to degree 22: this pins every node and weight.
        #[test]
        fn exact_for_polynomials(degree in 0..=22, a in -2.0..2.0_f64, b in -2.0..2.0_f64) {
            let f = |x: f64| x.powi(degree);
            let rule = piece(&mut { f }, a, b).unwrap().value;
            let power = |x: f64| x.powi(degree + 1) / f64::from(degree + 1);
            let scale = power(a.abs()) + power(b.abs()) + 1e-300;
            prop_assert!((rule - (power(b) - power(a))).abs() <= 1e-13 * scale);
        }

        #[test]
        fn additive(cut in 0.1..0.9_f64) {
            let f = |x: f64| (3.0 * x).sin() + x.sqrt();
            let whole = integrate(f, 0.0, 1.0, Aim::default()).unwrap();
            let left = integrate(f, 0.0, cut, Aim::default()).unwrap();
            let right = integrate(f, cut, 1.0, Aim::default()).unwrap();
            let error = whole.error + left.error + right.error;
            prop_assert!((whole.value - left.value - right.value).abs() <= error);
        }
    }
}
