//! A page as the index takes it.

use tidewatch_core::PageId;

/// Bytes of a page's text that can be found; the rest is left out.
pub(crate) const MOST_TEXT: usize = 64 << 10;
/// Bytes of a page's text that are kept for excerpts.
pub(crate) const MOST_EXCERPT: usize = 8 << 10;
/// Bytes of a title.
pub(crate) const MOST_TITLE: usize = 512;
/// Bytes of all words with which other pages link to it.
pub(crate) const MOST_ANCHORS: usize = 2 << 10;

/// A page's words and what else ranking needs to know. Texts of any length are taken, and cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its number in the crawl.
    pub page: PageId,
    /// Its address.
    pub url: String,
    /// The name of its host.
    pub host: String,
    /// Its title, empty where it has none.
    pub title: String,
    /// What a reader sees of it.
    pub text: String,
    /// The words with which other pages link to it.
    pub anchors: String,
    /// Its language, as a code such as `eng`; empty where that is not known.
    pub language: String,
    /// When it was first seen, seconds of Unix time.
    pub first_seen_s: i64,
    /// When its content last changed, as far as was seen, seconds of Unix time.
    pub changed_s: i64,
    /// The smallest fragment hashes, by which near-duplicates are told.
    pub sketch: Vec<u64>,
    /// How many links lead to it, as far as is known.
    pub links: u32,
}

/// The beginning of a text, at most so many bytes, between characters.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
