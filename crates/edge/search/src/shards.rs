//! One search over several indexes, with the results of one index of all pages.
//!
//! # The life of a query
//!
//! Every step goes to all indexes, wherever they are, and the answers are joined ([`Told::join`]):
//!
//! 1. [`Step::Count`]: how many pages, how many words, and how many pages with each word of the query. The
//!    sums are those of one index, so BM25 scores computed with them are too.
//! 2. [`Step::Best`]: the best pages by those scores, and a sketch of each. The best of all are among the
//!    best of each. Near-duplicates are then left out across indexes.
//! 3. [`Step::Show`]: title and snippet of the pages that are shown, from the indexes that hold them.
//!
//! [`search`] takes these steps; the caller's [`Shards`] carries them to the indexes. An index that does not
//! answer is left out, and the results say so ([`Coverage`]).
//!
//! # Invariants
//!
//! - With all indexes answering, hits, order, scores and totals equal those of [`Searcher::search`] on one
//!   index of the same pages. Only among pages of equal score may the order differ.
//! - Answers are hostile: a search ends without a panic for any bytes.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Score, Term};

use crate::schema::Fields;
use crate::searcher::{CANDIDATES, MOST_RESULTS, Shown};
use crate::snippet::Snippet;
use crate::{Hit, IndexedPage, PageRef, Query, SearchError, SearchResults, Searcher};

/// Most candidates that are asked for at once.
const MOST_CANDIDATES: usize = (MOST_RESULTS + 1) * CANDIDATES;

/// A question to every index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Counts for the words of a query.
    Count {
        /// The query, as it was typed.
        query: String,
    },
    /// The best pages.
    Best {
        /// The query, as it was typed.
        query: String,
        /// The counts of all indexes together.
        counts: Counts,
        /// Whether a page must have all words, or only some.
        all_words: bool,
        /// How many pages.
        most: usize,
        /// Seconds of Unix time.
        now_s: i64,
    },
    /// Titles and snippets of some pages.
    Show {
        /// The query, as it was typed.
        query: String,
        /// The pages; an index passes over those that it does not hold.
        pages: Vec<PageRef>,
    },
    /// The stored fields of a page.
    Page(PageRef),
}

/// The answer to a [`Step`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// To [`Step::Count`].
    Counts(Counts),
    /// To [`Step::Best`].
    Best(Candidates),
    /// To [`Step::Show`]: hits without score.
    Hits(Vec<Hit>),
    /// To [`Step::Page`].
    Page(Option<IndexedPage>),
}

/// Statistics of all pages for BM25.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pages.
    pages: u64,
    /// Words of all pages, and words of all titles.
    tokens: [u64; 2],
    /// For each word of the query: pages with it anywhere, and with it in their title.
    words: BTreeMap<String, [u64; 2]>,
}

/// A page that may be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    score: Score,
    page: PageRef,
    sketch: Vec<u64>,
}

/// The best pages of a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// Matching pages.
    total: usize,
    /// The best of them, best first.
    best: Vec<Candidate>,
    /// How many were asked for.
    most: usize,
}

/// How much of a crawl an answer rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Partitions that answered.
    pub answered: u32,
    /// Partitions that there are.
    pub of: u32,
}

impl Coverage {
    /// Whether all partitions answered.
    pub const fn is_whole(self) -> bool {
        self.answered >= self.of
    }

    /// A sentence, if some did not.
    pub fn told(self) -> Option<String> {
        let Coverage { answered, of } = self;
        (!self.is_whole()).then(|| format!("{answered} of {of} partitions answered."))
    }
}

/// A joined answer, as it is under way.
pub type Answer<'a> = Pin<Box<dyn Future<Output = (Option<Told>, Coverage)> + Send + 'a>>;

/// Carries a step to all indexes and joins their answers.
pub trait Shards: Send + Sync {
    /// Takes a step; `None` if no index answers.
    fn take(&self, step: Step) -> Answer<'_>;
    /// Pages in all indexes, as far as is known.
    fn pages(&self) -> u64;
}

impl Told {
    /// Joins the answers of two indexes to the same step. An answer to another step is left out.
    pub fn join(self, other: Told) -> Told {
        match (self, other) {
            (Told::Counts(one), Told::Counts(other)) => Told::Counts(one.add(other)),
            (Told::Best(one), Told::Best(other)) => Told::Best(one.join(other)),
            (Told::Hits(mut one), Told::Hits(other)) => {
                one.extend(other);
                Told::Hits(one)
            }
            (Told::Page(one), Told::Page(other)) => Told::Page(one.or(other)),
            (one, _) => one,
        }
    }
}

