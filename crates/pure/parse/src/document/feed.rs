//! Feeds.

use super::{Parsed, Parser, Source, Wanted, has, head};
use crate::Refused;
use crate::feed::Feed;

pub(super) const PARSER: Parser = Parser {
    name: "feed",
    claims: |media_type| {
        media_type != "application/xhtml+xml"
            && (media_type.ends_with("xml") || media_type.ends_with("json"))
    },
    looks_like: |head| {
        has(head, &["<rss", "<rdf:rdf", "<feed", "jsonfeed.org/version"]) && !has(head, &["<html"])
    },
    parse,
};

fn parse(source: &Source<'_>, wanted: &Wanted<'_>) -> Result<Parsed, Refused> {
    let is_json = source.bytes.trim_ascii_start().starts_with(b"{");
    // Most JSON is no feed; only the version field tells.
    if is_json && source.kind.is_none() && !(PARSER.looks_like)(&head(source.bytes)) {
        return Err(Refused::NoRoot);
    }
    let feed = Some(Feed::parse(source.bytes, source.label())?);
    Ok(Parsed { feed, robots: source.robots(wanted.agent), ..Parsed::default() })
}
