//! The posterior of a change rate.
//!
//! The prior is gamma. Unchanged gaps and dated changes keep it gamma; a change of unknown date
//! multiplies it by 1 − e^(−λc), which does not. So the posterior is integrated: in θ = ln λ its
//! density is log-concave with exponential tails and analytic, where the trapezoidal rule converges
//! faster than any power of the step. The integral runs over a fixed array, some forty to three
//! hundred nodes of one pass over the visits each, without a heap allocation.
//!
//! The result also comes as the gamma distribution of the same mean and variance, the form in which
//! the scheduler prices uncertainty (see [`crate::law::Lomax::uncertain_rate`]).

use super::likelihood::{Likelihood, undated};
use super::{Counts, RateEstimate, TAIL, Visit};
use serde::{Deserialize, Serialize};
use tidewatch_math::special::{gamma_p_inv, gamma_q_inv};

/// A gamma distribution of a rate: density ∝ λ^(shape−1)·e^(−rate·λ).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gamma {
    /// How many changes the knowledge is worth; positive.
    pub shape: f64,
    /// In how much time; positive. The mean is `shape`/`rate`.
    pub rate: f64,
}

impl Gamma {
    /// By mean and shape.
    pub fn with_mean(mean: f64, shape: f64) -> Self {
        Self { shape, rate: shape / mean }
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.shape / self.rate
    }

    /// Its mean with the central 95 % interval.
    pub fn estimate(&self) -> RateEstimate {
        let (low, high) = (gamma_p_inv(self.shape, TAIL), gamma_q_inv(self.shape, TAIL));
        RateEstimate::new(self.mean(), low / self.rate, high / self.rate)
    }
}

/// What is known of a rate after the visits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posterior {
    /// Posterior mean and central 95 % interval.
    pub estimate: RateEstimate,
    /// The gamma distribution of the same mean and variance.
    pub gamma: Gamma,
}

/// The posterior of the rate of a page under a gamma prior, from all its visits, dates included.
///
/// With no visit it is the prior. Nothing changed: Gamma(a, b + Σu), exactly. Everything changed:
/// finite, the prior's tail decides.
pub fn posterior(visits: &[Visit], prior: &Gamma) -> Posterior {
    let quiet = |visit: &Visit| if visit.changed { visit.age.unwrap_or(0.0) } else { visit.gap };
    let dated = visits.iter().filter(|visit| visit.age.is_some()).count() as f64;
    summarise(&Likelihood {
        events: prior.shape + dated,
        quiet: prior.rate + visits.iter().map(quiet).sum::<f64>(),
        gaps: undated(visits, true),
    })
}

/// The posterior from sums alone, in constant time and memory: exact for equal gaps and wherever
/// nothing is undated, right to second order in the spread of the gaps otherwise. This is what a
/// scheduler with one small record a page uses, once a visit.
pub fn posterior_from_sums(counts: &Counts, prior: &Gamma) -> Posterior {
    let score = counts.score();
    let (events, quiet) = (score.events + prior.shape, score.quiet + prior.rate);
    summarise(&Likelihood { events, quiet, gaps: score.gaps })
}

/// Chance of no change within `seconds`, by the same sums: E e^(−λt) over the posterior.
///
/// The gamma law of the posterior's mean and variance would say too much where visits are rarer than
/// changes: it has mass near λ = 0, where the posterior has none after a change was seen.
///
/// `kept` is the part of the evidence that counts, from 0 (the prior alone) to 1. Several times cost
/// hardly more than one.
pub fn unchanged_from_sums<const N: usize>(
    counts: &Counts,
    prior: &Gamma,
    kept: f64,
    seconds: [f64; N],
) -> [f64; N] {
    let score = counts.score();
    let gaps = score.gaps.map(|(gap, count)| (gap, kept * count));
    let (events, quiet) = (kept * score.events + prior.shape, kept * score.quiet + prior.rate);
    if kept <= 0.0 || gaps.clone().next().is_none() {
        return seconds.map(|seconds| (-events * (seconds / quiet).ln_1p()).exp());
    }
    let grid = Grid::new(&Likelihood { events, quiet, gaps });
    seconds.map(|seconds| grid.mean(|rate| (-rate * seconds).exp()))
}

fn summarise<G: Iterator<Item = (f64, f64)> + Clone>(score: &Likelihood<G>) -> Posterior {
    if score.gaps.clone().next().is_none() {
        let gamma = Gamma { shape: score.events, rate: score.quiet };
        return Posterior { estimate: gamma.estimate(), gamma };
    }
    Grid::new(score).summary()
}