impl Counts {
    fn add(mut self, other: Counts) -> Counts {
        let sum = |one: &mut u64, other: u64| *one = one.saturating_add(other);
        sum(&mut self.pages, other.pages);
        (0..2).for_each(|field| sum(&mut self.tokens[field], other.tokens[field]));
        for (word, counts) in other.words {
            let own = self.words.entry(word).or_default();
            (0..2).for_each(|field| sum(&mut own[field], counts[field]));
        }
        self
    }
}

impl Candidates {
    /// The best of both, of equal ones that with the lower number first.
    fn join(mut self, other: Candidates) -> Candidates {
        self.total = self.total.saturating_add(other.total);
        self.most = self.most.max(other.most).min(MOST_CANDIDATES);
        self.best.extend(other.best);
        self.best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.page.cmp(&b.page)));
        self.best.truncate(self.most);
        self
    }

    /// The pages to show, without near-duplicates, with the number hidden behind each, and whether there
    /// are more.
    fn choose(self, skip: usize, count: usize) -> (Vec<(Candidate, usize)>, bool) {
        let mut shown = Shown::default();
        for candidate in self.best {
            if shown.len() > skip + count {
                break;
            }
            let sketch = candidate.sketch.clone();
            shown.add(candidate, sketch);
        }
        let has_more = shown.len() > skip + count && skip + count < MOST_RESULTS;
        (shown.into_inner().skip(skip).take(count).collect(), has_more)
    }
}

/// Returns `count` results after the first `skip` of all indexes, at `now_s` of Unix time.
pub async fn search(
    shards: &dyn Shards,
    query: &Query,
    skip: usize,
    count: usize,
    now_s: i64,
) -> SearchResults {
    if query.is_empty() {
        return SearchResults::default();
    }
    let skip = skip.min(MOST_RESULTS);
    let count = (MOST_RESULTS - skip).min(count);
    let (told, coverage) = shards.take(Step::Count { query: query.typed.clone() }).await;
    let Some(Told::Counts(counts)) = told else { return nothing(coverage) };
    let best = |all_words| Step::Best {
        query: query.typed.clone(),
        counts: counts.clone(),
        all_words,
        most: (skip + count + 1) * CANDIDATES,
        now_s,
    };
    let (mut told, mut coverage) = shards.take(best(true)).await;
    let mut is_relaxed = false;
    let is_empty =
        |told: &Option<Told>| matches!(told, Some(Told::Best(found)) if found.total == 0);
    if is_empty(&told) && query.wanted.len() > 1 {
        (told, coverage) = shards.take(best(false)).await;
        is_relaxed = !is_empty(&told);
    }
    let Some(Told::Best(found)) = told else { return nothing(coverage) };
    let total = found.total;
    let (chosen, has_more) = found.choose(skip, count);
    let hits = show(shards, query, chosen).await;
    SearchResults { hits, total, is_relaxed, has_more, coverage: Some(coverage) }
}

fn nothing(coverage: Coverage) -> SearchResults {
    SearchResults { coverage: Some(coverage), ..SearchResults::default() }
}

/// Titles and snippets of the chosen pages. A page that has left its index meanwhile is skipped.
async fn show(shards: &dyn Shards, query: &Query, chosen: Vec<(Candidate, usize)>) -> Vec<Hit> {
    if chosen.is_empty() {
        return Vec::new();
    }
    let pages = chosen.iter().map(|(candidate, _)| candidate.page).collect();
    let (told, _) = shards.take(Step::Show { query: query.typed.clone(), pages }).await;
    let Some(Told::Hits(hits)) = told else { return Vec::new() };
    let mut hits: BTreeMap<PageRef, Hit> = hits.into_iter().map(|hit| (hit.page, hit)).collect();
    let hit = |(candidate, alike): (Candidate, usize)| {
        let hit = hits.remove(&candidate.page)?;
        Some(Hit { score: candidate.score, alike, ..hit })
    };
    chosen.into_iter().filter_map(hit).collect()
}

