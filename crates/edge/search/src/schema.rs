//! The fields of the index.
//!
//! All words of a page are in one field, those of anchor texts and of its URL twice: BM25 with
//! weighted fields equals BM25 of such a text `[RZT04]`, and each word needs one posting list.
//! Title words also have a field of their own: people search known pages by title, where common
//! words are rare.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing,
    TextOptions, Value as _,
};
use tantivy::{Score, TantivyDocument, Term};
use tidewatch_parse::extract::MOST_TITLE;

use crate::document::{IndexDocument, MOST_ANCHORS, MOST_EXCERPT, MOST_TEXT, cut};
use crate::snippet::Snippet;
use crate::{Hit, PageRef};

/// The analyser's registered name.
pub(crate) const ANALYSER: &str = "words";
/// Fields read while collecting results.
pub(crate) const PAGE: &str = "page";
pub(crate) const CHANGED: &str = "changed";
pub(crate) const LINKS: &str = "links";

/// How often words of anchor texts and of the URL count.
const ANCHORS: usize = 2;
const ADDRESS: usize = 2;

/// All fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    page: Field,
    url: Field,
    /// The host and every domain above it.
    host: Field,
    title: Field,
    /// All words of the page.
    words: Field,
    language: Field,
    first_seen: Field,
    changed: Field,
    links: Field,
    /// Beginning of the text and the sketch, to show the page.
    excerpt: Field,
    sketch: Field,
}

/// The schema and its fields. An index with another schema is rebuilt.
pub(crate) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(ANALYSER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let words = TextOptions::default().set_indexing_options(words);
    let fields = Fields {
        page: schema.add_u64_field(PAGE, INDEXED | FAST | STORED),
        url: schema.add_text_field("url", STORED),
        host: schema.add_text_field("host", STRING),
        title: schema.add_text_field("title", words.clone().set_stored()),
        words: schema.add_text_field("words", words),
        language: schema.add_text_field("language", STRING | STORED),
        first_seen: schema.add_i64_field("first_seen", STORED),
        changed: schema.add_i64_field(CHANGED, FAST | STORED),
        links: schema.add_u64_field(LINKS, FAST),
        excerpt: schema.add_text_field("excerpt", STORED),
        sketch: schema.add_bytes_field("sketch", STORED),
    };
    (schema.build(), fields)
}

impl Fields {
    /// A document as the index stores it.
    pub(crate) fn row(&self, document: &IndexDocument) -> TantivyDocument {
        let mut row = TantivyDocument::default();
        row.add_u64(self.page, document.page.number());
        row.add_text(self.url, &document.url);
        domains(&document.host).for_each(|domain| row.add_text(self.host, domain));
        let title = cut(&document.title, MOST_TITLE);
        row.add_text(self.title, title);
        let anchors = cut(&document.anchors, MOST_ANCHORS);
        let address = address_words(&document.url);
        for (words, times) in [(title, 1), (anchors, ANCHORS), (address, ADDRESS)] {
            (0..times).for_each(|_| row.add_text(self.words, words));
        }
        row.add_text(self.words, cut(&document.text, MOST_TEXT));
        row.add_text(self.language, &document.language);
        row.add_i64(self.first_seen, document.first_seen_s);
        row.add_i64(self.changed, document.changed_s);
        row.add_u64(self.links, u64::from(document.links));
        row.add_text(self.excerpt, cut(&document.text, MOST_EXCERPT));
        let sketch: Vec<u8> = document.sketch.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        row.add_bytes(self.sketch, &sketch);
        row
    }

    /// A page as the index stores it, with the beginning of its text and its sketch.
    pub(crate) fn hit(&self, row: &TantivyDocument, score: Score) -> (Hit, String, Vec<u64>) {
        let text = |field| row.get_first(field).and_then(|v| v.as_str()).unwrap_or_default();
        let number = |field| row.get_first(field).and_then(|v| v.as_i64()).unwrap_or_default();
        let sketch = row.get_first(self.sketch).and_then(|v| v.as_bytes()).unwrap_or_default();
        let sketch = sketch.chunks_exact(8).filter_map(|hash| hash.try_into().ok());
        let page = row.get_first(self.page).and_then(|v| v.as_u64()).unwrap_or_default();
        let hit = Hit {
            page: PageRef::of_number(page),
            url: text(self.url).to_owned(),
            title: text(self.title).to_owned(),
            snippet: Snippet::default(),
            language: text(self.language).to_owned(),
            first_seen_s: number(self.first_seen),
            changed_s: number(self.changed),
            score,
            alike: 0,
        };
        (hit, text(self.excerpt).to_owned(), sketch.map(u64::from_le_bytes).collect())
    }

    /// The field of all words.
    pub(crate) const fn words(self) -> Field {
        self.words
    }

    /// The field of title words.
    pub(crate) const fn title(self) -> Field {
        self.title
    }

    /// The place of a field that scores: 0 for all words, 1 for title words.
    pub(crate) fn place(self, field: Field) -> Option<usize> {
        [self.words, self.title].into_iter().position(|scores| scores == field)
    }

    /// Matches a page by its number.
    pub(crate) fn page_is(&self, page: PageRef) -> Term {
        Term::from_field_u64(self.page, page.number())
    }

    /// Matches pages with a word anywhere.
    pub(crate) fn has_word(&self, word: &str) -> Term {
        Term::from_field_text(self.words, word)
    }

    /// Matches pages with a word in their title.
    pub(crate) fn has_title_word(&self, word: &str) -> Term {
        Term::from_field_text(self.title, word)
    }

    /// Matches pages of a host or of any host below that domain.
    pub(crate) fn host_is(&self, host: &str) -> Term {
        Term::from_field_text(self.host, host)
    }

    pub(crate) fn language_is(&self, code: &str) -> Term {
        Term::from_field_text(self.language, code)
    }

    /// A bound of the time of the last change.
    pub(crate) fn changed_at(&self, unix_s: i64) -> Term {
        Term::from_field_i64(self.changed, unix_s)
    }
}

/// A host's name and the domains above it: `a.b.c`, `b.c`, `c`.
fn domains(host: &str) -> impl Iterator<Item = &str> {
    let parents = host.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| &host[at + 1..]);
    std::iter::once(host).chain(parents).filter(|domain| !domain.is_empty())
}

/// The part of a URL that may hold words: all but the scheme.
fn address_words(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_every_domain_above_it() {
        let all: Vec<_> = domains("news.example.org").collect();
        assert_eq!(all, ["news.example.org", "example.org", "org"]);
        assert_eq!(domains("127.0.0.1").next(), Some("127.0.0.1"));
        assert_eq!(domains("").count(), 0);
    }
}
