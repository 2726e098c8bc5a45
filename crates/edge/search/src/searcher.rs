//! Runs queries.

use std::ops::Bound;

use serde::{Deserialize, Serialize};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query as Engine, RangeQuery,
    TermQuery,
};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, IndexReader, Score, Term};

use crate::best::Best;
use crate::gains::AllGains;
use crate::phrase::Phrase;
use crate::rank::{Popularity, Ranking};
use crate::schema::{Fields, PAGE};
use crate::shards::Coverage;
use crate::snippet::Snippet;
use crate::{PageRef, Query, SearchError};

/// Most results of a query.
pub(crate) const MOST_RESULTS: usize = 200;
/// Candidates per result shown, since some are near-duplicates.
pub(crate) const CANDIDATES: usize = 3;
/// Estimated resemblance from which two pages are near-duplicates.
const NEAR: f64 = 0.75;
/// Weight of a word's score in the title field.
const TITLE: Score = 4.0;

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The page.
    pub page: PageRef,
    /// Its address.
    pub url: String,
    /// Its title; empty if it has none.
    pub title: String,
    /// The part of its text that matches.
    pub snippet: Snippet,
    /// Its language; empty if unknown.
    pub language: String,
    /// When it was first seen, seconds of Unix time.
    pub first_seen_s: i64,
    /// When it last changed, seconds of Unix time.
    pub changed_s: i64,
    /// Its score.
    pub score: f32,
    /// Number of hidden near-duplicates.
    pub alike: usize,
}

/// A page of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchResults {
    /// Results in order.
    pub hits: Vec<Hit>,
    /// Matching pages, near-duplicates included.
    pub total: usize,
    /// Whether no page has all words, so pages with some are shown.
    pub is_relaxed: bool,
    /// Whether there are more.
    pub has_more: bool,
    /// Which part of the crawl answered; `None` if one index holds all of it.
    pub coverage: Option<Coverage>,
}

/// A page in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedPage {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// When it was first seen, seconds of Unix time.
    pub first_seen_s: i64,
}

/// Runs queries. Cheap to clone; all clones share the clicks.
#[derive(Clone)]
pub struct Searcher {
    reader: IndexReader,
    fields: Fields,
    ranking: Ranking,
    gains: AllGains,
}

impl Searcher {
    pub(crate) fn new(reader: IndexReader, fields: Fields) -> Searcher {
        Searcher { reader, fields, ranking: Ranking::default(), gains: AllGains::default() }
    }

    /// Sets the clicks of a partition's pages, which ranking uses.
    pub fn set_popularity(&self, partition: u32, popularity: Popularity) {
        self.gains.set_popularity(partition, popularity);
    }

