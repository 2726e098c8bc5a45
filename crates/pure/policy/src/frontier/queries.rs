//! Orders by needy queries `[TTKN15, §3]`, `[PO08]`: pages whose words answer what users ask in vain.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Asked, Event, PageId};

use super::book::Book;
use super::links::PageRankOrder;
use super::ranked::Order;
use super::terms::{url_words, words};

/// Most queries per word, the neediest ones: bounds the work for a common word.
const QUERIES_PER_WORD: usize = 256;
/// Most queries that count, the neediest ones: bounds memory.
const MOST_QUERIES: usize = 1 << 16;
/// Most words of a query that count.
const WORDS_PER_QUERY: usize = 8;

/// Needy queries by their words.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Needs {
    /// Count × need, and the number of words.
    queries: Vec<(f64, u32)>,
    by_word: FxHashMap<u64, Vec<u32>>,
}

impl Needs {
    /// Indexes the queries of a log.
    pub fn new<'a>(asked: impl IntoIterator<Item = Asked<'a>>) -> Self {
        let mut needs = Needs::default();
        let mut all: Vec<Asked<'_>> = asked.into_iter().collect();
        let weight = |q: &Asked<'_>| (q.count * q.need).max(0.0);
        all.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        all.retain(|query| weight(query) > 0.0 && weight(query).is_finite());
        for query in all.iter().take(MOST_QUERIES) {
            needs.add(query.words, weight(query));
        }
        needs
    }

    fn add(&mut self, text: &str, weight: f64) {
        let mut of_query: Vec<u64> = words(text).take(WORDS_PER_QUERY).collect();
        of_query.sort_unstable();
        of_query.dedup();
        if of_query.is_empty() {
            return;
        }
        let id = self.queries.len() as u32;
        self.queries.push((weight, of_query.len() as u32));
        for word in of_query {
            let list = self.by_word.entry(word).or_default();
            if list.len() < QUERIES_PER_WORD {
                list.push(id);
            }
        }
    }

    /// Whether there are no queries.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Whether a word belongs to a query.
    fn has(&self, word: u64) -> bool {
        self.by_word.contains_key(&word)
    }

    /// Queries that a page with these distinct words answers: (query, share of its words squared).
    /// A search engine wants all words; half of them is worth a quarter.
    fn matches(&self, of_page: &[u64]) -> Vec<(u32, f64)> {
        let mut hits: Vec<u32> =
            of_page.iter().filter_map(|word| self.by_word.get(word)).flatten().copied().collect();
        hits.sort_unstable();
        let share = |same: &[u32]| {
            let (_, length) = self.queries[same[0] as usize];
            (same[0], (same.len() as f64 / f64::from(length)).powi(2))
        };
        hits.chunk_by(|a, b| a == b).map(share).collect()
    }

    /// Q-Overlap of a text: Σ over queries of count × need × match, before any need is met.
    pub fn overlap(&self, text: impl Iterator<Item = u64>) -> f64 {
        let mut of_page: Vec<u64> = text.filter(|&word| self.has(word)).collect();
        of_page.sort_unstable();
        of_page.dedup();
        let matches = self.matches(&of_page);
        matches.iter().map(|&(query, share)| self.queries[query as usize].0 * share).sum()
    }

    /// [`Needs::overlap`] of a page by its URL and the words of a link to it.
    pub fn overlap_of(&self, url: &str, anchor: &str) -> f64 {
        self.overlap(url_words(url).chain(words(anchor)))
    }
}

/// Q-Overlap, or Q-Hybrid with PageRank.
///
/// Words come from the URL and from links to the page. A fetched page serves the queries it
/// answers: the k-th page for a query is worth 1/k. Q-Hybrid multiplies (1 + overlap/mean overlap)
/// by PageRank.
pub struct QueryOrder {
    needs: Needs,
    /// Pages fetched for each query.
    served: Vec<f64>,
    /// Words of each page that belong to queries.
    words: Vec<Vec<u64>>,
    matches: Vec<Vec<(u32, f64)>>,
    /// Sum of the overlaps of discovered pages.
    sum: f64,
    rank: Option<PageRankOrder>,
}

