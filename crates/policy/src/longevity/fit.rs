//! Which curve do a few divergences speak for?
//!
//! A least-squares fit of few, coarse points runs to extremes: a page seen unchanged three times
//! "never changes", one seen at 1/8 and 2/8 may scroll or churn. So every candidate is weighed: the
//! static page, and curves over a grid of rate λ, limit A, jump b and items K. The evidence of a
//! family is the mean likelihood of its candidates under a prior that knows only orders of magnitude
//! (λ from minutes to years, each order alike), so a family that needs fine tuning to fit
//! loses to one that fits by itself. Within the best family the curve takes the posterior means of
//! ln λ, ln A, b/A and ln K.
//!
//! A point of divergence d where the candidate says D has the log-likelihood
//! w(d·ln D + (1−d)·ln(1−D)): that of w draws from the two versions' union. For a sketch of m hashes w
//! would be m, were it not that a page's few updates are drawn as well; the points of overlapping
//! profiles share those draws. [`PROCESS_DRAWS`] stands for both.

use std::sync::LazyLock;

use super::curve::DivergenceCurve;
use super::profile::Point;
use crate::law::LossCurve;

/// How many independent draws a point is worth however many hashes are compared: about the number
/// of updates between two looks.
const PROCESS_DRAWS: f64 = 3.0;

/// Candidates for K: churn, then scrolls of longer and longer windows.
const ITEMS: [u8; 5] = [1, 2, 4, 8, 16];
/// Candidates for A.
const LIMITS: [f64; 9] = [0.01, 0.03, 0.07, 0.15, 0.25, 0.4, 0.6, 0.8, 0.97];
/// Candidates for b/A.
const JUMPS: [f64; 2] = [0.0, 0.5];
/// Slowest candidate rate, per second: once in four years.
const SLOWEST: f64 = 8e-9;
/// Rates, each √2 times the one before: up to once in some minutes.
const RATES: usize = 40;
/// Steps of the table from one rate to the next.
const RATE_STEPS: usize = OCTAVE / 2;
/// Steps of the table of curves over ln(λt), a factor of two apart in `OCTAVE` steps.
const OCTAVE: usize = 4;
const STEPS: usize = 30 * OCTAVE;
/// Least λt in the table.
const LEAST: f64 = 1e-5;
/// Divergence is never taken to be surely none or surely all: sketches err, pages surprise.
const DOUBT: f64 = 0.003;
/// Prior chances: half of all pages are static; of changing content two thirds churn `[OP08, §3.3]`.
const PRIOR: [f64; 3] = [0.5, 0.335, 0.165];

/// What the evidence says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The curve of the best family.
    pub curve: DivergenceCurve,
    /// Posterior chances of static, churn and scroll.
    pub chances: [f64; 3],
}

/// One candidate shape at unit rate: ln D and ln(1 − D) over the grid of ln(λt).
struct Shape {
    items: u8,
    limit: f64,
    jump: f64,
    logs: Vec<[f32; 2]>,
}

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let all = ITEMS.iter().flat_map(|&items| {
        LIMITS.iter().flat_map(move |&limit| JUMPS.iter().map(move |&part| (items, limit, part)))
    });
    all.map(|(items, limit, part)| {
        let jump = limit * part;
        let curve = DivergenceCurve::new(1.0, limit, jump, items);
        let at = |step: usize| LEAST * (step as f64 / OCTAVE as f64).exp2();
        let logs = (0..STEPS).map(|step| logs(curve.stale(at(step)))).collect();
        Shape { items, limit, jump, logs }
    })
    .collect()
});

fn logs(divergence: f64) -> [f32; 2] {
    let d = divergence.clamp(DOUBT, 1.0 - DOUBT);
    [d.ln() as f32, (-d).ln_1p() as f32]
}

/// A point placed on the table's grid for the slowest rate.
struct Placed {
    step: f64,
    divergence: f32,
    weight: f32,
}

/// The curve that `points` speak for, seen through sketches of `hashes`; `overlap` profiles share
/// each fetch.
pub fn fit(points: &[Point], hashes: usize, overlap: usize) -> Fit {
    let weight = 1.0 / (1.0 / hashes.max(1) as f64 + 1.0 / PROCESS_DRAWS) / overlap.max(1) as f64;
    let placed: Vec<Placed> = points
        .iter()
        .filter(|p| p.elapsed > 0.0)
        .map(|p| Placed {
            step: (SLOWEST * p.elapsed / LEAST).log2() * OCTAVE as f64,
            divergence: p.divergence.clamp(0.0, 1.0) as f32,
            weight: weight as f32,
        })
        .collect();
    let mut families = [Family::default(), Family::default(), Family::default()];
    families[0].add(static_likelihood(&placed), &[0.0; 4]);
    for shape in SHAPES.iter() {
        let family = usize::from(shape.items > 1) + 1;
        for rate in 0..RATES {
            let log = likelihood(shape, rate, &placed);
            let means = [
                SLOWEST.ln() + rate as f64 * (std::f64::consts::LN_2 / 2.0),
                shape.limit.ln(),
                shape.jump / shape.limit,
                f64::from(shape.items).ln(),
            ];
            families[family].add(log, &means);
        }
    }
    choose(&families)
}

fn static_likelihood(points: &[Placed]) -> f64 {
    let [yes, no] = logs(0.0);
    points
        .iter()
        .map(|p| f64::from(p.weight * (p.divergence * yes + (1.0 - p.divergence) * no)))
        .sum()
}

