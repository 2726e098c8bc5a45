//! Properties that hold for every URL, hostile ones included.

use std::collections::HashSet;

use proptest::prelude::*;
use tidewatch_core::url::{CanonicalUrl, MAX_URL_BYTES, UrlRefused};

/// All that must hold of an accepted URL; used by the suites too.
pub(crate) fn check_invariants(url: &CanonicalUrl) {
    let text = url.as_str();
    assert_eq!(CanonicalUrl::parse(text).as_ref(), Ok(url), "idempotent");
    assert!(text.is_ascii() && text.len() <= MAX_URL_BYTES, "{text}");
    let from_parts = format!("{}{}", url.origin(), url.path_and_query());
    assert_eq!(text, from_parts);
    assert!(!text.contains('#') && !url.origin().contains('@'), "{text}");
    assert!(!url.host().ends_with('.') && url.path().starts_with('/'));
    assert_ne!(url.query(), Some(""), "{text}");
    assert!(url.path().split('/').all(|segment| segment != "." && segment != ".."));
    if let Some(domain) = url.registrable_domain() {
        assert!(url.host().ends_with(domain), "{text}");
    }
    let surt = url.surt();
    assert!(surt.ends_with(&format!("){}", url.path_and_query())), "{surt}");
    assert_eq!(url.join("").as_ref(), Ok(url), "{text}");
}

fn check(result: Result<CanonicalUrl, UrlRefused>) {
    match result {
        Ok(url) => check_invariants(&url),
        Err(refused) => assert!(!refused.reason().is_empty()),
    }
}

/// Pieces that mean something to a URL parser, joined at random.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "/",
        "//",
        "\\",
        ".",
        "..",
        "%2e",
        "%2E%2e",
        ":",
        "://",
        "@",
        "?",
        "??",
        "#",
        "&",
        "=",
        ";",
        "%",
        "%4",
        "%41",
        "%25",
        "%2541",
        "%c3%bc",
        "\u{fc}",
        "\u{3002}",
        "\t",
        "\n",
        " ",
        "[",
        "]",
        "{",
        "|",
        "'",
        "+",
        "a",
        "b.c",
        "A",
        "0",
        "127.1",
        "xn--",
        "xn--a",
        "http",
        "https:",
        "utm_x=1",
        "sid=",
        "0123456789abcdef",
        ";jsessionid=1",
        "jsessionid",
        "\0",
        "\u{202e}",
        "\u{feff}",
    ]);
    prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_refused_or_canonical(text in ".{0,60}") {
        check(CanonicalUrl::parse(&text));
        check(CanonicalUrl::parse(&format!("http://{text}")));
        check(CanonicalUrl::parse(&format!("http://a.example/{text}")));
    }

    #[test]
    fn hostile_text_is_refused_or_canonical(
        host in hostile(), tail in hostile(), reference in hostile(),
    ) {
        check(CanonicalUrl::parse(&host));
        check(CanonicalUrl::parse(&format!("https://{host}/{tail}")));
        check(CanonicalUrl::parse(&format!("https://a.example/?{tail}")));
        let base = CanonicalUrl::parse(&format!("http://a.xn--a.example/{tail}"));
        if let Ok(base) = base {
            check_invariants(&base);
            check(base.join(&reference));
        }
    }

    #[test]
    fn case_and_escapes_of_unreserved_bytes_do_not_matter(name in "[a-z0-9._~-]{1,20}") {
        let escaped = name.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        let plain = CanonicalUrl::parse(&format!("http://a.example/x{name}?y{name}"));
        let other = CanonicalUrl::parse(&format!("HTTP://A.Example:80/x{escaped}?y{escaped}#f"));
        prop_assert_eq!(plain, other);
    }

    #[test]
    fn surt_order_keeps_hosts_and_domains_together(
        hosts in prop::collection::vec("([ab-]{0,2}[ab]\\.){0,2}[ab]{1,2}(-[ab]|2)?\\.(com|co\\.uk|example)", 1..30),
        paths in prop::collection::vec("[a-b/?,)-]{0,4}", 30),
    ) {
        let urls = hosts.iter().zip(&paths).map(|(host, path)| format!("http://{host}/{path}"));
        let mut urls: Vec<_> = urls.map(|url| CanonicalUrl::parse(&url).expect("valid")).collect();
        urls.sort_by_key(CanonicalUrl::surt);
        prop_assert!(is_grouped(urls.iter().map(CanonicalUrl::host)));
        prop_assert!(is_grouped(urls.iter().map(|url| url.registrable_domain().expect("domain"))));
    }
}

/// Whether equal names stand next to each other.
fn is_grouped<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut left = HashSet::new();
    let mut current = "";
    names.into_iter().all(|name| {
        let is_new = name == current || left.insert(name);
        current = name;
        is_new
    })
}
