//! U⁻¹ for laws that have no closed form of it.

use super::LossCurve;
use tidewatch_math::roots::{Stop, bracket_upwards, newton};

/// Most doublings in search of an upper end; with their growing stride they span all of `f64`.
const BRACKET_STEPS: u32 = 96;

/// The τ with U(τ) = `worth` by Newton's method on U′ = τD′ inside a bracket.
///
/// A concave D has D(τ) ≤ D′(0)τ, hence U(τ) ≤ D′(0)τ²/2 and τ ≥ √(2·worth/D′(0)): a lower end that
/// is exact for short times.
pub(super) fn invert_worth<C: LossCurve + ?Sized>(curve: &C, worth: f64) -> f64 {
    if worth.is_nan() {
        return f64::NAN;
    }
    if worth <= 0.0 {
        return 0.0;
    }
    if worth >= curve.worth_limit() {
        return f64::INFINITY;
    }
    let missing = |elapsed: f64| curve.worth(elapsed) - worth;
    let bound = (2.0 * worth / curve.slope(0.0)).sqrt();
    let low = if bound.is_finite() && bound > 0.0 && missing(bound) <= 0.0 {
        bound
    } else {
        f64::MIN_POSITIVE
    };
    // No upper end below the largest number: the worth is reached later than time can say.
    let Ok(bracket) = bracket_upwards(missing, low, 2.0, BRACKET_STEPS) else {
        return f64::INFINITY;
    };
    let value_and_slope = |elapsed: f64| (missing(elapsed), elapsed * curve.slope(elapsed));
    newton(value_and_slope, bracket, bracket.0, Stop::default())
        .map_or_else(|_| bracket.1, |root| root.x)
}
