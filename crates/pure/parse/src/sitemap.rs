//! Sitemaps: which URLs a site names, and when each changed.
//!
//! Accepts `urlset` and `sitemapindex` in any namespace, lists of URLs in plain text,
//! and feeds, gzipped or not (sitemaps.org protocol 0.9). An index names other sitemaps,
//! never pages; the caller decides how far to follow.
//!
//! The protocol's limits apply: [`MAX_URLS`], and [`MAX_BYTES`] after decompression.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde::Serialize;

use crate::{
    Refused, date,
    feed::Feed,
    xml::{self, Element, Handler},
};

/// Most URLs kept per sitemap.
pub const MAX_URLS: usize = 50_000;

/// Largest sitemap read, decompressed.
pub const MAX_BYTES: usize = 50 * 1024 * 1024;

/// Longest URL, lastmod or priority that is kept.
const MAX_FIELD_BYTES: usize = 16 * 1024;

/// What a sitemap names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Pages.
    Pages,
    /// Other sitemaps.
    Index,
}

/// The contents of a sitemap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sitemap {
    /// Whether it names pages or sitemaps.
    pub kind: Kind,
    /// Its entries, in order.
    pub entries: Vec<Entry>,
    /// Whether entries were dropped at the limit.
    pub is_cut: bool,
}

/// A URL that a sitemap names.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Entry {
    /// The URL, as written.
    pub url: String,
    /// When it last changed, Unix seconds.
    pub lastmod_s: Option<i64>,
    /// Its `priority`, 0 to 1.
    pub priority: Option<f32>,
}

impl Sitemap {
    /// Reads a sitemap in any of its forms; `label` is the charset of the HTTP header.
    pub fn parse(bytes: &[u8], label: Option<&str>) -> Result<Self, Refused> {
        if bytes.starts_with(&GZIP) {
            let (plain, is_whole) = unzip(bytes)?;
            return parse_plain(&plain, label, is_whole);
        }
        if bytes.len() > MAX_BYTES {
            return Err(Refused::TooLarge { limit: MAX_BYTES });
        }
        parse_plain(bytes, label, true)
    }
}

/// How gzipped bytes begin.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Deflate makes nothing smaller than this part of itself.
const MOST_RATIO: usize = 1032;

/// The first `most` bytes that a gzipped document holds; `None` if it is not gzipped.
pub(crate) fn unzip_start(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    bytes.starts_with(&GZIP).then(|| {
        let mut start = Vec::with_capacity(most);
        // What comes before damage is enough to see what it is.
        let _ = MultiGzDecoder::new(bytes).take(most as u64).read_to_end(&mut start);
        start
    })
}

/// The decompressed bytes, and whether they are all.
fn unzip(bytes: &[u8]) -> Result<(Vec<u8>, bool), Refused> {
    // All room at once: growing by doubling, the text would be held twice while it is copied.
    let room = bytes.len().saturating_mul(MOST_RATIO).min(MAX_BYTES + 1);
    let mut plain = Vec::with_capacity(room);
    let limit = MAX_BYTES as u64 + 1;
    let done = MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut plain);
    match done {
        Ok(_) if plain.len() > MAX_BYTES => Err(Refused::TooLarge { limit: MAX_BYTES }),
        Ok(_) => Ok((plain, true)),
        // The entries before the damage are still good.
        Err(_) if !plain.is_empty() => Ok((plain, false)),
        Err(_) => Err(Refused::BadGzip),
    }
}

fn parse_plain(bytes: &[u8], label: Option<&str>, is_whole: bool) -> Result<Sitemap, Refused> {
    let text = xml::decode(bytes, label);
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if !start.starts_with('<') {
        // The last line of a damaged list may be half a URL.
        let last = start.rfind(['\n', '\r']).filter(|_| !is_whole);
        return Ok(list(&start[..last.unwrap_or(if is_whole { start.len() } else { 0 })]));
    }
    let mut reading = Reading::default();
    match xml::walk(start, &mut reading) {
        Ok(()) => reading.sitemap.ok_or(Refused::NoRoot),
        Err(Refused::UnknownRoot { name }) => match Feed::parse(start.as_bytes(), Some("utf-8")) {
            Ok(feed) => Ok(of_feed(&feed)),
            Err(Refused::UnknownRoot { .. }) => Err(Refused::UnknownRoot { name }),
            Err(refused) => Err(refused),
        },
        Err(refused) => Err(refused),
    }
}

