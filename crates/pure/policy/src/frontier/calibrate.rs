//! What a score is worth in clicks: the currency of the price.
//!
//! Scores of different orders cannot be compared. Pages whose clicks over the horizon are known
//! teach the expected clicks of a score:
//!
//! * [`Isotonic`]: the rising step function nearest to the clicks in least squares, which is also
//!   the most likely one for Poisson counts. It assumes only that a higher score is no worse. By
//!   pooling adjacent violators `[ABERS55]`.
//! * [`LogLinear`]: the expected clicks are exp(a + b·ln score), Poisson regression. Two
//!   numbers, so it holds with few examples and beyond the scores seen.
//!
//! Both give their uncertainty. Clicks vary far more than Poisson counts do, so it is measured from
//! the clicks themselves.
//!
//! [`Calibrator`] fits the former while crawling, and a scheduler asks for the result through
//! [`ExpectsClicks`].

use tidewatch_core::{Event, PageId, Span};
use tidewatch_math::special::normal_quantile;

use super::outcomes::{HORIZON, Outcomes};

/// Expects clicks of a page. Every order of the frontier does ([`Ranked`](super::Ranked)).
pub trait ExpectsClicks {
    /// Clicks of a page over [`ExpectsClicks::horizon`] if it were fetched now, with their uncertainty;
    /// `None` until the clicks of some earlier fetch are known.
    fn expected_clicks(&self, page: PageId) -> Option<Expected>;

    /// The time over which clicks are counted, from the fetch on.
    fn horizon(&self) -> Span;
}

/// Expected clicks of a page, with the 95 % interval of the mean, not of the page's own clicks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Clicks expected over the horizon.
    pub clicks: f64,
    /// Its standard error.
    pub sd: f64,
    /// Low end of the interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
}

/// Least examples in a step, unless there are fewer in all: the mean of fewer does not show its own
/// uncertainty.
const STEP_EXAMPLES: usize = 20;
const TAIL: f64 = 0.025;

#[derive(Clone, Copy, Debug)]
struct Step {
    /// Lowest score in it.
    from: f64,
    count: f64,
    sum: f64,
    squares: f64,
}

impl Step {
    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    fn join(&mut self, other: &Step) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Variance of the mean; at least that of a Poisson count with one click more than were seen,
    /// since zero clicks so far do not prove that none will come.
    fn variance(&self) -> f64 {
        let n = self.count;
        let sample = (self.squares - self.sum * self.sum / n).max(0.0) / (n - 1.0).max(1.0);
        (sample / n).max((self.sum + 1.0) / (n * n))
    }
}

/// A rising step function.
#[derive(Clone, Debug)]
pub struct Isotonic {
    steps: Vec<Step>,
}

impl Isotonic {
    /// Fits (score, clicks) pairs and ignores those that are not finite. `None` without pairs.
    pub fn fit(examples: &[(f64, f64)]) -> Option<Self> {
        let mut sorted: Vec<(f64, f64)> = examples
            .iter()
            .copied()
            .filter(|(score, clicks)| score.is_finite() && clicks.is_finite() && *clicks >= 0.0)
            .collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut steps: Vec<Step> = Vec::new();
        // Equal scores are one step from the start: nothing tells them apart.
        for same in sorted.chunk_by(|a, b| a.0 >= b.0) {
            let (sum, squares) = same.iter().fold((0.0, 0.0), |(s, q), (_, c)| (s + c, q + c * c));
            let step = Step { from: same[0].0, count: same.len() as f64, sum, squares };
            push(&mut steps, step);
        }
        merge_small(&mut steps);
        (!steps.is_empty()).then_some(Isotonic { steps })
    }

    /// Expected clicks of a score; outside all steps, those of the nearest step.
    pub fn expect(&self, score: f64) -> Expected {
        let at = self.steps.partition_point(|step| step.from <= score).max(1) - 1;
        let step = &self.steps[at];
        let (clicks, sd) = (step.mean(), step.variance().sqrt());
        let reach = -normal_quantile(TAIL) * sd;
        Expected { clicks, sd, low: (clicks - reach).max(0.0), high: clicks + reach }
    }

    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
}

