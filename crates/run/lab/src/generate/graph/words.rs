//! Words of topics, pages and queries.
//!
//! Each topic has its own words, made of syllables so that they tokenise like words. A query is two
//! words of a topic, and URLs contain words of the page's topic. Most clicked pages match a query, a
//! more frequent one the more clicks they get, which ranking by query overlap can use; some pages
//! without clicks match a query too.

use tidewatch_math::rng::Draws;
use tidewatch_math::sample::ZipfRanks;

use crate::generate::shared::zipf;

/// Words of a topic.
const VOCABULARY: u64 = 80;
/// Queries of a topic.
pub(super) const QUERIES: usize = 60;
/// Exponent of Zipf's law of query frequencies within a topic.
const QUERY_EXPONENT: f64 = 0.8;

const CONSONANTS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
const VOWELS: &[u8; 5] = b"aeiou";
/// Syllables of a consonant and a vowel.
const SYLLABLES: u64 = (CONSONANTS.len() * VOWELS.len()) as u64;
/// Number of words of three syllables.
pub(super) const WORDS: u64 = SYLLABLES.pow(3);
/// Coprime to [`WORDS`], so that multiplying by it is a permutation that separates neighbours.
const STRIDE: u64 = 618_033;

/// A query of users.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphQuery {
    /// Its words, separated by spaces. Paths of URLs contain such words.
    pub terms: String,
    /// Its share of all queries.
    pub frequency: f64,
    /// The topic it belongs to.
    pub topic: u16,
}

/// Most topics with distinct words.
pub(super) const MOST_TOPICS: u64 = WORDS / VOCABULARY;

/// Word number `index` of a topic.
fn word(topic: u16, index: u64) -> String {
    let mut code = (u64::from(topic) * VOCABULARY + index) * STRIDE % WORDS;
    let mut text = String::with_capacity(6);
    for _ in 0..3 {
        let syllable = code % SYLLABLES;
        text.push(char::from(CONSONANTS[(syllable / VOWELS.len() as u64) as usize]));
        text.push(char::from(VOWELS[(syllable % VOWELS.len() as u64) as usize]));
        code /= SYLLABLES;
    }
    text
}

/// Two different words of a topic.
pub(super) fn pair(topic: u16, draws: &mut Draws) -> [String; 2] {
    let first = draws.below(VOCABULARY);
    let second = (first + 1 + draws.below(VOCABULARY - 1)) % VOCABULARY;
    [word(topic, first), word(topic, second)]
}

/// All queries: [`QUERIES`] of each topic, the most frequent first.
pub(super) fn queries(topics: &ZipfRanks, count: u16, seed: u64) -> Vec<GraphQuery> {
    let within = zipf(QUERIES, QUERY_EXPONENT);
    let mut all = Vec::with_capacity(usize::from(count) * QUERIES);
    for topic in 0..count {
        let mut draws = Draws::of(seed, "graph.queries", u64::from(topic));
        for rank in 0..QUERIES {
            let terms = pair(topic, &mut draws).join(" ");
            let frequency =
                topics.probability(u64::from(topic) + 1) * within.probability(rank as u64 + 1);
            all.push(GraphQuery { terms, frequency, topic });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_differ() {
        let mut seen = std::collections::HashSet::new();
        for topic in 0..MOST_TOPICS as u16 {
            assert!((0..VOCABULARY).all(|i| seen.insert(word(topic, i))));
        }
        assert_eq!(seen.len() as u64, WORDS);
    }

    #[test]
    fn query_frequencies_are_shares() {
        let queries = queries(&zipf(7, 0.5), 7, 3);
        assert_eq!(queries.len(), 7 * QUERIES);
        let total: f64 = queries.iter().map(|q| q.frequency).sum();
        assert!((total - 1.0).abs() < 1e-12);
        assert!(queries.iter().all(|q| q.terms.split(' ').count() == 2));
        assert!(queries[..QUERIES].is_sorted_by(|a, b| a.frequency > b.frequency));
    }
}
