//! What the public face of canonical URLs promises.

use tidewatch_core::PageKey;
use tidewatch_core::url::{Base, CanonicalUrl, MAX_INPUT_BYTES, MAX_URL_BYTES};

fn canon(input: &str) -> String {
    match CanonicalUrl::parse(input) {
        Ok(url) => url.into_string(),
        Err(refused) => refused.reason().to_owned(),
    }
}

#[test]
fn one_form_for_many_spellings() {
    let cases = [
        ("HTTPS://User:pw@WWW.Example.COM.:443/a/../%7eb?#frag", "https://www.example.com/~b"),
        ("http://example.com:80", "http://example.com/"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("http://B\u{fc}cher.example/\u{fc}", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]:81/", "http://[::1]:81/"),
        ("https://a.example/x;jsessionid=1?utm_source=y&b=2&a=1", "https://a.example/x?b=2&a=1"),
        ("https://a.example/?fbclid=1", "https://a.example/"),
        ("http://xn--pokxncvks.example", "http://xn--pokxncvks.example/"),
    ];
    for (input, want) in cases {
        assert_eq!(canon(input), want, "{input}");
    }
}

#[test]
fn refusals_have_names() {
    let long_label = format!("http://{}.example/", "a".repeat(64));
    let long_path = format!("http://a.example/{}", "a".repeat(MAX_URL_BYTES));
    let long_data = format!("data:text/html,{}", "a".repeat(MAX_INPUT_BYTES));
    let long_input = format!("http://a.example/#{}", "a".repeat(MAX_INPUT_BYTES));
    let cases = [
        (" \t\n", "empty"),
        ("/relative", "no-scheme"),
        ("example.com/x", "no-scheme"),
        ("mailto:a@b.example", "bad-scheme"),
        ("Java\nScript:alert(1)", "bad-scheme"),
        ("ftp://a.example/", "bad-scheme"),
        ("foo://[", "bad-scheme"),
        ("http://", "no-host"),
        ("http:///", "no-host"),
        ("http://a..example/", "bad-host"),
        ("http://a,b.example/", "bad-host"),
        ("http://1.2.3.4../", "bad-host"),
        ("http://./", "bad-host"),
        ("http://a b/", "bad-host"),
        ("http://256.256.256.256/", "bad-host"),
        ("http://[::g]/", "bad-host"),
        ("http://a.example:0/", "bad-port"),
        ("http://a.example:65536/", "bad-port"),
        (&long_label, "bad-host"),
        (&long_path, "too-long"),
        (&long_data, "bad-scheme"),
        (&long_input, "too-long"),
    ];
    for (input, want) in cases {
        assert_eq!(canon(input), want, "{input:.40}");
    }
    let refused = CanonicalUrl::parse("http://u@[::g]:8/").expect_err("bad address");
    assert!(refused.to_string().contains("`[::g]`"), "{refused}");
}

#[test]
fn the_limit_holds_for_the_canonical_form() {
    let longest = format!("http://a.example/{}", "a".repeat(MAX_URL_BYTES - 17));
    assert_eq!(canon(&format!("{longest}#fragment")), longest);
    assert_eq!(canon(&format!("{longest}a")), "too-long");
}

#[test]
fn references_resolve_against_a_base() {
    let page = CanonicalUrl::parse("https://a.example/dir/page?q=1").expect("page");
    let cases = [
        ("x", "https://a.example/dir/x"),
        ("../x", "https://a.example/x"),
        ("?r", "https://a.example/dir/page?r"),
        ("#top", "https://a.example/dir/page?q=1"),
        ("//b.example", "https://b.example/"),
        ("///b.example", "https://b.example/"),
        ("http:x", "http://x/"),
    ];
    for (reference, want) in cases {
        let got = page.join(reference).expect(reference);
        assert_eq!(got.as_str(), want, "{reference}");
    }
    assert_eq!(page.join("mailto:x").expect_err("mail").reason(), "bad-scheme");
    let base = Base::parse("https://a.example/one/").expect("base");
    let base = base.rebase("../two/").expect("base href");
    let got = base.join("x").expect("x");
    assert_eq!(got.as_str(), "https://a.example/two/x");
}

#[test]
fn parts() {
    let url = CanonicalUrl::parse("https://www.example.co.uk:8443/a/b?c?d=1").expect("url");
    assert_eq!(url.scheme(), "https");
    assert_eq!(url.host(), "www.example.co.uk");
    assert_eq!(url.port(), 8443);
    assert_eq!(url.origin(), "https://www.example.co.uk:8443");
    assert_eq!(url.path(), "/a/b");
    assert_eq!(url.query(), Some("c?d=1"));
    assert_eq!(url.path_and_query(), "/a/b?c?d=1");
    assert_eq!(url.registrable_domain(), Some("example.co.uk"));
    let plain = CanonicalUrl::parse("http://127.0.0.1").expect("url");
    assert_eq!((plain.port(), plain.query()), (80, None));
    assert_eq!(plain.registrable_domain(), None);
    assert!(plain.ip().is_some_and(|ip| ip.is_loopback()));
}

#[test]
fn key_is_xxh3_of_the_text() {
    // XXH3_64bits of the same bytes by the reference implementation's Python binding.
    let url = CanonicalUrl::parse("https://example.com/").expect("url");
    assert_eq!(PageKey::of(url.as_str()).0, HASH_OF_EXAMPLE);
}

/// `xxhash.xxh3_64_intdigest(b"https://example.com/")`.
const HASH_OF_EXAMPLE: u64 = 5522761390303137003;

#[test]
fn surt_keys() {
    // The PyPI package `surt` gives the same for names with an identity canonicaliser.
    let cases = [
        ("http://www.example.com/", "com,example,www)/"),
        ("http://example.com:8080/A/b?z=1&a=2", "com,example:8080)/A/b?z=1&a=2"),
        ("https://example.com:443/x", "com,example)/x"),
        ("http://localhost/x", "localhost)/x"),
        ("http://user:pw@a.b/c", "b,a)/c"),
        ("http://b\u{fc}cher.de/", "de,xn--bcher-kva)/"),
        ("http://127.0.0.1:8080/a", "127.0.0.1:8080)/a"),
        ("http://[2001:db8::1]:81/a", "[2001:db8::1]:81)/a"),
    ];
    for (input, want) in cases {
        let url = CanonicalUrl::parse(input).expect(input);
        assert_eq!(url.surt(), want, "{input}");
    }
}

#[test]
fn a_description_prints_four_lines() {
    let url = CanonicalUrl::parse("http://Example.com").expect("url");
    let want = "canonical: http://example.com/\nsurt: com,example)/\nhost: example.com\n\
                registrable domain: example.com";
    assert_eq!(url.describe().to_string(), want);
}
