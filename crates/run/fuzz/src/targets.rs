//! One function for each format. It must return, and it asserts what must hold.

use std::sync::LazyLock;

use tidewatch_archive::Records;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_fetch::{Config, Fetcher, Request, Table, Tcp};
use tidewatch_parse::{
    charset,
    feed::{self, Feed},
    html,
    links::{Links, MAX_LINKS, guess_language},
    requisites::{MAX_REQUISITES, requisites},
    sitemap::{self, Sitemap},
};
use tidewatch_robots::Robots;

use crate::worlds;

/// A format that strangers write.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads an input; panics if a promise is broken.
    pub run: fn(&[u8]),
    /// The corpus.
    pub corpus: &'static [&'static [u8]],
    /// The dictionary: words with a meaning in the format.
    pub words: &'static [&'static str],
    /// Inputs that two seconds must suffice for, unoptimised and on a busy machine.
    pub least_runs: u64,
}

macro_rules! corpus {
    ($($file:literal),*) => { &[$(include_bytes!(concat!("../corpus/", $file))),*] };
}

/// All targets.
pub static TARGETS: [Target; 9] = [
    Target { name: "world", run: worlds::world, corpus: &[], words: &[], least_runs: 1 },
    Target { name: "stream", run: worlds::stream, corpus: &[], words: &[], least_runs: 1 },
    Target {
        name: "robots",
        run: robots,
        corpus: corpus!["robots/plain.txt", "robots/odd.txt"],
        words: &["User-agent:", "*", "$", "Disallow:", "Allow:", "%2f", "\r", "Crawl-delay: 1e9"],
        least_runs: 100,
    },
    Target {
        name: "url",
        run: url,
        corpus: corpus!["url/plain.txt", "url/odd.txt"],
        words: &[
            "http://",
            "//",
            "..",
            "%2e",
            "[::1]",
            "@",
            "xn--",
            ";jsessionid=",
            "?",
            "#",
            "\\",
        ],
        least_runs: 100,
    },
    Target {
        name: "html",
        run: page,
        corpus: corpus!["html/page.html", "html/broken.html"],
        words: &[
            "<a href=",
            "</a>",
            "<!--",
            "-->",
            "<script>",
            "<base href=",
            "&#x",
            "<table>",
            "'",
        ],
        least_runs: 100,
    },
    Target {
        name: "sitemap",
        run: site_map,
        corpus: corpus!["sitemap/pages.xml", "sitemap/index.xml", "sitemap/list.txt"],
        words: &[
            "<url>",
            "<loc>",
            "</urlset>",
            "<![CDATA[",
            "]]>",
            "<!DOCTYPE",
            "<!ENTITY",
            "&amp;",
        ],
        least_runs: 100,
    },
    Target {
        name: "feed",
        run: feed_of,
        corpus: corpus!["feed/rss.xml", "feed/atom.xml", "feed/rdf.xml", "feed/feed.json"],
        words: &[
            "<item>",
            "<link href='",
            "xml:base='",
            "<entry>",
            "</channel>",
            "<pubDate>",
            "\\u00",
        ],
        least_runs: 100,
    },
    Target {
        name: "http",
        run: http,
        corpus: corpus!["http/plain.http", "http/chunked.http", "http/redirect.http"],
        words: &[
            "\r\n",
            "\r\n\r\n",
            "Content-Encoding: gzip\r\n",
            "Content-Length: ",
            "chunked",
            "FFFFFFFF",
        ],
        least_runs: 100,
    },
    Target {
        name: "warc",
        run: warc,
        corpus: corpus!["warc/response.warc", "warc/revisit.warc"],
        words: &[
            "WARC/1.1\r\n",
            "Content-Length: ",
            "\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            "99999999999",
        ],
        least_runs: 100,
    },
];

fn robots(bytes: &[u8]) {
    let robots = Robots::parse(bytes, "Tidewatch");
    for target in ["/", "/a/b?c=d", "/%C3%BC/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"] {
        let verdict = robots.decide(target);
        assert_eq!(verdict.allowed, verdict.decided_by.is_none_or(|line| line.allows));
    }
}

static BASE: LazyLock<Base> =
    LazyLock::new(|| Base::parse("http://a.example/b/c?d").expect("a valid URL"));

fn url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for read in [CanonicalUrl::parse(&text), BASE.join(&text)].into_iter().flatten() {
        let again = CanonicalUrl::parse(read.as_str());
        assert_eq!(again.as_ref(), Ok(&read), "a canonical URL is its own canonical form");
        assert!(!read.surt().is_empty() && !read.host().is_empty());
    }
}

fn page(bytes: &[u8]) {
    let text = charset::decode(bytes, None).text;
    let mut links = Links::new("Tidewatch");
    html::scan(&text, &mut links);
    let page = links.finish(&BASE);
    assert!(page.links.len() <= MAX_LINKS);
    for content_type in ["text/html", "text/css"] {
        let found = requisites(bytes, Some(content_type), &BASE);
        assert!(found.len() <= MAX_REQUISITES);
    }
    // The guess costs more than all the rest.
    if bytes.len().is_multiple_of(64) {
        guess_language(&text);
    }
}

fn site_map(bytes: &[u8]) {
    if let Ok(map) = Sitemap::parse(bytes, None) {
        assert!(map.entries.len() <= sitemap::MAX_URLS);
        assert!(map.entries.iter().all(|entry| !entry.url.is_empty()));
    }
}

fn feed_of(bytes: &[u8]) {
    if let Ok(feed) = Feed::parse(bytes, None) {
        assert!(feed.entries.len() <= feed::MAX_ENTRIES);
        let links = feed.entries.iter().map(|entry| entry.links.len());
        assert!(links.max().unwrap_or(0) <= feed::MAX_LINKS);
    }
}

fn http(bytes: &[u8]) {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime without sockets needs nothing from the system");
        static FETCHER: Fetcher = Fetcher::with(
            Config::new("Tidewatch-Fuzz/1"),
            std::sync::Arc::new(Table::default()),
            std::sync::Arc::new(Tcp),
        ).expect("the configuration is valid");
    }
    let request = Request::page(CanonicalUrl::parse("http://a.example/").expect("a valid URL"));
    RUNTIME.with(|runtime| {
        FETCHER.with(|fetcher| {
            let fetched = runtime.block_on(fetcher.replay(&request, bytes));
            if let Some(response) = fetched.response() {
                assert!(response.body.len() <= 15_000_000);
                response.retry_after(0);
                response.validators();
            }
        });
    });
}

fn warc(bytes: &[u8]) {
    // A damaged record ends the reading; the bound is for a reader that would not end.
    for record in Records::new(bytes).take(1000).map_while(Result::ok) {
        let (head, body) = record.message();
        assert!(head.len() + body.len() <= bytes.len());
        record.http_status();
    }
}
