//! Who announces the changes of a page: the hubs that a feed or its headers name (WebSub, §4).
//!
//! The crawl only notes what it reads in passing. Whoever subscribes takes the notes with
//! [`Partition::take_announced`](crate::Partition::take_announced).

use std::collections::VecDeque;

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_parse::document::Parsed;

/// Notes that wait. The oldest are dropped: a feed is read again.
const MOST_NOTES: usize = 1_000;
/// Hubs of one page.
const MOST_HUBS: usize = 4;
/// Links of one header that are read.
const MOST_LINKS: usize = 64;

/// What a page says of its hubs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The page.
    pub page: CanonicalUrl,
    /// What it calls itself: what one subscribes to.
    pub topic: CanonicalUrl,
    /// Its hubs, the preferred one first; empty if a feed names none.
    pub hubs: Vec<CanonicalUrl>,
}

impl Announced {
    /// Reads what headers and feed say; `None` unless it is a feed or names a hub. Headers come first,
    /// and a page that calls itself by a foreign name is taken by its own.
    pub fn read<'h>(
        page: &CanonicalUrl,
        base: &Base,
        links: impl Iterator<Item = &'h str>,
        parsed: &'h Parsed,
    ) -> Option<Announced> {
        let (mut hubs, mut topics) = (Vec::new(), Vec::new());
        let of_headers = links.flat_map(header_links);
        let of_feed = parsed.feed.iter().flat_map(|feed| &feed.links);
        let of_feed = of_feed.map(|link| (link.href.as_str(), link.rel.as_str()));
        for (href, rel) in of_headers.chain(of_feed) {
            let into = match rel {
                "hub" => &mut hubs,
                "self" => &mut topics,
                _ => continue,
            };
            into.extend(base.join(href).ok().filter(|url| !into.contains(url)));
        }
        hubs.truncate(MOST_HUBS);
        if hubs.is_empty() && parsed.feed.is_none() {
            return None;
        }
        let topic = topics.into_iter().find(|topic| is_same_site(topic, page));
        Some(Announced { page: page.clone(), topic: topic.unwrap_or_else(|| page.clone()), hubs })
    }
}

/// Whether two URLs belong to one owner: one registrable domain, or one host without any.
pub fn is_same_site(one: &CanonicalUrl, other: &CanonicalUrl) -> bool {
    match (one.registrable_domain(), other.registrable_domain()) {
        (Some(one), Some(other)) => one == other,
        _ => one.host() == other.host(),
    }
}

/// The targets and relations of a `Link` header (RFC 8288).
pub fn header_links(mut text: &str) -> Vec<(&str, &str)> {
    let mut links = Vec::new();
    while let Some((_, rest)) = text.split_once('<')
        && let Some((target, rest)) = rest.split_once('>')
        && links.len() < MOST_LINKS
    {
        let mut parameters = rest;
        let mut relation = None;
        loop {
            let (parameter, end) = until(parameters, b";,");
            if let Some((name, value)) = parameter.split_once('=')
                && name.trim().eq_ignore_ascii_case("rel")
            {
                relation = relation.or(Some(value.trim().trim_matches('"')));
            }
            parameters = end.get(1..).unwrap_or_default();
            if !end.starts_with(';') {
                break;
            }
        }
        let relations = relation.into_iter().flat_map(str::split_ascii_whitespace);
        links.extend(relations.take(MOST_LINKS).map(|relation| (target.trim(), relation)));
        text = parameters;
    }
    links
}

/// What stands before the first of `ends` that is not quoted, and the rest from there on.
fn until<'t>(text: &'t str, ends: &[u8]) -> (&'t str, &'t str) {
    let mut is_quoted = false;
    let end = text.bytes().position(|byte| {
        is_quoted ^= byte == b'"';
        ends.contains(&byte) && !is_quoted
    });
    text.split_at(end.unwrap_or(text.len()))
}

/// Notes that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Notes(VecDeque<Announced>);

impl Notes {
    pub(crate) fn note(&mut self, announced: Announced) {
        if self.0.len() >= MOST_NOTES {
            self.0.pop_front();
        }
        self.0.push_back(announced);
    }

    pub(crate) fn take(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use tidewatch_parse::document::{Wanted, parse_response};

    use super::*;

    fn read(links: &[&str], body: &str) -> Option<Announced> {
        let page = CanonicalUrl::parse("http://news.example.org/feed").unwrap();
        let base = Base::of(&page).unwrap();
        let headers = |_: &str| Vec::<&str>::new();
        let parsed = parse_response(&base, headers, body.as_bytes(), &Wanted::everything("t"));
        Announced::read(&page, &base, links.iter().copied(), &parsed)
    }

    fn told(announced: Option<Announced>) -> (String, Vec<String>) {
        let announced = announced.unwrap();
        let hubs = announced.hubs.into_iter().map(CanonicalUrl::into_string);
        (announced.topic.into_string(), hubs.collect())
    }

    const ATOM: &str = "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='hub' \
                        href='http://hub.example/'/><link rel='self' href='/f'/></feed>";

    #[test]
    fn feeds_and_headers_name_hubs() {
        let own = "http://news.example.org/f".to_owned();
        let hub = |name: &str| format!("http://{name}.example/");
        assert_eq!(told(read(&[], ATOM)), (own.clone(), vec![hub("hub")]));
        let headers = ["<http://other.example/>; rel=hub, </g>; rel=\"self\""];
        let first = ("http://news.example.org/g".to_owned(), vec![hub("other"), hub("hub")]);
        assert_eq!(told(read(&headers, ATOM)), first);
        assert_eq!(read(&[], "<p>no feed</p>"), None);
        assert_eq!(told(read(&["<http://hub.example/>;rel=hub"], "<p>")).1, [hub("hub")]);
        let without = told(read(&[], "<rss version='2.0'><channel></channel></rss>"));
        assert_eq!(without, ("http://news.example.org/feed".to_owned(), vec![]));
    }

    #[test]
    fn nobody_subscribes_to_a_foreign_page_in_its_name() {
        let links = ["<http://victim.example/feed>; rel=self"];
        assert_eq!(told(read(&links, ATOM)).0, "http://news.example.org/f");
    }

    #[test]
    fn link_headers_are_read_with_quotes_and_several_relations() {
        let text = "<a>; title=\"x, <y>; rel=no\"; rel=\"hub self\", <b>;REL=next,<c>";
        assert_eq!(header_links(text), [("a", "hub"), ("a", "self"), ("b", "next")]);
        assert_eq!(header_links("<u>; rel=\"hub self\""), [("u", "hub"), ("u", "self")]);
        assert_eq!(header_links("<<>>;rel=hub"), [("<", "hub")]);
        assert!(header_links(&"<".repeat(100_000)).is_empty());
    }
}
