//! Predicts which known pages will be clicked.
//!
//! A source's pages differ far more among themselves than sources do: in `[LOSS13]` four pages in five
//! are never clicked. Features known before the fetch (words of the URL and the link, its position, the
//! hour, how many sources show it) multiply the clicks P expected from the source: m = P·e^(θ·x), with
//! the overdispersion that [`Skew`] has learnt. Features are hashed into a fixed table.
//!
//! Two *levels* z multiply m further, by e^(b·z), with b learnt like a weight. The first is ln of the weight
//! that links give a page ([`super::links`]). Traffic grows as the number of links to the power of 0.8
//! `[FFMV06]`, so that is where its b starts. The second is ln(1 + overlap/mean overlap) with what users
//! search for; Q-Hybrid of `[TTKN15]` has b = 1, a query log about other things 0, and ours starts between.
//!
//! **Learning.** Every weight of θ is believed to be normal, independent of the others, as in a dynamic
//! generalised linear model `[WHM85]`. With V the variance of θ·x, a page that had c clicks moves it to
//! where s = θ·x + V·(c − m(s))/(1 + m(s)/a), the most probable value: the slope of ln likelihood is taken
//! where one arrives (implicitly), so that no number of clicks overshoots. Each weight takes its
//! variance's part of the step, and loses variance by what the page told. Steps are in proportion to
//! the error, which balances many pages without clicks against few with many; where each step was
//! scaled by its own size (AdaGrad), the many won.

use serde::{Deserialize, Serialize};
use tidewatch_core::PageKey;

use super::skew::Skew;

/// Size of the table; collisions of rare words matter little.
const PLACES: usize = 1 << 16;
/// Prior variance of a weight: a word changes clicks by about a third.
const VARIANCE: f32 = 0.1;
/// Bound of |θ·x|: no feature makes a page worth more than e⁴ ≈ 55 times its siblings.
const MOST: f64 = 4.0;
/// Prior means of the exponents b, their variance, and their bound.
const SLOPES: Levels = [0.8, 0.5];
const SLOPE_VARIANCE: f64 = 0.25;
const MOST_SLOPE: f64 = 2.0;
/// Bound of |z|: a page's level is within e^±10 of the mean.
const MOST_LEVEL: f64 = 10.0;
/// Words taken of a URL or a link.
const WORDS: usize = 16;
/// Weight of the latest prediction in the mean square of θ·x.
const FADE: f64 = 1e-3;
/// Bisections per step: more than a weight has digits.
const HALVINGS: usize = 30;

/// What is known of a page in numbers: its levels by links and by queries.
pub(super) type Levels = [f64; 2];

/// Learns which pages are clicked more than their siblings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Predictor {
    /// Means and variances of θ.
    weights: Vec<f32>,
    variances: Vec<f32>,
    /// Means and variances of b.
    slopes: Levels,
    slope_variances: Levels,
    skew: Skew,
    /// Moving averages of θ·x and its square over the pages predicted.
    mean: f64,
    square: f64,
}

impl Default for Predictor {
    fn default() -> Self {
        Predictor {
            weights: vec![0.0; PLACES],
            variances: vec![VARIANCE; PLACES],
            slopes: SLOPES,
            slope_variances: [SLOPE_VARIANCE; 2],
            skew: Skew::default(),
            mean: 0.0,
            square: 0.0,
        }
    }
}

impl Predictor {
    /// θ·x, for features listed once each.
    fn score(&self, features: &[u32]) -> f64 {
        f64::from(features.iter().map(|&at| self.weights[at as usize]).sum::<f32>())
    }

    /// e^(θ·x): the factor on a page's expected clicks.
    pub(super) fn factor(&self, features: &[u32]) -> f64 {
        self.score(features).clamp(-MOST, MOST).exp()
    }

    /// e^(b·z): the factor of the levels.
    pub(super) fn level_factor(&self, levels: Levels) -> f64 {
        dot(self.slopes, levels.map(bounded)).exp()
    }

    /// a: the shape of the distribution of clicks among pages with equal expected clicks.
    pub(super) fn shape(&self) -> f64 {
        self.skew.shape()
    }

    /// What a page of these expected clicks tells of others: its clicks vary by 1 + m/a more than chance
    /// makes them.
    pub(super) fn tells(&self, expected: f64) -> f64 {
        (1.0 + expected / self.shape()).recip()
    }

