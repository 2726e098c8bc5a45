//! From an answer to what the crawl keeps of it: links, sketch, identity.

use tidewatch_archive::Digest;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_fetch::Response;
use tidewatch_parse::charset::{decode, label_of};
use tidewatch_parse::feed::{self, Feed};
use tidewatch_parse::fragments::{self, FragmentVisitor, Shingling};
use tidewatch_parse::html::scan;
use tidewatch_parse::links::{Links, Page};
use tidewatch_parse::reading::Scope;
use tidewatch_parse::sitemap::{self, Sitemap};

use crate::work::Content;

/// Reads an answer of any kind. What cannot be read has no links, and the
/// digest of its bytes for an identity.
pub(crate) fn read(
    url: &CanonicalUrl,
    response: &Response,
    digest: Digest,
    agent: &str,
) -> Content {
    let validators = response.validators();
    let mut content = Content {
        status: response.status,
        etag: validators.etag,
        last_modified: validators.last_modified,
        last_modified_micros: response.last_modified_s().map(|s| s.saturating_mul(1_000_000)),
        digest,
        identity: digest[..8].iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        ..Content::default()
    };
    let label = response.header("content-type").and_then(label_of);
    let media_type = response.media_type();
    if response.is_html() {
        read_html(url, response, label, agent, &mut content);
    } else if media_type.ends_with("xml") || media_type.ends_with("json") {
        read_list(url, &response.body, label, &mut content);
    }
    content
}

fn read_html(
    url: &CanonicalUrl,
    response: &Response,
    label: Option<&str>,
    agent: &str,
    content: &mut Content,
) {
    let html = decode(&response.body, label).text;
    let shingling = Shingling::default();
    let mut visitors = (Links::new(agent), FragmentVisitor::new(shingling, Scope::Content));
    scan(&html, &mut visitors);
    let (links, reading) = visitors;
    let said = reading.finish().unwrap_or_else(|| fragments::whole(&html, shingling));
    content.identity = said.identity;
    content.sketch = said.sketch;
    let Ok(base) = Base::of(url) else { return };
    let mut page = links.finish(&base);
    response.all("x-robots-tag").for_each(|value| page.robots.add_header(value, agent));
    if !page.robots.nofollow {
        follow(page, content);
    }
}

fn follow(page: Page, content: &mut Content) {
    let links = page.links.into_iter().filter(|link| !link.rel.nofollow);
    content.links = links.map(|link| (link.url, link.anchor)).collect();
    let refresh = page.refresh.map(|refresh| (refresh.url, String::new()));
    content.links.extend(refresh);
    let feeds = page.alternates.into_iter().filter(|alternate| alternate.is_feed);
    content.feeds = feeds.map(|feed| feed.url).collect();
}

/// A page that a list names: its address, words, and when it changed, in seconds of Unix time.
type Named = (String, String, Option<i64>);

/// Feeds and sitemaps name pages, and say when they changed.
fn read_list(url: &CanonicalUrl, body: &[u8], label: Option<&str>, content: &mut Content) {
    let named: Vec<Named> = if let Ok(sitemap) = Sitemap::parse(body, label) {
        content.list = "sitemap";
        let named = |entry: sitemap::Entry| (entry.url, String::new(), entry.lastmod_s);
        sitemap.entries.into_iter().map(named).collect()
    } else if let Ok(feed) = Feed::parse(body, label) {
        content.list = "feed";
        let named = |entry: feed::Entry| {
            let (page, changed) = (entry.page().map(str::to_owned), entry.changed_s());
            page.map(|page| (page, entry.title.unwrap_or_default(), changed))
        };
        feed.entries.into_iter().filter_map(named).collect()
    } else {
        return;
    };
    for (page, words, changed_s) in named {
        let Ok(page) = url.join(&page) else { continue };
        let micros = changed_s.map(|s| s.saturating_mul(1_000_000));
        content.dated.extend(micros.map(|micros| (content.links.len(), micros)));
        content.links.push((page, words));
    }
}