/// Adds a step and pools it with those before it that are not below it.
fn push(steps: &mut Vec<Step>, mut step: Step) {
    while let Some(mut last) = steps.pop() {
        if last.mean() < step.mean() {
            steps.push(last);
            break;
        }
        last.join(&step);
        step = last;
    }
    steps.push(step);
}

/// Merges steps of too few examples with the one below.
fn merge_small(steps: &mut Vec<Step>) {
    let mut kept: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps.drain(..) {
        match kept.last_mut() {
            Some(last)
                if step.count < STEP_EXAMPLES as f64 || last.count < STEP_EXAMPLES as f64 =>
            {
                last.join(&step);
            }
            _ => kept.push(step),
        }
    }
    *steps = kept;
}

/// Poisson regression on the logarithm of the score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLinear {
    /// Constant a and slope b.
    a: f64,
    b: f64,
    /// Mean of ln score, which a and b are relative to.
    centre: f64,
    /// Variances of a and b and their covariance, dispersion included.
    variances: [f64; 3],
    /// Variance of the clicks over that of a Poisson count.
    pub dispersion: f64,
}

/// Newton steps; convergence is quadratic and the likelihood concave.
const NEWTON_STEPS: usize = 60;
/// Longest Newton step; keeps exponentials in range.
const LONGEST_STEP: f64 = 2.0;

impl LogLinear {
    /// Fits pairs with score > 0; others are left out. `None` below three pairs or without a click.
    pub fn fit(examples: &[(f64, f64)]) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = examples
            .iter()
            .filter(|(score, clicks)| {
                score.is_finite() && *score > 0.0 && clicks.is_finite() && *clicks >= 0.0
            })
            .map(|&(score, clicks)| (score.ln(), clicks))
            .collect();
        let n = pairs.len() as f64;
        let total: f64 = pairs.iter().map(|p| p.1).sum();
        if pairs.len() < 3 || total <= 0.0 {
            return None;
        }
        let centre = pairs.iter().map(|p| p.0).sum::<f64>() / n;
        let (mut a, mut b) = ((total / n).ln(), 0.0);
        for _ in 0..NEWTON_STEPS {
            let [g0, g1, h00, h01, h11] = derivatives(&pairs, centre, a, b);
            let det = h00 * h11 - h01 * h01;
            // If all scores are equal, there is no slope to find.
            let (da, db) = if det > 1e-12 * h00 * h11.max(1e-300) {
                ((h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det)
            } else {
                (g0 / h00, 0.0)
            };
            let scale = (LONGEST_STEP / da.abs().max(db.abs()).max(LONGEST_STEP)).min(1.0);
            a += scale * da;
            b += scale * db;
            if da.abs() + db.abs() < 1e-12 {
                break;
            }
        }
        let [_, _, h00, h01, h11] = derivatives(&pairs, centre, a, b);
        let det = h00 * h11 - h01 * h01;
        let chi: f64 = pairs
            .iter()
            .map(|&(x, y)| {
                let mean = (a + b * (x - centre)).exp();
                (y - mean).powi(2) / mean
            })
            .sum();
        let dispersion = (chi / (n - 2.0).max(1.0)).max(1.0);
        let variances = if det > 0.0 {
            [h11 / det, h00 / det, -h01 / det].map(|v| v * dispersion)
        } else {
            [dispersion / h00, 0.0, 0.0]
        };
        Some(LogLinear { a, b, centre, variances, dispersion })
    }

