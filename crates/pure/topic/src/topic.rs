//! The fit of a fetched page.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::examples::Examples;
use crate::gist::{Gist, LinkWords, places_of_words};
use crate::model::Model;

/// Pages met before a model is trained for the first time. It is trained anew whenever twice as many were
/// met, and whenever an example comes.
const FIRST: u64 = 16;
/// A page with at least this share of the information in the words named is taken for an example.
const ENOUGH: f64 = 0.5;
/// The model decides once this many examples were found by words.
const BY_WORDS: u64 = 8;
/// The fit of every page before anything is known.
const UNKNOWN: f64 = 0.5;

/// The wanted words and languages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// Words that name the topic; empty for none.
    pub words: String,
    /// Languages as codes of three letters; empty for any.
    pub languages: Vec<String>,
}

/// How likely a page is wanted, and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The probability.
    pub chance: f64,
    /// That of its topic.
    pub topic: f64,
    /// Whether its language is wanted.
    pub language: bool,
}

/// A topic, learnt from words, examples and the pages of the crawl.
#[derive(Debug, Serialize, Deserialize)]
pub struct Topic {
    wanted: Wanted,
    /// Places of the words, and how many of the pages met have them.
    words: Vec<(u32, u64)>,
    met: u64,
    pages: Examples,
    model: Option<Model>,
    /// Pages met at which the model is trained next.
    next: u64,
    /// Examples that the operator gave, not counting those by words.
    by_hand: u64,
}

impl Topic {
    /// A topic of which nothing but `wanted` is known.
    pub fn new(wanted: Wanted, seed: u64) -> Topic {
        let unique: FxHashSet<u32> = places_of_words(&wanted.words).into_iter().collect();
        let mut words: Vec<(u32, u64)> = unique.into_iter().map(|place| (place, 0)).collect();
        words.sort_unstable();
        let pages = Examples::new(seed);
        Topic { wanted, words, met: 0, pages, model: None, next: FIRST, by_hand: 0 }
    }

    /// Adds a page that the operator names as an example.
    pub fn give(&mut self, gist: &Gist) {
        if gist.is_empty() {
            return;
        }
        self.by_hand += 1;
        self.pages.give(gist);
        self.retrain();
    }

    /// Takes in a fetched page and judges it. `true` if the model was trained, so that other pages may be judged
    /// differently.
    pub fn meet(&mut self, gist: &Gist) -> (Fit, bool) {
        if !gist.is_empty() {
            for (place, with) in &mut self.words {
                *with += u64::from(gist.has(*place));
            }
            self.met += 1;
            if self.share_of_words(gist) >= ENOUGH {
                self.pages.give(gist);
            } else {
                self.pages.meet(gist);
            }
        }
        let is_due = self.met >= self.next;
        if is_due {
            self.next = 2 * self.met;
            self.retrain();
        }
        (self.fit(gist), is_due)
    }

    /// Judges a page.
    pub fn fit(&self, gist: &Gist) -> Fit {
        let wants = &self.wanted.languages;
        // A page of unknown language may be of any.
        let language = wants.is_empty()
            || gist.language().is_empty()
            || wants.iter().any(|code| code == gist.language());
        let topic = self.topic(gist);
        Fit { chance: if language { topic } else { 0.0 }, topic, language }
    }

    fn topic(&self, gist: &Gist) -> f64 {
        if self.words.is_empty() && self.by_hand == 0 {
            // Only the language is asked for.
            return 1.0;
        }
        if gist.is_empty() {
            return 0.0;
        }
        match &self.model {
            Some(model) if self.by_hand > 0 || self.pages.given() >= BY_WORDS => model.chance(gist),
            _ if self.words.is_empty() => UNKNOWN,
            _ => self.share_of_words(gist),
        }
    }

    /// How much the words of a link speak for the topic, in log odds: by the model, or by the words named.
    pub fn lean(&self, words: &LinkWords) -> f64 {
        if let Some(model) = &self.model {
            return model.lean(words.places());
        }
        let named = |place: u32| self.words.iter().find(|(word, _)| *word == place);
        words.places().filter_map(named).map(|(_, with)| self.information(*with)).sum()
    }

    /// ln of the inverse share of pages that have a word, if so many of those met do.
    fn information(&self, with: u64) -> f64 {
        ((2.0 + self.met as f64) / (1.0 + with as f64)).ln()
    }

    /// The share of the information in the words named that a page has: rare words tell more.
    fn share_of_words(&self, gist: &Gist) -> f64 {
        let (mut had, mut of) = (0.0, 0.0);
        for (place, with) in &self.words {
            let bits = self.information(*with);
            of += bits;
            had += if gist.has(*place) { bits } else { 0.0 };
        }
        if of > 0.0 { had / of } else { 0.0 }
    }

    fn retrain(&mut self) {
        self.model = Model::train(self.pages.examples(), self.pages.sample());
    }
}
