//! Links of a page, found by looking for `<a href="…">`.
//!
//! Enough for pages that our own web writes: double quotes, the five character
//! entities of XML. The crawler proper has a parser for everybody's pages.

use tidewatch_core::url::{Base, CanonicalUrl};

/// Links taken from one page.
const MOST: usize = 2000;

/// Where the page's anchors lead, in page order, each once.
pub(super) fn links(html: &str, page: &CanonicalUrl) -> Vec<CanonicalUrl> {
    let Ok(base) = Base::parse(page.as_str()) else { return Vec::new() };
    let mut seen = std::collections::HashSet::new();
    let anchors = html.split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let found = anchors.take(MOST).filter_map(|href| base.join(&unescape(href)).ok());
    found.filter(|url| seen.insert(url.hash64())).collect()
}

fn unescape(text: &str) -> String {
    // The ampersand comes last: what it uncovers is text.
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_resolved_in_order_and_once() {
        let page = CanonicalUrl::parse("http://a.example/x/").unwrap();
        let html = r#"<link href="/no"><a href="/b?x=1&amp;y=2">b</a><a href="c">c</a>
            <a href="http://d.example/">d</a><a href="/b?x=1&amp;y=2">b</a><a href="mailto:x">"#;
        let found: Vec<_> = links(html, &page).into_iter().map(CanonicalUrl::into_string).collect();
        let all = ["http://a.example/b?x=1&y=2", "http://a.example/x/c", "http://d.example/"];
        assert_eq!(found, all);
    }

    #[test]
    fn hostile_pages_give_few_links() {
        let page = CanonicalUrl::parse("http://a.example/").unwrap();
        let many: Vec<_> = (0..10_000).map(|i| format!("<a href=\"/{i}\">")).collect();
        assert_eq!(links(&many.concat(), &page).len(), MOST);
        assert!(links("<a href=\"", &page).len() <= 1);
    }
}
