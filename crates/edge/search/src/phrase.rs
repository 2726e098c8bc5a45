//! Phrase queries that can be combined with other conditions.
//!
//! The engine's phrase scorer has a wrong assertion in its shortcut for conjunctions (tantivy,
//! issue 2645). This wrapper hides the shortcut, at the cost of one call per page.

use tantivy::query::{EnableScoring, Explanation, PhraseQuery, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, Term};

/// Consecutive words, in order.
#[derive(Clone, Debug)]
pub(crate) struct Phrase(PhraseQuery);

impl Phrase {
    /// A phrase of two or more words of one field.
    pub(crate) fn new(words: Vec<Term>) -> Phrase {
        Phrase(PhraseQuery::new(words))
    }
}

impl Query for Phrase {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(Plain(self.0.weight(scoring)?)))
    }
}

struct Plain(Box<dyn Weight>);

impl Weight for Plain {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(Asked(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, doc)
    }
}

/// Methods not forwarded here fall back to `advance` and `seek`.
struct Asked(Box<dyn Scorer>);

impl DocSet for Asked {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }

    fn cost(&self) -> u64 {
        self.0.cost()
    }
}

impl Scorer for Asked {
    fn score(&mut self) -> Score {
        self.0.score()
    }
}
