//! Hostile answers: a named end, in bounded time, with a bounded body.

use std::time::Instant;

use tidewatch_fetch::Purpose;
use tidewatch_parse::sitemap::Sitemap;
use tidewatch_testing::{memory::extra_kib, suites as shared};

use crate::server::{Server, answer, get};

/// The file, the encoding it is served with (none: the file is the whole answer), the end.
const BOMBS: [(&str, Option<&str>, &str); 11] = [
    ("gzip-1GiB.gz", Some("gzip"), "answered"),
    ("brotli-10GiB.br", Some("br"), "answered"),
    ("zstd-window-128MiB.zst", Some("zstd"), "bad-encoding"),
    ("gzip-truncated.gz", Some("gzip"), "answered"),
    ("gzip-bad-crc.gz", Some("gzip"), "answered"),
    ("headers-flood.http", None, "head-too-large"),
    ("warc-injection.http", None, "answered"),
    ("location-crlf.http", None, "redirect"),
    ("chunked-huge-size.http", None, "incomplete"),
    ("chunked-extension-flood.http", None, "protocol"),
    ("content-length-lie-short.http", None, "incomplete"),
];

/// Far more than any of them needs, on a slow and busy machine.
const PATIENCE_S: u64 = 20;

#[tokio::test]
async fn bombs_end_with_a_name() {
    let mut failures = Vec::new();
    for (name, encoding, want) in BOMBS {
        let Some(bytes) = shared::bytes(&format!("bombs/{name}")) else { return };
        let bytes = match encoding {
            Some(encoding) => {
                answer("200 OK", &format!("Content-Encoding: {encoding}\r\n"), &bytes)
            }
            None => bytes,
        };
        let server = Server::start(move |_| bytes.clone()).await;
        let started = Instant::now();
        let ask = crate::server::request("http://a.example/", Purpose::Page);
        let fetched = server.fetcher().fetch(&ask, &mut |_| false).await;
        let (reason, kept) = (fetched.end.name(), fetched.response().map_or(0, |r| r.body.len()));
        if reason != want || kept > 2_000_000 || started.elapsed().as_secs() > PATIENCE_S {
            let took = started.elapsed();
            failures.push(format!("{name}: {:?}, {kept} bytes, {took:?}; not {want}", fetched.end));
        }
    }
    shared::judge("bombs", BOMBS.len(), BOMBS.len(), &failures);
}

#[tokio::test]
async fn an_answer_that_looks_like_a_record_is_one_body() {
    let Some(bytes) = shared::bytes("bombs/warc-injection.http") else { return };
    let server = Server::start(move |_| bytes.clone()).await;
    let fetched = get(&server.fetcher(), "http://a.example/").await;
    assert!(!fetched.response().unwrap().head.windows(5).any(|window| window == b"WARC/"));
}

/// More than any answer may take.
const MOST_KIB: u64 = 64 * 1024;

/// A server is in the same process, so what it has at hand counts as there before.
#[test]
fn no_answer_takes_more_memory_than_it_may() {
    if shared::suite("bombs").is_none() {
        return;
    }
    let mut failures = Vec::new();
    for (name, encoding, _) in BOMBS {
        let prepare = || {
            let bytes = shared::bytes(&format!("bombs/{name}")).unwrap();
            let head = encoding.map(|encoding| format!("Content-Encoding: {encoding}\r\n"));
            let bytes = head.map_or(bytes.clone(), |head| answer("200 OK", &head, &bytes));
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let server = runtime.block_on(Server::start(move |_| bytes.clone()));
            let fetcher = server.fetcher();
            (runtime, server, fetcher)
        };
        let test = "bombs::no_answer_takes_more_memory_than_it_may";
        let kib = extra_kib(test, name, prepare, |(runtime, _server, fetcher)| {
            runtime.block_on(get(&fetcher, "http://a.example/"));
        });
        eprintln!("{name}: {kib:?} KiB");
        if kib.is_some_and(|kib| kib > MOST_KIB) {
            failures.push(format!("{name} took {kib:?} KiB"));
        }
    }
    shared::judge("bombs fetched", BOMBS.len(), BOMBS.len(), &failures);
}

/// What a sitemap may take, with the largest one that is kept.
#[test]
fn no_sitemap_takes_more_memory_than_it_may() {
    if shared::suite("bombs").is_none() {
        return;
    }
    let mut failures = Vec::new();
    let cases = ["gzip-1GiB.gz", "brotli-10GiB.br", "zstd-1GiB"];
    for (name, encoding) in cases.into_iter().zip(["gzip", "br", "zstd"]) {
        let prepare = || {
            let bytes = if encoding == "zstd" {
                let zeros = std::io::Read::take(std::io::repeat(0), 1 << 30);
                zstd::stream::encode_all(zeros, 1).unwrap()
            } else {
                shared::bytes(&format!("bombs/{name}")).unwrap()
            };
            let bytes = answer("200 OK", &format!("Content-Encoding: {encoding}\r\n"), &bytes);
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let server = runtime.block_on(Server::start(move |_| bytes.clone()));
            let fetcher = server.fetcher();
            (runtime, server, fetcher)
        };
        let test = "bombs::no_sitemap_takes_more_memory_than_it_may";
        let kib = extra_kib(test, name, prepare, |(runtime, _server, fetcher)| {
            let ask = crate::server::request("http://a.example/", Purpose::Sitemap);
            let fetched = runtime.block_on(fetcher.fetch(&ask, &mut |_| true));
            let response = fetched.into_response().unwrap();
            assert!(response.is_cut);
            assert!(Sitemap::parse(&response.body, None).is_ok_and(|map| map.entries.is_empty()));
        });
        eprintln!("{name}: {kib:?} KiB");
        if kib.is_some_and(|kib| kib > MOST_KIB) {
            failures.push(format!("{name} took {kib:?} KiB"));
        }
    }
    shared::judge("bombs fetched as sitemaps", cases.len(), cases.len(), &failures);
}