    /// Pages in the index.
    pub fn pages(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Returns `count` results after the first `skip`, at `now_s` of Unix time.
    pub fn search(
        &self,
        query: &Query,
        skip: usize,
        count: usize,
        now_s: i64,
    ) -> Result<SearchResults, SearchError> {
        if query.is_empty() {
            return Ok(SearchResults::default());
        }
        let skip = skip.min(MOST_RESULTS);
        let most = (MOST_RESULTS - skip).min(count);
        let found = self.find(query, true, skip, most, now_s)?;
        if found.total > 0 || query.wanted.len() < 2 {
            return Ok(found);
        }
        let found = self.find(query, false, skip, most, now_s)?;
        Ok(SearchResults { is_relaxed: found.total > 0, ..found })
    }

    fn find(
        &self,
        query: &Query,
        all_words: bool,
        skip: usize,
        count: usize,
        now_s: i64,
    ) -> Result<SearchResults, SearchError> {
        let (engine, searcher) = self.prepare(query, all_words);
        let best = self.best(&searcher, (skip + count + 1) * CANDIDATES, now_s)?;
        let candidates = searcher.search(&*engine, &best)?;
        let total = searcher.search(&*engine, &Count)?;
        let mut shown = Shown::default();
        for (score, at) in candidates {
            if shown.len() > skip + count {
                break;
            }
            let (hit, text, sketch) = self.hit(&searcher, at, score)?;
            shown.add((hit, text), sketch);
        }
        let has_more = shown.len() > skip + count && skip + count < MOST_RESULTS;
        let hits = shown.into_inner().skip(skip).take(count).map(|((hit, text), alike)| Hit {
            snippet: Snippet::of(&text, &query.wanted),
            alike,
            ..hit
        });
        let hits = hits.collect();
        Ok(SearchResults { hits, total, has_more, ..SearchResults::default() })
    }

    /// The engine's query and the searcher to run it on.
    pub(crate) fn prepare(
        &self,
        query: &Query,
        all_words: bool,
    ) -> (Box<dyn Engine>, tantivy::Searcher) {
        (self.engine_query(query, all_words), self.reader.searcher())
    }

    /// A collector of the best pages.
    pub(crate) fn best(
        &self,
        searcher: &tantivy::Searcher,
        count: usize,
        now_s: i64,
    ) -> Result<Best, SearchError> {
        let gains = self.gains.of(searcher.segment_readers(), self.ranking, now_s)?;
        Ok(Best::new(count, gains))
    }

    /// The engine's searcher over the committed pages.
    pub(crate) fn engine(&self) -> tantivy::Searcher {
        self.reader.searcher()
    }

    /// The fields of the index.
    pub(crate) const fn fields(&self) -> Fields {
        self.fields
    }

    pub(crate) fn hit(
        &self,
        searcher: &tantivy::Searcher,
        at: DocAddress,
        score: Score,
    ) -> Result<(Hit, String, Vec<u64>), SearchError> {
        Ok(self.fields.hit(&searcher.doc(at)?, score))
    }

    /// What the index has of a page.
    pub fn page(&self, page: PageRef) -> Result<Option<IndexedPage>, SearchError> {
        let found = self.stored(page)?.map(|(hit, _)| hit);
        let indexed = |hit: Hit| IndexedPage {
            url: hit.url,
            title: hit.title,
            first_seen_s: hit.first_seen_s,
        };
        Ok(found.map(indexed))
    }

    /// A page as the index stores it, with the beginning of its text.
    pub(crate) fn stored(&self, page: PageRef) -> Result<Option<(Hit, String)>, SearchError> {
        let searcher = self.reader.searcher();
        let query = TermQuery::new(self.fields.page_is(page), IndexRecordOption::Basic);
        let found = searcher.search(&query, &TopDocs::with_limit(1).order_by_score())?;
        let Some(&(_, at)) = found.first() else { return Ok(None) };
        let (hit, text, _) = self.hit(&searcher, at, 0.0)?;
        Ok(Some((hit, text)))
    }

    /// Calls `each` with every page in the index.
    pub(crate) fn each_page(&self, mut each: impl FnMut(PageRef)) -> Result<(), SearchError> {
        for segment in self.reader.searcher().segment_readers() {
            let pages = segment.fast_fields().u64(PAGE)?.first_or_default_col(u64::MAX);
            for doc in segment.doc_ids_alive() {
                each(PageRef::of_number(pages.get_val(doc)));
            }
        }
        Ok(())
    }

    fn engine_query(&self, query: &Query, all_words: bool) -> Box<dyn Engine> {
        let occur = if all_words { Occur::Must } else { Occur::Should };
        let anywhere = |unit: &[String]| unit_in(unit, |word| self.fields.has_word(word));
        let wanted: Vec<_> = query.wanted.iter().map(|unit| (occur, anywhere(unit))).collect();
        let mut clauses: Vec<(Occur, Box<dyn Engine>)> = match (wanted.is_empty(), all_words) {
            (true, _) => vec![(Occur::Must, Box::new(AllQuery))],
            (_, true) => wanted,
            (_, false) => vec![(Occur::Must, Box::new(BooleanQuery::new(wanted)))],
        };
        clauses.extend(query.wanted.iter().map(|unit| -> (Occur, Box<dyn Engine>) {
            let in_title = unit_in(unit, |word| self.fields.has_title_word(word));
            (Occur::Should, Box::new(BoostQuery::new(in_title, TITLE)))
        }));
        clauses.extend(query.unwanted.iter().map(|unit| (Occur::MustNot, anywhere(unit))));
        clauses.extend(self.filters(query).map(|filter| (Occur::Must, filter)));
        Box::new(BooleanQuery::new(clauses))
    }

    /// Filters do not score.
    fn filters(&self, query: &Query) -> impl Iterator<Item = Box<dyn Engine>> {
        let is =
            |term| -> Box<dyn Engine> { Box::new(TermQuery::new(term, IndexRecordOption::Basic)) };
        let host = query.host.as_ref().map(|host| is(self.fields.host_is(host)));
        let language = query.language.as_ref().map(|code| is(self.fields.language_is(code)));
        let bound = |second: i64| self.fields.changed_at(second);
        let (after, before) = (query.after_s.map(bound), query.before_s.map(bound));
        let dates = (after.is_some() || before.is_some()).then(|| -> Box<dyn Engine> {
            let from = after.map_or(Bound::Unbounded, Bound::Included);
            Box::new(RangeQuery::new(from, before.map_or(Bound::Unbounded, Bound::Excluded)))
        });
        let filters = [host, language, dates].into_iter().flatten();
        filters.map(|filter| -> Box<dyn Engine> { Box::new(ConstScoreQuery::new(filter, 0.0)) })
    }
}

/// Matches a word or phrase, whose words `term` makes terms of a field.
fn unit_in(unit: &[String], term: impl Fn(&str) -> Term) -> Box<dyn Engine> {
    let mut terms: Vec<Term> = unit.iter().map(|word| term(word)).collect();
    if terms.len() == 1
        && let Some(term) = terms.pop()
    {
        return Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
    }
    Box::new(Phrase::new(terms))
}

/// Results without near-duplicates, and the number hidden behind each.
pub(crate) struct Shown<T> {
    found: Vec<(T, usize)>,
    sketches: Vec<Vec<u64>>,
}

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Shown { found: Vec::new(), sketches: Vec::new() }
    }
}

