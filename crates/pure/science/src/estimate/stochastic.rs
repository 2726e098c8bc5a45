//! A rate that is corrected a little at every visit.

use super::counts::{from_odds, wilson};
use super::{RateEstimate, Visit};

/// Step sizes fall as k^(−¾): their sum diverges and that of their squares converges, as the
/// convergence theorem asks, and they forget faster than 1/k.
const STEP_POWER: f64 = -0.75;

/// The stochastic-approximation estimator `[APT20]`: y ← y + η(I·(y + p) − y) at each visit, I
/// whether it saw a change, p the visit rate. It rests where P(change)·(y + p) = y, that is at
/// y = λ when gaps are exponential and P(change) = λ/(λ + p).
///
/// The first step has η = 1 and I = 1 gives y = p at most; the rate is never negative and grows by
/// at most ηp a step. Everything changed: about p·Σ η. Interval: that of the share θ = y/(y + p) as
/// if seen in 2/η − 1 visits, the number over which a filter of step η averages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stochastic {
    rate: f64,
    steps: u64,
    watched: f64,
}

impl Stochastic {
    /// The state after some visits.
    pub fn after(visits: &[Visit]) -> Self {
        let mut state = Self::default();
        for visit in visits {
            state.add(visit);
        }
        state
    }

    /// Takes in one visit.
    pub fn add(&mut self, visit: &Visit) {
        self.steps += 1;
        self.watched += visit.gap;
        let seen = if visit.changed { self.rate + self.visit_rate() } else { 0.0 };
        self.rate += self.step() * (seen - self.rate);
    }

    /// p: visits per unit time so far.
    fn visit_rate(&self) -> f64 {
        self.steps as f64 / self.watched
    }

    fn step(&self) -> f64 {
        (self.steps as f64).powf(STEP_POWER)
    }

    /// The present rate; `None` before the first visit.
    pub fn estimate(&self) -> Option<RateEstimate> {
        if self.steps == 0 {
            return None;
        }
        let p = self.visit_rate();
        let (share, rest) = (self.rate / (self.rate + p), p / (self.rate + p));
        let (low, high) = from_odds(p, wilson(share, rest, 2.0 / self.step() - 1.0));
        Some(RateEstimate::new(self.rate, low, high))
    }
}