fn likelihood(shape: &Shape, rate: usize, points: &[Placed]) -> f64 {
    let shift = (rate * RATE_STEPS) as f64;
    let mut sum = 0.0f32;
    for point in points {
        let place = (point.step + shift).clamp(0.0, (STEPS - 2) as f64);
        let below = place as usize;
        let part = (place - below as f64) as f32;
        let (low, high) = (shape.logs[below], shape.logs[below + 1]);
        let yes = low[0] + part * (high[0] - low[0]);
        let no = low[1] + part * (high[1] - low[1]);
        sum += point.weight * (point.divergence * yes + (1.0 - point.divergence) * no);
    }
    f64::from(sum)
}

/// Likelihoods of a family's candidates, kept relative to the largest so far.
#[derive(Default)]
struct Family {
    largest: Option<f64>,
    total: f64,
    sums: [f64; 4],
    count: f64,
}

impl Family {
    fn add(&mut self, log: f64, means: &[f64; 4]) {
        let largest = self.largest.map_or(log, |l| l.max(log));
        let shrink = self.largest.map_or(0.0, |l| (l - largest).exp());
        let weight = (log - largest).exp();
        self.total = self.total * shrink + weight;
        for (sum, mean) in self.sums.iter_mut().zip(means) {
            *sum = *sum * shrink + weight * mean;
        }
        self.largest = Some(largest);
        self.count += 1.0;
    }

    /// ln of the mean likelihood.
    fn evidence(&self) -> f64 {
        self.largest.unwrap_or(0.0) + (self.total / self.count).ln()
    }

    fn curve(&self) -> DivergenceCurve {
        let [rate, limit, part, items] = self.sums.map(|sum| sum / self.total);
        let limit = limit.exp();
        DivergenceCurve::new(rate.exp(), limit, limit * part, items.exp().round() as u8)
    }
}

fn choose(families: &[Family; 3]) -> Fit {
    let logs: [f64; 3] = std::array::from_fn(|i| families[i].evidence() + PRIOR[i].ln());
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = logs.map(|log| (log - largest).exp());
    let total: f64 = weights.iter().sum();
    let chances = weights.map(|weight| weight / total);
    let best = if chances[0] >= chances[1] + chances[2] {
        0
    } else if chances[1] >= chances[2] {
        1
    } else {
        2
    };
    let curve = if best == 0 { DivergenceCurve::STATIC } else { families[best].curve() };
    Fit { curve, chances }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: f64 = 86_400.0;

    fn seen(curve: &DivergenceCurve, days: &[f64]) -> Vec<Point> {
        days.iter().map(|d| Point { elapsed: d * DAY, divergence: curve.stale(d * DAY) }).collect()
    }

    /// Far more looks than a page gets: what the fit tends to. Few points leave the prior its say.
    fn often(points: &[Point]) -> Vec<Point> {
        points.repeat(100)
    }

    const DAYS: [f64; 8] = [1.0, 2.0, 4.0, 6.0, 9.0, 14.0, 20.0, 30.0];

    #[test]
    fn static_pages_are_found_static() {
        let calm = fit(&seen(&DivergenceCurve::STATIC, &DAYS), 8, 1);
        assert!(calm.curve.is_static() && calm.chances[0] > 0.7, "{calm:?}");
    }

    /// With exact expectations the period at a threshold comes out within a third of the truth.
    #[test]
    fn periods_are_found_from_expectations() {
        for (rate, limit, items) in [(0.3, 0.5, 1), (0.1, 0.8, 1), (0.5, 0.5, 4), (0.3, 0.9, 2)] {
            let truth = DivergenceCurve::new(rate / DAY, limit, 0.0, items);
            let found = fit(&often(&seen(&truth, &DAYS)), usize::MAX, 1).curve;
            let worth = 0.3 * truth.worth_limit();
            let ratio = found.elapsed_at(worth) / truth.elapsed_at(worth);
            assert!((2.0 / 3.0..1.5).contains(&ratio), "{truth:?} {found:?} {ratio}");
        }
    }

    /// Divergence that starts at its limit scrolls nowhere; one that climbs steadily and stops does.
    /// (Where nearly all of a page scrolls, D ≈ 2x/(1 + x) looks like churn, and U hardly differs.)
    #[test]
    fn churn_and_scroll_are_told_apart() {
        let churn = fit(&often(&seen(&DivergenceCurve::new(2.0 / DAY, 0.6, 0.0, 1), &DAYS)), 64, 1);
        assert!(churn.chances[1] > churn.chances[2], "{churn:?}");
        let scroll =
            fit(&often(&seen(&DivergenceCurve::new(1.0 / DAY, 0.4, 0.0, 16), &DAYS)), 64, 1);
        assert!(scroll.chances[2] > scroll.chances[1], "{scroll:?}");
        assert!(scroll.curve.items() > 2, "{scroll:?}");
    }

    #[test]
    fn nothing_seen_leaves_the_prior() {
        let fit = fit(&[], 8, 1);
        for (chance, prior) in fit.chances.iter().zip(PRIOR) {
            assert!((chance - prior).abs() < 1e-9);
        }
    }

    #[test]
    fn hostile_points_are_weighed() {
        let points = [(f64::INFINITY, 2.0), (1e-300, -1.0), (f64::NAN, f64::NAN), (-1.0, 0.5)];
        let points = points.map(|(elapsed, divergence)| Point { elapsed, divergence });
        let fit = fit(&points[..2], 0, 0);
        assert!(fit.chances.iter().all(|c| c.is_finite()));
        super::fit(&points, 8, 1);
    }
}
