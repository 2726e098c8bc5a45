//! Chooses the parser for a document and runs it.
//!
//! The one place that maps a content type to a parser: crawl, index and command line call
//! [`parse`]. One pass over a page gives links, text, title, identity and sketch, so that a page is
//! parsed once on its way to store and index.
//!
//! 1. If the caller gives a [`Kind`], its parser is used.
//! 2. Otherwise every parser that claims the media type is tried, in the order of the registry.
//! 3. Without a media type, the first parser whose documents look like these bytes is used.
//!
//! To add a parser, write a module with a `PARSER` and add a line to the registry below.
//!
//! ```
//! use tidewatch_core::url::Base;
//! use tidewatch_parse::document::{Kind, Source, Wanted, parse};
//!
//! let base = Base::parse("https://a.example/x/")?;
//! let source = Source {
//!     base: &base,
//!     content_type: Some("text/html; charset=utf-8"),
//!     robots_tags: &[],
//!     kind: None,
//!     bytes: b"<title>Tides</title><p>High water at noon. <a href=../y>More</a>",
//! };
//! let parsed = parse(&source, &Wanted::everything("Tidewatch"));
//! assert_eq!(parsed.kind, Some(Kind::Html));
//! assert_eq!(parsed.title(), "Tides");
//! assert_eq!(parsed.text.as_deref(), Some("Tides\nHigh water at noon. More"));
//! assert_eq!(parsed.links().next().unwrap().url.as_str(), "https://a.example/y");
//! # Ok::<(), tidewatch_core::url::UrlRefused>(())
//! ```

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_robots::Directives;

use crate::Refused;
use crate::feed::Feed;
use crate::fragments::{Fragments, Shingling};
use crate::links::{Link, Page};
use crate::reading::Scope;
use crate::sitemap::{GZIP, Sitemap};

macro_rules! parsers {
    ($($(#[$doc:meta])* $kind:ident => $module:ident;)*) => {
        $(mod $module;)*

        /// The kinds of documents that are parsed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        /// All parsers, in the order in which they are tried.
        const PARSERS: &[(Kind, Parser)] = &[$((Kind::$kind, $module::PARSER),)*];
    };
}

parsers! {
    /// A feed: RSS, Atom or JSON Feed.
    Feed => feed;
    /// A sitemap or an index of sitemaps.
    Sitemap => sitemap;
    /// An HTML page. Bytes of an unknown type are treated as one.
    Html => html;
    /// Plain text.
    Text => text;
}

impl Kind {
    /// Its name in machine-readable output.
    pub fn name(self) -> &'static str {
        PARSERS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, parser)| parser.name)
    }
}

/// How to recognise and read one kind of document.
struct Parser {
    name: &'static str,
    /// Whether a media type, in lower case, may be of this kind.
    claims: fn(&str) -> bool,
    /// Whether the beginning of a document, in lower case, looks like this kind.
    looks_like: fn(&str) -> bool,
    parse: fn(&Source<'_>, &Wanted<'_>) -> Result<Parsed, Refused>,
}

/// A document to parse.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its address, against which links are resolved.
    pub base: &'a Base,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The values of all `X-Robots-Tag` headers.
    pub robots_tags: &'a [&'a str],
    /// Its kind, if the caller knows.
    pub kind: Option<Kind>,
    /// The document, without content encodings.
    pub bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// The charset that the header names.
    fn label(&self) -> Option<&'a str> {
        self.content_type.and_then(crate::charset::label_of)
    }

    /// The robots directives of the headers.
    fn robots(&self, agent: &str) -> Directives {
        let mut robots = Directives::default();
        self.robots_tags.iter().for_each(|value| robots.add_header(value, agent));
        robots
    }
}

/// What can be read of a document that broke off: of a list of URLs its whole lines, since half a URL
/// is another one. Markup stays as it is, because parsers drop what is not closed, and so does what is
/// gzipped, because its parser knows where it breaks off.
pub fn whole_part(bytes: &[u8]) -> &[u8] {
    // A byte order mark, white space, or the first half of a UTF-16 character.
    let is_lead =
        |byte: &&u8| !matches!(**byte, 0xef | 0xbb | 0xbf | 0xfe | 0xff | 0 | b'\t'..=b' ');
    if bytes.starts_with(&GZIP) || matches!(bytes.iter().find(is_lead), Some(b'<' | b'{')) {
        return bytes;
    }
    let end = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    &bytes[..end.unwrap_or(0)]
}

/// What to extract from a document.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Product token of the crawler, which robots directives may name.
    pub agent: &'a str,
    /// How to make identity and sketch; `None` to leave them out.
    pub shingling: Option<Shingling>,
    /// The most bytes of text; 0 for none.
    pub text_bytes: usize,
    /// How much of a page to read.
    pub scope: Scope,
}

impl<'a> Wanted<'a> {
    /// Everything, for a crawler with the product token `agent`.
    pub fn everything(agent: &'a str) -> Self {
        let shingling = Some(Shingling::default());
        Wanted { agent, shingling, text_bytes: usize::MAX, scope: Scope::Content }
    }
}