    /// Expected clicks of a score above 0; none for other scores.
    pub fn expect(&self, score: f64) -> Expected {
        if score.is_nan() || score <= 0.0 {
            return Expected { clicks: 0.0, sd: 0.0, low: 0.0, high: 0.0 };
        }
        let x = score.ln() - self.centre;
        let [va, vb, vab] = self.variances;
        let log_sd = (va + 2.0 * x * vab + x * x * vb).max(0.0).sqrt();
        let (level, reach) = (self.a + self.b * x, -normal_quantile(TAIL) * log_sd);
        let [clicks, low, high] = [level, level - reach, level + reach].map(f64::exp);
        // To first order, the standard error of e^x is e^x times that of x.
        Expected { clicks, sd: clicks * log_sd, low, high }
    }

    /// The slope b: clicks grow as score^b.
    pub const fn slope(&self) -> f64 {
        self.b
    }
}

/// Gradient and curvature of the log-likelihood Σ y(a + bx) − e^(a + bx).
fn derivatives(pairs: &[(f64, f64)], centre: f64, a: f64, b: f64) -> [f64; 5] {
    let mut sums = [0.0; 5];
    for &(x, y) in pairs {
        let x = x - centre;
        let mean = (a + b * x).exp();
        let gap = y - mean;
        for (sum, term) in sums.iter_mut().zip([gap, gap * x, mean, mean * x, mean * x * x]) {
            *sum += term;
        }
    }
    sums
}

/// Most examples kept; beyond that the older half is dropped. The meaning of a score drifts as the
/// crawl grows, and a thousand pages are enough for mean clicks.
const MOST_EXAMPLES: usize = 2_000;
/// The steps are refitted when the examples have grown by this factor and [`STEP_EXAMPLES`].
const MORE_EXAMPLES: f64 = 1.25;

/// Learns while crawling how many clicks a score means, from pages' scores at their fetch and their
/// clicks over the horizon. Pages held from the start were not chosen, so they are no examples.
pub struct Calibrator {
    outcomes: Outcomes<(u32, f64)>,
    examples: Vec<(f64, f64)>,
    /// The meaning of the examples' scores; see [`Order::meaning`](super::Order::meaning).
    meaning: u32,
    seen: usize,
    fitted: usize,
    fit: Option<Isotonic>,
}

impl Default for Calibrator {
    /// A calibrator without examples.
    fn default() -> Self {
        let (outcomes, examples) = (Outcomes::new(HORIZON), Vec::new());
        Calibrator { outcomes, examples, meaning: 0, seen: 0, fitted: 0, fit: None }
    }
}

impl Calibrator {
    /// Takes in an event; `score` gives the score that a page had before this fetch. Another
    /// `meaning` of scores discards all examples.
    pub fn learn(&mut self, event: &Event<'_>, meaning: u32, score: impl FnOnce(PageId) -> f64) {
        if matches!(event, Event::Held(_)) {
            return;
        }
        if meaning != self.meaning {
            (self.meaning, self.seen, self.fitted, self.fit) = (meaning, 0, 0, None);
            self.examples.clear();
        }
        self.outcomes.learn(event, |page| (meaning, score(page)));
        while let Some(((meaning, score), clicks)) = self.outcomes.next() {
            if meaning == self.meaning {
                self.seen += 1;
                self.examples.push((score, clicks));
            }
        }
        if self.examples.len() > MOST_EXAMPLES {
            self.examples.drain(..self.examples.len() / 2);
        }
        if self.seen as f64 >= self.fitted as f64 * MORE_EXAMPLES + STEP_EXAMPLES as f64 {
            self.fitted = self.seen;
            self.fit = Isotonic::fit(&self.examples);
        }
    }

    /// Expected clicks of a score of this meaning; `None` without examples.
    pub fn expect(&self, meaning: u32, score: f64) -> Option<Expected> {
        let fit = self.fit.as_ref().filter(|_| meaning == self.meaning)?;
        Some(fit.expect(score))
    }