impl Searcher {
    /// Takes a step on this index.
    pub fn take(&self, step: &Step) -> Result<Told, SearchError> {
        Ok(match step {
            Step::Count { query } => Told::Counts(self.counts(&Query::read(query))?),
            Step::Best { query, counts, all_words, most, now_s } => {
                let most = (*most).clamp(1, MOST_CANDIDATES);
                let query = Query::read(query);
                Told::Best(self.candidates(&query, counts, *all_words, most, *now_s)?)
            }
            Step::Show { query, pages } => Told::Hits(self.show(&Query::read(query), pages)?),
            Step::Page(page) => Told::Page(self.page(*page)?),
        })
    }

    fn counts(&self, query: &Query) -> Result<Counts, SearchError> {
        let (searcher, fields) = (self.engine(), self.fields());
        let mut counts = Counts {
            pages: searcher.total_num_docs()?,
            tokens: [
                searcher.total_num_tokens(fields.words())?,
                searcher.total_num_tokens(fields.title())?,
            ],
            words: BTreeMap::new(),
        };
        for word in query.wanted.iter().chain(&query.unwanted).flatten() {
            let anywhere = searcher.doc_freq(&fields.has_word(word))?;
            let in_title = searcher.doc_freq(&fields.has_title_word(word))?;
            counts.words.insert(word.clone(), [anywhere, in_title]);
        }
        Ok(counts)
    }

    fn candidates(
        &self,
        query: &Query,
        counts: &Counts,
        all_words: bool,
        most: usize,
        now_s: i64,
    ) -> Result<Candidates, SearchError> {
        let (engine, searcher) = self.prepare(query, all_words);
        let known = Known { counts, fields: self.fields() };
        let slack = known.slack(&searcher)?;
        let best = self.best(&searcher, most, now_s)?.with_slack(slack);
        let found = searcher.search_with_statistics_provider(&*engine, &best, &known)?;
        let total = searcher.search(&*engine, &tantivy::collector::Count)?;
        let mut best = Vec::with_capacity(found.len());
        for (score, at) in found {
            let (hit, _, sketch) = self.hit(&searcher, at, score)?;
            best.push(Candidate { score, page: hit.page, sketch });
        }
        Ok(Candidates { total, best, most })
    }

    fn show(&self, query: &Query, pages: &[PageRef]) -> Result<Vec<Hit>, SearchError> {
        let mut hits = Vec::new();
        for page in pages.iter().take(MOST_RESULTS) {
            if let Some((hit, text)) = self.stored(*page)? {
                hits.push(Hit { snippet: Snippet::of(&text, &query.wanted), ..hit });
            }
        }
        Ok(hits)
    }
}

/// Tells the engine the counts of all indexes.
struct Known<'c> {
    counts: &'c Counts,
    fields: Fields,
}

impl Known<'_> {
    fn average(&self, field: usize) -> Score {
        self.counts.tokens[field] as Score / self.counts.pages.max(1) as Score
    }

    /// The factor by which a page's score may exceed each segment's bound, in order.
    ///
    /// For each block of pages a segment has noted which has the largest tf/(tf + k₁(1 − b + b·n/a)), with n
    /// the page's words and a the segment's mean of n. Under the mean a' of all indexes another page may be
    /// the largest. For a' ≥ a each value grows, by at most a'/a, and for a' < a it shrinks, by at most a/a'.
    /// So the largest is at most max(a'/a, a/a') times that of the page noted.
    fn slack(&self, searcher: &tantivy::Searcher) -> Result<Vec<Score>, SearchError> {
        let mut all = Vec::with_capacity(searcher.segment_readers().len());
        for segment in searcher.segment_readers() {
            let mut most: Score = 1.0;
            for (at, field) in [self.fields.words(), self.fields.title()].into_iter().enumerate() {
                let tokens = segment.inverted_index(field)?.total_num_tokens();
                let own = tokens as Score / segment.max_doc().max(1) as Score;
                let ratio = self.average(at) / own;
                if ratio.is_finite() && ratio > 0.0 {
                    most = most.max(ratio).max(ratio.recip());
                }
            }
            all.push(most);
        }
        Ok(all)
    }
}

impl Bm25StatisticsProvider for Known<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        // Other fields only filter.
        let place = self.fields.place(field);
        Ok(place.map_or(self.counts.pages, |place| self.counts.tokens[place]).max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.counts.pages.max(1))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let word = self.fields.place(term.field()).zip(term.value().as_str().map(str::to_owned));
        let found = word.and_then(|(place, word)| Some(self.counts.words.get(&word)?[place]));
        // More pages with a word than pages would make the engine panic.
        Ok(found.unwrap_or(0).min(self.counts.pages))
    }
}
