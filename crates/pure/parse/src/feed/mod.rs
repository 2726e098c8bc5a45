//! Feeds: RSS, RDF (RSS 1.0), Atom and JSON Feed.
//!
//! A crawler needs to know which pages a feed names and when they changed, so links and
//! dates are kept, with titles and identifiers to show. Links are resolved against
//! `xml:base` if the feed has one, and otherwise left as written; the caller resolves them
//! against the feed's URL.
//!
//! Bounded: at most [`MAX_ENTRIES`] entries, [`MAX_LINKS`] links each, fields of
//! [`MAX_FIELD_BYTES`]; documents that declare entities are refused.

mod json;
mod xml_feed;

use serde::Serialize;

use crate::{Refused, xml};

/// Most entries kept per feed.
pub const MAX_ENTRIES: usize = 10_000;

/// Most links kept per entry, and of the feed itself.
pub const MAX_LINKS: usize = 64;

/// Longest field; a longer title is cut, a longer link dropped.
pub const MAX_FIELD_BYTES: usize = 16 * 1024;

/// Largest feed read.
pub const MAX_BYTES: usize = 15 * 1024 * 1024;

/// The format of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// RSS 0.9x and 2.0.
    Rss,
    /// RSS 1.0, which is RDF.
    Rdf,
    /// Atom 0.3 and 1.0.
    Atom,
    /// JSON Feed.
    Json,
}

/// The contents of a feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feed {
    /// Its format.
    pub format: Format,
    /// Its title.
    pub title: Option<String>,
    /// Links of the feed itself: its site (`alternate`), itself (`self`), `next`, `hub`.
    pub links: Vec<FeedLink>,
    /// When it was published, Unix seconds.
    pub published_s: Option<i64>,
    /// When it last changed, Unix seconds.
    pub updated_s: Option<i64>,
    /// Its entries, in the feed's order.
    pub entries: Vec<Entry>,
    /// Whether there were more than [`MAX_ENTRIES`].
    pub is_cut: bool,
}

/// A page that a feed names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its identifier.
    pub id: Option<String>,
    /// Whether the identifier is the page's URL (RSS `isPermaLink`).
    pub id_is_link: bool,
    /// Its title.
    pub title: Option<String>,
    /// Its links.
    pub links: Vec<FeedLink>,
    /// When it was published, Unix seconds.
    pub published_s: Option<i64>,
    /// When it last changed, Unix seconds.
    pub updated_s: Option<i64>,
}

/// A link of a feed or an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeedLink {
    /// Its target.
    pub href: String,
    /// Its relation: `alternate` (the page itself), `self`, `next`, `hub`, `enclosure`, ….
    pub rel: String,
}

impl Feed {
    /// Reads a feed of any format; `label` is the charset of the HTTP header.
    pub fn parse(bytes: &[u8], label: Option<&str>) -> Result<Self, Refused> {
        if bytes.len() > MAX_BYTES {
            return Err(Refused::TooLarge { limit: MAX_BYTES });
        }
        let text = xml::decode(bytes, label);
        let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if start.starts_with('{') { json::parse(start) } else { xml_feed::parse(start) }
    }

    /// The first link with relation `rel`.
    pub fn link(&self, rel: &str) -> Option<&str> {
        first(&self.links, rel)
    }
}

impl Entry {
    /// The page's URL: its `alternate` link, or else its identifier if that is a URL.
    pub fn page(&self) -> Option<&str> {
        let id = || self.id.as_deref().filter(|id| self.id_is_link && id.starts_with("http"));
        first(&self.links, "alternate").or_else(id)
    }

    /// When it last changed, according to the feed.
    pub fn changed_s(&self) -> Option<i64> {
        self.updated_s.max(self.published_s)
    }
}

fn first<'a>(links: &'a [FeedLink], rel: &str) -> Option<&'a str> {
    links.iter().find(|link| link.rel == rel).map(|link| link.href.as_str())
}

/// Adds a link unless it is empty, too long or over the limit.
fn add_link(links: &mut Vec<FeedLink>, href: &str, rel: &str) {
    let href = href.trim();
    let fits = !href.is_empty() && href.len() <= MAX_FIELD_BYTES && rel.len() <= 64;
    if fits && links.len() < MAX_LINKS {
        let rel = rel.trim().to_ascii_lowercase();
        let rel = if rel.is_empty() { "alternate".to_owned() } else { rel };
        links.push(FeedLink { href: href.to_owned(), rel });
    }
}

/// A field's text, trimmed and truncated.
fn field(text: &str) -> Option<String> {
    let text = text.trim();
    let text = &text[..text.floor_char_boundary(MAX_FIELD_BYTES)];
    (!text.is_empty()).then(|| text.to_owned())
}
