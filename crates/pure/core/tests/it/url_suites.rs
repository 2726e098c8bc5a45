//! URLs judged by public suites: WHATWG's, address tricks, naughty strings.

use serde_json::Value;
use tidewatch_core::url::{CanonicalUrl, whatwg};
use tidewatch_testing::suites::{judge, text};

use crate::url_properties::check_invariants;

fn json_cases(path: &str) -> Option<Vec<Value>> {
    let all: Vec<Value> = serde_json::from_str(&text(path)?).expect("the suite is a JSON array");
    Some(all.into_iter().filter(|case| !case.is_string()).collect())
}

fn whatwg_href(input: &str, base: Option<&str>) -> Option<(String, String)> {
    let base = base.map(|base| whatwg::parse(base, None).expect("bases of the suite are valid"));
    let parsed = whatwg::parse(input, base.as_ref()).ok()?;
    let host = parsed.host().unwrap_or_default().to_owned();
    Some((parsed.href().into_owned(), host))
}

/// The suite's http(s) cases: those that give http(s), and those that fail
/// with an http(s) input or base.
fn is_http_case(case: &Value) -> bool {
    let is_http = |text: &str| {
        let text = text.trim_start().to_ascii_lowercase();
        text.starts_with("http:") || text.starts_with("https:")
    };
    let field_is_http = |name: &str| case[name].as_str().is_some_and(is_http);
    field_is_http("protocol")
        || (case["failure"] == true && (field_is_http("input") || field_is_http("base")))
}

#[test]
fn whatwg_parsing() {
    let Some(cases) = json_cases("wpt-url/url/resources/urltestdata.json") else {
        return;
    };
    let cases: Vec<_> = cases.iter().filter(|case| is_http_case(case)).collect();
    let failures = cases.iter().filter_map(|case| {
        let input = case["input"].as_str().expect("input");
        let got = whatwg_href(input, case["base"].as_str());
        let want = case["href"].as_str().map(|href| {
            let hostname = case["hostname"].as_str().expect("hostname");
            (href.to_owned(), hostname.to_owned())
        });
        (got != want).then(|| format!("{input:?}: {got:?}, not {want:?}"))
    });
    judge("WHATWG http(s)", cases.len(), 400, &failures.collect::<Vec<_>>());
}

#[test]
fn whatwg_hosts() {
    let Some(cases) = json_cases("wpt-url/url/resources/toascii.json") else {
        return;
    };
    let failures = cases.iter().filter_map(|case| {
        let input = case["input"].as_str().expect("input");
        let got = whatwg_href(&format!("https://{input}/x"), None).map(|(_, host)| host);
        let want = case["output"].as_str().map(str::to_owned);
        (got != want).then(|| format!("{input:?}: {got:?}, not {want:?}"))
    });
    judge("WHATWG domain to ASCII", cases.len(), 80, &failures.collect::<Vec<_>>());
}

#[test]
fn whatwg_cases_are_refused_or_canonical() {
    let Some(cases) = json_cases("wpt-url/url/resources/urltestdata.json") else {
        return;
    };
    let hrefs = cases.iter().flat_map(|case| [&case["input"], &case["href"]]);
    let accepted = hrefs.filter_map(|text| CanonicalUrl::parse(text.as_str()?).ok());
    let count = accepted.inspect(check_invariants).count();
    eprintln!("WHATWG: {count} accepted URLs keep all invariants");
    assert!(count >= 400, "{count} URLs");
}

/// Host spellings meant to slip past address filters, with the host Node.js reads.
#[test]
fn hosts_of_address_tricks() {
    let Some(mut cases) = json_cases("ssrf/cases.json") else {
        return;
    };
    cases.retain(|case| matches!(case["scheme"].as_str(), Some("http:" | "https:")));
    let failures = cases.iter().filter_map(|case| {
        let url = case["url"].as_str().expect("url");
        let got = whatwg_href(url, None).map(|(_, host)| host);
        let want = case["host"].as_str().map(str::to_owned);
        (got != want).then(|| format!("{url:?}: {got:?}, not {want:?}"))
    });
    judge("address tricks", cases.len(), 500, &failures.collect::<Vec<_>>());
}

#[test]
fn naughty_strings() {
    let Some(text) = text("blns/blns.json") else {
        return;
    };
    let strings: Vec<String> = serde_json::from_str(&text).expect("JSON strings");
    let page = CanonicalUrl::parse("https://a.example/dir/page").expect("page");
    let mut accepted = 0;
    for text in &strings {
        let tries = [
            CanonicalUrl::parse(text),
            CanonicalUrl::parse(&format!("http://{text}/")),
            CanonicalUrl::parse(&format!("http://a.example/{text}")),
            CanonicalUrl::parse(&format!("http://a.example/?q={text}")),
            page.join(text),
        ];
        accepted += tries.iter().flatten().inspect(|url| check_invariants(url)).count();
    }
    eprintln!("naughty strings: {}, {accepted} URLs accepted", strings.len());
    assert!(strings.len() >= 500 && accepted > strings.len());
}