    /// The time over which clicks are counted.
    pub const fn horizon(&self) -> Span {
        self.outcomes.horizon()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;

    fn poisson(mean: f64, draws: &mut Draws) -> f64 {
        // Inversion: fine for small means.
        let (mut k, mut p) = (0.0, (-mean).exp());
        let (mut sum, u) = (p, draws.uniform());
        while u > sum && k < 1e4 {
            k += 1.0;
            p *= mean / k;
            sum += p;
        }
        k
    }

    #[test]
    fn poisson_regression_finds_its_own_law_and_covers_it() {
        let mut covered = 0;
        for seed in 0..200 {
            let mut draws = Draws::of(seed, "calibrate.test", 0);
            let examples: Vec<(f64, f64)> = (0..300)
                .map(|_| {
                    let score = draws.uniform_open() * 10.0;
                    (score, poisson(0.5 * score.powf(0.7), &mut draws))
                })
                .collect();
            let fit = LogLinear::fit(&examples).unwrap();
            let got = fit.expect(4.0);
            let truth = 0.5 * 4_f64.powf(0.7);
            covered += usize::from(got.low <= truth && truth <= got.high);
        }
        // 95 % of 200 is 190; five standard deviations of that count are 15.
        assert!((175..=200).contains(&covered), "{covered}");
    }

    #[test]
    fn intervals_of_steps_cover_a_heavy_tailed_mean() {
        let mut covered = 0;
        for seed in 0..200 {
            let mut draws = Draws::of(seed, "calibrate.heavy", 0);
            let examples: Vec<(f64, f64)> = (0..2000)
                .map(|_| {
                    let score = draws.uniform();
                    let lucky = draws.chance(0.2);
                    let mean = if lucky { 5.0 * (0.2 + score) } else { 0.0 };
                    (score, poisson(mean, &mut draws))
                })
                .collect();
            let fit = Isotonic::fit(&examples).unwrap();
            let got = fit.expect(0.5);
            covered += usize::from(got.low <= 0.7 && 0.7 <= got.high);
        }
        // Pooling bends steps towards one another, so coverage is not exactly 95 %.
        assert!(covered >= 150, "{covered}");
    }

    #[test]
    fn nothing_gives_nothing() {
        assert!(Isotonic::fit(&[]).is_none() && LogLinear::fit(&[]).is_none());
        assert!(LogLinear::fit(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]).is_none());
        let flat = LogLinear::fit(&[(2.0, 1.0), (2.0, 3.0), (2.0, 2.0)]).unwrap();
        assert!((flat.expect(2.0).clicks - 2.0).abs() < 1e-9 && flat.slope().abs() < 1e-9);
        let odd = Isotonic::fit(&[(f64::NAN, 1.0), (1.0, 4.0)]).unwrap();
        assert!((odd.expect(-7.0).clicks - 4.0).abs() < 1e-12);
    }

    proptest! {
        /// Pooled means rise, keep the total, and no rising step function over the same scores is
        /// nearer: checked by the min–max formula, max_{i≤k} min_{j≥k} mean(i…j).
        #[test]
        fn it_is_the_isotonic_regression(
            clicks in prop::collection::vec(0..20_u8, 1..40),
        ) {
            let mut steps = Vec::new();
            for (i, &c) in clicks.iter().enumerate() {
                let c = f64::from(c);
                push(&mut steps, Step { from: i as f64, count: 1.0, sum: c, squares: c * c });
            }
            prop_assert!(steps.is_sorted_by(|a, b| a.mean() < b.mean()));
            let mean = |i: usize, j: usize| {
                clicks[i..=j].iter().map(|&c| f64::from(c)).sum::<f64>() / (j - i + 1) as f64
            };
            for k in 0..clicks.len() {
                let want = (0..=k)
                    .map(|i| (k..clicks.len()).map(|j| mean(i, j)).fold(f64::INFINITY, f64::min))
                    .fold(f64::NEG_INFINITY, f64::max);
                let at = steps.partition_point(|s| s.from <= k as f64) - 1;
                prop_assert!((steps[at].mean() - want).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_sampler_of_these_tests_is_sound() {
        let mut draws = Draws::new(1, 1);
        let n = 20_000;
        let mean = (0..n).map(|_| poisson(3.0, &mut draws)).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 5.0 * (3.0 / f64::from(n)).sqrt());
    }
}
