//! What a browser loads to show a page: style sheets, scripts, images, fonts.
//!
//! ```
//! use tidewatch_core::url::Base;
//! use tidewatch_parse::requisites::requisites;
//!
//! let base = Base::parse("http://a.example/x/").unwrap();
//! let page = b"<link rel=stylesheet href=s.css><img src=/i.png><a href=other>link</a>";
//! let found = requisites(page, Some("text/html"), &base);
//! let found: Vec<&str> = found.iter().map(|url| url.as_str()).collect();
//! assert_eq!(found, ["http://a.example/x/s.css", "http://a.example/i.png"]);
//! ```

use std::collections::BTreeSet;

use encoding_rs::UTF_8;
use tidewatch_core::url::{Base, CanonicalUrl};

use crate::charset::{decode, label_of};
use crate::html::{Name, Tag, Visitor, names, scan};
use crate::links::in_encoding;

/// Most requisites of one page or style sheet.
pub const MAX_REQUISITES: usize = 256;
/// Longest reference; longer ones are mostly `data:` URLs.
const MAX_REFERENCE_BYTES: usize = 4096;

/// The requisites of an HTML page or a style sheet, in order, each once. Nothing for other types.
pub fn requisites(bytes: &[u8], content_type: Option<&str>, base: &Base) -> Vec<CanonicalUrl> {
    let content_type = content_type.unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let decoded = || decode(bytes, label_of(content_type));
    let (mut found, mut encoding) = (Found::default(), UTF_8);
    match media.as_str() {
        "text/css" => found.add_css(&decoded().text),
        "" | "text/html" | "application/xhtml+xml" => {
            let page = decoded();
            // The standard encodes the queries of a page's URLs in the page's encoding.
            encoding = page.encoding.output_encoding();
            scan(&page.text, &mut found);
        }
        _ => {}
    }
    let rebased = found.base.as_deref().and_then(|href| base.rebase(href).ok());
    let base = rebased.as_ref().unwrap_or(base);
    let mut seen = BTreeSet::new();
    let join = |reference: &String| match encoding {
        encoding if encoding == UTF_8 => base.join(reference).ok(),
        encoding => base.join(&in_encoding(reference, encoding)).ok(),
    };
    let urls = found.references.iter().filter_map(join);
    urls.filter(|url| seen.insert(url.as_str().to_owned())).collect()
}

/// References as written.
#[derive(Default)]
struct Found {
    base: Option<String>,
    references: Vec<String>,
}

impl Found {
    fn add(&mut self, reference: &str) {
        let reference = reference.trim();
        let is_data = reference.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("data:"));
        let is_usable = !reference.is_empty() && reference.len() <= MAX_REFERENCE_BYTES && !is_data;
        if is_usable && self.references.len() < MAX_REQUISITES {
            self.references.push(reference.to_owned());
        }
    }

    fn add_value(&mut self, tag: &Tag<'_>, name: &str) {
        if let Some(value) = tag.value(name) {
            self.add(&value);
        }
    }

    /// The first word of every candidate of a `srcset`.
    fn add_srcset(&mut self, tag: &Tag<'_>) {
        for candidate in tag.value("srcset").unwrap_or_default().split(", ") {
            self.add(candidate.split_ascii_whitespace().next().unwrap_or_default());
        }
    }

    /// What `url(…)` and `@import "…"` name.
    fn add_css(&mut self, css: &str) {
        let mut rest = css;
        while self.references.len() < MAX_REQUISITES {
            let Some((at, is_import)) = next_reference(rest) else { return };
            rest = rest[at..].trim_start();
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            let (named, end) = match quote {
                Some(quote) => (&rest[1..], quote),
                // `@import url(…)`: the next round reads it.
                None if is_import => continue,
                None => (rest, ')'),
            };
            let Some(length) = memchr::memchr(end as u8, named.as_bytes()) else { return };
            self.add(&named[..length]);
            rest = &named[length..];
        }
    }
}

/// Where the first `url(` or `@import` ends, and whether it is an import.
fn next_reference(css: &str) -> Option<(usize, bool)> {
    let bytes = css.as_bytes();
    let ends = |at: usize, what: &[u8]| {
        let head = bytes[at..].get(..what.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(what)).then_some(at + what.len())
    };
    memchr::memchr3_iter(b'u', b'U', b'@', bytes).find_map(|at| {
        let import = || ends(at, b"@import").map(|end| (end, true));
        ends(at, b"url(").map(|end| (end, false)).or_else(import)
    })
}

impl Visitor for Found {
    fn open(&mut self, tag: &Tag<'_>) {
        if let Some(style) = tag.value("style") {
            self.add_css(&style);
        }
        match tag.name {
            names::BASE if self.base.is_none() => {
                self.base = tag.value("href").map(std::borrow::Cow::into_owned);
            }
            names::LINK => {
                let rel = tag.value("rel").unwrap_or_default().to_ascii_lowercase();
                let is_shown = |word| matches!(word, "stylesheet" | "icon" | "preload");
                if rel.split_ascii_whitespace().any(is_shown) {
                    self.add_value(tag, "href");
                }
            }
            names::SCRIPT => self.add_value(tag, "src"),
            names::IMG
            | names::SOURCE
            | names::INPUT
            | names::VIDEO
            | names::AUDIO
            | names::TRACK => {
                self.add_value(tag, "src");
                self.add_value(tag, "poster");
                self.add_srcset(tag);
            }
            _ => {}
        }
    }

    fn raw(&mut self, of: Name, text: &str) {
        if of == names::STYLE {
            self.add_css(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8], content_type: &str) -> Vec<String> {
        let base = Base::parse("http://a.example/d/p.html").unwrap();
        let found = requisites(bytes, Some(content_type), &base);
        found.iter().map(|url| url.as_str().to_owned()).collect()
    }

    #[test]
    fn pages_name_their_requisites() {
        let page = b"<base href=/b/><link rel='icon stylesheet' href=s.css><link rel=next href=n>\
            <script src=x.js></script><style>@import 'i.css'; a { background: URL( \"b.png\" ) }</style>\
            <img src=1.png srcset='1.png, 2.png 2x' style='background:url(3.png)'>\
            <img src='data:image/png;base64,AAAA'><a href=a.html>no</a><video poster=v.jpg></video>";
        let want = ["s.css", "x.js", "i.css", "b.png", "3.png", "1.png", "2.png", "v.jpg"];
        assert_eq!(found(page, "text/html"), want.map(|name| format!("http://a.example/b/{name}")));
    }

    #[test]
    fn queries_are_in_the_encoding_of_the_page() {
        let (page, _, _) = encoding_rs::WINDOWS_1251.encode("<img src='/п.png?q=п'>");
        let want = ["http://a.example/%D0%BF.png?q=%EF"];
        assert_eq!(found(&page, "text/html; charset=windows-1251"), want);
    }

    #[test]
    fn style_sheets_name_theirs_and_other_types_none() {
        let css = b"@import url(one.css);@IMPORT \"two.css\" screen;a{src:url('f.woff2')}b{x:url(";
        let want = ["one.css", "two.css", "f.woff2"];
        assert_eq!(found(css, "text/css"), want.map(|name| format!("http://a.example/d/{name}")));
        assert!(found(css, "text/plain").is_empty());
        let many = "url(a)".repeat(10_000);
        assert_eq!(found(many.as_bytes(), "text/css").len(), 1);
    }
}
