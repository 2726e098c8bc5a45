//! Pages that want to be more than text.

use tidewatch_testing::suites::bytes;

use crate::{Stage, page};

/// Strings that have broken pages before.
pub(crate) fn payloads() -> Vec<String> {
    let own = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'-alert(1)-'",
        "</title><svg onload=alert(1)>",
        "javascript:alert(1)",
        "&lt;b&gt;",
        "{{7*7}}",
        "\u{202e}abc",
    ];
    let mut all: Vec<String> = own.iter().map(|text| (*text).to_owned()).collect();
    if let Some(text) = bytes("dompurify/cases.json") {
        let cases: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
        let payloads = cases.iter().map(|case| case["payload"].as_str().unwrap().to_owned());
        all.extend(payloads);
        assert!(all.len() >= 200, "{} strings", all.len());
    }
    if let Some(text) = bytes("blns/blns.json") {
        let strings: Vec<String> = serde_json::from_slice(&text).unwrap();
        assert!(strings.len() >= 500, "{} strings", strings.len());
        all.extend(strings);
    }
    all
}

/// Any text as part of an address.
pub(crate) fn as_query(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    bytes.concat()
}

/// Elements and attributes that our own pages have; any other was let in.
fn is_ours(tag: &str) -> bool {
    const ELEMENTS: [&str; 40] = [
        "!doctype", "html", "head", "meta", "title", "link", "body", "a", "header", "nav", "ul",
        "li", "main", "div", "h1", "h2", "form", "label", "input", "button", "p", "ol", "article",
        "mark", "details", "summary", "dl", "dt", "dd", "code", "span", "strong", "script", "pre",
        "section", "figure", "table", "tr", "td", "th",
    ];
    let name = tag.trim_start_matches('/').split([' ', '>', '/', '\n']).next().unwrap_or_default();
    ELEMENTS.contains(&name.to_lowercase().as_str())
}

#[test]
fn nothing_that_a_page_says_becomes_markup() {
    let payloads = payloads();
    println!("{} strings", payloads.len());
    let pages: Vec<_> = payloads
        .iter()
        .zip(1..)
        .map(|(payload, number)| {
            let mut page = page(number, payload, &format!("needle{number} {payload} and more"));
            page.url = format!("https://host.example/?{payload}");
            page.anchors.clone_from(payload);
            page.language = "\"><b".to_owned();
            page
        })
        .collect();
    let stage = Stage::new(&pages);
    for (payload, number) in payloads.iter().zip(1..) {
        let answer = stage.get(&format!("/search?q=needle{number}"));
        assert_eq!(answer.status, 200);
        check(&answer.body, payload);
        assert_eq!(answer.body.matches("<article>").count(), 1, "{payload}");
        let query = as_query(payload);
        let answer = stage.get(&format!("/search?q={query}"));
        assert_eq!(answer.status, 200, "{payload}");
        check(&answer.body, payload);
    }
}

fn check(body: &str, payload: &str) {
    for tag in body.split('<').skip(1) {
        assert!(is_ours(tag), "<{} let in by {payload}", &tag[..tag.floor_char_boundary(40)]);
        let tag = tag.split('>').next().unwrap_or_default();
        // Our attributes stand in double quotes: what is between them cannot leave.
        for (place, part) in tag.split('"').enumerate() {
            let before = tag.split('"').nth(place.wrapping_sub(1)).unwrap_or_default();
            if place % 2 == 0 {
                assert!(
                    !part.contains(" on") && !part.contains('\''),
                    "<{tag} let in by {payload}"
                );
            } else if before.ends_with("href=") || before.ends_with("src=") {
                assert!(part.starts_with(['/', '#']), "<{tag} let in by {payload}");
            }
        }
    }
    assert!(!body.contains('\u{202e}') && !body.contains('\0'));
    assert_eq!(body.matches("<script").count(), 0, "search pages have none");
}
