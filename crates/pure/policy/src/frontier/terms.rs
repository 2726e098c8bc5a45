//! Words of URLs, link texts and queries, as hashes.

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

/// Most words of one text that count: bounds the work for a hostile URL.
const MOST_WORDS: usize = 48;
/// Most bytes of one text that count.
const MOST_BYTES: usize = 2048;
/// Words too common in URLs to count.
const EMPTY_WORDS: [&str; 8] = ["http", "https", "www", "html", "htm", "php", "index", "com"];

/// The words of a text as hashes: runs of letters or digits in lower case, at
/// least two characters, numbers left out, in order, at most [`MOST_WORDS`].
pub fn words(text: &str) -> impl Iterator<Item = u64> + '_ {
    let end = text.floor_char_boundary(MOST_BYTES.min(text.len()));
    text[..end]
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1 && word.chars().any(char::is_alphabetic))
        .map(str::to_lowercase)
        .filter(|word| !EMPTY_WORDS.contains(&word.as_str()))
        .map(|word| xxh3_64(word.as_bytes()))
        .take(MOST_WORDS)
}

/// The words of the path and query of a URL. Its host says where, not what.
pub(super) fn url_words(url: &str) -> impl Iterator<Item = u64> + '_ {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    words(rest.split_once('/').map_or("", |(_, path)| path))
}

/// What a scoped crawl is about: words with weights in (0, 1].
#[derive(Clone, Debug, Default)]
pub struct Topic {
    weights: FxHashMap<u64, f64>,
}

impl Topic {
    /// A topic of these words, all with weight 1.
    pub fn of(words_of_topic: &str) -> Self {
        Topic { weights: words(words_of_topic).map(|word| (word, 1.0)).collect() }
    }

    /// Adds the words of a query with a weight; a word keeps its highest.
    pub fn add(&mut self, text: &str, weight: f64) {
        for word in words(text) {
            let known = self.weights.entry(word).or_default();
            *known = known.max(weight.clamp(0.0, 1.0));
        }
    }

    /// Whether the topic has no words.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Relevance of a text, 0 to 1: 1 − Π(1 − w/2) over the topic's words in it, so one word of
    /// weight 1 gives a half and further words raise it.
    pub fn relevance(&self, text: impl Iterator<Item = u64>) -> f64 {
        let mut met = Vec::new();
        let mut rest = 1.0;
        for word in text {
            if let Some(weight) = self.weights.get(&word)
                && !met.contains(&word)
            {
                met.push(word);
                rest *= 1.0 - weight / 2.0;
            }
        }
        1.0 - rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_people_would() {
        let of = |text: &str| words(text).collect::<Vec<_>>();
        assert_eq!(of("Red-Fish/index.html?id=77"), of("red fish id"));
        assert_eq!(of("a 1 22 --"), Vec::<u64>::new());
        assert_eq!(words(&"é ".repeat(9999)).count(), MOST_WORDS);
        assert!(url_words("https://red.example/").next().is_none());
        assert_eq!(url_words("https://x.example/red/9").collect::<Vec<_>>(), of("red"));
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "halves are exact")]
    fn each_further_word_halves_the_gap() {
        let topic = Topic::of("red fish");
        let relevance = |text: &str| topic.relevance(words(text));
        assert_eq!(relevance("blue bird"), 0.0);
        assert_eq!(relevance("red red bird"), 0.5);
        assert_eq!(relevance("red fish"), 0.75);
    }
}