/// Reads one URL per line; skips other lines.
fn list(text: &str) -> Sitemap {
    let is_url = |line: &&str| {
        line.len() <= MAX_FIELD_BYTES
            && (line.starts_with("http://") || line.starts_with("https://"))
    };
    let mut urls = text.split(['\n', '\r']).map(str::trim).filter(is_url);
    let of = |url: &str| Entry { url: url.to_owned(), ..Entry::default() };
    let entries: Vec<Entry> = urls.by_ref().take(MAX_URLS).map(of).collect();
    Sitemap { kind: Kind::Pages, entries, is_cut: urls.next().is_some() }
}

fn of_feed(feed: &Feed) -> Sitemap {
    let entries = feed.entries.iter().filter_map(|entry| {
        let url = entry.page()?.to_owned();
        Some(Entry { url, lastmod_s: entry.changed_s(), priority: None })
    });
    Sitemap { kind: Kind::Pages, entries: entries.collect(), is_cut: feed.is_cut }
}

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Url,
    LastMod,
    Priority,
}

#[derive(Default)]
struct Reading {
    sitemap: Option<Sitemap>,
    prefix: String,
    /// The prefix of the protocol's namespace, if the root declares one.
    own_prefix: Option<String>,
    /// The entry being read, and its text outside any element.
    entry: Option<(Entry, String)>,
    field: Option<(Field, String)>,
}

/// The depth of `url` and `sitemap` elements.
const ENTRY_DEPTH: usize = 1;
/// The depth of their fields.
const FIELD_DEPTH: usize = 2;

impl Handler for Reading {
    fn open(&mut self, depth: usize, element: &Element<'_>) -> Result<(), Refused> {
        if self.sitemap.is_none() {
            return self.root(element);
        }
        let is_own = element.prefix == self.prefix
            || element.prefix.is_empty()
            || self.own_prefix.as_deref() == Some(element.prefix);
        if !is_own {
            return Ok(());
        }
        if depth == ENTRY_DEPTH && (element.is("url") || element.is("sitemap")) {
            self.entry = Some(Default::default());
        } else if depth == FIELD_DEPTH && self.entry.is_some() {
            let field = match element {
                e if e.is("loc") => Some(Field::Url),
                e if e.is("lastmod") => Some(Field::LastMod),
                e if e.is("priority") => Some(Field::Priority),
                _ => None,
            };
            self.field = field.map(|field| (field, String::new()));
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        let ((Some((_, into)), _) | (None, Some((_, into)))) = (&mut self.field, &mut self.entry)
        else {
            return;
        };
        if into.len() + text.len() <= MAX_FIELD_BYTES {
            into.push_str(text);
        }
    }

    fn close(&mut self, depth: usize) {
        if depth == FIELD_DEPTH {
            self.close_field();
        } else if depth == ENTRY_DEPTH {
            self.close_entry();
        }
    }

    /// Half a URL is none.
    fn cut(&mut self) {
        self.field = None;
        self.entry.take_if(|(entry, _)| entry.url.is_empty());
    }

    fn is_full(&self) -> bool {
        self.sitemap.as_ref().is_some_and(|sitemap| sitemap.is_cut)
    }
}

impl Reading {
    fn root(&mut self, root: &Element<'_>) -> Result<(), Refused> {
        let kind = match root {
            root if root.is("urlset") => Kind::Pages,
            root if root.is("sitemapindex") => Kind::Index,
            _ => {
                let name = root.name.chars().take(40).collect();
                return Err(Refused::UnknownRoot { name });
            }
        };
        root.prefix.clone_into(&mut self.prefix);
        self.own_prefix = root.prefix_of(&["sitemaps.org/schemas/sitemap/"]).map(str::to_owned);
        self.sitemap = Some(Sitemap { kind, entries: Vec::new(), is_cut: false });
        Ok(())
    }

    fn close_field(&mut self) {
        let Some((field, text)) = self.field.take() else { return };
        let Some((entry, _)) = &mut self.entry else { return };
        let text = text.trim();
        match field {
            Field::Url => text.clone_into(&mut entry.url),
            Field::LastMod => entry.lastmod_s = date::parse(text),
            Field::Priority => {
                entry.priority = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
            }
        }
    }

    /// An entry without `loc` may hold its URL as bare text.
    fn close_entry(&mut self) {
        let (Some((mut entry, loose)), Some(sitemap)) = (self.entry.take(), &mut self.sitemap)
        else {
            return;
        };
        if entry.url.is_empty() {
            loose.trim().clone_into(&mut entry.url);
        }
        if sitemap.entries.len() >= MAX_URLS {
            sitemap.is_cut = true;
        } else if !entry.url.is_empty() {
            sitemap.entries.push(entry);
        }
    }
}
