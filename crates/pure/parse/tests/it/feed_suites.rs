//! Feeds against the expectations of gofeed's own tests: links and dates.

use std::path::Path;

use serde_json::Value;
use tidewatch_core::url::Base;
use tidewatch_parse::{
    date,
    document::{Kind, Source, Wanted, parse},
    feed::{Entry, Feed, FeedLink, Format},
};

use tidewatch_testing::suites as shared;

/// The bar: links and dates as expected in this share of the feeds that can be read.
const BAR: f64 = 0.98;

#[test]
fn reads_links_and_dates_as_gofeed_does() {
    let Some(files) = shared::files("gofeed/testdata") else { return };
    let (mut total, mut failures) = (0, Vec::new());
    for file in files {
        let Some(want) = expectation(&file) else { continue };
        total += 1;
        let bytes = std::fs::read(&file).unwrap();
        let difference = match Feed::parse(&bytes, None) {
            Ok(feed) => difference(&feed, &want),
            Err(refused) => Some(refused.to_string()),
        };
        if let Some(difference) = difference {
            failures.push(format!("{}: {difference}", file.display()));
        }
    }
    eprintln!("gofeed: {}/{total}\n{}", total - failures.len(), failures.join("\n"));
    assert!(total >= 500, "{total} feeds");
    assert!(failures.len() as f64 <= (1.0 - BAR) * total as f64, "{}", failures.join("\n"));
}

/// The expected result: beside the feed under the same name; a JSON feed is its own.
fn expectation(file: &Path) -> Option<Value> {
    // What gofeed makes of a JSON feed is not itself one.
    if file.file_stem()?.to_str()?.ends_with("_expected") {
        return None;
    }
    let text = match file.extension()?.to_str()? {
        "xml" => std::fs::read(file.with_extension("json")).ok()?,
        "json" if !file.with_extension("xml").exists() => std::fs::read(file).ok()?,
        _ => return None,
    };
    serde_json::from_slice(&text).ok()
}

fn difference(feed: &Feed, want: &Value) -> Option<String> {
    let list = |key: &str| want[key].as_array().cloned().unwrap_or_default();
    let entries = if want["entries"].is_null() { list("items") } else { list("entries") };
    if entries.len() != feed.entries.len() {
        return Some(format!("{} entries, not {}", feed.entries.len(), entries.len()));
    }
    let of_feed = Entry {
        links: feed.links.clone(),
        published_s: feed.published_s,
        updated_s: feed.updated_s,
        ..Entry::default()
    };
    let mut pairs = feed.entries.iter().zip(&entries).chain([(&of_feed, want)]);
    pairs.find_map(|(have, want)| entry_difference(have, want, feed.format))
}

fn entry_difference(have: &Entry, want: &Value, format: Format) -> Option<String> {
    let dates = [
        (have.published_s, ["publishedParsed", "pubDateParsed", "date_published"]),
        (have.updated_s, ["updatedParsed", "lastBuildDateParsed", "date_modified"]),
    ];
    for (have, keys) in dates {
        let want = keys.iter().find_map(|key| want[key].as_str());
        if want.is_some() && have != want.and_then(date::parse) {
            return Some(format!("{have:?}, not {want:?}"));
        }
    }
    links_difference(&have.links, want, format)
}

fn links_difference(have: &[FeedLink], want: &Value, format: Format) -> Option<String> {
    let hrefs: Vec<&str> = have.iter().map(|link| link.href.as_str()).collect();
    for key in ["link", "url", "external_url", "home_page_url", "feed_url", "next_url", "feedLink"]
    {
        if let Some(link) = want[key].as_str().filter(|link| !link.is_empty())
            && !hrefs.contains(&link)
        {
            return Some(format!("no {key} {link} among {hrefs:?}"));
        }
    }
    let wanted = want["links"].as_array()?;
    let is_parsed_atom = wanted.iter().all(Value::is_object);
    let own: Vec<(&str, &str)> = if is_parsed_atom {
        let text = |link: &'_ Value, key: &str| link[key].as_str().unwrap_or_default().to_owned();
        let wanted: Vec<_> = wanted.iter().map(|l| (text(l, "href"), text(l, "rel"))).collect();
        let wanted: Vec<_> = wanted.iter().filter(|(href, _)| !href.is_empty()).collect();
        let same = wanted.len() == have.len()
            && wanted.iter().zip(have).all(|(w, h)| w.0 == h.href && w.1 == h.rel);
        return (!same).then(|| format!("{have:?}, not {wanted:?}"));
    } else {
        have.iter().map(|link| (link.href.as_str(), link.rel.as_str())).collect()
    };
    let wanted: Vec<&str> = wanted.iter().filter_map(Value::as_str).collect();
    let missing = wanted.iter().find(|url| !own.iter().any(|(href, _)| href == *url));
    let kinds = ["alternate", "self", "related"];
    let extra = own.iter().find(|(href, rel)| {
        format != Format::Json && kinds[..2].contains(rel) && !wanted.contains(href)
    });
    (missing.is_some() || extra.is_some()).then(|| format!("{own:?}, not {wanted:?}"))
}

