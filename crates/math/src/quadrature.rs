//! Integrals of functions of one variable, with an error estimate and a bounded bill.
//!
//! [`integrate`] is the adaptive Gauss–Kronrod pair (7, 15) that always splits the worst
//! interval, with QUADPACK's error estimate \[PDUK83\]: the choice for smooth or piecewise smooth
//! functions on a finite interval. [`integrate_ends`] and [`integrate_tail`] are double
//! exponential rules \[TM74\], for singular ends and for \[a, ∞).
//!
//! Running out of evaluations is not an error: the [`Integral`] says so and its error estimate
//! tells how far it got. A NaN of the function is an error.

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
    0.991455371120812639206854697526329,
    0.949107912342758524526189684047851,
    0.864864423359769072789712788640926,
    0.741531185599394439863864773280788,
    0.586087235467691130294144691693013,
    0.405845151377397166906606412076961,
    0.207784955007898467600689403773245,
    0.0,
];
const KRONROD: [f64; 8] = [
    0.022935322010529224963732008058970,
    0.063092092629978553290700663189204,
    0.104790010322250183839876322541518,
    0.140653259715525918745189590510238,
    0.169004726639267902826583426598550,
    0.190350578064785409913256402421014,
    0.204432940075298892414161999234649,
    0.209482141084727828012999174891714,
];
const GAUSS: [f64; 4] = [
    0.129484966168869693270611432679082,
    0.279705391489276667901467771423780,
    0.381830050505118944950369775488975,
    0.417959183673469387755102040816327,
];
const POINTS: u32 = 15;

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
        let value = f(x);
        if value.is_nan() { Err(MathError::NotANumber { x }) } else { Ok(value) }
    };
    let mut values = [(0.0, 0.0); 8];
    for (pair, &node) in values.iter_mut().zip(&NODES) {
        *pair = if node == 0.0 { (at(0.0)?, 0.0) } else { (at(-node)?, at(node)?) };
    }
    let weighted = |g: &dyn Fn(f64, f64) -> f64| -> f64 {
        values.iter().zip(&KRONROD).map(|(&(a, b), w)| w * g(a, b)).sum()
    };
    let kronrod = weighted(&|a, b| a + b);
    let gauss: f64 = values.iter().skip(1).step_by(2).zip(&GAUSS).map(|(&(a, b), w)| w * (a + b)).sum();
    let mean = 0.5 * kronrod;
    let magnitude = half * weighted(&|a, b| a.abs() + b.abs());
    // The centre stands alone: its empty partner must not count as a deviation of −mean.
    let spread = half * (weighted(&|a, b| (a - mean).abs() + (b - mean).abs()) - KRONROD[7] * mean.abs());
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
