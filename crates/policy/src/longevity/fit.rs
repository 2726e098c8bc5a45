//! Which curve do a few divergences speak for?
//!
//! A least-squares fit of few, coarse points runs to extremes: a page seen unchanged three times
//! "never changes", one seen at 1/8 and 2/8 may scroll or churn. So every candidate is weighed: the
//! static page, and curves over a grid of rate λ, limit A, jump b and items K. The evidence of a
//! family is the mean likelihood of its candidates under a prior that knows only orders of magnitude
//! (λ from an hour to years, each order alike), so a family that needs fine tuning to fit
//! loses to one that fits by itself. Within the best family the curve takes the posterior means of
//! ln λ, ln A, b/A and ln K.
//!
//! That curve describes a page; it does not schedule one. What a period costs is linear in the
//! divergence curve, so where the curve is not known the period that is best on average is that of
//! the average curve, the *mixture* Σ p_c D_c(t) of all candidates by their posterior chances, whose
//! worth is Σ p_c U_c(t) ([`ExpectedWorth`]). The difference matters: a page found all new at every
//! look may change hourly, which no refresh can keep, or daily, which some can; its mean rate would
//! give it up for good, the mixture gives up the hourly part.
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
/// Rates, each √2 times the one before: up to once an hour. What is faster no crawler keeps, and the
/// jump stands for it.
const RATES: usize = 31;
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
    /// The curve of the better of churn and scroll: what holds if the page changes at all.
    pub changing: DivergenceCurve,
    /// Posterior chances of static, churn and scroll.
    pub chances: [f64; 3],
    /// What a refresh is expected to be worth, by the time since the last.
    pub worth: ExpectedWorth,
}

/// Times at which expected worth is kept, each √2 times the one before: from twenty minutes to
/// five years.
const TIMES: usize = 35;
const FIRST_TIME: f64 = LEAST / SLOWEST;
/// Steps of the table from one time to the next.
const TIME_STEPS: usize = OCTAVE / 2;
/// Candidates less likely than this add nothing that a single-precision sum would keep.
const NEGLIGIBLE: f64 = 1e-7;

/// U of the mixture of all candidates, by their chances: Σ p_c U_c(t), seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedWorth([f32; TIMES]);

impl ExpectedWorth {
    /// Of a page that nothing is expected of.
    pub const NOTHING: ExpectedWorth = ExpectedWorth([0.0; TIMES]);

    /// The time after which a refresh is expected to be worth so much; infinite if it never is.
    /// Between the times kept by powers of time, before the first as t², as every U begins.
    pub fn elapsed_at(&self, worth: f64) -> f64 {
        if worth <= 0.0 {
            return 0.0;
        }
        let at = |k: usize| f64::from(self.0[k]);
        let time = |k: f64| FIRST_TIME * (k / 2.0).exp2();
        match (0..TIMES).find(|&k| at(k) >= worth) {
            None => f64::INFINITY,
            Some(0) => FIRST_TIME * (worth / at(0)).sqrt(),
            Some(k) if at(k - 1) > 0.0 => {
                let part = (worth / at(k - 1)).ln() / (at(k) / at(k - 1)).ln();
                time((k - 1) as f64 + part)
            }
            Some(k) => time(k as f64),
        }
    }
}

/// One candidate shape at unit rate: ln D and ln(1 − D), and U, over the grid of ln(λt).
struct Shape {
    items: u8,
    limit: f64,
    jump: f64,
    logs: Vec<[f32; 2]>,
    worths: Vec<f32>,
}

