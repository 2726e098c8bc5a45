//! What URLs show at which time, asked of the site directly.

use tidewatch_trace::{Trace, TracePage, Truth, TruthClass};
use tidewatch_web::{PageRequest, Served, Site, WebError, WebHabits};

use crate::worlds::{at, many, page, two_hosts};

fn site() -> Site {
    Site::new(two_hosts(), 1, WebHabits::faultless()).unwrap()
}

fn body(site: &Site, host: &str, path: &str, seconds: u64) -> String {
    let reply = site.reply(&PageRequest::get(host, path), at(seconds));
    assert_eq!(reply.status, 200, "{host}{path} at {seconds}");
    String::from_utf8(reply.body.to_vec()).unwrap()
}

fn hrefs(html: &str) -> Vec<&str> {
    let nav = html.split("<nav>").nth(1).unwrap();
    nav.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn text_follows_the_changes_of_the_trace() {
    let site = site();
    let texts = [0, 4, 5, 14, 15, 99].map(|t| body(&site, "news.example", "/a", t));
    assert_eq!(texts[0], texts[1]);
    assert_ne!(texts[1], texts[2]);
    assert_eq!(texts[2], texts[3]);
    assert_ne!(texts[3], texts[4]);
    assert_eq!(texts[4], texts[5]);
    // A change rewrites one paragraph and leaves the others.
    let differing = texts[1].lines().zip(texts[2].lines()).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 1);
    assert!((1_000..100_000).contains(&texts[0].len()), "{}", texts[0].len());
}

#[test]
fn text_follows_the_fragments_of_the_trace() {
    let site = site();
    let paragraphs = |t| -> Vec<String> {
        let html = body(&site, "wiki.example", "/w?p=3&q=4", t);
        html.lines().filter(|l| l.starts_with("<p>")).skip(1).map(str::to_owned).collect()
    };
    let (before, after) = (paragraphs(29), paragraphs(30));
    assert_eq!((before.len(), after.len()), (2, 2));
    assert_eq!(before[1], after[0], "fragment 2 stays");
    assert_ne!(before[0], after[1]);
}

#[test]
fn links_are_those_shown_now_in_order() {
    let site = site();
    let shown = |t| body(&site, "news.example", "/", t);
    assert_eq!(hrefs(&shown(9)), Vec::<&str>::new());
    assert_eq!(hrefs(&shown(10)), ["/a"]);
    let wiki = "http://wiki.example/w?p=3&amp;q=4";
    assert_eq!(hrefs(&shown(39)), ["/a", "/b?x=1&amp;y=2", wiki]);
    assert_eq!(hrefs(&shown(40)), ["/b?x=1&amp;y=2", wiki]);
    assert!(shown(40).contains("<link rel=\"canonical\" href=\"http://news.example/\">"));
}

/// A repeat shows the text of its page at any time, and names it only if the truth says so.
#[test]
fn repeats_show_the_page_that_they_repeat() {
    for is_declared in [true, false] {
        let mut trace = two_hosts();
        let born = trace.pages[1].born;
        trace.pages.push(TracePage::new(9, "https://news.example/a?from=x", 0, born));
        let class = TruthClass::Alias;
        trace.truth = Some(vec![Truth { page: 4, class, same_as: Some(1), is_declared }]);
        let site = Site::new(trace, 1, WebHabits::faultless()).unwrap();
        for seconds in [4, 5, 15] {
            let [own, repeat] =
                ["/a", "/a?from=x"].map(|path| body(&site, "news.example", path, seconds));
            let text = |html: &str| html.split("<main>").nth(1).unwrap().to_owned();
            assert_eq!(text(&own), text(&repeat), "at {seconds}");
            let canonical = "rel=\"canonical\" href=\"http://news.example/a\"";
            assert!(own.contains(canonical));
            assert_eq!(repeat.contains(canonical), is_declared);
            assert!(is_declared || !repeat.contains("canonical"));
        }
    }
}

#[test]
fn error_pages_with_status_200_look_alike() {
    let mut trace = two_hosts();
    let row = |page| Truth { page, class: TruthClass::Missing, same_as: None, is_declared: false };
    trace.truth = Some(vec![row(1), row(2)]);
    let site = Site::new(trace, 1, WebHabits::faultless()).unwrap();
    assert_eq!(site.title(1), site.title(2));
    assert_ne!(site.title(0), site.title(1));
}

#[test]
fn validators_change_exactly_with_the_bytes() {
    let site = site();
    for (host, path) in
        [("news.example", "/"), ("news.example", "/a"), ("wiki.example", "/w?p=3&q=4")]
    {
        let replies: Vec<_> =
            (0..100).map(|t| site.reply(&PageRequest::get(host, path), at(t))).collect();
        for pair in replies.windows(2) {
            let same = pair[0].body == pair[1].body;
            assert_eq!(same, pair[0].get("etag") == pair[1].get("etag"));
            assert_eq!(same, pair[0].get("last-modified") == pair[1].get("last-modified"));
        }
    }
}

