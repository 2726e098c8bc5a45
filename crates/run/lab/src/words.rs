//! What a web's pages and its users say: the words that queries and link texts are made of.

use tidewatch_core::Asked;

/// A query that users ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its words, separated by blanks.
    pub words: String,
    /// How often it is asked.
    pub count: f64,
    /// How much of the need is unmet at the start: 0 = served well, 1 = not at all.
    pub need: f64,
}

/// Words beside a trace, for policies that read them. Empty where nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// What users ask.
    pub questions: Vec<Question>,
    /// For every page of the trace, the words of links that lead there; or empty.
    pub anchors: Vec<Box<str>>,
}

impl Words {
    /// The words of a link to `page`, where any are known.
    pub fn anchor(&self, page: u32) -> Option<&str> {
        self.anchors.get(page as usize).map(|words| &**words)
    }

    /// The queries as a policy is told of them.
    pub fn asked(&self) -> Vec<Asked<'_>> {
        let questions = self.questions.iter();
        questions.map(|q| Asked { words: &q.words, count: q.count, need: q.need }).collect()
    }
}