/// The contents of a document.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// Its kind; `None` if no parser reads it.
    pub kind: Option<Kind>,
    /// The encoding of an HTML page or of plain text.
    pub encoding: Option<&'static str>,
    /// The robots directives of headers and page.
    pub robots: Directives,
    /// Links and metadata of an HTML page.
    pub page: Option<Page>,
    /// Where a script of an HTML page sends every reader at once.
    pub sent_by_script: Option<CanonicalUrl>,
    /// Identity and sketch of an HTML page, if wanted.
    pub fragments: Option<Fragments>,
    /// The text of an HTML page or of plain text, if wanted.
    pub text: Option<String>,
    /// The feed.
    pub feed: Option<Feed>,
    /// The sitemap.
    pub sitemap: Option<Sitemap>,
    /// Why it could not be read, if a parser claimed it.
    pub refused: Option<Refused>,
}

/// A page that a feed or sitemap names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its URL.
    pub url: CanonicalUrl,
    /// Its title in the feed.
    pub title: String,
    /// When it last changed, in seconds of Unix time.
    pub changed_s: Option<i64>,
}

impl Parsed {
    /// The title of a page or feed; empty without one.
    pub fn title(&self) -> &str {
        let page = self.page.as_ref().and_then(|page| page.title.as_deref());
        let feed = || self.feed.as_ref().and_then(|feed| feed.title.as_deref());
        page.or_else(feed).unwrap_or_default()
    }

    /// The links of a page that a crawler may follow.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        let page = self.page.as_ref().filter(|_| !self.robots.nofollow);
        page.into_iter().flat_map(|page| &page.links).filter(|link| !link.rel.nofollow)
    }

    /// The pages that a feed or sitemap names, resolved against `base`.
    pub fn named(&self, base: &Base) -> impl Iterator<Item = Named> {
        let sitemap = self.sitemap.iter().flat_map(|sitemap| &sitemap.entries);
        let sitemap = sitemap.map(|entry| (entry.url.as_str(), "", entry.lastmod_s));
        let feed = self.feed.iter().flat_map(|feed| &feed.entries).filter_map(|entry| {
            Some((entry.page()?, entry.title.as_deref().unwrap_or_default(), entry.changed_s()))
        });
        sitemap.chain(feed).filter_map(|(url, title, changed_s)| {
            Some(Named { url: base.join(url).ok()?, title: title.to_owned(), changed_s })
        })
    }
}

/// Parses a document. The result is empty if no parser claims it or its parser refuses it.
pub fn parse(source: &Source<'_>, wanted: &Wanted<'_>) -> Parsed {
    let mut refused = None;
    for (kind, parser) in candidates(source) {
        match (parser.parse)(source, wanted) {
            Ok(parsed) => return Parsed { kind: Some(*kind), ..parsed },
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Parsed { refused, robots: source.robots(wanted.agent), ..Parsed::default() }
}

/// Parses the body of an HTTP response. `headers` gives the values of all headers of a name.
pub fn parse_response<T: AsRef<str>>(
    base: &Base,
    headers: impl Fn(&str) -> Vec<T>,
    bytes: &[u8],
    wanted: &Wanted<'_>,
) -> Parsed {
    let (content_type, robots_tags) = (headers("content-type"), headers("x-robots-tag"));
    let robots_tags: Vec<&str> = robots_tags.iter().map(AsRef::as_ref).collect();
    let content_type = content_type.first().map(AsRef::as_ref);
    let source = Source { base, content_type, robots_tags: &robots_tags, kind: None, bytes };
    parse(&source, wanted)
}

/// All text of an HTML page that a reader sees, with menus and footers, cut at so many bytes.
pub fn visible_text(content_type: Option<&str>, bytes: &[u8], most_bytes: usize) -> String {
    let label = content_type.and_then(crate::charset::label_of);
    html::visible_text(&crate::charset::decode(bytes, label).text, most_bytes)
}

/// The media type of a `Content-Type` header, in lower case without parameters.
pub fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a media type is HTML. A document without a type is treated as HTML.
pub fn is_html(media_type: &str) -> bool {
    media_type.is_empty() || (html::PARSER.claims)(media_type)
}

fn candidates(source: &Source<'_>) -> Vec<&'static (Kind, Parser)> {
    if let Some(wanted) = source.kind {
        return PARSERS.iter().filter(|(kind, _)| *kind == wanted).collect();
    }
    let media_type = source.content_type.map(media_type).unwrap_or_default();
    if !media_type.is_empty() {
        return PARSERS.iter().filter(|(_, parser)| (parser.claims)(&media_type)).collect();
    }
    let head = head(source.bytes);
    PARSERS.iter().find(|(_, parser)| (parser.looks_like)(&head)).into_iter().collect()
}

/// Bytes at the beginning of a document used to recognise it.
const SNIFFED: usize = 4096;

/// The beginning of a document in lower case, without the zeros of UTF-16. A gzipped document, which
/// only a sitemap may be, gives the gzip magic number.
fn head(bytes: &[u8]) -> String {
    let mut head = String::from_utf8_lossy(&bytes[..bytes.len().min(SNIFFED)]).to_ascii_lowercase();
    head.retain(|c| c != '\0');
    head
}

fn has(head: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| head.contains(mark))
}

#[cfg(test)]
mod tests;
