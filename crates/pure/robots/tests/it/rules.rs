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

/// Both sides are compared in one normal form: a rule's spelling on the left, URLs that it
/// forbids on the right, canonical (as a crawler has them) and raw (as people type them).
const ONE_FORM: [(&[u8], &[&str]); 16] = [
    (b"/*[", &["/a%5B0%5D", "/a?b[0]=1", "/a?b%5b0%5d"]),
    (b"/*]", &["/a%5D", "/a]"]),
    (b"/*|", &["/a%7Cb", "/a|b"]),
    (b"/*{", &["/%7Bid}", "/{id}"]),
    (b"/*}", &["/%7Bid%7D"]),
    (b"/*\"", &["/%22a%22"]),
    (b"/*<", &["/a%3Cb"]),
    (b"/*>", &["/a%3Eb"]),
    (b"/a b", &["/a%20b", "/a b"]),
    (b"/*^", &["/a%5E"]),
    (b"/*`", &["/a%60"]),
    (b"/*'", &["/a'b", "/?q=%27"]),
    (b"/caf\xe9", &["/caf%E9", "/caf%e9s"]),
    (b"/caf\xc3\xa9", &["/caf%C3%A9", "/caf%c3%a9s"]),
    (b"/file-with-a-%2A.html", &["/file-with-a-*.html", "/file-with-a-%2A.html"]),
    (b"/foo-%24", &["/foo-$", "/foo-%24"]),
];

#[test]
fn both_sides_are_compared_in_one_normal_form() {
    for (path, targets) in ONE_FORM {
        let text = [b"user-agent: *\ndisallow: ", path, b"\n"].concat();
        let robots = Robots::parse(&text, "x");
        for target in targets {
            assert!(!robots.allows(target), "{} on {target}", String::from_utf8_lossy(path));
        }
        let text = [b"user-agent: *\ndisallow: /\nallow: ", path, b"\n"].concat();
        let robots = Robots::parse(&text, "x");
        for target in targets {
            assert!(robots.allows(target), "{} on {target}", String::from_utf8_lossy(path));
        }
        assert!(!robots.allows("/other"));
    }
}

#[test]
fn a_star_in_a_url_is_no_wildcard() {
    let robots = Robots::parse(b"user-agent: *\ndisallow: /a%2Ab\n", "x");
    assert!(robots.allows("/axb") && !robots.allows("/a*b"));
    let robots = Robots::parse(b"user-agent: *\ndisallow: /a$b\n", "x");
    assert!(!robots.allows("/a$b") && robots.allows("/a"));
}

#[test]
fn a_file_that_is_too_long_is_cut_between_lines() {
    for end in ["\n", "\r"] {
        let rule = format!("disallow: /private/only{end}");
        // The limit falls behind the first slash of the rule.
        let head = format!("user-agent: *{end}disallow: /first{end}#");
        let filler = "x".repeat(MAX_BYTES - head.len() - end.len() - "disallow: /".len());
        let text = [&head, &filler, end, &rule].concat();
        // Whole, and as a fetcher with the same limit hands it over.
        for bytes in [text.as_bytes(), &text.as_bytes()[..MAX_BYTES]] {
            let robots = Robots::parse(bytes, "x");
            assert!(!robots.allows("/first") && robots.allows("/public"), "{end:?}");
        }
    }
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

/// Usage lines belong to their group; the longest path that matches counts.
#[test]
fn usage_lines() {
    let text = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: /open train-ai=y\n\
                Content-Usage: /open/not* train-ai=n\nAllow: /\n\
                User-agent: OtherBot\nContent-Signal: search=no\n";
    let robots = Robots::parse(text.as_bytes(), "ExampleBot");
    let said = |path: &str| robots.wishes(path).to_string();
    assert_eq!(said("/a"), "search=y, train-ai=n");
    assert_eq!(said("/open"), "train-ai=y");
    assert_eq!(said("/open/not-this"), "train-ai=n");
    assert!(robots.allows("/a"));
    let other = Robots::parse(text.as_bytes(), "OtherBot");
    assert_eq!(other.wishes("/a").to_string(), "search=n");
    assert!(Robots::absent().wishes("/").is_empty());
}
