//! Sitemaps in their forms, and those of crawler-commons.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use tidewatch_parse::document::whole_part;
use tidewatch_parse::{
    Refused, date,
    sitemap::{Kind, MAX_URLS, Sitemap},
};

use tidewatch_testing::suites as shared;

#[test]
fn reads_pages_indexes_lists_and_feeds() {
    let pages = b"<urlset xmlns='x'><url><loc> http://a.example/?a=1&amp;b=2 </loc>\
        <lastmod>2024-05-01T08:00:00Z</lastmod><priority>0.5</priority>\
        <image:image><image:loc>http://a.example/i.png</image:loc></image:image></url></urlset>";
    let pages = Sitemap::parse(pages, None).unwrap();
    assert_eq!(pages.kind, Kind::Pages);
    assert_eq!(pages.entries.len(), 1);
    assert_eq!(pages.entries[0].url, "http://a.example/?a=1&b=2");
    assert_eq!(pages.entries[0].lastmod_s, date::parse("2024-05-01T08:00Z"));
    assert_eq!(pages.entries[0].priority, Some(0.5));
    let index =
        b"<sitemapindex><sitemap><loc>http://a.example/1.xml</loc></sitemap></sitemapindex>";
    assert_eq!(Sitemap::parse(index, None).unwrap().kind, Kind::Index);
    let list =
        Sitemap::parse(b"\xEF\xBB\xBFhttp://a.example/1\r\n\n nonsense\nhttps://a.example/2", None);
    assert_eq!(list.unwrap().entries.len(), 2);
    let feed = b"<rss><channel><item><link>http://a.example/1</link></item></channel></rss>";
    assert_eq!(Sitemap::parse(feed, None).unwrap().entries[0].url, "http://a.example/1");
    let html = Sitemap::parse(b"<html></html>", None);
    assert_eq!(html, Err(Refused::UnknownRoot { name: "html".to_owned() }));
}

#[test]
fn half_a_url_is_none() {
    let whole = "<urlset><url><loc>http://a.example/1</loc><lastmod>2024-05-01</lastmod></url>\
                 <url><loc>http://a.example/2</loc></url><url>http://a.example/3</url></urlset>";
    let urls = |text: &[u8]| match Sitemap::parse(text, None) {
        Ok(map) => map.entries.into_iter().map(|entry| entry.url).collect(),
        Err(_) => Vec::new(),
    };
    let all = urls(whole.as_bytes());
    assert_eq!(all, ["http://a.example/1", "http://a.example/2", "http://a.example/3"]);
    for cut in 0..whole.len() {
        let some = urls(&whole.as_bytes()[..cut]);
        assert_eq!(some, all[..some.len()], "cut at {cut}");
    }
    let mut zip = GzEncoder::new(Vec::new(), Compression::none());
    zip.write_all(b"http://a.example/1\nhttp://a.example/2\nhttp://a.example/3").unwrap();
    let zip = zip.finish().unwrap();
    assert_eq!(urls(&zip), all);
    for cut in 0..zip.len() - 8 {
        let some = urls(&zip[..cut]);
        assert_eq!(some, all[..some.len()], "cut at {cut}");
    }
}

#[test]
fn prefixes_need_not_be_the_roots() {
    let text = b"<urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'>\
        <s:url><s:loc>http://a.example/1</s:loc></s:url></urlset>";
    assert_eq!(Sitemap::parse(text, None).unwrap().entries.len(), 1);
}

#[test]
fn keeps_the_protocols_limit() {
    let mut text = String::from("<urlset>");
    for n in 0..=MAX_URLS {
        let _ = write!(text, "<url><loc>http://a.example/{n}</loc></url>");
    }
    let sitemap = Sitemap::parse(text.as_bytes(), None).unwrap();
    assert!(sitemap.is_cut);
    assert_eq!(sitemap.entries.len(), MAX_URLS);
}

#[test]
fn finds_every_url_of_crawler_commons() {
    let mut failures = Vec::new();
    let folder = "crawler-commons/src/test/resources/sitemaps";
    let Some(files) = shared::files(folder) else { return };
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        let found = Sitemap::parse(&bytes, None).map(|sitemap| sitemap.entries.len());
        let want = urls_by_eye(&bytes);
        if found != Ok(want) {
            failures.push(format!("{}: {found:?}, not {want}", file.display()));
        }
    }
    shared::judge("crawler-commons sitemaps", files.len(), 18, &failures);
}

/// Counts what a person would count: `loc` elements, bare sitemaps, entries, lines.
fn urls_by_eye(bytes: &[u8]) -> usize {
    use std::io::Read as _;
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes.to_vec()).unwrap();
    }
    let count = |mark: &str| text.matches(mark).count();
    if count("<entry") > 0 {
        count("<entry")
    } else if count("<loc>") + count(":loc>") > 0 {
        count("<loc>") + count("<sit:loc>")
    } else if count("<sitemap>") > 0 {
        count("<sitemap>")
    } else {
        text.lines().filter(|line| line.contains("http")).count()
    }
}

/// A list that breaks off loses its last line, which may be half a URL; markup loses nothing here.
#[test]
fn what_broke_off_is_read_up_to_its_last_whole_line() {
    let list = b"http://a.example/1\nhttp://a.example/2\r\nhttp://a.example/2000";
    let urls = |bytes| {
        let map = Sitemap::parse(whole_part(bytes), None).unwrap();
        map.entries.into_iter().map(|entry| entry.url).collect::<Vec<_>>()
    };
    for cut in 0..list.len() {
        let all = ["http://a.example/1", "http://a.example/2"];
        assert!(
            all.starts_with(&urls(&list[..cut]).iter().map(String::as_str).collect::<Vec<_>>())
        );
    }
    assert_eq!(urls(list).len(), 2);
    for markup in
        [&b"\xef\xbb\xbf <urlset>"[..], b"\xff\xfe<\0", b"\0<\0u", b"{\"version\"", b"<a>\n<"]
    {
        assert_eq!(whole_part(markup), markup);
    }
    assert_eq!(whole_part(b"http://a.example/"), b"");
}