    /// Includes a new page in the spread of predictions.
    pub(super) fn saw(&mut self, features: &[u32]) {
        let score = self.score(features).clamp(-MOST, MOST);
        self.mean += FADE * (score - self.mean);
        self.square += FADE * (score * score - self.square);
    }

    /// Standard deviation of ln of the factor among pages.
    pub(super) fn spread(&self) -> f64 {
        (self.square - self.mean * self.mean).max(0.0).sqrt()
    }

    /// A page that was expected to have `base` clicks without levels and features had `clicks`.
    pub(super) fn learn(&mut self, features: &[u32], levels: Levels, base: f64, clicks: f64) {
        if !(base > 0.0 && base.is_finite() && clicks >= 0.0 && clicks.is_finite()) {
            return;
        }
        let levels = levels.map(bounded);
        let (score, shape) = (self.score(features), self.shape());
        self.skew.learn(base * self.factor(features) * self.level_factor(levels), clicks);
        let of_features: f64 =
            features.iter().map(|&at| f64::from(self.variances[at as usize])).sum();
        let variance = of_features + dot(levels.map(|z| z * z), self.slope_variances);
        if variance <= 0.0 {
            return;
        }
        let start = score + dot(self.slopes, levels);
        let step = step(|by| slope(base * (start + by).exp(), shape, clicks), variance);
        let by_features = (score + step * of_features / variance).clamp(-MOST, MOST) - score;
        for ((slope, own), level) in self.slopes.iter_mut().zip(self.slope_variances).zip(levels) {
            *slope = (*slope + step * level * own / variance).clamp(0.0, MOST_SLOPE);
        }
        // Fisher information of the page about θ·x + b·z.
        let mean = base * (score + by_features + dot(self.slopes, levels)).exp();
        let told = mean / (1.0 + mean / shape);
        let kept = |own: f64| 1.0 - own * told / (1.0 + variance * told);
        for &at in features {
            let (weight, own) = (&mut self.weights[at as usize], &mut self.variances[at as usize]);
            let was = f64::from(*own);
            *weight += (was / of_features * by_features) as f32;
            *own *= kept(was) as f32;
        }
        for (variance, z) in self.slope_variances.iter_mut().zip(levels) {
            *variance *= kept(z * z * *variance);
        }
    }
}

fn dot(a: Levels, b: Levels) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A level that can be multiplied.
fn bounded(level: f64) -> f64 {
    if level.is_nan() { 0.0 } else { level.clamp(-MOST_LEVEL, MOST_LEVEL) }
}

/// Slope of the log-likelihood of clicks in ln of their mean.
fn slope(mean: f64, shape: f64, clicks: f64) -> f64 {
    (clicks - mean) / (1.0 + mean / shape)
}

/// The implicit step s = variance·slope(s), for a falling slope.
fn step(slope: impl Fn(f64) -> f64, variance: f64) -> f64 {
    let whole = (variance * slope(0.0)).clamp(-2.0 * MOST, 2.0 * MOST);
    let (mut near, mut far) = (0.0, whole);
    for _ in 0..HALVINGS {
        let by = f64::midpoint(near, far);
        let is_short = (variance * slope(by) - by) * whole > 0.0;
        if is_short { near = by } else { far = by }
    }
    near
}

/// The place of a feature in the table.
pub(super) fn feature(kind: &str, word: &str) -> u32 {
    let mut text = String::with_capacity(kind.len() + 1 + word.len());
    text.push_str(kind);
    text.push('=');
    text.push_str(word);
    (PageKey::of(&text).0 % PLACES as u64) as u32
}

/// The place of a number, by its binary order of magnitude.
pub(super) fn magnitude(kind: &str, number: usize) -> u32 {
    feature(kind, &number.max(1).ilog2().to_string())
}

/// Adds the places of the words of a text, each once: letters in lower case, numbers by their length.
pub(super) fn words(kind: &str, text: &str, into: &mut Vec<u32>) {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in parts.take(WORDS) {
        let place = if word.bytes().all(|byte| byte.is_ascii_digit()) {
            feature(kind, &format!("#{}", word.len()))
        } else {
            feature(kind, &word.to_lowercase())
        };
        if !into.contains(&place) {
            into.push(place);
        }
    }
}

