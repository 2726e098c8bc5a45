//! Roots of functions of one variable, inside a bracket that is never lost.
//!
//! Three methods share one contract: the function has opposite signs at the ends of a bracket,
//! the bracket only ever shrinks, and the answer carries it. [`bisect`] is the slow oracle.
//! [`solve`] is the one to use: ITP of \[OT21\] (Oliveira, Takahashi, "An enhancement of the
//! bisection method average performance preserving minmax optimality", ACM TOMS 47, 2021). It was
//! chosen over Brent and TOMS 748 because a function value here is often a sum over 10⁸ pages, so
//! what matters is the worst case: ITP never takes more than one evaluation above bisection,
//! where Brent may take the square of it, and on smooth functions it is superlinear like them.
//! [`newton`] is for when the derivative comes almost free.
//!
//! Wide brackets (prices span a hundred decades) are first halved *in the order of the floating
//! point numbers*, which is close to halving the logarithm: twelve halvings bring any bracket of
//! one sign within a factor of two, and 64 exhaust any bracket at all.

use crate::MathError;

/// When to stop: bracket no wider than `absolute + relative·|x|`, or the evaluation limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Absolute width of the bracket, in units of x.
    pub absolute: f64,
    /// Width of the bracket relative to the larger end. Less than one spacing of floating point
    /// numbers is treated as one spacing.
    pub relative: f64,
    /// Most evaluations of the function.
    pub evaluations: u32,
}

impl Default for Stop {
    /// Full precision: a bracket of two neighbouring numbers or so, at most 256 evaluations.
    fn default() -> Self {
        Self { absolute: 0.0, relative: f64::EPSILON, evaluations: 256 }
    }
}

impl Stop {
    /// Stop at the given relative width of the bracket.
    pub fn relative(relative: f64) -> Self {
        Self { relative, ..Self::default() }
    }

    /// Stop at the given absolute width of the bracket.
    pub fn absolute(absolute: f64) -> Self {
        Self { absolute, ..Self::default() }
    }

    fn width(&self, low: f64, high: f64) -> f64 {
        self.absolute + self.relative * low.abs().max(high.abs())
    }
}

/// A root and what is known about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Root {
    /// The end of the final bracket with the smaller residual.
    pub x: f64,
    /// Function value at `x`.
    pub residual: f64,
    /// Evaluations of the function, the two ends included.
    pub iterations: u32,
    /// Interval that holds a sign change, `bracket.0 ≤ x ≤ bracket.1`.
    pub bracket: (f64, f64),
}

/// A shrinking interval with a sign change; the state that the methods share.
struct Search {
    stop: Stop,
    low: f64,
    high: f64,
    at_low: f64,
    at_high: f64,
    evaluations: u32,
}

impl Search {
    fn new(
        mut f: impl FnMut(f64) -> f64,
        (a, b): (f64, f64),
        stop: Stop,
    ) -> Result<Self, MathError> {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        let (at_low, at_high) = (number(low, f(low))?, number(high, f(high))?);
        let mut search = Self { stop, low, high, at_low, at_high, evaluations: 2 };
        if at_low == 0.0 {
            search.settle(low, at_low);
        } else if at_high == 0.0 {
            search.settle(high, at_high);
        } else if (at_low > 0.0) == (at_high > 0.0) {
            return Err(MathError::NoSignChange { low, high, at_low, at_high });
        }
        Ok(search)
    }

    fn settle(&mut self, x: f64, value: f64) {
        (self.low, self.high, self.at_low, self.at_high) = (x, x, value, value);
    }

    /// Says whether another evaluation is allowed.
    fn within_limit(&self) -> Result<(), MathError> {
        if self.evaluations < self.stop.evaluations {
            return Ok(());
        }
        let Root { x, residual, .. } = self.root();
        Err(MathError::EvaluationLimit { limit: self.stop.evaluations, x, residual })
    }

