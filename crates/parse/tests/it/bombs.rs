//! Hostile documents: refused or read, in little time, with a named reason.

use std::time::{Duration, Instant};

use tidewatch_parse::{Refused, feed::Feed, sitemap::Sitemap};

use crate::shared;

/// Far more than any of them needs, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

fn bomb(name: &str) -> Option<Vec<u8>> {
    shared::bytes(&format!("bombs/{name}"))
}

#[test]
fn entities_are_refused() {
    for name in ["sitemap-billion-laughs.xml", "feed-quadratic-entity.xml", "sitemap-xxe.xml"] {
        let Some(bytes) = bomb(name) else { return };
        let started = Instant::now();
        assert_eq!(Feed::parse(&bytes, None), Err(Refused::Entities), "{name}");
        assert_eq!(Sitemap::parse(&bytes, None), Err(Refused::Entities), "{name}");
        assert!(started.elapsed() < PATIENCE, "{name}");
    }
}

#[test]
fn floods_are_passed_over() {
    let Some(attributes) = bomb("xml-many-attributes.xml") else { return };
    let started = Instant::now();
    let _ = Feed::parse(&attributes, None);
    let _ = Sitemap::parse(&attributes, None);
    let index = Sitemap::parse(&bomb("sitemap-index-self.xml").unwrap(), None).unwrap();
    assert_eq!(index.entries.len(), 1);
    // A gigabyte of zeros behind a megabyte of gzip.
    let zeros = Sitemap::parse(&bomb("gzip-1GiB.gz").unwrap(), None);
    assert!(matches!(zeros, Err(Refused::TooLarge { .. })), "{zeros:?}");
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[test]
fn own_bombs() {
    let deep = "<a>".repeat(200_000);
    let rss = format!("<rss><channel>{deep}");
    let ends = format!("<rss>{}", "</x>".repeat(200_000));
    let quotes = format!("<rss {}", "a='".repeat(200_000));
    let comment = format!("<rss>{}", "<!--".repeat(200_000));
    let bases = format!("<feed>{}", "<a xml:base='http://a/b'>".repeat(100_000));
    let started = Instant::now();
    for text in [&deep, &rss, &ends, &quotes, &comment, &bases] {
        let _ = Feed::parse(text.as_bytes(), None);
        let _ = Sitemap::parse(text.as_bytes(), None);
    }
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}
