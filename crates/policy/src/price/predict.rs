//! Which of the pages that a source shows will be clicked?
//!
//! A source's pages differ far more among themselves than sources do: in `[LOSS13]` four pages in five
//! are never clicked. What can be seen of a page before it is fetched (words of its URL and of its
//! link, where it stands, the hour, how many sources show it) multiplies the clicks that its source
//! makes expect: m = P·e^(θ·x), clicks Poisson about m, θ learnt on line by gradient steps that shrink
//! as a feature has been seen more (AdaGrad). Features are hashed, so that any number of words needs a
//! fixed memory.

use serde::{Deserialize, Serialize};
use tidewatch_core::PageKey;

/// Places for features; collisions of rare words only blur what little they say.
const PLACES: usize = 1 << 16;
/// First step of a weight. A word seen once may change an expectation by so much.
const STEP: f32 = 0.05;
/// θ·x is held to this: nothing seen from outside makes a page worth fifty times its siblings.
const MOST: f32 = 4.0;
/// Words taken of a URL or a link.
const WORDS: usize = 16;
/// Weight of the latest prediction in the mean square of θ·x.
const FADE: f64 = 1e-3;

/// Learns which pages are clicked more than their siblings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predictor {
    weights: Vec<f32>,
    squares: Vec<f32>,
    /// Faded mean and mean square of θ·x over the pages predicted.
    mean: f64,
    square: f64,
}

impl Default for Predictor {
    fn default() -> Self {
        Predictor { weights: vec![0.0; PLACES], squares: vec![0.0; PLACES], mean: 0.0, square: 0.0 }
    }
}

impl Predictor {
    fn score(&self, features: &[u32]) -> f32 {
        let sum: f32 = features.iter().map(|&at| self.weights[at as usize]).sum();
        sum.clamp(-MOST, MOST)
    }

    /// What a page's expected clicks are multiplied with.
    pub fn factor(&self, features: &[u32]) -> f64 {
        f64::from(self.score(features)).exp()
    }

    /// Takes note of a page that is to be predicted: how far do predictions spread?
    pub fn saw(&mut self, features: &[u32]) {
        let score = f64::from(self.score(features));
        self.mean += FADE * (score - self.mean);
        self.square += FADE * (score * score - self.square);
    }

    /// Standard deviation of ln of the factor among pages.
    pub fn spread(&self) -> f64 {
        (self.square - self.mean * self.mean).max(0.0).sqrt()
    }

    /// A page that was expected to have `base` clicks without its features had `clicks`.
    pub fn learn(&mut self, features: &[u32], base: f64, clicks: f64) {
        if !(base > 0.0 && base.is_finite() && clicks >= 0.0 && clicks.is_finite()) {
            return;
        }
        let mean = base * self.factor(features);
        // Slope of ln likelihood in every weight that takes part.
        let slope = (clicks - mean) as f32;
        for &at in features {
            let at = at as usize;
            self.squares[at] += slope * slope;
            if self.squares[at] > 0.0 {
                self.weights[at] += STEP * slope / self.squares[at].sqrt();
            }
        }
    }
}

/// A place for a feature of a kind.
pub fn feature(kind: &str, word: &str) -> u32 {
    let mut text = String::with_capacity(kind.len() + 1 + word.len());
    text.push_str(kind);
    text.push('=');
    text.push_str(word);
    (PageKey::of(&text).0 % PLACES as u64) as u32
}

/// A place for a number, by its order of magnitude.
pub fn magnitude(kind: &str, number: usize) -> u32 {
    feature(kind, &number.max(1).ilog2().to_string())
}

/// Places for the words of a text: runs of letters, in lower case; runs of digits by their length.
pub fn words(kind: &str, text: &str, into: &mut Vec<u32>) {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in parts.take(WORDS) {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            into.push(feature(kind, &format!("#{}", word.len())));
        } else {
            into.push(feature(kind, &word.to_lowercase()));
        }
    }
}

/// Places for what a URL says: the words of its path, and its first folder on its host.
pub fn of_url(host: u32, url: &str) -> Vec<u32> {
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

    /// Pages with a word have four times the clicks of those without; the predictor finds it.
    #[test]
    fn words_that_matter_are_found() {
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
                predictor.learn(features, 1.0, clicks);
                predictor.saw(features);
            }
        }
        let ratio = predictor.factor(&good) / predictor.factor(&bad);
        assert!((2.0..8.0).contains(&ratio), "{ratio}");
        assert!(predictor.spread() > 0.3, "{}", predictor.spread());
    }

    #[test]
    fn nothing_learnt_changes_nothing() {
        let mut predictor = Predictor::default();
        let features = of_url(3, "http://a.test/news/2024/01/some-title-12345");
        assert!((predictor.factor(&features) - 1.0).abs() < 1e-12 && predictor.spread() <= 0.0);
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            predictor.learn(&features, bad, 1.0);
            predictor.learn(&features, 1.0, bad);
        }
        assert!((predictor.factor(&features) - 1.0).abs() < 1e-12);
    }
}
