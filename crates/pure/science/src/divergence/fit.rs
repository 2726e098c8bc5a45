//! Which curve do a few divergences speak for?
//!
//! A least-squares fit of few, coarse points runs to extremes: a page seen unchanged three times
//! "never changes", one seen at 1/8 and 2/8 may scroll or churn. So every candidate is weighed: the
//! static page, and curves over a grid of rate λ, limit A, jump b and items K. The evidence of a
//! family is the mean likelihood of its candidates under a prior that knows only orders of magnitude
//! (λ from an hour to years, each order alike), so a family that needs fine tuning to fit
//! loses to one that fits by itself. Within the best family the curve takes the posterior means of
//! ln λ, A, b/A and ln K.
//!
//! That curve describes a page; it does not schedule one. What a period costs is linear in the
//! divergence curve, so where the curve is not known the period that is best on average is that of
//! the average curve, the *mixture* Σ p_c D_c(t) of all candidates by their posterior chances, whose
//! worth is Σ p_c U_c(t) ([`expected_worth`]). The difference matters: a page found all new at every
//! look may change hourly, which no refresh can keep, or daily, which some can; its mean rate would
//! give it up for good, the mixture gives up the hourly part.
//!
//! A point of divergence d where the candidate says D has the log-likelihood
//! w(d·ln D + (1−d)·ln(1−D)): that of w draws from the two versions' union. For a sketch of m hashes w
//! would be m, were it not that a page's few updates are drawn as well; the points of overlapping
//! profiles share those draws. [`PROCESS_DRAWS`] stands for both.
//!
//! From divergences alone, a page replaced once cannot be told from a page of which as large a part is
//! new at every fetch. Whether each fetch saw a change since the previous one tells them apart:
//! [`fit_given`] takes that as a posterior of the change rate.

use std::sync::LazyLock;

use super::candidates::{Placed, RATES, SHAPES, Shape, logs, rate_of};
use super::curve::DivergenceCurve;
use super::profile::ProfilePoint;
use super::worth::{ExpectedWorth, TIMES};
use crate::estimate::Gamma;

/// How many independent draws a point is worth however many hashes are compared: about the number
/// of updates between two looks.
const PROCESS_DRAWS: f64 = 3.0;

/// Prior chances: half of all pages are static; of changing content two thirds churn `[OP08, §3.3]`.
const PRIOR: [f64; 3] = [0.5, 0.335, 0.165];

/// The curves that the points speak for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The curve of the best family.
    pub curve: DivergenceCurve,
    /// The curve of the likelier of churn and scroll, if the page changes at all.
    pub changing: DivergenceCurve,
    /// Posterior chances of static, churn and scroll.
    pub chances: [f64; 3],
}

/// The curve that `points` speak for. They were seen through sketches of `hashes` hashes, and each
/// fetch is part of `overlap` profiles.
pub fn fit(points: &[ProfilePoint], hashes: usize, overlap: usize) -> Fit {
    // Most pages of a growing crawl have been fetched once, and have no points.
    static UNSEEN: LazyLock<Fit> = LazyLock::new(|| Posterior::new(&[], 1, 1).fit());
    if points.is_empty() { *UNSEEN } else { Posterior::new(points, hashes, overlap).fit() }
}

/// The changing curve that `points` speak for, given `changes`, the posterior of the change rate, and
/// whether `always` every visit saw a change. If not, no part of the page changes at every visit, and
/// curves with a jump are ruled out.
pub fn fit_given(
    points: &[ProfilePoint],
    hashes: usize,
    changes: &Gamma,
    always: bool,
) -> DivergenceCurve {
    let ln_density = |rate: usize| {
        let rate = rate_of(rate);
        (changes.shape * rate.ln() - changes.rate * rate) as f32
    };
    let given = Given { ln_rates: std::array::from_fn(ln_density), has_jumps: always };
    Posterior::given(points, hashes, 1, &given).fit().changing
}

/// Knowledge beside the points.
struct Given {
    /// ln of the chance of every rate.
    ln_rates: [f32; RATES],
    /// Whether part of the page may change at every visit.
    has_jumps: bool,
}

impl Given {
    const NOTHING: Given = Given { ln_rates: [0.0; RATES], has_jumps: true };

    fn add_to(&self, shape: &Shape, mut scores: [f32; RATES]) -> [f32; RATES] {
        let is_out = shape.jump > 0.0 && !self.has_jumps;
        let known = |ln_rate: f32| if is_out { f32::NEG_INFINITY } else { ln_rate };
        scores.iter_mut().zip(self.ln_rates).for_each(|(score, ln)| *score += known(ln));
        scores
    }
}

