//! Links and what a page says of itself.

use tidewatch_core::url::Base;
use tidewatch_parse::{
    document::{Source, Wanted, parse},
    forms::{FieldKind, Method},
    html,
    links::{LinkKind, Links, MAX_LINKS, Page, Region},
};

use tidewatch_testing::suites as shared;

fn read(text: &str) -> Page {
    let mut links = Links::new("Tidewatch");
    html::scan(text, &mut links);
    links.finish(&Base::parse("http://a.example/dir/page?q").unwrap())
}

#[test]
fn links_with_anchor_place_and_rel() {
    let page = read(
        "<html lang='en-GB'><title> A\n <b>title </title><nav><a href='/x'>To <b>the</b>\n x</a></nav>\
         <main><a href='y?utm_source=z#f' rel='nofollow UGC'><img alt='a picture'></a>\
         <a href='mailto:a@b'>mail</a><iframe src='//b.example/f'></iframe>\
         <map><area href=z alt=area></map><a href='?p=2'>next<a href=3>nested</main>",
    );
    assert_eq!(page.title.as_deref(), Some("A <b>title"));
    assert_eq!(page.language.as_deref(), Some("en-GB"));
    assert_eq!(page.refused, 1);
    let told: Vec<_> = page
        .links
        .iter()
        .map(|l| (l.url.as_str(), l.anchor.as_str(), l.position, l.region, l.kind))
        .collect();
    let (main, anchor) = (Region::Main, LinkKind::Anchor);
    let want = [
        ("http://a.example/x", "To the x", 0, Region::Nav, anchor),
        ("http://a.example/dir/y", "a picture", 1, main, anchor),
        ("http://b.example/f", "", 3, main, LinkKind::Frame),
        ("http://a.example/dir/z", "area", 4, main, anchor),
        ("http://a.example/dir/page?p=2", "next", 5, main, anchor),
        ("http://a.example/dir/3", "nested", 6, main, anchor),
    ];
    assert_eq!(told, want);
    assert!(page.links[1].rel.nofollow && page.links[1].rel.ugc && !page.links[0].rel.nofollow);
}

#[test]
fn a_base_holds_wherever_it_stands() {
    let page =
        read("<a href=x>1</a><base href='http://b.example/d/'><base href=/no><a href=y>2</a>");
    let urls: Vec<_> = page.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls, ["http://b.example/d/x", "http://b.example/d/y"]);
    let script = read("<base href='javascript:alert(1)'><a href=x>1</a>");
    assert_eq!(script.links[0].url.as_str(), "http://a.example/dir/x");
}

#[test]
fn queries_are_in_the_encoding_of_the_page() {
    let base = Base::parse("http://a.example/").unwrap();
    let (page, _, _) = encoding_rs::WINDOWS_1251.encode("<a href='/п?q=п'>x</a>");
    let content_type = Some("text/html; charset=windows-1251");
    let source = Source { base: &base, content_type, robots_tags: &[], kind: None, bytes: &page };
    let parsed = parse(&source, &Wanted::everything("x"));
    assert_eq!(parsed.links().next().unwrap().url.as_str(), "http://a.example/%D0%BF?q=%EF");
}

#[test]
fn metadata_of_a_page() {
    let page = read(
        "<link rel='Canonical' href=/c><link rel=alternate hreflang=de href=/de>\
         <link rel=alternate type=application/rss+xml href=/feed><link rel=next href=2>\
         <link rel=stylesheet href=s.css>\
         <meta http-equiv=Refresh content='3; url=/r'><meta name=robots content='noindex'>\
         <meta name=otherbot content=nofollow>",
    );
    assert_eq!(page.canonical.unwrap().as_str(), "http://a.example/c");
    assert_eq!(page.alternates.len(), 2);
    assert_eq!(page.alternates[0].language.as_deref(), Some("de"));
    assert!(page.alternates[1].is_feed);
    let refresh = page.refresh.unwrap();
    assert_eq!((refresh.after_s, refresh.url.as_str()), (3, "http://a.example/r"));
    assert!(!refresh.is_fallback);
    assert!(page.robots.noindex && !page.robots.nofollow);
    assert_eq!(page.links.len(), 1);
    assert_eq!(page.links[0].kind, LinkKind::Sequence);
}

/// What stands in a noscript element is followed by few readers; any other refresh counts before it.
#[test]
fn a_refresh_for_readers_without_scripts_is_told_apart() {
    let fallback = "<noscript><meta http-equiv=refresh content='0; url=/plain'></noscript>";
    let refresh = read(fallback).refresh.unwrap();
    assert!(refresh.is_fallback && refresh.url.as_str() == "http://a.example/plain");
    let both = format!("{fallback}<meta http-equiv=refresh content='0; url=/next'>");
    let refresh = read(&both).refresh.unwrap();
    assert!(!refresh.is_fallback && refresh.url.as_str() == "http://a.example/next");
}

#[test]
fn forms() {
    let page = read(
        "<input name=outside><form action=/s method=POST><input name=q type=Search>\
         <select name=s><option>1</select><textarea name=t></textarea><button>Go</button></form>\
         <form><input></form>",
    );
    assert_eq!(page.forms.len(), 2);
    let form = &page.forms[0];
    assert_eq!((form.method, form.fields.len()), (Method::Post, 4));
    assert_eq!(form.fields[0].kind, FieldKind::Search);
    assert_eq!(page.forms[1].action.as_ref().unwrap().as_str(), "http://a.example/dir/page?q");
}

#[test]
fn floods_are_cut() {
    let page = read(&"<a href=x>y</a>".repeat(MAX_LINKS + 1));
    assert_eq!(page.links.len(), MAX_LINKS);
    assert!(page.is_cut);
    let page = read(&format!("<a href=x>{}</a>", "word ".repeat(100_000)));
    assert!(page.links[0].anchor.len() <= 512);
}

#[test]
fn hostile_pages() {
    for name in ["deep-div", "a-i-misnest", "long-url", "base-javascript", "meta-charset-conflict"]
    {
        let Some(bytes) = shared::bytes(&format!("bombs/html-{name}.html")) else { return };
        let started = std::time::Instant::now();
        let page = read(&tidewatch_parse::charset::decode(&bytes, None).text);
        assert!(started.elapsed().as_secs() < 5, "{name}");
        assert!(page.links.iter().all(|link| link.url.as_str().starts_with("http")), "{name}");
    }
}
