//! Feeds.

use super::{Parsed, Parser, Source, Wanted, has};
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
    let feed = Some(Feed::parse(source.bytes, source.label())?);
    Ok(Parsed { feed, robots: source.robots(wanted.agent), ..Parsed::default() })
}