impl<T> Shown<T> {
    /// Adds a result, or hides it behind an earlier one.
    pub(crate) fn add(&mut self, result: T, sketch: Vec<u64>) {
        let alike = self.sketches.iter().position(|other| is_near(other, &sketch));
        if let Some(at) = alike {
            self.found[at].1 += 1;
        } else {
            self.found.push((result, 0));
            self.sketches.push(sketch);
        }
    }

    /// How many are shown.
    pub(crate) const fn len(&self) -> usize {
        self.found.len()
    }

    /// The results in order.
    pub(crate) fn into_inner(self) -> impl Iterator<Item = (T, usize)> {
        self.found.into_iter()
    }
}

/// Whether two pages are near-duplicates by their sketches, ascending: the share of the union's
/// smallest hashes that is in both estimates the resemblance |A ∩ B| / |A ∪ B|.
fn is_near(one: &[u64], other: &[u64]) -> bool {
    let most = one.len().max(other.len());
    if one.is_empty() || other.is_empty() {
        return false;
    }
    let (mut i, mut j, mut all, mut both) = (0, 0, 0, 0);
    while all < most && (i < one.len() || j < other.len()) {
        let (a, b) = (one.get(i), other.get(j));
        let is_both = a == b;
        let is_first = b.is_none_or(|b| a.is_some_and(|a| a <= b));
        i += usize::from(is_first);
        j += usize::from(is_both || !is_first);
        both += usize::from(is_both);
        all += 1;
    }
    both as f64 >= NEAR * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resemblance_is_that_of_the_smallest_hashes() {
        let page: Vec<u64> = (0..8).map(|n| n * 10).collect();
        assert!(is_near(&page, &page));
        let mut edited = page.clone();
        edited[7] = 75;
        assert!(is_near(&page, &edited), "one of eight differs");
        let other: Vec<u64> = (0..8).map(|n| n * 10 + 5).collect();
        assert!(!is_near(&page, &other));
        assert!(!is_near(&[], &[]) && !is_near(&page, &[]), "nothing is known of them");
        assert!(!is_near(&[1], &page) && is_near(&[1], &[1]));
    }
}
