//! The gist of a page: hashed words with their weights.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Places that words are hashed into. With some ten thousand words in use few collide.
pub(crate) const PLACES: u32 = 1 << 18;
/// Most bytes of text that count.
const MOST_BYTES: usize = 1 << 16;
/// Most places kept of a page, those with the most weight.
const MOST_KEPT: usize = 512;
/// A word of the title counts like so many in the text.
const TITLE: u32 = 3;
/// From this character on (CJK radicals) scripts have no blanks between words: pairs of characters
/// stand for words.
const NO_BLANKS: char = '\u{2e80}';

/// The words of a page: places in a table with 1 + ln of how often each occurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gist {
    /// Ascending by place.
    places: Vec<(u32, f32)>,
    /// The language as a code of three letters; empty if unknown.
    language: String,
}

impl Gist {
    /// The gist of a text with a title in a language.
    pub fn of(title: &str, text: &str, language: &str) -> Gist {
        let mut counts = BTreeMap::new();
        let text = &text[..text.floor_char_boundary(MOST_BYTES.min(text.len()))];
        count(title, TITLE, &mut counts);
        count(text, 1, &mut counts);
        let mut places: Vec<(u32, f32)> =
            counts.into_iter().map(|(at, times)| (at, 1.0 + (times as f32).ln())).collect();
        if places.len() > MOST_KEPT {
            places.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            places.truncate(MOST_KEPT);
            places.sort_unstable_by_key(|(at, _)| *at);
        }
        Gist { places, language: language.to_owned() }
    }

    pub(crate) fn places(&self) -> &[(u32, f32)] {
        &self.places
    }

    /// Whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn language(&self) -> &str {
        &self.language
    }

    pub(crate) fn has(&self, place: u32) -> bool {
        self.places.binary_search_by_key(&place, |(at, _)| *at).is_ok()
    }
}

/// Words kept of a link.
const MOST_OF_LINK: usize = 8;

/// The words of a link and of the URL that it leads to: places of single words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkWords([Option<NonZeroU32>; MOST_OF_LINK]);

impl LinkWords {
    /// The words of a link's text, and of the path that it leads to as far as there is room.
    pub fn of(text: &str, url: &str) -> LinkWords {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        let mut places: Vec<u32> = Vec::new();
        for word in words(text).iter().chain(&words(path)) {
            let place = place(&[word]);
            if !places.contains(&place) && places.len() < MOST_OF_LINK {
                places.push(place);
            }
        }
        let mut all = LinkWords::default();
        for (into, place) in all.0.iter_mut().zip(places) {
            // Numbers begin with one here, so that nothing takes no room.
            *into = NonZeroU32::new(place + 1);
        }
        all
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flatten().map(|place| place.get() - 1)
    }
}

/// The places of single words, without pairs.
pub(crate) fn places_of_words(text: &str) -> Vec<u32> {
    let mut places: Vec<u32> = words(text).iter().map(|word| place(&[word])).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Adds the words and pairs of words of a text.
fn count(text: &str, times: u32, counts: &mut BTreeMap<u32, u32>) {
    let words = words(text);
    for word in &words {
        *counts.entry(place(&[word])).or_default() += times;
    }
    for pair in words.windows(2) {
        *counts.entry(place(&[&pair[0], &pair[1]])).or_default() += times;
    }
}

/// Words in lower case. Numbers and single letters say little.
fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let runs = text.split(|c: char| !c.is_alphanumeric());
    for run in runs.filter(|run| run.chars().any(char::is_alphabetic)) {
        let run = run.to_lowercase();
        if run.chars().any(|c| c >= NO_BLANKS) {
            let chars: Vec<char> = run.chars().collect();
            all.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if run.chars().nth(1).is_some() {
            all.push(run);
        }
    }
    all
}

fn place(words: &[&String]) -> u32 {
    let hash = words.iter().fold(0, |hash: u64, word| {
        hash.rotate_left(21).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ xxh3_64(word.as_bytes())
    });
    (hash % u64::from(PLACES)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_pairs_count_and_titles_count_more() {
        let gist = Gist::of("Tide", "high water, high tide", "eng");
        // high, water, tide; high water, water high, high tide.
        assert_eq!(gist.places.len(), 6);
        let weight = |word: &str| {
            let place = places_of_words(word)[0];
            gist.places[gist.places.binary_search_by_key(&place, |(at, _)| *at).unwrap()].1
        };
        assert!((weight("tide") - (1.0 + 4f32.ln())).abs() < 1e-6);
        assert!((weight("high") - (1.0 + 2f32.ln())).abs() < 1e-6);
        assert_eq!(Gist::of("", "HIGH Water", ""), Gist::of("", "high - water!", ""));
        assert!(Gist::of("", "12 345 a", "").is_empty());
    }

    #[test]
    fn scripts_without_blanks_have_pairs_of_characters() {
        assert_eq!(words("潮汐表"), ["潮汐", "汐表"]);
    }

    #[test]
    fn a_long_page_is_cut_to_its_most_frequent_words() {
        let words =
            (0..5_000).map(|n| if n % 2 == 0 { "often".into() } else { format!("word{n}") });
        let text = words.collect::<Vec<String>>().join(" ");
        let gist = Gist::of("", &text, "");
        assert_eq!(gist.places.len(), MOST_KEPT);
        assert!(gist.has(places_of_words("often")[0]));
        assert!(gist.places.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
