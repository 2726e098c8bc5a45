//! Settings of the wanted topic.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde_json::{Value as Json, json};
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_parse::document::{Source, Wanted as Parts, parse};
use tidewatch_parse::extract::Extract;
use tidewatch_parse::links::three_letters;
use tidewatch_topic::{Gist, Wanted};

use crate::{Suits, SuitsBy};

/// Most bytes of text that are read for a gist.
pub(crate) const TEXT_BYTES: usize = 1 << 16;
/// Most bytes of an example file.
const MOST_FILE: u64 = 16 << 20;

/// How well a page fits the topic, in a sentence.
pub fn fits(suits: &Suits) -> String {
    let because = match suits.by {
        SuitsBy::Words => "by its words",
        SuitsBy::Links => "by the pages that it led to",
        SuitsBy::Leads => "by the links to it, for it was never read",
    };
    format!("It is on topic with a probability of {:.0}%, {because}.", 100.0 * suits.chance)
}

/// The same in JSON; null without a topic.
pub fn fits_json(suits: Option<&Suits>) -> Json {
    let by = |suits: &Suits| format!("{:?}", suits.by).to_lowercase();
    suits.map_or(Json::Null, |suits| json!({ "chance": suits.chance, "by": by(suits) }))
}

/// The wanted topic.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicRules {
    /// Words that name it; empty for none.
    pub words: String,
    /// Example pages.
    pub like: Vec<Example>,
    /// Languages; all if empty.
    pub languages: Vec<Language>,
    /// Value of a page that is surely off topic, in percent of one that is surely on topic.
    pub elsewhere_percent: u32,
}

impl Default for TopicRules {
    fn default() -> Self {
        let (words, like, languages) = (String::new(), Vec::new(), Vec::new());
        TopicRules { words, like, languages, elsewhere_percent: 5 }
    }
}

impl TopicRules {
    /// Whether there is no topic.
    pub fn is_empty(&self) -> bool {
        self.words.trim().is_empty() && self.like.is_empty() && self.languages.is_empty()
    }

    /// The same as a share.
    pub(crate) fn elsewhere(&self) -> f64 {
        f64::from(self.elsewhere_percent.min(100)) / 100.0
    }

    pub(crate) fn wanted(&self) -> Wanted {
        let languages = self.languages.iter().map(|language| language.0.clone()).collect();
        Wanted { words: self.words.clone(), languages }
    }

    /// Examples that are fetched from the web.
    pub fn urls(&self) -> impl Iterator<Item = CanonicalUrl> {
        self.like.iter().filter_map(Example::url)
    }

    /// Gists of the examples that are files.
    pub(crate) fn files(&self) -> Result<Vec<Gist>, BadExample> {
        let files = self.like.iter().filter(|example| example.url().is_none());
        files.map(|file| gist_of_file(Path::new(&file.0))).collect()
    }
}

/// An example page: a file or a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example(String);

impl Example {
    fn url(&self) -> Option<CanonicalUrl> {
        let is_url = self.0.starts_with("http://") || self.0.starts_with("https://");
        is_url.then(|| CanonicalUrl::parse(&self.0).ok()).flatten()
    }
}

impl FromStr for Example {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Example, Self::Err> {
        if text.trim().is_empty() {
            return Err("an example must be a file or a URL");
        }
        Ok(Example(text.to_owned()))
    }
}

impl fmt::Display for Example {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

/// A language, as its code of three letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Language(String);

impl FromStr for Language {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Language, Self::Err> {
        let code = text.to_ascii_lowercase();
        let is_code = (2..=3).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase());
        let code = is_code.then(|| three_letters(&code)).filter(|code| code.len() == 3);
        code.map(Language).ok_or("a language is an ISO code, such as en or deu")
    }
}

impl fmt::Display for Language {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

/// Why an example cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadExample {
    /// The file cannot be read.
    #[error("cannot read the example {file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// It is too large.
    #[error("the example {file} has {bytes} bytes; at most {MOST_FILE} are read")]
    Large {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
    },
    /// It has no words.
    #[error("the example {0} has no text to learn from; name a page with text")]
    Wordless(String),
}

fn gist_of_file(path: &Path) -> Result<Gist, BadExample> {
    let file = || path.display().to_string();
    let unreadable = |error| BadExample::Unreadable { file: file(), error };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > MOST_FILE {
        return Err(BadExample::Large { file: file(), bytes });
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let gist = gist_of_document(&bytes);
    if gist.is_empty() { Err(BadExample::Wordless(file())) } else { Ok(gist) }
}

/// The gist of a document whose type its bytes tell.
fn gist_of_document(bytes: &[u8]) -> Gist {
    let Ok(base) = Base::parse("http://example.invalid/") else { return Gist::default() };
    let source = Source { base: &base, content_type: None, robots_tags: &[], kind: None, bytes };
    let mut parsed = parse(&source, &Parts { text_bytes: TEXT_BYTES, ..Parts::everything("") });
    gist_of(&Extract::take(&mut parsed))
}

/// The gist of a page's words.
pub(crate) fn gist_of(extract: &Extract) -> Gist {
    Gist::of(&extract.title, extract.text.as_deref().unwrap_or_default(), &extract.language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_files_or_urls() {
        let url =
            |text: &str| text.parse::<Example>().unwrap().url().map(CanonicalUrl::into_string);
        assert_eq!(url("https://A.example/x").as_deref(), Some("https://a.example/x"));
        assert_eq!(url("pages/tides.html"), None);
        assert!("  ".parse::<Example>().is_err());
    }

    #[test]
    fn languages_are_iso_codes() {
        let code = |text: &str| text.parse::<Language>().map(|language| language.to_string());
        assert_eq!(code("de").as_deref(), Ok("deu"));
        assert_eq!(code("ENG").as_deref(), Ok("eng"));
        for wrong in ["", "d", "german", "d1", "xx"] {
            assert!(code(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_of_any_kind_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            gist_of_file(&path)
        };
        let html = file("a.html", "<!doctype html><title>Tides</title><p>High water").unwrap();
        assert_eq!(html, Gist::of("Tides", "High water", ""));
        assert!(!file("b.txt", "High water and low water").unwrap().is_empty());
        let why = |found: Result<Gist, BadExample>| found.unwrap_err().to_string();
        assert!(why(file("c.html", "<p>12 34")).contains("has no text"));
        assert!(why(gist_of_file(&dir.path().join("none"))).contains("cannot read the example"));
    }
}