/// The expected worth of a refresh by the time since the last, given `points`; see [`fit`] for the
/// other arguments.
pub fn expected_worth(points: &[ProfilePoint], hashes: usize, overlap: usize) -> ExpectedWorth {
    Posterior::new(points, hashes, overlap).worth()
}

/// All candidates, weighed.
struct Posterior {
    /// Likelihood of every candidate relative to the largest of its family, by shape and rate.
    weights: Vec<[f32; RATES]>,
    /// Static, churn and scroll.
    families: [Family; 3],
}

impl Posterior {
    fn new(points: &[ProfilePoint], hashes: usize, overlap: usize) -> Self {
        Self::given(points, hashes, overlap, &Given::NOTHING)
    }

    fn given(points: &[ProfilePoint], hashes: usize, overlap: usize, given: &Given) -> Self {
        let draws = 1.0 / (1.0 / hashes.max(1) as f64 + 1.0 / PROCESS_DRAWS);
        let draws = draws / overlap.max(1) as f64;
        let placed: Vec<Placed> = points.iter().filter_map(|p| Placed::new(p, draws)).collect();
        let weigh = |shape: &Shape| given.add_to(shape, shape.scores(&placed));
        let mut weights: Vec<[f32; RATES]> = SHAPES.iter().map(weigh).collect();
        let mut families = [const { Family::NONE }; 3];
        families[0] = Family::still(&placed);
        for (shape, scores) in SHAPES.iter().zip(&weights) {
            let largest = &mut families[shape.family()].largest;
            *largest = scores.iter().copied().fold(*largest, f32::max);
        }
        for (shape, scores) in SHAPES.iter().zip(&mut weights) {
            families[shape.family()].add(shape, scores);
        }
        Posterior { weights, families }
    }

    /// Posterior chances of the families.
    fn chances(&self) -> [f64; 3] {
        let logs: [f64; 3] = std::array::from_fn(|i| self.families[i].evidence() + PRIOR[i].ln());
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = logs.map(|log| (log - largest).exp());
        let total: f64 = weights.iter().sum();
        weights.map(|weight| weight / total)
    }

    /// The curve of the best family, that of the best which changes, and the chances of all.
    fn fit(&self) -> Fit {
        let chances = self.chances();
        let changing = self.families[if chances[1] >= chances[2] { 1 } else { 2 }].curve();
        let is_static = chances[0] >= chances[1] + chances[2];
        let curve = if is_static { DivergenceCurve::STATIC } else { changing };
        Fit { curve, changing, chances }
    }

    /// Σ p_c U_c; at rate λ a shape's worth is that at unit rate and λt, over λ. The static page adds
    /// nothing.
    fn worth(&self) -> ExpectedWorth {
        let chances = self.chances();
        let mut sums = [0.0; TIMES];
        for (shape, weights) in SHAPES.iter().zip(&self.weights) {
            let family = shape.family();
            let share = (chances[family] / self.families[family].total) as f32;
            let worths = mixed(shape, weights);
            sums.iter_mut().zip(worths).for_each(|(sum, worth)| *sum += share * worth);
        }
        ExpectedWorth(sums)
    }
}

/// Σ over the rates of a shape of w·U(λt)/λ.
fn mixed(shape: &Shape, weights: &[f32; RATES]) -> [f32; TIMES] {
    let mut sums = [0.0; TIMES];
    for (rate, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        let scale = weight / rate_of(rate) as f32;
        let worths = &shape.worths[rate..rate + TIMES];
        sums.iter_mut().zip(worths).for_each(|(sum, worth)| *sum += scale * worth);
    }
    sums
}

/// Likelihoods of a family's candidates, relative to the largest.
struct Family {
    /// ln of the largest.
    largest: f32,
    total: f64,
    /// Σ of ln λ, A, b/A and ln K, by likelihood.
    sums: [f64; 4],
    count: f64,
}

impl Family {
    const NONE: Family =
        Family { largest: f32::NEG_INFINITY, total: 0.0, sums: [0.0; 4], count: 0.0 };
    /// ln of a likelihood that single precision would lose beside one.
    const NEGLIGIBLE: f32 = -17.0;

    /// The page that never changes.
    fn still(points: &[Placed]) -> Self {
        let [ln_gone, ln_kept] = logs(0.0);
        let drawn = points.iter().map(Placed::drawn);
        let largest = drawn.map(|[gone, kept]| gone * ln_gone + kept * ln_kept).sum();
        Family { largest, total: 1.0, count: 1.0, ..Family::NONE }
    }

