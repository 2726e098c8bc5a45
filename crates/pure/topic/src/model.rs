//! From examples and pages at random to the probability of being on topic.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::gist::Gist;
use crate::logistic;

/// Rounds of expectation maximisation, and the change that ends them.
const ROUNDS: usize = 200;
const SETTLED: f64 = 1e-9;
/// The share of pages on topic before anything is known, and how many pages' worth of evidence that is.
const RARE: f64 = 0.1;
const WEIGHT: f64 = 10.0;
/// Keeps slopes finite where all scores are equal.
const LEAST_VARIANCE: f64 = 1e-6;

/// The evidence of every place, with its calibration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Model {
    examples: Counts,
    sample: Counts,
    scores: Mixture,
}

impl Model {
    /// Learns from examples and pages at random. `None` with less than two of either.
    pub(crate) fn train(examples: &[Gist], sample: &[Gist]) -> Option<Model> {
        if examples.len() < 2 || sample.len() < 2 {
            return None;
        }
        let (good, other) = (Counts::of(examples), Counts::of(sample));
        // Every page is judged as if it had not been seen.
        let on: Vec<f64> =
            examples.iter().map(|page| evidence(page, (&good, 1), (&other, 0))).collect();
        let all: Vec<f64> =
            sample.iter().map(|page| evidence(page, (&good, 0), (&other, 1))).collect();
        Some(Model { scores: Mixture::fit(&on, &all), examples: good, sample: other })
    }

    /// P(on topic | page), no surer than the pages seen allow: after n of them the next one may be an exception
    /// with a probability of 1/(n + 2), by Laplace's rule of succession.
    pub(crate) fn chance(&self, gist: &Gist) -> f64 {
        let least = 1.0 / f64::from(self.examples.pages + self.sample.pages + 2);
        self.scores.chance(self.score(gist)).clamp(least, 1.0 - least)
    }

    /// How much single words speak for the topic: the sum of their evidence, in log odds.
    pub(crate) fn lean(&self, places: impl Iterator<Item = u32>) -> f64 {
        places.map(|place| interest(place, (&self.examples, 0), (&self.sample, 0))).sum()
    }

    /// The evidence for the topic, without calibration.
    pub(crate) fn score(&self, gist: &Gist) -> f64 {
        evidence(gist, (&self.examples, 0), (&self.sample, 0))
    }
}

/// On how many pages each place is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counts {
    with: FxHashMap<u32, u32>,
    pages: u32,
}

impl Counts {
    fn of(pages: &[Gist]) -> Counts {
        let mut with = FxHashMap::default();
        for page in pages {
            page.places().iter().for_each(|(at, _)| *with.entry(*at).or_default() += 1);
        }
        Counts { with, pages: pages.len() as u32 }
    }

    /// Pages with a place and all pages, without `less` of those that have it.
    fn at(&self, place: u32, less: u32) -> (f64, f64) {
        let with = self.with.get(&place).copied().unwrap_or(0).saturating_sub(less);
        (f64::from(with), f64::from(self.pages - less))
    }
}

/// The evidence of a place that k of n examples have, and a share p of all pages: ln((k + 1)/(n·p + 1)), the log
/// of its interest ratio `[AAY01]`, shrunk to 0 where few examples could have it.
fn interest(place: u32, good: (&Counts, u32), other: (&Counts, u32)) -> f64 {
    let ((k, n), (with, all)) = (good.0.at(place, good.1), other.0.at(place, other.1));
    ((k + 1.0) / (n * with / all.max(1.0) + 1.0)).ln()
}

/// How much the places of a page speak for the topic: the sum of their evidence, divided by the Euclidean
/// norm of the page so that long and short pages compare. Of each `Counts` so many pages like this one are
/// left out.
fn evidence(page: &Gist, good: (&Counts, u32), other: (&Counts, u32)) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for (at, x) in page.places() {
        let x = f64::from(*x);
        sum += x * interest(*at, good, other);
        squares += x * x;
    }
    if squares > 0.0 { sum / f64::sqrt(squares) } else { 0.0 }
}

