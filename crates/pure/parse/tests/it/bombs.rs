//! Hostile documents: refused or read, in little time, with a named reason.

use std::time::{Duration, Instant};

use tidewatch_core::url::Base;
use tidewatch_parse::fragments::{Shingling, fragments};
use tidewatch_parse::links::Links;
use tidewatch_parse::{Refused, charset, feed::Feed, html, sitemap::Sitemap};
use tidewatch_robots::Robots;
use tidewatch_testing::{memory::extra_kib, suites as shared};

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

/// More than any document may take beyond its own bytes.
const MOST_KIB: u64 = 64 * 1024;

/// Reads a document in every way that its bytes could be taken for.
fn read_all(bytes: &[u8]) {
    let _ = Feed::parse(bytes, None);
    let _ = Sitemap::parse(bytes, None);
    let robots = Robots::parse(bytes, "Tidewatch");
    robots.allows(&"/a".repeat(2000));
    let text = charset::decode(bytes, None).text;
    let mut links = Links::new("Tidewatch");
    html::scan(&text, &mut links);
    let page = links.finish(&Base::parse("http://a.example/").unwrap());
    assert!(page.links.len() <= 1000);
    fragments(&text, Shingling::default());
}

#[test]
fn no_document_takes_more_memory_than_it_may() {
    let Some(files) = shared::files("bombs") else { return };
    let mut failures = Vec::new();
    for path in &files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let test = "bombs::no_document_takes_more_memory_than_it_may";
        let started = Instant::now();
        let read = || std::fs::read(path).unwrap();
        let Some(kib) = extra_kib(test, &name, read, |bytes| read_all(&bytes)) else { continue };
        eprintln!("{name}: {kib} KiB, {:.1?}", started.elapsed());
        if kib > MOST_KIB {
            failures.push(format!("{name} took {kib} KiB"));
        }
    }
    shared::judge("bombs read", files.len(), 24, &failures);
}