/// The places of a URL: the words of its path, and its first folder on its host.
pub(super) fn of_url(host: u32, url: &str) -> Vec<u32> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("", |slash| &rest[slash + 1..]);
    let mut places = vec![feature("all", "")];
    if let Some((folder, _)) = path.split_once('/') {
        places.push(feature("folder", &format!("{host} {folder}")));
    }
    words("url", path, &mut places);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;
    use tidewatch_math::sum::Moments;

    /// Pages with a word have four times the clicks of those without; the predictor finds it.
    #[test]
    fn words_that_matter_are_found() {
        // Four standard errors of the ln of a ratio of two Poisson means, from 6400 and 1600 clicks.
        const ERROR: f64 = 4.0 * 0.028;
        let mut predictor = Predictor::default();
        let mut draws = Draws::of(5, "price.predict", 0);
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        words("url", "sport-final-2024", &mut good);
        words("url", "sport-notes-2024", &mut bad);
        for _ in 0..4000 {
            for (features, mean) in [(&good, 1.6), (&bad, 0.4)] {
                // Poisson by counting arrivals in a unit of time.
                let (mut at, mut clicks) = (draws.exponential(mean), 0.0);
                while at < 1.0 {
                    clicks += 1.0;
                    at += draws.exponential(mean);
                }
                predictor.learn(features, [0.0; 2], 1.0, clicks);
                predictor.saw(features);
            }
        }
        let ln_ratio = (predictor.factor(&good) / predictor.factor(&bad)).ln();
        assert!((ln_ratio - 4f64.ln()).abs() < ERROR, "{ln_ratio}");
        // Half of the pages are ln 2 above the middle, half below.
        let spread = predictor.spread();
        assert!((spread - 2f64.ln()).abs() < ERROR, "{spread}");
    }

    /// One page in fifty has all the clicks, and words tell nothing. After a hundred pages, most often of
    /// two clicked ones, predictions are still right on average: within four standard errors over a
    /// hundred crawls. (Steps scaled by their size had halved them.)
    #[test]
    fn rare_clicks_are_not_forgotten_among_pages_without() {
        let mut draws = Draws::of(6, "price.predict", 0);
        let features = |page: u32| {
            let mut features = vec![feature("all", ""), magnitude("place", 1 + page as usize % 8)];
            words("url", &format!("w{}", page % 97), &mut features);
            features
        };
        let mut factors = Moments::default();
        for _ in 0..100 {
            let mut predictor = Predictor::default();
            for page in 0..100 {
                let clicks = if draws.uniform() < 0.02 { 10.0 } else { 0.0 };
                predictor.learn(&features(page), [0.0; 2], 0.2, clicks);
            }
            factors.add(predictor.factor(&features(5)));
        }
        let error = (factors.mean() - 1.0).abs();
        assert!(error < 4.0 * factors.deviation() / 10.0, "{factors:?}");
    }

    #[test]
    fn any_number_of_clicks_leaves_numbers() {
        let mut predictor = Predictor::default();
        let features = of_url(3, "http://a.test/news/some-title");
        for clicks in [1e12, 0.0, 1e300, 1e-300] {
            for base in [1e-300, 1e300, 1.0] {
                predictor.learn(&features, [0.0; 2], base, clicks);
                let score = predictor.score(&features);
                assert!(score.abs() <= MOST + 1e-4, "{score}");
            }
        }
    }

    /// Words that have misled are unlearnt: the sum of weights does not run away beyond what it may say.
    #[test]
    fn wrong_predictions_are_unlearnt() {
        let mut predictor = Predictor::default();
        let features = of_url(3, "http://a.test/news/a-title-of-several-words");
        (0..200).for_each(|_| predictor.learn(&features, [0.0; 2], 0.1, 100.0));
        let high = predictor.factor(&features);
        (0..200).for_each(|_| predictor.learn(&features, [0.0; 2], 0.1, 0.0));
        assert!(predictor.factor(&features) < 0.5 * high, "{}", predictor.factor(&features));
    }

    #[test]
    fn a_repeated_word_counts_once() {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        words("url", "goal/01", &mut once);
        words("url", "goal/01/02/goal", &mut twice);
        assert_eq!(once, twice);
    }

    #[test]
    fn nothing_learnt_changes_nothing() {
        let mut predictor = Predictor::default();
        let features = of_url(3, "http://a.test/news/2024/01/some-title-12345");
        assert!((predictor.factor(&features) - 1.0).abs() < 1e-12 && predictor.spread() <= 0.0);
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            predictor.learn(&features, [0.0; 2], bad, 1.0);
            predictor.learn(&features, [0.0; 2], 1.0, bad);
        }
        assert!((predictor.factor(&features) - 1.0).abs() < 1e-12);
    }
}
