//! No way to an address that is not public: every case of the suite, by every entry.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use serde_json::Value;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{Config, Fetcher, Purpose, Request, Table, Validators, address};
use tidewatch_testing::suites as shared;

use crate::server::{Detour, PUBLIC, Server, answer};

const START: &str = "start.example";

/// How a case ended.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// The URL was refused before any lookup.
    Rejected,
    /// Its address was refused.
    Blocked,
    /// A socket was opened.
    Connected,
}

fn cases() -> Option<Vec<Value>> {
    Some(serde_json::from_slice(&shared::bytes("ssrf/cases.json")?).unwrap())
}

/// Names lead to loopback, as an attacker would have it, but for the place to start from.
fn setting(server: &Server) -> (Fetcher, Arc<Detour>) {
    let names = Table::of([(START.to_owned(), vec![PUBLIC])]);
    let names = names.otherwise(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    let detour = Arc::new(Detour::to(server.at));
    let config = Config::new("Test/1");
    (Fetcher::with(config, Arc::new(names), detour.clone()).unwrap(), detour)
}

fn is_as_expected(expect: &str, verdict: &Verdict) -> bool {
    match expect {
        "block" => *verdict == Verdict::Blocked,
        "reject" => *verdict == Verdict::Rejected,
        // A name that no DNS can hold may be refused before it is asked for.
        "resolve-then-check" => *verdict != Verdict::Connected,
        "allow" => *verdict == Verdict::Connected,
        other => panic!("unknown expectation {other}"),
    }
}

async fn judge(entry: &str, verdict_of: impl AsyncFn(&str) -> Verdict) {
    let Some(cases) = cases() else { return };
    let mut failures = Vec::new();
    for case in &cases {
        let (url, expect) = (case["url"].as_str().unwrap(), case["expect"].as_str().unwrap());
        let verdict = verdict_of(url).await;
        if !is_as_expected(expect, &verdict) {
            failures.push(format!("{url}: {verdict:?}, not {expect}"));
        }
    }
    shared::judge(&format!("ssrf by {entry}"), cases.len(), 600, &failures);
}

#[tokio::test]
async fn direct() {
    for purpose in [Purpose::Page, Purpose::Robots, Purpose::Sitemap] {
        let server = Server::start(|_| answer("200 OK", "", b"")).await;
        let (fetcher, detour) = setting(&server);
        judge(&format!("{purpose:?}"), async |url| {
            let Ok(url) = CanonicalUrl::parse(url) else { return Verdict::Rejected };
            let ask = Request { url, purpose, held: Validators::default() };
            let fetched = fetcher.fetch(&ask, &mut |_| true).await;
            match fetched.end.name() {
                "blocked-address" => Verdict::Blocked,
                _ => Verdict::Connected,
            }
        })
        .await;
        only_public(&detour);
    }
}

#[tokio::test]
async fn by_redirect() {
    let server = Server::start(|head| {
        let query = head.split(' ').nth(1).unwrap_or_default();
        match query.strip_prefix("/?to=") {
            Some(number) => {
                let cases = cases().unwrap();
                let url = cases[number.parse::<usize>().unwrap()]["url"].as_str().unwrap();
                answer("302 Found", &format!("Location: {url}\r\n"), b"")
            }
            None => answer("200 OK", "", b""),
        }
    })
    .await;
    let (fetcher, detour) = setting(&server);
    let known = cases().unwrap_or_default();
    for purpose in [Purpose::Page, Purpose::Robots] {
        judge(&format!("redirect of {purpose:?}"), async |url| {
            let number = known.iter().position(|case| case["url"] == url).unwrap();
            let start = CanonicalUrl::parse(&format!("http://{START}/?to={number}")).unwrap();
            let ask = Request { url: start, purpose, held: Validators::default() };
            let fetched = fetcher.fetch(&ask, &mut |_| true).await;
            match fetched.end.name() {
                "blocked-address" => Verdict::Blocked,
                "redirect-refused" => Verdict::Rejected,
                _ => Verdict::Connected,
            }
        })
        .await;
    }
    only_public(&detour);
}

fn only_public(detour: &Detour) {
    let dialled = detour.dialled.lock().unwrap();
    assert!(dialled.iter().all(|to| address::special(to.ip()).is_none()), "{dialled:?}");
}