/// Scores of pages on topic and of others as two normal distributions with one variance, so that the chance of
/// being on topic is logistic in the score. Examples are known to be on topic; of the pages at random it is
/// estimated by expectation maximisation, after `[MP00, ch. 2]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Mixture {
    /// The mean on topic, the mean of others, and the variance.
    on: f64,
    off: f64,
    variance: f64,
    /// Share of the pages at random that are on topic.
    share: f64,
}

impl Mixture {
    fn fit(examples: &[f64], sample: &[f64]) -> Mixture {
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let (on, off) = (mean(examples), mean(sample));
        let spread = sample.iter().map(|s| (s - off).powi(2)).sum::<f64>() / sample.len() as f64;
        // Where examples score no higher, the words say nothing.
        if on <= off {
            return Mixture { on: off, off, variance: spread + LEAST_VARIANCE, share: RARE };
        }
        let mut at = Mixture { on, off, variance: spread + LEAST_VARIANCE, share: RARE };
        for _ in 0..ROUNDS {
            let then = at.improved(examples, sample);
            let moved = (then.on - at.on).abs() + (then.off - at.off).abs();
            let is_settled = moved + (then.share - at.share).abs() < SETTLED;
            at = then;
            if is_settled {
                break;
            }
        }
        at
    }

    /// One step of expectation maximisation.
    fn improved(self, examples: &[f64], sample: &[f64]) -> Mixture {
        let known = examples.iter().map(|score| (*score, 1.0));
        let guessed = sample.iter().map(|score| (*score, self.chance(*score)));
        let all: Vec<(f64, f64)> = known.chain(guessed).collect();
        let on = all.iter().map(|(_, chance)| chance).sum::<f64>();
        let off = all.len() as f64 - on;
        let mean_on = all.iter().map(|(score, chance)| score * chance).sum::<f64>() / on;
        let mean_off =
            all.iter().map(|(s, chance)| s * (1.0 - chance)).sum::<f64>() / off.max(1e-9);
        let square = |(score, chance): &(f64, f64)| {
            chance * (score - mean_on).powi(2) + (1.0 - chance) * (score - mean_off).powi(2)
        };
        let variance = all.iter().map(square).sum::<f64>() / all.len() as f64 + LEAST_VARIANCE;
        let known = examples.len() as f64;
        let share = (on - known + RARE * WEIGHT) / (sample.len() as f64 + WEIGHT);
        Mixture { on: mean_on, off: mean_off, variance, share }
    }

    /// P(on topic | score).
    fn chance(self, score: f64) -> f64 {
        let slope = (self.on - self.off) / self.variance;
        let middle = f64::midpoint(self.on, self.off);
        logistic(slope * (score - middle) + (self.share / (1.0 - self.share)).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;

    /// The fit recovers the distributions that drew the scores, from few examples.
    #[test]
    fn the_mixture_that_drew_the_scores_is_found() {
        let mut draws = Draws::new(3, 1);
        let mut normal = |mean: f64| {
            // Twelve uniform draws have variance 1.
            mean + (0..12).map(|_| draws.uniform()).sum::<f64>() - 6.0
        };
        let examples: Vec<f64> = (0..10).map(|_| normal(4.0)).collect();
        let sample: Vec<f64> =
            (0..2_000).map(|n| normal(if n % 4 == 0 { 4.0 } else { 0.0 })).collect();
        let found = Mixture::fit(&examples, &sample);
        // Standard errors of 2,000 scores are about .05.
        assert!((found.on - 4.0).abs() < 0.2 && found.off.abs() < 0.2, "{found:?}");
        assert!(
            (found.share - 0.25).abs() < 0.05 && (found.variance - 1.0).abs() < 0.15,
            "{found:?}"
        );
    }

    #[test]
    fn scores_that_say_nothing_leave_the_share() {
        for (examples, sample) in [(vec![1.0; 3], vec![1.0; 50]), (vec![0.0; 3], vec![1.0; 50])] {
            let chance = Mixture::fit(&examples, &sample).chance(1.0);
            assert!((chance - RARE).abs() < 1e-6, "{chance}");
        }
    }

    #[test]
    fn too_few_pages_train_nothing() {
        let pages = vec![Gist::of("", "a few words", ""); 2];
        assert!(Model::train(&pages[..1], &pages).is_none());
        assert!(Model::train(&pages, &pages[..1]).is_none());
        assert!(Model::train(&pages, &pages).is_some());
    }
}
