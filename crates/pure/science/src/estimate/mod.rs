//! How often does a page change, and how sure are we?
//!
//! A crawler sees a page only when it visits it: after each gap it learns whether something changed
//! in it, not how often, and sometimes the date of the last change. From such [`Visits`] every
//! estimator here gives a [`RateEstimate`]: a rate with a 95 % interval.
//!
//! | method | uses | state | when it is wrong |
//! |---|---|---|---|
//! | [`Counts::naive`] | how many visits saw a change | O(1) | counts at most one change a gap: biased low |
//! | [`Counts::bias_reduced`] | same | O(1) | gaps far from equal; everything changed |
//! | [`Counts::last_modified`] | dates of the last change | O(1) | dates that lie |
//! | [`Counts::long_run`] | same as naive | O(1) | gaps not exponential |
//! | [`Stochastic`] | one visit at a time | O(1) | early, and when gaps are not exponential |
//! | [`maximum_likelihood`] | every gap | visits | everything changed |
//! | [`moment_matching`] | every gap | visits | same |
//! | [`posterior`] | every gap, dates, and what other pages of the host did | visits | a prior that does not fit |
//! | [`posterior_from_sums`] | the same, from sums | O(1) | same, and very uneven gaps |
//! | [`unchanged_from_sums`] | the chance of no change, from sums | O(1) | same |
//!
//! **Nothing changed.** The rate is 0 (the posterior mean is above it) and the upper end is finite.
//! **Everything changed.** The likelihood rises for ever; each method says which finite rate it
//! gives instead, and the upper end is infinite (not for the posterior, which has a prior to
//! lean on, nor for dated changes, whose ages bound the rate). **No usable visit.** `None`.
//!
//! Rates are per unit of the time in which gaps are given.

#![allow(clippy::float_cmp, reason = "exact zeros are cases of their own")]

mod bayes;
mod bias;
mod counts;
mod likelihood;
mod moment;
mod pattern;
mod pool;
mod stochastic;
mod visits;

pub use bayes::{Gamma, Posterior, posterior, posterior_from_sums, unchanged_from_sums};
pub use bias::{BiasRow, bias_table};
pub use counts::Counts;
pub use likelihood::maximum_likelihood;
pub use moment::moment_matching;
pub use pattern::url_pattern;
pub use pool::{Evidence, Member, Pool, fit_shape};
pub use stochastic::Stochastic;
pub use visits::{Visit, Visits};

/// Standard normal quantile of 97.5 %: half of a 95 % interval.
const Z_95: f64 = 1.959963984540054;

/// Chance left out on each side of a 95 % interval.
const TAIL: f64 = 0.025;

/// A change rate and the interval that holds the true one 95 times in a hundred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateEstimate {
    /// Changes per unit time; finite, not negative.
    pub rate: f64,
    /// Lower end, at most `rate`.
    pub low: f64,
    /// Upper end, at least `rate`; may be infinite.
    pub high: f64,
}

impl RateEstimate {
    /// With the interval widened, if need be, to hold the rate itself: a biased estimator may lie
    /// outside the interval that its data allow.
    fn new(rate: f64, low: f64, high: f64) -> Self {
        Self { rate, low: low.min(rate), high: high.max(rate) }
    }
}

/// The estimators that a user can ask for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Changes seen over time watched.
    Naive,
    /// The naive estimate corrected for changes that hid one another.
    BiasReduced,
    /// From the dates of the last change.
    LastModified,
    /// Maximum likelihood for irregular visits.
    MaximumLikelihood,
    /// Expected number of changed visits equal to the observed.
    Moment,
    /// Posterior mean under a prior pooled over the host.
    Bayes,
    /// The law-of-large-numbers estimator.
    LongRun,
    /// The stochastic-approximation estimator.
    Stochastic,
}

impl Method {
    /// Every method, in the order in which tables list them.
    pub const ALL: [Method; 8] = [
        Method::Naive,
        Method::BiasReduced,
        Method::LastModified,
        Method::MaximumLikelihood,
        Method::Moment,
        Method::Bayes,
        Method::LongRun,
        Method::Stochastic,
    ];

    /// The name used on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Naive => "naive",
            Method::BiasReduced => "bias-reduced",
            Method::LastModified => "last-modified",
            Method::MaximumLikelihood => "mle",
            Method::Moment => "moment",
            Method::Bayes => "bayes",
            Method::LongRun => "long-run",
            Method::Stochastic => "stochastic",
        }
    }
}

/// A name that is no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no estimator; use naive, bias-reduced, last-modified, mle, moment, bayes, long-run \
     or stochastic"
)]
pub struct UnknownMethod(pub String);

impl std::str::FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let found = Method::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or_else(|| UnknownMethod(text.to_owned()))
    }
}

/// The change rate of one page by one method; `None` when no visit is usable. `prior` is for
/// [`Method::Bayes`] alone, which gives the prior itself when there is no visit.
///
/// ```
/// use tidewatch_science::estimate::{Gamma, Method, Visits, estimate};
/// let mut visits = Visits::new();
/// for day in 0..=10 {
///     visits.record(f64::from(day), day % 2 == 0, None); // every other visit saw a change
/// }
/// let rate = |method| estimate(method, &visits, &Gamma::with_mean(0.1, 1.0)).map(|found| found.rate);
/// assert_eq!(rate(Method::Naive), Some(0.5));
/// // Half of the gaps were quiet, so e^(−λ) = ½ or so: some changes hid others.
/// assert!(rate(Method::MaximumLikelihood).is_some_and(|rate| (rate - 2.0_f64.ln()).abs() < 1e-6));
/// ```
pub fn estimate(method: Method, visits: &Visits, prior: &Gamma) -> Option<RateEstimate> {
    let counts = visits.counts();
    match method {
        Method::Naive => counts.naive(),
        Method::BiasReduced => counts.bias_reduced(),
        Method::LastModified => counts.last_modified(),
        Method::MaximumLikelihood => maximum_likelihood(visits.visits()),
        Method::Moment => moment_matching(visits.visits()),
        Method::Bayes => Some(posterior(visits.visits(), prior).estimate),
        Method::LongRun => counts.long_run(),
        Method::Stochastic => Stochastic::after(visits.visits()).estimate(),
    }
}

#[cfg(test)]
mod tests;