impl Shape {
    /// Its place among the families.
    fn family(&self) -> usize {
        usize::from(self.items > 1) + 1
    }
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
        let worths = (0..STEPS).map(|step| curve.worth(at(step)) as f32).collect();
        Shape { items, limit, jump, logs, worths }
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
    let mut found = Vec::with_capacity(SHAPES.len() * RATES);
    for shape in SHAPES.iter() {
        for rate in 0..RATES {
            let log = likelihood(shape, rate, &placed);
            let means = [
                rate_of(rate).ln(),
                shape.limit.ln(),
                shape.jump / shape.limit,
                f64::from(shape.items).ln(),
            ];
            found.push(log);
            families[shape.family()].add(log, &means);
        }
    }
    let ([curve, changing], chances) = choose(&families);
    Fit { curve, changing, chances, worth: expected_worth(&found, &families, &chances) }
}

fn rate_of(rate: usize) -> f64 {
    SLOWEST * (rate as f64 / 2.0).exp2()
}

/// Σ p_c U_c; at rate λ a shape's worth is that at unit rate and λt, over λ.
fn expected_worth(found: &[f64], families: &[Family; 3], chances: &[f64; 3]) -> ExpectedWorth {
    let mut sums = [0.0; TIMES];
    for (shape, logs) in SHAPES.iter().zip(found.chunks(RATES)) {
        let family = shape.family();
        for (rate, &log) in logs.iter().enumerate() {
            let chance = chances[family] * families[family].share(log);
            if chance < NEGLIGIBLE {
                continue;
            }
            let scale = chance / rate_of(rate);
            for (k, sum) in sums.iter_mut().enumerate() {
                let step = (k * TIME_STEPS + rate * RATE_STEPS).min(STEPS - 1);
                *sum += scale * f64::from(shape.worths[step]);
            }
        }
    }
    ExpectedWorth(sums.map(|sum| sum as f32))
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

    /// A candidate's share of the family's likelihood.
    fn share(&self, log: f64) -> f64 {
        (log - self.largest.unwrap_or(0.0)).exp() / self.total
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

/// The curve of the best family, that of the best which changes, and the chances of all.
fn choose(families: &[Family; 3]) -> ([DivergenceCurve; 2], [f64; 3]) {
    let logs: [f64; 3] = std::array::from_fn(|i| families[i].evidence() + PRIOR[i].ln());
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = logs.map(|log| (log - largest).exp());
    let total: f64 = weights.iter().sum();
    let chances = weights.map(|weight| weight / total);
    let changing = families[if chances[1] >= chances[2] { 1 } else { 2 }].curve();
    let is_static = chances[0] >= chances[1] + chances[2];
    let curve = if is_static { DivergenceCurve::STATIC } else { changing };
    ([curve, changing], chances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;
    use tidewatch_math::sum::Moments;

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

    /// Truth between two candidates is at most half a step of the grid away from one, in the limit
    /// and in the rate: by that much may a period be wrong however much is seen.
    fn grid() -> f64 {
        let steps = LIMITS.windows(2).map(|pair| pair[1] / pair[0]);
        let widest = steps.skip_while(|&step| step > 2.0).fold(1.0, f64::max);
        widest.sqrt() * std::f64::consts::SQRT_2.sqrt()
    }

    /// With exact expectations the period at a threshold comes out as near as the grid allows.
    #[test]
    fn periods_are_found_from_expectations() {
        for (rate, limit, items) in [(0.3, 0.5, 1), (0.1, 0.8, 1), (0.5, 0.5, 4), (0.3, 0.9, 2)] {
            let truth = DivergenceCurve::new(rate / DAY, limit, 0.0, items);
            let found = fit(&often(&seen(&truth, &DAYS)), usize::MAX, 1);
            let worth = 0.3 * truth.worth_limit();
            for period in [found.curve.elapsed_at(worth), found.worth.elapsed_at(worth)] {
                let ratio = period / truth.elapsed_at(worth);
                assert!((1.0 / grid()..grid()).contains(&ratio), "{truth:?} {found:?} {ratio}");
            }
        }
    }

    /// A page seen seven times through eight hashes: updates come at random, hashes are drawn.
    fn looked_at(rate: f64, limit: f64, items: u8, draws: &mut Draws) -> Vec<Point> {
        let (mut at, mut updates) = (draws.exponential(rate), 0u8);
        let mut look = |&day: &f64| {
            while at < day * DAY {
                updates = updates.saturating_add(1);
                at += draws.exponential(rate);
            }
            // Divergence after so many updates: a curve at infinite rate has made them all.
            let g = limit / (f64::from(items) * (2.0 - limit));
            let new = f64::from(updates.min(items)) * g;
            let truth = 2.0 * new / (1.0 + new);
            let gone = (0..8).filter(|_| draws.chance(truth)).count();
            Point { elapsed: day * DAY, divergence: gone as f64 / 8.0 }
        };
        DAYS[..7].iter().map(&mut look).collect()
    }

    /// What a page costs a second when visited at a period: its staleness, and a visit's price T.
    fn cost(curve: &DivergenceCurve, price: f64, period: f64) -> f64 {
        (price - curve.worth(period)) / period + curve.stale(period)
    }

    /// As few points as a record holds must beat no points at all, which is one period for all
    /// pages, the best there is. Half of the pages are static, as the prior has it.
    #[test]
    fn seven_looks_are_better_than_none() {
        const PAGES: u64 = 600;
        const PRICE: f64 = 0.3 * DAY;
        const LONGEST: f64 = 60.0 * DAY;
        let pages: Vec<(DivergenceCurve, f64)> = (0..PAGES)
            .map(|page| {
                let mut draws = Draws::of(8, "longevity.fit", page);
                let rate = (3.0 * (draws.uniform() - 0.5)).exp() * 0.2 / DAY;
                let limit = 0.1 + 0.85 * draws.uniform();
                let items = [1, 1, 2, 5][draws.below(4) as usize];
                let rate = if page % 2 == 0 { rate } else { 1e-12 };
                let truth = DivergenceCurve::new(rate, limit, 0.0, items);
                let points = looked_at(rate, limit, items, &mut draws);
                (truth, fit(&points, 8, 1).worth.elapsed_at(PRICE).min(LONGEST))
            })
            .collect();
        let total = |period: f64| -> f64 {
            pages.iter().map(|(truth, _)| cost(truth, PRICE, period)).sum()
        };
        let periods = (2..=60).map(|days| f64::from(days) * DAY);
        let common = periods.min_by(|&a, &b| total(a).total_cmp(&total(b))).unwrap();
        let gains: Moments = pages
            .iter()
            .map(|(truth, found)| cost(truth, PRICE, common) - cost(truth, PRICE, *found))
            .collect();
        let gain = gains.estimate_at(0.999);
        assert!(gain.interval().0 > 0.0, "{gain:?} over a visit in {} days", common / DAY);
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

    /// One candidate alone is its own mixture: U read off the table is the curve's.
    #[test]
    fn worth_of_one_candidate_is_its_own() {
        let shape = &SHAPES[5];
        let rate = 20;
        let mut found = vec![f64::NEG_INFINITY; SHAPES.len() * RATES];
        found[5 * RATES + rate] = 0.0;
        let mut families = [Family::default(), Family::default(), Family::default()];
        families.iter_mut().for_each(|family| family.add(0.0, &[0.0; 4]));
        let mut chances = [0.0; 3];
        chances[shape.family()] = 1.0;
        let worth = expected_worth(&found, &families, &chances);
        let curve = DivergenceCurve::new(rate_of(rate), shape.limit, shape.jump, shape.items);
        for part in [1e-3, 0.1, 0.5, 0.9] {
            let wanted = part * curve.worth_limit();
            let ratio = worth.elapsed_at(wanted) / curve.elapsed_at(wanted);
            // A chord of ln U over half an octave of time is that near to the curve.
            assert!((ratio - 1.0).abs() < 0.02, "{part}: {ratio}");
        }
        assert_eq!(worth.elapsed_at(2.0 * curve.worth_limit()).to_bits(), f64::INFINITY.to_bits());
        assert!(ExpectedWorth::NOTHING.elapsed_at(1.0).is_infinite());
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
