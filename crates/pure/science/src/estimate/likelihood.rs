//! Maximum likelihood for visits at irregular times.
//!
//! A gap c that ended in a change has likelihood 1 − e^(−λc), an unchanged gap u has e^(−λu), a
//! change dated a before its visit has λe^(−λa). So with K dated changes and Q the total quiet time
//!
//! ℓ(λ) = K·ln λ − λQ + Σ ln(1 − e^(−λc)),   λℓ′(λ) = K − λQ + Σ B(λc),   B(x) = x/(eˣ − 1).
//!
//! B falls from 1, so λℓ′ has one root; and 1 − x/2 ≤ B(x) ≤ 1 puts it, with n undated changes after
//! a total of C, between (K + n)/(Q + C/2) and (K + n)/Q. That is the safeguard: no start value, no
//! step that can leave. With a gamma prior of shape a and rate b the same holds for K + a, Q + b.

use super::{RateEstimate, TAIL, Visit};
use tidewatch_math::roots::{Stop, bracket_upwards, solve};
use tidewatch_math::special::{ln_1m_exp, over_expm1};

/// Half of the 95 % quantile of χ² with one degree of freedom: how far below its peak the
/// log-likelihood may be within the interval (Wilks).
const DROP_95: f64 = 1.920729410347062;

/// Most steps in search of an upper end.
const BRACKET_STEPS: u32 = 96;

/// The likelihood of a rate, by dated events, quiet time and the gaps of undated changes.
#[derive(Clone, Debug)]
pub(super) struct Likelihood<G> {
    /// K, dated changes (plus the shape of a prior).
    pub events: f64,
    /// Q, time surely without a change (plus the rate of a prior).
    pub quiet: f64,
    /// Gaps that ended in a change of unknown date, each with how many there are of it.
    pub gaps: G,
}

impl<G: Iterator<Item = (f64, f64)> + Clone> Likelihood<G> {
    /// ℓ(λ).
    pub(super) fn log_likelihood(&self, rate: f64) -> f64 {
        let undated = self.sum(|gap| ln_1m_exp(rate * gap));
        let dated = if self.events > 0.0 { self.events * rate.ln() } else { 0.0 };
        dated - rate * self.quiet + undated
    }

    /// λℓ′(λ), the slope against ln λ.
    pub(super) fn slope(&self, rate: f64) -> f64 {
        let undated = self.sum(|gap| over_expm1(rate * gap));
        self.events - rate * self.quiet + undated
    }

    /// −d²ℓ/d(ln λ)² = λQ + Σ B(x)(B(x) + x − 1), x = λc. Never negative: ℓ is concave in ln λ.
    pub(super) fn curvature(&self, rate: f64) -> f64 {
        let undated = self.sum(|gap| information(rate * gap));
        rate * self.quiet + undated
    }

    fn sum(&self, value: impl Fn(f64) -> f64) -> f64 {
        self.gaps.clone().map(|(gap, count)| count * value(gap)).sum()
    }

    /// The peak of ℓ. Needs `quiet` > 0 and at least one change, dated or not.
    pub(super) fn root(&self) -> f64 {
        let (changes, total) = (self.events + self.sum(|_| 1.0), self.sum(|gap| gap));
        let bracket = (changes / (self.quiet + 0.5 * total), changes / self.quiet);
        // No sign change can be seen when the bounds agree to rounding: without undated gaps, or
        // when all are tiny, where B(x) = 1 − x/2 and the lower bound is the answer.
        solve(|rate| self.slope(rate), bracket, Stop::default()).map_or(bracket.0, |root| root.x)
    }
}

/// −x·B′(x) = B(x)(B(x) + x − 1); x/2 − x²/6 for small x, where the difference would cancel.
pub(super) fn information(x: f64) -> f64 {
    if x < 1e-4 {
        return x * (0.5 - x / 6.0);
    }
    let b = over_expm1(x);
    b * (b + x - 1.0)
}

/// The gaps of the undated changes among `visits`; of all changes if dates are not to be used.
pub(super) fn undated(
    visits: &[Visit],
    use_dates: bool,
) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
    let open = move |visit: &&Visit| visit.changed && !(use_dates && visit.age.is_some());
    visits.iter().filter(open).map(|visit| (visit.gap, 1.0))
}

/// The rate under which the observed pattern of changed and unchanged gaps is most likely, whatever
/// the gaps; solves Σ c/(e^(λc) − 1) = Σ u `[CGM03e]`. Dates are not used.
///
/// The interval is that of the likelihood ratio. At the two borders it is exact instead: with no
/// change, the rate 0 with upper end −ln(0.025)/Σu; with nothing but changes, where the likelihood
/// rises for ever, the rate at which that outcome is as likely as not, with the lower end at which
/// its chance is 2.5 %, and no upper end.
pub fn maximum_likelihood(visits: &[Visit]) -> Option<RateEstimate> {
    if visits.is_empty() {
        return None;
    }
    let quiet: f64 = visits.iter().filter(|visit| !visit.changed).map(|visit| visit.gap).sum();
    let score = Likelihood { events: 0.0, quiet, gaps: undated(visits, false) };
    if score.gaps.clone().next().is_none() {
        return Some(RateEstimate::new(0.0, 0.0, -TAIL.ln() / quiet));
    }
    if quiet == 0.0 {
        let rate_of = |chance: f64| rate_where_all_change(&score, chance);
        return Some(RateEstimate::new(rate_of(0.5), rate_of(TAIL), f64::INFINITY));
    }
    let peak = score.root();
    let (low, high) = drop_interval(|rate| score.log_likelihood(rate), peak);
    Some(RateEstimate::new(peak, low, high))
}

/// The rate at which all gaps see a change with the given chance: above the rate at which the
/// longest alone does, since the others only lower the chance.
fn rate_where_all_change<G>(score: &Likelihood<G>, chance: f64) -> f64
where
    G: Iterator<Item = (f64, f64)> + Clone,
{
    let excess = |rate: f64| score.log_likelihood(rate) - chance.ln();
    let longest = score.gaps.clone().map(|(gap, _)| gap).fold(0.0, f64::max);
    let low = -(-chance).ln_1p() / longest;
    bracket_upwards(excess, low, 2.0, BRACKET_STEPS)
        .and_then(|bracket| solve(excess, bracket, Stop::default()))
        .map_or(low, |root| root.x)
}

/// The two rates around `peak` at which a unimodal log-likelihood has dropped by [`DROP_95`].
fn drop_interval(log_likelihood: impl Fn(f64) -> f64, peak: f64) -> (f64, f64) {
    let floor = log_likelihood(peak) - DROP_95;
    let excess = |rate: f64| log_likelihood(rate) - floor;
    let low = solve(excess, (f64::MIN_POSITIVE, peak), Stop::relative(1e-12));
    let high = bracket_upwards(excess, peak, 2.0, BRACKET_STEPS)
        .and_then(|bracket| solve(excess, bracket, Stop::relative(1e-12)));
    (low.map_or(0.0, |root| root.x), high.map_or(f64::INFINITY, |root| root.x))
}
