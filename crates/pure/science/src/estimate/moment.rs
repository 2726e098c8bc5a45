//! Moment matching: as many changed visits as expected.

use super::{RateEstimate, Visit, Z_95};
use tidewatch_math::roots::{Stop, bracket_upwards, solve};

/// Most steps in search of an upper end.
const BRACKET_STEPS: u32 = 96;

/// Taken off the number of changed visits when all changed, so that a finite rate explains it; the
/// same half visit as in the bias-reduced estimator.
const CLIP: f64 = 0.5;

/// The λ with Σ(1 − e^(−λw)) = number of changed visits, over all gaps w `[UBRS20]`.
///
/// Nothing changed: 0. Everything changed: the number is clipped to half a visit less. Interval:
/// the rates whose expected number of changed visits lies within 1.96 of its own standard deviations
/// √Σp(1 − p) of the observed one; without upper end if everything changed.
pub fn moment_matching(visits: &[Visit]) -> Option<RateEstimate> {
    let n = visits.len() as f64;
    let watched: f64 = visits.iter().map(|visit| visit.gap).sum();
    if visits.is_empty() {
        return None;
    }
    let seen = visits.iter().filter(|visit| visit.changed).count() as f64;
    // 1 − e^(−x) ≤ x, so no rate below this expects as many.
    let start = |count: f64| (count / watched).max(f64::MIN_POSITIVE);
    let expects = |count: f64, deviations: f64| {
        root_upwards(|rate| expected(visits, rate, deviations) - count, start(count))
    };
    let rate = if seen == 0.0 { 0.0 } else { expects(seen.min(n - CLIP), 0.0) };
    let low = if seen == 0.0 { 0.0 } else { lower_end(visits, seen, rate) };
    let high = if seen == n { f64::INFINITY } else { expects(seen, -Z_95) };
    Some(RateEstimate::new(rate, low, high))
}

/// Σp + d·√Σp(1 − p): the expected number of changed visits, and d deviations more.
fn expected(visits: &[Visit], rate: f64, deviations: f64) -> f64 {
    let (mut mean, mut variance) = (0.0, 0.0);
    for visit in visits {
        let unchanged = (-rate * visit.gap).exp();
        let changed = -(-rate * visit.gap).exp_m1();
        mean += changed;
        variance += changed * unchanged;
    }
    mean + deviations * variance.sqrt()
}

/// The rate below `rate` for which `seen` lies 1.96 deviations too high.
fn lower_end(visits: &[Visit], seen: f64, rate: f64) -> f64 {
    let excess = |rate: f64| expected(visits, rate, Z_95) - seen;
    solve(excess, (f64::MIN_POSITIVE, rate), Stop::relative(1e-12)).map_or(0.0, |root| root.x)
}

/// The last sign change of a function negative at `start`, upwards from there.
fn root_upwards(f: impl Fn(f64) -> f64, start: f64) -> f64 {
    if f(start) >= 0.0 {
        return start;
    }
    bracket_upwards(&f, start, 2.0, BRACKET_STEPS)
        .and_then(|bracket| solve(&f, bracket, Stop::default()))
        .map_or(f64::INFINITY, |root| root.x)
}
