//! Every curve that a page might have, tabulated, so that a few looks at a page weigh them all in
//! microseconds.
//!
//! A candidate is a *shape* (limit, jump, items) at a rate λ. A curve depends on time by λt alone, so
//! one table over ln(λt) serves all rates of a shape, and rates are whole steps of it apart: the
//! candidates of a shape, seen at one time, lie side by side in its table. Rates are two steps
//! apart, so even and odd steps are kept in rows of their own, and the inner loop runs over
//! neighbours in memory.

use std::sync::LazyLock;

use super::curve::DivergenceCurve;
use super::profile::ProfilePoint;
use super::worth::{FIRST_TIME, TIMES};
use crate::law::LossCurve;

/// Candidates for K: churn, then scrolls of longer and longer windows.
const ITEMS: [u8; 5] = [1, 2, 4, 8, 16];
/// Candidates for A.
pub(super) const LIMITS: [f64; 9] = [0.01, 0.03, 0.07, 0.15, 0.25, 0.4, 0.6, 0.8, 0.97];
/// Candidates for b/A.
const JUMPS: [f64; 2] = [0.0, 0.5];
/// Slowest candidate rate, per second: once in four years.
pub(super) const SLOWEST: f64 = 8e-9;
/// Rates, each √2 times the one before: up to once an hour. What is faster no crawler keeps, and the
/// jump stands for it.
pub(super) const RATES: usize = 31;
/// Steps of the table from one rate to the next: even and odd rows hang on its being two.
const RATE_STEPS: usize = 2;
/// Steps of the table of curves over ln(λt) for a factor of two.
const OCTAVE: usize = 2 * RATE_STEPS;
const STEPS: usize = 30 * OCTAVE;
/// Least λt in the table; before and beyond, curves stay what they are at its ends.
pub(super) const LEAST: f64 = 1e-5;
/// Steps added at either end, so that no candidate of any point falls out of its row.
const MARGIN: usize = RATE_STEPS * RATES;
const ROW: usize = STEPS / 2 + MARGIN;
/// Divergence is never taken to be surely none or surely all: sketches err, pages surprise.
const DOUBT: f64 = 0.003;

/// A curve at unit rate.
pub(super) struct Shape {
    pub(super) items: u8,
    pub(super) limit: f64,
    pub(super) jump: f64,
    /// Even steps, then odd.
    rows: [Row; 2],
    /// U at times √2 apart, from the first time at the slowest rate to the last at the fastest.
    pub(super) worths: [f32; RATES + TIMES],
}

/// ln D and ln(1 − D) at every other step.
struct Row {
    gone: [f32; ROW],
    kept: [f32; ROW],
}

impl Shape {
    fn new(items: u8, limit: f64, jump: f64) -> Self {
        let curve = DivergenceCurve::new(1.0, limit, jump, items);
        let at = |row: usize, parity: usize| {
            let step = (2 * row + parity).saturating_sub(MARGIN).min(STEPS - 1);
            logs(curve.stale(LEAST * (step as f64 / OCTAVE as f64).exp2()))
        };
        let row = |parity| Row {
            gone: std::array::from_fn(|i| at(i, parity)[0]),
            kept: std::array::from_fn(|i| at(i, parity)[1]),
        };
        let first = SLOWEST * FIRST_TIME;
        let worth = |k: usize| curve.worth(first * (k as f64 / 2.0).exp2()) as f32;
        Shape { items, limit, jump, rows: [row(0), row(1)], worths: std::array::from_fn(worth) }
    }

    /// Its place among the families: churn, then scroll.
    pub(super) fn family(&self) -> usize {
        usize::from(self.items > 1) + 1
    }

    /// ln-likelihoods of the points at every rate.
    pub(super) fn scores(&self, points: &[Placed]) -> [f32; RATES] {
        let mut scores = [0.0; RATES];
        for point in points {
            for end in &point.ends {
                let row = &self.rows[end.step % 2];
                let rates = end.step / 2..end.step / 2 + RATES;
                let (gone, kept) = (&row.gone[rates.clone()], &row.kept[rates]);
                for (score, (gone, kept)) in scores.iter_mut().zip(gone.iter().zip(kept)) {
                    *score += end.gone * gone + end.kept * kept;
                }
            }
        }
        scores
    }
}

/// All shapes, those that churn first.
pub(super) static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let all = ITEMS.iter().flat_map(|&items| {
        LIMITS.iter().flat_map(move |&limit| JUMPS.iter().map(move |&part| (items, limit, part)))
    });
    all.map(|(items, limit, part)| Shape::new(items, limit, limit * part)).collect()
});

pub(super) fn rate_of(rate: usize) -> f64 {
    SLOWEST * (rate as f64 / 2.0).exp2()
}

pub(super) fn logs(divergence: f64) -> [f32; 2] {
    let d = divergence.clamp(DOUBT, 1.0 - DOUBT);
    [d.ln() as f32, (-d).ln_1p() as f32]
}

/// A point placed on the table for the slowest rate, between two steps.
pub(super) struct Placed {
    ends: [End; 2],
}

/// A step, and how much of the point's weight is gone and kept there.
struct End {
    step: usize,
    gone: f32,
    kept: f32,
}

impl Placed {
    /// A point that counts as `weight` draws; `None` where no time had passed or a number is NaN.
    pub(super) fn new(point: &ProfilePoint, weight: f64) -> Option<Self> {
        if point.elapsed.is_nan() || point.elapsed <= 0.0 || point.divergence.is_nan() {
            return None;
        }
        let (low, high) = (-(MARGIN as f64), STEPS as f64);
        let place = (SLOWEST * point.elapsed / LEAST).log2() * OCTAVE as f64;
        let place = place.clamp(low, high) + MARGIN as f64;
        let part = place.fract();
        let gone = point.divergence.clamp(0.0, 1.0);
        let end = |step: usize, share: f64| End {
            step: place as usize + step,
            gone: (weight * share * gone) as f32,
            kept: (weight * share * (1.0 - gone)) as f32,
        };
        Some(Placed { ends: [end(0, 1.0 - part), end(1, part)] })
    }

    /// Draws that are gone, and kept.
    pub(super) fn drawn(&self) -> [f32; 2] {
        [self.ends[0].gone + self.ends[1].gone, self.ends[0].kept + self.ends[1].kept]
    }
}