#[test]
fn reads_the_feeds_of_crawler_commons() {
    let Some(bytes) = shared::bytes("crawler-commons/src/test/resources/rss/xmlRss_pubDate.xml")
    else {
        return;
    };
    let feed = Feed::parse(&bytes, None).unwrap();
    assert!(feed.entries.len() >= 3);
    let pages: Vec<_> = feed.entries.iter().filter_map(Entry::page).collect();
    assert_eq!(
        pages[..2],
        ["http://www.example.com/article_1", "http://www.example.com/article_2"]
    );
    assert_eq!(feed.entries[0].published_s, date::parse("2017-01-05T12:34:51Z"));
    assert_eq!(feed.entries[1].published_s, date::parse("2017-01-05T12:34:52Z"));
}

#[test]
fn an_entry_without_a_link_may_have_one_for_its_name() {
    let text = b"<rss><channel><item><guid>http://a.example/1</guid></item>\
                 <item><guid isPermaLink='false'>http://a.example/2</guid></item></channel></rss>";
    let feed = Feed::parse(text, None).unwrap();
    assert_eq!(feed.entries[0].page(), Some("http://a.example/1"));
    assert_eq!(feed.entries[1].page(), None);
}

/// Encodes text as UTF-16 without a byte order mark.
fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn utf16_shows_by_its_bytes() {
    const TEXT: &str = "<?xml version='1.0' encoding='utf-16'?><rss><channel><title>Tid\u{e9}</title>\
        <item><link>http://a.example/1</link></item></channel></rss>";
    let documents =
        [TEXT.as_bytes().to_vec(), utf16(TEXT, u16::to_le_bytes), utf16(TEXT, u16::to_be_bytes)];
    for bytes in documents {
        for label in [None, Some("utf-16"), Some("utf-16le")] {
            let feed = Feed::parse(&bytes, label).unwrap();
            assert_eq!(feed.title.as_deref(), Some("Tid\u{e9}"), "{label:?}");
            assert_eq!(feed.entries[0].page(), Some("http://a.example/1"), "{label:?}");
        }
        let base = Base::parse("http://a.example/").unwrap();
        let source =
            Source { base: &base, content_type: None, robots_tags: &[], kind: None, bytes: &bytes };
        assert_eq!(parse(&source, &Wanted::everything("x")).kind, Some(Kind::Feed));
    }
}

#[test]
fn rss_1_may_have_a_prefix() {
    let text = b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' \
        xmlns:rss='http://purl.org/rss/1.0/'><rss:channel><rss:title>T</rss:title></rss:channel>\
        <rss:item><rss:title>One</rss:title><rss:link>http://a.example/1</rss:link></rss:item></rdf:RDF>";
    let feed = Feed::parse(text, None).unwrap();
    assert_eq!((feed.format, feed.title.as_deref()), (Format::Rdf, Some("T")));
    assert_eq!(feed.entries[0].page(), Some("http://a.example/1"));
    assert_eq!(feed.entries[0].title.as_deref(), Some("One"));
}

#[test]
fn half_a_link_is_none() {
    let whole = "<rss><channel><link>http://a.example/</link><item><link>http://a.example/1</link>\
        <title>One</title></item></channel></rss>";
    for cut in "<rss>".len()..whole.len() {
        let Ok(feed) = Feed::parse(&whole.as_bytes()[..cut], None) else { continue };
        let links = feed.entries.iter().flat_map(|entry| &entry.links).chain(&feed.links);
        for link in links {
            assert!(["http://a.example/", "http://a.example/1"].contains(&&*link.href), "{cut}");
        }
    }
}

#[test]
fn json_feeds() {
    let text = br#"{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[
        {"id":"1","url":"https://a.example/1","date_published":"2024-05-01T10:00:00+02:00"},
        {"id":2}, 3]}"#;
    let feed = Feed::parse(text, None).unwrap();
    assert_eq!(feed.format, Format::Json);
    assert_eq!(feed.entries[0].page(), Some("https://a.example/1"));
    assert_eq!(feed.entries[0].changed_s(), Some(1_714_550_400));
    assert_eq!(feed.entries.len(), 3);
}
