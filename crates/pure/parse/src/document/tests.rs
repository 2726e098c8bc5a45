use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const RSS: &str = "<rss version=2.0><channel><title>N</title><item><title>One</title>\
    <link>/1</link><pubDate>Mon, 16 Nov 2026 09:30:00 GMT</pubDate></item></channel></rss>";
const JSON: &str = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "N",
    "items": [{"id": "1", "url": "https://a.example/1", "title": "One"}]}"#;
const SITEMAP: &str = "<urlset><url><loc>https://a.example/1</loc></url></urlset>";
const LIST: &str = "\u{feff}https://a.example/1\r\n\r\nhttp://a.example/2\n";

fn parsed(content_type: Option<&str>, body: &str) -> Parsed {
    let base = Base::parse("https://a.example/x/").unwrap();
    let bytes = body.as_bytes();
    let source = Source { base: &base, content_type, robots_tags: &[], kind: None, bytes };
    parse(&source, &Wanted::everything("Tidewatch"))
}

fn named(parsed: &Parsed) -> Vec<(String, String)> {
    let base = Base::parse("https://a.example/x/").unwrap();
    parsed.named(&base).map(|named| (named.url.as_str().to_owned(), named.title)).collect()
}

#[test]
fn the_header_decides_and_without_one_the_first_bytes() {
    let (feed, sitemap, html) = (Some(Kind::Feed), Some(Kind::Sitemap), Some(Kind::Html));
    for (content_type, body, kind) in [
        (Some("application/rss+xml"), RSS, feed),
        (Some("text/xml; charset=utf-8"), RSS, feed),
        (Some("application/xml"), SITEMAP, sitemap),
        (Some("application/feed+json"), JSON, feed),
        (Some("text/html"), RSS, html),
        (Some("Application/XHTML+xml"), "<html/>", html),
        (Some("text/plain"), SITEMAP, sitemap),
        (Some("text/plain"), LIST, sitemap),
        (Some("text/plain"), "see\nhttps://a.example/1", Some(Kind::Text)),
        (Some("text/plain"), "A <urlset> lists pages", Some(Kind::Text)),
        (Some("text/plain"), "", Some(Kind::Text)),
        (Some("application/octet-stream"), SITEMAP, sitemap),
        (Some("application/octet-stream"), "\u{1}\u{2}", None),
        (Some("image/png"), RSS, None),
        (Some("image/svg+xml"), "<svg/>", None),
        (Some("application/json"), "{\"a\": 1}", None),
        (None, RSS, feed),
        (None, JSON, feed),
        (None, SITEMAP, sitemap),
        (None, "<p>page", html),
        (None, "", html),
        (Some(""), "<p>page", html),
    ] {
        assert_eq!(parsed(content_type, body).kind, kind, "{content_type:?} {body}");
    }
}

/// Servers give gzipped sitemaps the type of any gzipped file. Of other gzipped files only the beginning is
/// unpacked.
#[test]
fn a_gzipped_sitemap_is_known_by_what_is_in_it() {
    for (text, kind) in [(SITEMAP, Some(Kind::Sitemap)), (LIST, Some(Kind::Sitemap)), ("tar", None)]
    {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let bytes = gzip.finish().unwrap();
        let base = Base::parse("https://a.example/sitemap.xml.gz").unwrap();
        for content_type in ["application/gzip", "application/x-gzip", "application/octet-stream"] {
            let content_type = Some(content_type);
            let source =
                Source { base: &base, content_type, robots_tags: &[], kind: None, bytes: &bytes };
            assert_eq!(parse(&source, &Wanted::everything("Tidewatch")).kind, kind, "{text}");
        }
    }
}

#[test]
fn a_feed_is_no_sitemap_and_its_titles_are_kept() {
    let one = [("https://a.example/1".to_owned(), "One".to_owned())];
    assert_eq!(named(&parsed(Some("application/rss+xml"), RSS)), one);
    assert_eq!(named(&parsed(Some("application/json"), JSON)), one);
    assert_eq!(named(&parsed(Some("text/xml"), SITEMAP))[0].0, one[0].0);
}

#[test]
fn a_page_that_is_all_surroundings_is_read_with_them() {
    let parsed = parsed(None, "<aside><p>All there is on this page</aside>");
    assert_eq!(parsed.text.as_deref(), Some("All there is on this page"));
    assert_ne!(parsed.fragments.unwrap().identity, fragments_of_nothing());
}

fn fragments_of_nothing() -> u64 {
    crate::fragments::EMPTY
}

#[test]
fn headers_speak_for_documents_of_any_kind() {
    let base = Base::parse("https://a.example/").unwrap();
    for (content_type, bytes) in [("text/plain", "secret"), ("text/html", "<a href=/x>secret</a>")]
    {
        let source = Source {
            base: &base,
            content_type: Some(content_type),
            robots_tags: &["otherbot: all", "noindex, nofollow"],
            kind: None,
            bytes: bytes.as_bytes(),
        };
        let parsed = parse(&source, &Wanted::everything("Tidewatch"));
        assert!(parsed.robots.noindex && parsed.links().next().is_none(), "{content_type}");
    }
}

#[test]
fn one_pass_equals_separate_passes() {
    let html = "<title>T</title><nav>Menu of the site</nav><p>One two three four five six.\
                <aside>Beside the page</aside><p>Seven <a href=/8>eight</a>";
    let parsed = parsed(Some("text/html"), html);
    let fragments = crate::fragments::fragments(html, Shingling::default());
    assert_eq!(parsed.fragments, Some(fragments));
    assert_eq!(
        parsed.text.as_deref(),
        Some("T\nMenu of the site\nOne two three four five six.\nSeven eight")
    );
}