    /// Turns a shape's ln-likelihoods into relative likelihoods, and adds them.
    fn add(&mut self, shape: &Shape, scores: &mut [f32; RATES]) {
        let (mut total, mut rates) = (0.0, 0.0);
        for (rate, score) in scores.iter_mut().enumerate() {
            let log = *score - self.largest;
            *score = if log > Self::NEGLIGIBLE { log.exp() } else { 0.0 };
            total += *score;
            rates += *score * rate as f32;
        }
        let (total, rates) = (f64::from(total), f64::from(rates));
        // ln λ is linear in the rate's number.
        let ln_rate = total * rate_of(0).ln() + rates * std::f64::consts::LN_2 / 2.0;
        self.sums[0] += ln_rate;
        self.sums[1] += total * shape.limit;
        self.sums[2] += total * shape.jump / shape.limit;
        self.sums[3] += total * f64::from(shape.items).ln();
        self.total += total;
        self.count += RATES as f64;
    }

    /// ln of the mean likelihood.
    fn evidence(&self) -> f64 {
        f64::from(self.largest) + (self.total / self.count).ln()
    }

    fn curve(&self) -> DivergenceCurve {
        let [rate, limit, part, items] = self.sums.map(|sum| sum / self.total);
        DivergenceCurve::new(rate.exp(), limit, limit * part, items.exp().round() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidates::{LEAST, LIMITS, SLOWEST};
    use super::super::worth::FIRST_TIME;
    use super::*;
    use crate::law::LossCurve;
    use proptest::prelude::*;
    use tidewatch_math::Draws;
    use tidewatch_math::sum::Moments;

    const DAY: f64 = 86_400.0;
    /// A chord of ln U over half an octave of time is that near to the curve.
    const CHORD: f64 = 0.02;
    /// Chances come from exponentials of single precision sums, and add up in double precision.
    const ROUNDING: f64 = 1e-9;

    fn seen(curve: &DivergenceCurve, days: &[f64]) -> Vec<ProfilePoint> {
        days.iter()
            .map(|d| ProfilePoint { elapsed: d * DAY, divergence: curve.stale(d * DAY) })
            .collect()
    }

    /// Far more looks than a page gets: what the fit tends to. Few points leave the prior its say.
    fn often(points: &[ProfilePoint]) -> Vec<ProfilePoint> {
        points.repeat(100)
    }

    const DAYS: [f64; 8] = [1.0, 2.0, 4.0, 6.0, 9.0, 14.0, 20.0, 30.0];

    #[test]
    fn static_pages_are_found_static() {
        let calm = fit(&seen(&DivergenceCurve::STATIC, &DAYS), 8, 1);
        assert!(calm.curve.is_static() && calm.chances[0] > 0.7, "{calm:?}");
    }

    /// A page replaced once in the middle of a year looks from its base like one of which most is new
    /// every day; that later looks saw nothing new tells.
    #[test]
    fn one_change_is_not_churn() {
        let points: Vec<ProfilePoint> = (1..=8)
            .map(|look| ProfilePoint {
                elapsed: f64::from(look) * 30.0 * DAY,
                divergence: if look < 3 { 0.0 } else { 0.75 },
            })
            .collect();
        let once = Gamma { shape: 1.5, rate: 240.0 * DAY };
        let slow = fit_given(&points[3..], 8, &once, false);
        let fast = fit(&points[3..], 8, 1).changing;
        assert!(slow.rate() * DAY < 0.02 && slow.jump() <= 0.0, "{slow:?}");
        assert!(fast.worth(10.0 * DAY) > 3.0 * slow.worth(10.0 * DAY), "{fast:?}");
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
            let points = often(&seen(&truth, &DAYS));
            let found = fit(&points, usize::MAX, 1);
            let expected = expected_worth(&points, usize::MAX, 1);
            let worth = 0.3 * truth.worth_limit();
            for period in [found.curve.elapsed_at(worth), expected.elapsed_at(worth)] {
                let ratio = period / truth.elapsed_at(worth);
                assert!((1.0 / grid()..grid()).contains(&ratio), "{truth:?} {found:?} {ratio}");
            }
        }
    }

    /// A page seen seven times through eight hashes: updates come at random, hashes are drawn.
    fn looked_at(rate: f64, limit: f64, items: u8, draws: &mut Draws) -> Vec<ProfilePoint> {
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
            ProfilePoint { elapsed: day * DAY, divergence: gone as f64 / 8.0 }
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
                (truth, expected_worth(&points, 8, 1).elapsed_at(PRICE).min(LONGEST))
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
    fn churn_and_scroll_are_distinguished() {
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
        let mut weights = [0.0; RATES];
        weights[rate] = 1.0;
        let worth = ExpectedWorth(mixed(shape, &weights));
        let curve = DivergenceCurve::new(rate_of(rate), shape.limit, shape.jump, shape.items);
        for part in [1e-3, 0.1, 0.5, 0.9] {
            let wanted = part * curve.worth_limit();
            let ratio = worth.elapsed_at(wanted) / curve.elapsed_at(wanted);
            assert!((ratio - 1.0).abs() < CHORD, "{part}: {ratio}");
        }
        assert_eq!(worth.elapsed_at(2.0 * curve.worth_limit()).to_bits(), f64::INFINITY.to_bits());
        assert!(ExpectedWorth::NOTHING.elapsed_at(1.0).is_infinite());
    }

    /// Worth into time at every magnitude: later for more worth, and infinite where it never comes.
    #[test]
    fn every_worth_has_its_time() {
        let pages =
            [0.0, 0.5, 1.0].map(|gone| ProfilePoint { elapsed: 3.0 * DAY, divergence: gone });
        for page in pages {
            let (expected, mut last) = (expected_worth(&[page], 8, 1), 0.0);
            for exponent in -30..=30 {
                let time = expected.elapsed_at(10_f64.powi(exponent));
                assert!(time > last || time.is_infinite(), "{page:?} 1e{exponent}: {time} {last}");
                last = time;
            }
            assert!(last.is_infinite() && expected.elapsed_at(f64::NAN).is_infinite());
        }
    }

    /// Candidates' chances by the definition, each curve evaluated where the points are.
    fn literal(points: &[ProfilePoint], hashes: usize) -> (f64, f64, f64) {
        let draws = 1.0 / (1.0 / hashes as f64 + 1.0 / PROCESS_DRAWS);
        let likelihood = |curve: &DivergenceCurve| -> f64 {
            let of = |p: &ProfilePoint| {
                let [gone, kept] = logs(curve.stale(p.elapsed)).map(f64::from);
                draws * (p.divergence * gone + (1.0 - p.divergence) * kept)
            };
            points.iter().map(of).sum::<f64>().exp()
        };
        let mut families = [(likelihood(&DivergenceCurve::STATIC), 1.0), (0.0, 0.0), (0.0, 0.0)];
        let mut worth = [0.0; 3];
        for shape in SHAPES.iter() {
            for rate in 0..RATES {
                let curve =
                    DivergenceCurve::new(rate_of(rate), shape.limit, shape.jump, shape.items);
                let (weight, family) = (likelihood(&curve), shape.family());
                families[family].0 += weight;
                families[family].1 += 1.0;
                worth[family] += weight * curve.worth(AT);
            }
        }
        let chance: [f64; 3] = std::array::from_fn(|i| PRIOR[i] * families[i].0 / families[i].1);
        let total: f64 = chance.iter().sum();
        let mean = |i: usize| chance[i] / total * worth[i] / families[i].0;
        (chance[0] / total, chance[1] / total, mean(1) + mean(2))
    }

    /// One of the times kept: a month or so.
    const AT: f64 = FIRST_TIME * 2048.0;
    /// Between the table's steps, a quarter of an octave apart, logarithms of curves are taken as
    /// straight: their second differences are below 0.02 there, an eighth of which, times the draws of
    /// eight points, is how far a ln-likelihood may be off.
    const TABLE: f64 = 0.02 / 8.0 * 8.0 * 3.0;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn tables_weigh_as_the_definition_does(
            looks in prop::collection::vec((0.01f64..60.0, 0u8..=8), 0..8),
        ) {
            let points: Vec<ProfilePoint> = looks
                .iter()
                .map(|&(day, gone)| ProfilePoint {
                    elapsed: day * DAY,
                    divergence: f64::from(gone) / 8.0,
                })
                .collect();
            let (calm, churn, worth) = literal(&points, 8);
            let found = fit(&points, 8, 1);
            let expected = f64::from(expected_worth(&points, 8, 1).0[22]);
            prop_assert!((found.chances[0] - calm).abs() < TABLE, "{found:?} {calm}");
            prop_assert!((found.chances[1] - churn).abs() < TABLE, "{found:?} {churn}");
            prop_assert!((expected / worth - 1.0).abs() < 2.0 * TABLE, "{expected} {worth}");
        }
    }

    #[test]
    fn tables_begin_where_times_do() {
        assert!((FIRST_TIME * SLOWEST / LEAST - 1.0).abs() < ROUNDING);
    }

    #[test]
    fn nothing_seen_leaves_the_prior() {
        let fit = fit(&[], 8, 1);
        for (chance, prior) in fit.chances.iter().zip(PRIOR) {
            assert!((chance - prior).abs() < ROUNDING);
        }
    }

    #[test]
    fn hostile_points_give_finite_chances() {
        let points =
            [(f64::INFINITY, 2.0), (1e-300, -1.0), (f64::NAN, 0.5), (DAY, f64::NAN), (-1.0, 0.5)];
        let points = points.map(|(elapsed, divergence)| ProfilePoint { elapsed, divergence });
        for points in [&points[..2], &points[..]] {
            let total: f64 = fit(points, 0, 0).chances.iter().sum();
            assert!((total - 1.0).abs() < ROUNDING, "{total}");
        }
    }
}
