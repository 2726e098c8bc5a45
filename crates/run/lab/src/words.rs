//! Words of queries and link texts.

use tidewatch_core::Asked;

/// A query that users ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its words, separated by blanks.
    pub words: String,
    /// How often it is asked.
    pub count: f64,
    /// Unmet share of the need at the start: 0 = fully served, 1 = not at all.
    pub need: f64,
}

/// Words that accompany a trace, for policies that read them; empty if unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// The queries of users.
    pub questions: Vec<Question>,
    /// For every page of the trace, the anchor text of links to it; or empty.
    pub anchors: Vec<Box<str>>,
}

impl Words {
    /// The anchor text of links to `page`, if known.
    pub fn anchor(&self, page: u32) -> Option<&str> {
        self.anchors.get(page as usize).map(|words| &**words)
    }

    /// The queries in the form that policies take.
    pub fn asked(&self) -> Vec<Asked<'_>> {
        let questions = self.questions.iter();
        questions.map(|q| Asked { words: &q.words, count: q.count, need: q.need }).collect()
    }
}
