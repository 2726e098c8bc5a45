//! Invented words, so that URLs look like those of real sites.
//!
//! The path of a URL names the category; its slug begins with the word of the page's topic, followed
//! by two random words. Topics are shared by all hosts and differ in popularity, so a predictor can
//! learn a moderate signal from URL tokens.

use tidewatch_math::rng::{Draws, purpose};

/// Names of categories; a site has a subset.
pub(super) const CATEGORIES: [&str; 24] = [
    "politics",
    "economy",
    "world",
    "society",
    "sport",
    "culture",
    "science",
    "tech",
    "auto",
    "travel",
    "health",
    "opinion",
    "regions",
    "incidents",
    "business",
    "lifestyle",
    "education",
    "property",
    "media",
    "army",
    "law",
    "weather",
    "music",
    "cinema",
];

/// Topics per category.
pub(super) const TOPICS: u64 = 40;
/// Random words for slugs.
const FILLERS: u64 = 3000;

const WORD: u64 = purpose("echo.word");
const ONSETS: [&str; 20] = [
    "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "st", "tr", "kr",
    "pl", "sh",
];
const VOWELS: [&str; 6] = ["a", "e", "i", "o", "u", "ia"];

/// The word of a topic: the same for every host and seed.
pub(super) fn topic(category: usize, topic: u64) -> String {
    invent(FILLERS + category as u64 * TOPICS + topic)
}

/// Two random words.
pub(in crate::generate) fn fillers(draws: &mut Draws) -> [String; 2] {
    [invent(draws.below(FILLERS)), invent(draws.below(FILLERS))]
}

fn invent(number: u64) -> String {
    let mut draws = Draws::keyed(0, WORD, number);
    let mut word = String::new();
    for _ in 0..2 + draws.below(2) {
        word.push_str(ONSETS[draws.below(ONSETS.len() as u64) as usize]);
        word.push_str(VOWELS[draws.below(VOWELS.len() as u64) as usize]);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_case_letters_and_topics_keep_theirs() {
        for number in 0..500 {
            let word = invent(number);
            assert!(word.len() >= 4 && word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
        }
        assert_eq!(topic(3, 7), topic(3, 7));
        assert_ne!(topic(3, 7), topic(3, 8));
    }
}
