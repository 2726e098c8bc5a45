//! Sitemaps.

use super::{Parsed, Parser, Source, Wanted, has};
use crate::Refused;
use crate::sitemap::Sitemap;

/// The gzip magic number as text. Only sitemaps may be gzipped.
const GZIP: &str = "\u{1f}\u{fffd}";

pub(super) const PARSER: Parser = Parser {
    name: "sitemap",
    claims: |media_type| media_type != "application/xhtml+xml" && media_type.ends_with("xml"),
    looks_like: |head| {
        head.starts_with(GZIP)
            || has(head, &["<urlset", "<sitemapindex", ":urlset", ":sitemapindex"])
    },
    parse,
};

fn parse(source: &Source<'_>, wanted: &Wanted<'_>) -> Result<Parsed, Refused> {
    let sitemap = Some(Sitemap::parse(source.bytes, source.label())?);
    Ok(Parsed { sitemap, robots: source.robots(wanted.agent), ..Parsed::default() })
}
