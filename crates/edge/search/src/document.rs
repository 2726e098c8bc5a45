//! A page as the index receives it.

use crate::PageRef;

/// Most bytes of a page's text indexed; the rest is cut off.
pub const MOST_TEXT: usize = 64 << 10;
/// Most bytes of a page's text kept for excerpts.
pub(crate) const MOST_EXCERPT: usize = 8 << 10;
/// Most bytes of all anchor texts.
pub(crate) const MOST_ANCHORS: usize = 2 << 10;

/// A page's words and ranking signals. Longer texts are cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexDocument {
    /// The page.
    pub page: PageRef,
    /// Its address.
    pub url: String,
    /// The name of its host.
    pub host: String,
    /// Its title; empty if it has none.
    pub title: String,
    /// Its visible text.
    pub text: String,
    /// The anchor texts of links to it.
    pub anchors: String,
    /// Its language, as a code such as `eng`; empty if unknown.
    pub language: String,
    /// When it was first seen, seconds of Unix time.
    pub first_seen_s: i64,
    /// When its content was last seen to change, seconds of Unix time.
    pub changed_s: i64,
    /// The smallest fragment hashes, to detect near-duplicates.
    pub sketch: Vec<u64>,
    /// Known links to it.
    pub links: u32,
}

/// The first `most` bytes of a text, cut between characters.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