/// Room for the nodes. The left tail falls at least as e^θ and the right one faster, so the widest
/// posterior needs 38/STEP nodes to the left of its peak and 5/STEP to the right.
const MOST_NODES: i32 = 384;
/// Log-density below the peak at which the tails are cut: e⁻³⁸ = 3·10⁻¹⁷.
const CUT: f64 = 38.0;
/// Largest step in θ. The density is analytic within π/2 of the real axis, so the rule's error is
/// about e^(−π²/step).
const MOST_STEP: f64 = 0.125;
/// Nodes to a standard deviation of the peak.
const NODES_PER_DEVIATION: f64 = 4.0;

/// The posterior density on equally spaced θ = ln λ, relative to its peak.
struct Grid {
    first: f64,
    step: f64,
    len: usize,
    density: [f64; MOST_NODES as usize],
}

impl Grid {
    fn new<G: Iterator<Item = (f64, f64)> + Clone>(score: &Likelihood<G>) -> Self {
        let peak = score.root();
        let step = (score.curvature(peak).sqrt() * NODES_PER_DEVIATION).recip().min(MOST_STEP);
        let top = score.log_likelihood(peak);
        let log_density =
            |steps: i32| score.log_likelihood(peak * (f64::from(steps) * step).exp()) - top;
        let reach = |direction: i32| {
            let most = if direction < 0 { MOST_NODES } else { MOST_NODES / 2 };
            (1..most).find(|k| log_density(direction * k) < -CUT).unwrap_or(most)
        };
        let right = reach(1);
        let left = reach(-1).min(MOST_NODES - 1 - right);
        let mut density = [0.0; MOST_NODES as usize];
        for (node, steps) in density.iter_mut().zip(-left..=right) {
            *node = log_density(steps).exp();
        }
        let first = peak.ln() - f64::from(left) * step;
        Self { first, step, len: (left + right + 1) as usize, density }
    }

    /// The mean of a function of the rate.
    fn mean(&self, value: impl Fn(f64) -> f64) -> f64 {
        let nodes = &self.density[..self.len];
        let rates = (0..self.len).map(|i| (self.first + i as f64 * self.step).exp());
        let sum: f64 = rates.zip(nodes).map(|(rate, p)| value(rate) * p).sum();
        sum / nodes.iter().sum::<f64>()
    }

    fn summary(&self) -> Posterior {
        let nodes = &self.density[..self.len];
        let rates = (0..self.len).map(|i| (self.first + i as f64 * self.step).exp());
        let mass: f64 = nodes.iter().sum();
        let mean = self.mean(|rate| rate);
        let squares = rates.zip(nodes).map(|(rate, p)| (rate - mean) * (rate - mean) * p);
        let variance = squares.sum::<f64>() / mass;
        let gamma = Gamma { shape: mean * mean / variance, rate: mean / variance };
        let (low, high) = (self.quantile(TAIL * mass), self.quantile((1.0 - TAIL) * mass));
        Posterior { estimate: RateEstimate::new(mean, low, high), gamma }
    }

    /// The rate below which `mass` of the density lies, in units of one step.
    ///
    /// The mass up to a node is the sum before it plus half of its own, less the Euler–Maclaurin
    /// term f′/12 for the open end; between nodes it is the cubic with the right slopes. Both err by
    /// the fourth power of the step.
    fn quantile(&self, mass: f64) -> f64 {
        let p = |i: usize| self.density.get(i).copied().unwrap_or(0.0);
        let slope = |i: usize| 0.5 * (p(i + 1) - if i == 0 { 0.0 } else { p(i - 1) });
        let (mut sum, mut before) = (0.0, 0.0);
        for i in 0..self.len {
            let up_to = sum + 0.5 * p(i) - slope(i) / 12.0;
            if up_to >= mass && i > 0 {
                let part = inverse_cubic((before, p(i - 1)), (up_to, p(i)), mass);
                return (self.first + (i as f64 - 1.0 + part) * self.step).exp();
            }
            sum += p(i);
            before = up_to;
        }
        (self.first + (self.len - 1) as f64 * self.step).exp()
    }
}

/// Where in [0, 1] the cubic with these end values and slopes takes the value `y`; it rises.
fn inverse_cubic((y0, d0): (f64, f64), (y1, d1): (f64, f64), y: f64) -> f64 {
    let rise = y1 - y0;
    let cubic = |s: f64| {
        let (a, b) = (d0 + d1 - 2.0 * rise, 3.0 * rise - 2.0 * d0 - d1);
        y0 + s * (d0 + s * (b + s * a))
    };
    let (mut low, mut high) = (0.0, 1.0);
    // Fifty halvings leave less than 10⁻¹⁵ of a step.
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if cubic(middle) < y { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
