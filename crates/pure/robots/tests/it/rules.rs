//! Groups, precedence and the answers of servers.

use std::fmt::Write as _;

use tidewatch_robots::{MAX_BYTES, MAX_SITEMAPS, Robots, target_of};

#[test]
fn names_the_deciding_line() {
    let robots = Robots::parse(b"user-agent: *\ndisallow: /a\nallow: /a/b\n", "Tidewatch/1.0");
    let verdict = robots.decide("/a/b/c");
    let line = verdict.decided_by.unwrap();
    assert!(verdict.allowed && line.allows);
    assert_eq!((line.number, line.path), (3, "/a/b"));
    assert_eq!(robots.decide("/a/x").decided_by.unwrap().number, 2);
    assert_eq!(robots.decide("/x").decided_by, None);
}

#[test]
fn the_own_group_replaces_that_for_everybody() {
    let text = b"user-agent: *\ndisallow: /\ncrawl-delay: 9\n\nuser-agent: tidewatch\ndisallow:\n";
    let robots = Robots::parse(text, "Tidewatch");
    assert!(robots.allows("/x"));
    assert_eq!(robots.crawl_delay(), None);
    assert!(!Robots::parse(text, "Other").allows("/x"));
}

#[test]
fn a_disallow_holds_for_the_canonical_spelling_too() {
    let robots = Robots::parse(b"user-agent: *\ndisallow: /%70rivate/%2f\n", "x");
    assert!(!robots.allows("/private/%2F"));
    assert!(!robots.allows("/%70rivate/%2F"));
    assert!(robots.allows("/private//"));
}

#[test]
fn servers_in_trouble_forbid_and_absent_files_allow() {
    let all = b"user-agent: *\ndisallow: /\n";
    assert!(!Robots::of_response(200, all, "x").allows("/a"));
    assert!(Robots::of_response(404, all, "x").allows("/a"));
    assert!(Robots::of_response(403, b"", "x").allows("/a"));
    assert!(Robots::of_response(302, b"", "x").allows("/a"));
    for status in [429, 500, 503, 999] {
        let robots = Robots::of_response(status, b"", "x");
        assert!(!robots.allows("/a") && robots.is_unreachable(), "{status}");
    }
    assert!(Robots::of_response(200, all, "x").allows("/robots.txt"));
}

#[test]
fn reads_no_more_than_its_share() {
    let mut text = String::from("user-agent: *\n");
    for n in 0..2 * MAX_SITEMAPS {
        let _ = writeln!(text, "sitemap: http://a.example/{n}");
    }
    text.push_str(&"#".repeat(MAX_BYTES));
    text.push_str("\ndisallow: /\n");
    let robots = Robots::parse(text.as_bytes(), "x");
    assert_eq!(robots.sitemaps().len(), MAX_SITEMAPS);
    assert!(robots.allows("/a"));
}

#[test]
fn finds_path_and_query() {
    let cases = [
        ("http://a.example", "/"),
        ("http://a.example?q", "/?q"),
        ("//a.example/b?c#d", "/b?c"),
        ("a.example/b", "/b"),
        ("http://a.example/b?u=http://c.example/d", "/b?u=http://c.example/d"),
        ("", "/"),
    ];
    for (url, want) in cases {
        assert_eq!(target_of(url), want, "{url}");
    }
}