impl QueryOrder {
    /// By overlap alone.
    pub fn overlap() -> Self {
        let (words, matches) = (Vec::new(), Vec::new());
        QueryOrder {
            needs: Needs::default(),
            served: Vec::new(),
            words,
            matches,
            sum: 0.0,
            rank: None,
        }
    }

    /// Together with PageRank.
    pub fn hybrid() -> Self {
        QueryOrder { rank: Some(PageRankOrder::default()), ..Self::overlap() }
    }

    /// A page's overlap with the queries, each divided by 1 + the pages fetched for it.
    pub fn need(&self, page: PageId) -> f64 {
        let one = |&(query, share): &(u32, f64)| {
            self.needs.queries[query as usize].0 * share / (1.0 + self.served[query as usize])
        };
        self.matches.get(page.index()).map_or(0.0, |list| list.iter().map(one).sum())
    }

    fn tell(&mut self, asked: &[Asked<'_>]) {
        self.needs = Needs::new(asked.iter().copied());
        self.served = vec![0.0; self.needs.queries.len()];
        for (words, matches) in self.words.iter().zip(&mut self.matches) {
            *matches = self.needs.matches(words);
        }
    }

    /// Adds words to a page; returns whether it now matches more.
    fn note(&mut self, page: usize, text: impl Iterator<Item = u64>) -> bool {
        if self.words.len() <= page {
            self.words.resize_with(page + 1, Vec::new);
            self.matches.resize_with(page + 1, Vec::new);
        }
        let before = self.words[page].len();
        for word in text.filter(|&word| self.needs.has(word)) {
            if !self.words[page].contains(&word) {
                self.words[page].push(word);
            }
        }
        let grew = self.words[page].len() > before;
        if grew {
            self.matches[page] = self.needs.matches(&self.words[page]);
        }
        grew
    }
}

impl Order for QueryOrder {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        if let Some(rank) = &mut self.rank {
            rank.learn(event, book, risen);
        }
        match event {
            Event::Asked(asked) => self.tell(asked),
            Event::Discovered(found) => {
                self.note(found.page.index(), url_words(found.url));
                self.sum += self.need(found.page);
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                if let tidewatch_core::Outcome::Fetched(content) = seen.outcome {
                    for (link, anchor) in content.links.iter().zip(content.anchors) {
                        if self.note(link.page.index(), words(anchor)) {
                            risen.push(link.page);
                        }
                    }
                }
                if seen.previous.is_none() {
                    for &(query, share) in self.matches.get(seen.page.index()).into_iter().flatten()
                    {
                        self.served[query as usize] += share;
                    }
                }
            }
            _ => {}
        }
    }

    fn rule(&self) -> &'static str {
        "pages whose address and link texts match queries that are served badly come first"
    }

    fn score(&self, page: PageId, book: &Book) -> f64 {
        let need = self.need(page);
        let Some(rank) = &self.rank else { return need };
        let mean = self.sum / book.pages().len().max(1) as f64;
        let relative = if mean > 0.0 { need / mean } else { 0.0 };
        (1.0 + relative) * rank.score(page, book)
    }

    fn is_stale(&self, book: &Book) -> bool {
        self.rank.as_ref().is_some_and(|rank| rank.is_stale(book))
    }

    fn renew(&mut self, book: &Book) {
        if let Some(rank) = &mut self.rank {
            rank.renew(book);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::float_cmp, reason = "quarters are exact")]
    fn all_words_count_fully_and_half_of_them_a_quarter() {
        let asked = |words, count, need| Asked { words, count, need };
        let needs = Needs::new([
            asked("red fish", 8.0, 0.5),
            asked("blue", 1.0, 1.0),
            asked("red", 9.0, 0.0),
        ]);
        let overlap = |text: &str| needs.overlap(words(text));
        assert_eq!(overlap("red fish"), 4.0);
        assert_eq!(overlap("red red bird blue"), 1.0 + 1.0);
        assert_eq!(overlap("bird"), 0.0);
        assert_eq!(needs.overlap_of("https://red.example/fish/1", "RED"), 4.0);
    }
}