    /// Takes in the value at `x`, strictly inside, and keeps the side with the sign change.
    fn shrink(&mut self, x: f64, value: f64) -> Result<(), MathError> {
        self.evaluations += 1;
        let value = number(x, value)?;
        if value == 0.0 {
            self.settle(x, value);
        } else if (value > 0.0) == (self.at_low > 0.0) {
            (self.low, self.at_low) = (x, value);
        } else {
            (self.high, self.at_high) = (x, value);
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.high - self.low <= self.stop.width(self.low, self.high)
            || self.low.next_up() >= self.high
    }

    /// Whether the ends have one sign and lie within a factor of two, so that x is a fair scale.
    fn is_on_one_scale(&self) -> bool {
        let (small, large) = (self.low.abs(), self.high.abs());
        let (small, large) = (small.min(large), small.max(large));
        (self.low > 0.0) == (self.high > 0.0) && large <= 2.0 * small
    }

    fn inside(&self, x: f64) -> bool {
        self.low < x && x < self.high
    }

    fn root(&self) -> Root {
        let low_is_better = self.at_low.abs() <= self.at_high.abs();
        let (x, residual) =
            if low_is_better { (self.low, self.at_low) } else { (self.high, self.at_high) };
        Root { x, residual, iterations: self.evaluations, bracket: (self.low, self.high) }
    }
}

fn number(x: f64, value: f64) -> Result<f64, MathError> {
    if value.is_nan() { Err(MathError::NotANumber { x }) } else { Ok(value) }
}

/// Position of `x` among all floating point numbers, negative ones below zero.
fn rank(x: f64) -> i64 {
    let bits = x.to_bits().cast_signed();
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// The number half way between two others in the order of floating point numbers.
fn middle_in_order(low: f64, high: f64) -> f64 {
    let middle = i128::midpoint(rank(low).into(), rank(high).into()) as i64;
    f64::from_bits(if middle < 0 { i64::MIN.wrapping_sub(middle) } else { middle } as u64)
}

/// Bisection in the order of the floating point numbers: at most 66 evaluations down to two
/// neighbouring numbers, from any bracket, infinite ends included. Slow and sure.
pub fn bisect(
    mut f: impl FnMut(f64) -> f64,
    bracket: (f64, f64),
    stop: Stop,
) -> Result<Root, MathError> {
    let mut search = Search::new(&mut f, bracket, stop)?;
    while !search.done() {
        search.within_limit()?;
        let x = middle_in_order(search.low, search.high);
        search.shrink(x, f(x))?;
    }
    Ok(search.root())
}

/// ITP (\[OT21\] algorithm 1 with κ₁ = 0.2/(b − a), κ₂ = 2, n₀ = 1), after halving the bracket to
/// one binary scale. At most about 70 evaluations to full precision from any bracket, about 8 to
/// 12 on smooth functions.
pub fn solve(
    mut f: impl FnMut(f64) -> f64,
    bracket: (f64, f64),
    stop: Stop,
) -> Result<Root, MathError> {
    let mut search = Search::new(&mut f, bracket, stop)?;
    let mut itp = None;
    while !search.done() {
        search.within_limit()?;
        let x = if search.is_on_one_scale() {
            itp.get_or_insert_with(|| Itp::new(&search)).point(&search)
        } else {
            middle_in_order(search.low, search.high)
        };
        search.shrink(x, f(x))?;
    }
    Ok(search.root())
}

/// What ITP remembers between steps.
struct Itp {
    /// Width of the bracket at the first step.
    start: f64,
    /// Half width that bisection with one step in hand would have reached by now.
    allowed: f64,
}

impl Itp {
    fn new(search: &Search) -> Self {
        let start = search.high - search.low;
        let aim = search.stop.width(search.low, search.high);
        let spacing = f64::EPSILON * search.low.abs().max(search.high.abs());
        let aim = aim.max(spacing);
        let halvings = (start / aim).log2().ceil().max(0.0);
        Self { start, allowed: aim * halvings.exp2() }
    }

    /// Interpolate, truncate towards the middle, project into the radius that keeps the worst
    /// case.
    fn point(&mut self, search: &Search) -> f64 {
        let (a, b, fa, fb) = (search.low, search.high, search.at_low, search.at_high);
        let middle = f64::midpoint(a, b);
        let falsi = a + (b - a) * (fa / (fa - fb));
        let inwards = (middle - falsi).signum();
        let nudge = 0.2 / self.start * (b - a) * (b - a);
        let close = nudge > (middle - falsi).abs();
        let truncated = if close { middle } else { falsi + inwards * nudge };
        let radius = (self.allowed - 0.5 * (b - a)).max(0.0);
        self.allowed *= 0.5;
        let far = (truncated - middle).abs() > radius;
        let projected = if far { middle - inwards * radius } else { truncated };
        // Infinite values make the interpolation NaN; a radius of rounding size may hit an end.
        if search.inside(projected) { projected } else { middle }
    }
}

/// Newton's method kept inside the bracket: `f` gives (value, derivative), `start` is the first
/// guess. A step that leaves the bracket, or is more than half the step before the last, is
/// replaced by a halving; a step below the asked width is stretched to it (then to twice, four
/// times it), so that the far end of the bracket closes in too. Quadratic near a simple root.
pub fn newton(
    mut f: impl FnMut(f64) -> (f64, f64),
    bracket: (f64, f64),
    start: f64,
    stop: Stop,
) -> Result<Root, MathError> {
    let mut search = Search::new(|x| f(x).0, bracket, stop)?;
    let (mut x, mut stretch) = (start, 1.0);
    let mut steps = [f64::INFINITY; 2];
    while !search.done() {
        search.within_limit()?;
        if !search.inside(x) {
            x = middle_in_order(search.low, search.high);
        }
        let (value, slope) = f(x);
        search.shrink(x, value)?;
        let mut step = -value / slope;
        let least = stretch * stop.width(x, x).max(f64::EPSILON * x.abs());
        if step.abs() < least {
            step = least.copysign(step);
            stretch *= 2.0;
        } else if step.abs() > 0.5 * steps[0] {
            step = f64::NAN; // outside any bracket, so the next point is the middle
        }
        steps = [steps[1], step.abs()];
        x += step;
    }
    Ok(search.root())
}

/// Goes up from `low > 0` by powers of `factor > 1` until `f` changes sign or vanishes, and gives
/// the last two points as a bracket. At most `limit` evaluations.
///
/// The growth is squared after every eight steps, so a poor start costs little: 80 evaluations
/// reach from 10⁻³⁰⁰ to 10³⁰⁰ by a factor of two.
pub fn bracket_upwards(
    mut f: impl FnMut(f64) -> f64,
    low: f64,
    factor: f64,
    limit: u32,
) -> Result<(f64, f64), MathError> {
    MathError::check(low > 0.0 && low.is_finite(), "low", low, "positive and finite")?;
    MathError::check(factor > 1.0, "factor", factor, "greater than one")?;
    let at_low = number(low, f(low))?;
    let (mut below, mut value, mut growth) = (low, at_low, factor);
    for step in 1..limit {
        if value == 0.0 {
            return Ok((below, below));
        }
        if below == f64::MAX {
            break;
        }
        let above = (below * growth).min(f64::MAX);
        value = number(above, f(above))?;
        if (value > 0.0) != (at_low > 0.0) {
            return Ok((below, above));
        }
        below = above;
        if step % 8 == 0 {
            growth *= growth;
        }
    }
    Err(MathError::NoSignChange { low, high: below, at_low, at_high: value })
}

/// The first of start, 2·start, 4·start, … at which a rising `f` is no longer negative: an upper
/// end for a bracket whose lower end is known. Ends at ∞ if there is none.
pub(crate) fn upper_end(mut f: impl FnMut(f64) -> f64, start: f64) -> f64 {
    let mut x = start;
    while f(x) < 0.0 && x.is_finite() {
        x *= 2.0;
    }
    x
}

/// The smallest n in `low..high` for which `holds` is true, given that it is false up to some
/// point and true from there; `None` when it never is. Gallops up from `low`, so it costs about
/// 2·log₂(n − low) calls however far `high` lies.
pub fn first_where(low: u64, high: u64, mut holds: impl FnMut(u64) -> bool) -> Option<u64> {
    let (mut from, mut to, mut step) = (low, low, 1_u64);
    // Invariant: false everywhere below `from`.
    while to < high && !holds(to) {
        from = to + 1;
        to = to.saturating_add(step).min(high);
        step = step.saturating_mul(2);
    }
    while from < to {
        let middle = u64::midpoint(from, to);
        if holds(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    (to < high).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rounding of a well conditioned function, relative to its root.
    const NEAR: f64 = 4.0 * f64::EPSILON;

    type Hard = (fn(f64) -> f64, (f64, f64), f64, f64);

    /// Functions with the difficulties that defeat root finders (flat, steep, far, infinite), a
    /// bracket, the root, and the relative distance at which the function is its own rounding.
    const HARD: [Hard; 8] = [
        (|x| x * x - 2.0, (0.0, 4.0), std::f64::consts::SQRT_2, NEAR),
        (|x| (x - 1.0).powi(9), (0.0, 5.0), 1.0, 1e-8),
        (|x| x.ln() + 230.25850929940457, (1e-300, 1e300), 1e-100, 230.0 * NEAR),
        (|x| (-x).exp() - 1e-30, (0.0, 1e6), 69.07755278982137, NEAR),
        (|x| if x < 3.0 { -1.0 } else { 1e10 }, (-1e9, 1e9), 3.0, NEAR),
        (|x| 1.0 / (x - 2.0) - 1e-9, (2.0, 1e12), 1_000_000_002.0, NEAR),
        (|x| x.cbrt() - 1e-5, (-1.0, 1e5), 1e-15, 3.0 * NEAR),
        (f64::tan, (-1.5, 1.0), 0.0, NEAR),
    ];
    /// The worst case the module promises for `solve`: 12 halvings, 53 more, two ends, ITP's one.
    const WORST: u32 = 70;

    #[test]
    fn every_method_meets_the_hard_ones() {
        for (k, (f, bracket, root, near)) in HARD.into_iter().enumerate() {
            let slope = move |x: f64| {
                let h = 1e-6 * x.abs().max(1e-20);
                (f(x), (f(x + h) - f(x - h)) / (2.0 * h))
            };
            let slow = bisect(f, bracket, Stop::default()).unwrap();
            let fast = solve(f, bracket, Stop::default()).unwrap();
            let newton = newton(slope, bracket, 1.0, Stop::default()).unwrap();
            for (name, found) in [("bisect", slow), ("solve", fast), ("newton", newton)] {
                assert!((found.x - root).abs() <= near * root.abs(), "{name} {k}: {found:?}");
                assert!(found.bracket.0 <= found.x && found.x <= found.bracket.1);
                assert!(f(found.x).to_bits() == found.residual.to_bits());
            }
            assert!(slow.iterations <= 66 && fast.iterations <= WORST, "{slow:?} {fast:?}");
        }
    }

    #[test]
    fn solve_is_fast_on_smooth_functions() {
        let fast = solve(|x| x.exp() - 3.0, (1.0, 2.0), Stop::default()).unwrap();
        assert!(fast.iterations <= 14, "{fast:?}");
        let newton =
            newton(|x| (x.exp() - 3.0, x.exp()), (1.0, 2.0), 1.1, Stop::default()).unwrap();
        assert!(newton.iterations <= 12, "{newton:?}");
    }

    #[test]
    fn each_failure_has_its_name() {
        let same = solve(|x| x * x + 1.0, (-1.0, 1.0), Stop::default());
        assert!(matches!(same, Err(MathError::NoSignChange { .. })), "{same:?}");
        let nan = solve(|x| if x == 0.0 { f64::NAN } else { x }, (-1.0, 1.0), Stop::default());
        assert_eq!(nan, Err(MathError::NotANumber { x: 0.0 }));
        let few = Stop { evaluations: 5, ..Stop::default() };
        let limit = bisect(|x| x - 0.3, (0.0, 1.0), few);
        assert!(matches!(limit, Err(MathError::EvaluationLimit { limit: 5, .. })), "{limit:?}");
        let backwards = solve(|x| x - 0.3, (1.0, 0.0), Stop::default()).unwrap();
        assert!((backwards.x - 0.3).abs() <= f64::EPSILON);
    }

    #[test]
    fn brackets_are_found_upwards_or_refused() {
        for root in [1e-299, 1e-9, 1.0, 1e9, 1e299] {
            let (low, high) = bracket_upwards(|x| x - root, 1e-300, 2.0, 80).unwrap();
            assert!(low <= root && root <= high);
        }
        assert!(bracket_upwards(|_| 1.0, 1.0, 2.0, 1000).is_err());
        assert!(bracket_upwards(|x| x, 0.0, 2.0, 10).is_err());
        assert!(bracket_upwards(|x| x, 1.0, 1.0, 10).is_err());
    }

    proptest! {
        #[test]
        fn solve_agrees_with_bisection(c in 1e-12..1e12_f64, p in 0.2..5.0_f64) {
            let f = |x: f64| x.powf(p) - c;
            let bracket = bracket_upwards(f, 1e-70, 10.0, 200).unwrap();
            let slow = bisect(f, bracket, Stop::default()).unwrap();
            let fast = solve(f, bracket, Stop::default()).unwrap();
            // powf rounds, so the sign changes over a few neighbouring numbers.
            let rounding = 4.0 * f64::EPSILON * slow.x * (1.0 + 1.0 / p);
            prop_assert!((slow.x - fast.x).abs() <= rounding);
            prop_assert!(fast.iterations <= WORST);
        }

        #[test]
        fn integer_search_finds_the_edge(low in 0..1000_u64, edge in 0..u64::MAX, high: u64) {
            let expected = Some(edge.max(low)).filter(|&n| n < high);
            prop_assert_eq!(first_where(low, high, |n| n >= edge), expected);
        }

        #[test]
        fn rank_keeps_order(a: f64, b: f64) {
            if a < b {
                let middle = middle_in_order(a, b);
                prop_assert!(rank(a) < rank(b) && a <= middle && middle < b);
            }
        }
    }
}
