//! Sitemaps.

use super::{Parsed, Parser, SNIFFED, Source, Wanted, has, head, media_type};
use crate::Refused;
use crate::sitemap::{Sitemap, unzip_start};

/// The gzip magic number as text. Only sitemaps may be gzipped.
const GZIP: &str = "\u{1f}\u{fffd}";

pub(super) const PARSER: Parser = Parser {
    name: "sitemap",
    claims: |media_type| is_xml(media_type) || is_loose(media_type),
    looks_like: |head| {
        head.starts_with(GZIP)
            || has(head, &["<urlset", "<sitemapindex", ":urlset", ":sitemapindex"])
    },
    parse,
};

fn is_xml(media_type: &str) -> bool {
    media_type != "application/xhtml+xml" && media_type.ends_with("xml")
}

/// Whether a media type says little: servers give such a type to gzipped sitemaps and lists of URLs, and
/// to much else.
fn is_loose(media_type: &str) -> bool {
    const LOOSE: [&str; 4] =
        ["text/plain", "application/gzip", "application/x-gzip", "application/octet-stream"];
    LOOSE.contains(&media_type)
}

/// Whether the beginning of a document under such a type is that of a sitemap: its root element, or
/// nothing but URLs.
fn begins_as_sitemap(bytes: &[u8]) -> bool {
    let unpacked = unzip_start(bytes, SNIFFED);
    let (begin, is_all) = match &unpacked {
        Some(start) => (&start[..], start.len() < SNIFFED),
        None => (bytes, bytes.len() <= SNIFFED),
    };
    let head = head(begin);
    let head = head.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if head.starts_with('<') {
        return (PARSER.looks_like)(head);
    }
    // The last line may go on beyond what is looked at.
    let end = if is_all { head.len() } else { head.rfind(['\n', '\r']).unwrap_or(0) };
    let lines = head[..end].split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let mut urls = lines.map(|line| ["http://", "https://"].iter().any(|s| line.starts_with(s)));
    urls.next() == Some(true) && urls.all(|is_url| is_url)
}

fn parse(source: &Source<'_>, wanted: &Wanted<'_>) -> Result<Parsed, Refused> {
    let is_loose = source.content_type.is_some_and(|header| is_loose(&media_type(header)));
    if is_loose && source.kind.is_none() && !begins_as_sitemap(source.bytes) {
        return Err(Refused::NoRoot);
    }
    let sitemap = Some(Sitemap::parse(source.bytes, source.label())?);
    Ok(Parsed { sitemap, robots: source.robots(wanted.agent), ..Parsed::default() })
}
