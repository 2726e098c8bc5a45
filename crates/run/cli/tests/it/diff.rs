//! Two versions of a page.

use crate::tool::Folder;

fn folder() -> Folder {
    let page = |price: u32, nonce: u32| {
        format!("<script>n={nonce}</script><p>The price of this fine item is {price} euros today.")
    };
    Folder::with(&[
        ("a.html", &page(10, 1)),
        ("b.html", &page(10, 2)),
        ("c.html", &page(12, 3)),
        ("empty.html", ""),
    ])
}

#[test]
fn a_reader_is_told_what_a_reader_sees() {
    let folder = folder();
    let noise = folder.run("diff a.html b.html").ok();
    assert!(noise.contains("no: only bytes changed") && noise.contains("0.0000"), "{noise}");
    assert!(folder.run("diff a.html a.html").ok().contains("the bytes are the same"));
    let change = folder.run("diff a.html c.html --words 2 --json").ok();
    let json: serde_json::Value = serde_json::from_str(&change).unwrap();
    assert_eq!(json["changed"], true);
    // Nine runs of two words each; the two that hold the price differ.
    assert_eq!(json["fragments"], serde_json::json!([9, 9]));
    assert_eq!(json["common_fragments"], 7);
    let gone = folder.run("diff a.html empty.html --json").ok();
    assert!(gone.contains("\"divergence\":1.0"), "{gone}");
}

#[test]
fn wrong_use_is_told() {
    let folder = folder();
    let missing = folder.run("diff a.html nowhere.html");
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("nowhere.html"), "{}", missing.err);
    assert_eq!(folder.run("diff a.html").code, 2);
    assert_eq!(folder.run("diff a.html b.html --words 0").code, 2);
}