#[test]
fn a_current_copy_gets_304() {
    let site = site();
    let asked = PageRequest::get("news.example", "/a");
    let full = site.reply(&asked, at(6));
    let (etag, modified) = (full.get("etag").unwrap(), full.get("last-modified").unwrap());
    assert_eq!(modified, "Sun, 01 Mar 2026 00:00:05 GMT");
    let by_tag = PageRequest { if_none_match: Some(etag), ..asked };
    let by_date = PageRequest { if_modified_since: Some(modified), ..asked };
    for conditional in [by_tag, by_date] {
        let same = site.reply(&conditional, at(14));
        assert_eq!((same.status, same.body.len()), (304, 0));
        assert_eq!(same.get("etag"), Some(etag));
        assert_eq!(site.reply(&conditional, at(15)).status, 200);
    }
    let weak = format!("\"other\", W/{etag}");
    assert_eq!(site.reply(&PageRequest { if_none_match: Some(&weak), ..asked }, at(6)).status, 304);
    // A tag that does not match decides, whatever the date says.
    let both = PageRequest { if_none_match: Some("\"x\""), ..by_date };
    assert_eq!(site.reply(&both, at(14)).status, 200);
    let nonsense = PageRequest { if_modified_since: Some("yesterday"), ..asked };
    assert_eq!(site.reply(&nonsense, at(14)).status, 200);
}

#[test]
fn pages_are_absent_before_birth_and_after_death() {
    let site = site();
    let status =
        |site: &Site, path, t| site.reply(&PageRequest::get("news.example", path), at(t)).status;
    assert_eq!(status(&site, "/b?x=1&y=2", 19), 404);
    assert_eq!(status(&site, "/b?x=1&y=2", 20), 200);
    assert_eq!(status(&site, "/b", 20), 404);
    assert_eq!(status(&site, "/a", 99), 200);
    assert_eq!(status(&site, "/a", 100), 404);
    let goner =
        Site::new(two_hosts(), 1, WebHabits { gone: 1.0, ..WebHabits::faultless() }).unwrap();
    assert_eq!(status(&goner, "/a", 100), 410);
    assert_eq!(status(&goner, "/b?x=1&y=2", 19), 404);
}

#[test]
fn sitemap_and_feed_list_existing_pages() {
    let site = site();
    let map = |t| body(&site, "news.example", "/sitemap.xml", t);
    assert_eq!(map(0).matches("<url>").count(), 2);
    let later = map(30);
    assert_eq!(later.matches("<url>").count(), 3);
    assert!(later.contains("<loc>http://news.example/b?x=1&amp;y=2</loc>"));
    assert!(
        later.contains("<loc>http://news.example/a</loc><lastmod>2026-03-01T00:00:15Z</lastmod>")
    );
    assert!(!map(100).contains("news.example/a<"));
    let feed = body(&site, "news.example", "/feed.xml", 30);
    assert_eq!(feed.matches("<entry>").count(), 2, "the source is not an entry");
    let newest = feed.find("/b?x=1&amp;y=2").unwrap();
    assert!(newest < feed.find("news.example/a\"").unwrap(), "newest first");
}

#[test]
fn head_has_the_length_and_no_body() {
    let site = site();
    let get = site.reply(&PageRequest::get("news.example", "/a"), at(0));
    let head = site
        .reply(&PageRequest { method: "HEAD", ..PageRequest::get("news.example", "/a") }, at(0));
    assert_eq!(head.body.len(), 0);
    assert_eq!(head.get("content-length"), Some(get.body.len().to_string().as_str()));
    let post = site
        .reply(&PageRequest { method: "POST", ..PageRequest::get("news.example", "/a") }, at(0));
    assert_eq!((post.status, post.served), (405, Served::Nothing));
}

#[test]
fn the_same_seed_gives_the_same_web() {
    let make = |seed| Site::new(two_hosts(), seed, WebHabits::default()).unwrap();
    let (one, two, other) = (make(5), make(5), make(6));
    let all = |site: &Site| -> Vec<_> {
        let paths = ["/", "/a", "/robots.txt", "/private/members", "/sitemap.xml"];
        let asked = paths.iter().flat_map(|p| (0..200).map(move |t| (p, t)));
        asked.map(|(p, t)| site.reply(&PageRequest::get("news.example", p), at(t))).collect()
    };
    assert_eq!(all(&one), all(&two));
    assert_ne!(all(&one), all(&other));
}

#[test]
fn traces_that_cannot_be_served_are_refused_with_a_sentence() {
    let refuse = |trace: Trace| Site::new(trace, 0, WebHabits::default()).unwrap_err();
    let with = |pages| Trace { pages, ..many(1, 0) };
    let scheme = refuse(with(vec![page(7, 0, "ftp://news.example/")]));
    assert!(matches!(scheme, WebError::Url { page: 7, .. }), "{scheme}");
    assert!(scheme.to_string().starts_with("page 7 of the trace cannot be served: ftp://"));
    let host = refuse(with(vec![page(1, 9, "http://news.example/")]));
    assert!(matches!(host, WebError::Trace(_)), "{host}");
    let [x, same] = ["http", "https"].map(|scheme| format!("{scheme}://news.example/x"));
    let twice = refuse(with(vec![page(1, 0, &x), page(2, 0, &same)]));
    assert!(matches!(twice, WebError::Url { page: 2, .. }), "{twice}");
    let start = refuse(Trace { start: Some("spring".into()), ..two_hosts() });
    assert!(matches!(start, WebError::Trace(_)), "{start}");
}
