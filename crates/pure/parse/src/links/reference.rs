//! References as a page writes them.

use std::borrow::Cow;
use std::fmt::Write as _;

use encoding_rs::Encoding;

use super::{LinkKind, MAX_TEXT_BYTES, Refresh, Region, Rel};

/// A link as written.
#[derive(Debug)]
pub(super) struct Raw {
    /// The range of its reference in `Links::hrefs`.
    pub(super) href: std::ops::Range<usize>,
    pub(super) anchor: String,
    pub(super) rel: Rel,
    pub(super) kind: LinkKind,
    pub(super) region: Region,
}

/// The words of a list attribute such as `rel`.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_ascii_whitespace().take(32)
}

/// The text with white space collapsed, truncated to [`MAX_TEXT_BYTES`].
pub(crate) fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len().min(MAX_TEXT_BYTES));
    for word in text.split_whitespace() {
        if collapsed.len() + word.len() >= MAX_TEXT_BYTES {
            let room = MAX_TEXT_BYTES.saturating_sub(collapsed.len() + 1);
            push_word(&mut collapsed, &word[..word.floor_char_boundary(room)]);
            break;
        }
        push_word(&mut collapsed, word);
    }
    collapsed
}

fn push_word(text: &mut String, word: &str) {
    if !text.is_empty() && !word.is_empty() {
        text.push(' ');
    }
    text.push_str(word);
}

/// The reference with its query percent-encoded in `encoding` (WHATWG URL, "percent-encode after
/// encoding"). What the encoding lacks becomes a character reference.
pub(crate) fn in_encoding<'a>(reference: &'a str, encoding: &'static Encoding) -> Cow<'a, str> {
    let fragment = reference.find('#').unwrap_or(reference.len());
    let (before, fragment) = reference.split_at(fragment);
    let Some((path, query)) = before.split_once('?').filter(|(_, query)| !query.is_ascii()) else {
        return Cow::Borrowed(reference);
    };
    let mut out = format!("{path}?");
    for run in query.split_inclusive(|c: char| c.is_ascii()) {
        let (wide, ascii) = run.split_at(run.find(|c: char| c.is_ascii()).unwrap_or(run.len()));
        match encoding.encode(wide) {
            (bytes, _, false) => bytes.iter().for_each(|byte| push_byte(&mut out, *byte)),
            _ => wide.chars().for_each(|c| push_char(&mut out, c, encoding)),
        }
        out.push_str(ascii);
    }
    Cow::Owned(out + fragment)
}

fn push_char(out: &mut String, c: char, encoding: &'static Encoding) {
    match encoding.encode(c.encode_utf8(&mut [0; 4])) {
        (bytes, _, false) => bytes.iter().for_each(|byte| push_byte(out, *byte)),
        // Writing to a string cannot fail.
        _ => drop(write!(out, "%26%23{}%3B", u32::from(c))),
    }
}

fn push_byte(out: &mut String, byte: u8) {
    match byte {
        b'!'..=b'~' => out.push(char::from(byte)),
        _ => drop(write!(out, "%{byte:02X}")),
    }
}

/// Parses a meta refresh: seconds, then optionally `;`, `url=` and quotes (WHATWG "shared
/// declarative refresh steps"). Without a URL the target is the page itself.
pub(super) fn refresh(content: &str) -> Option<Refresh<String>> {
    let content = content.trim_start();
    let end = content.find(|c: char| !c.is_ascii_digit()).unwrap_or(content.len());
    let (digits, rest) = content.split_at(end);
    if digits.is_empty() && !rest.starts_with('.') {
        return None;
    }
    let after_s = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u32::MAX) };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = rest.trim_start().trim_start_matches([';', ',']).trim_start();
    let url = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => {
            let after = rest[3..].trim_start();
            after.strip_prefix('=').map_or(rest, str::trim_start)
        }
        _ => rest,
    };
    let url = match url.chars().next() {
        Some(quote @ ('"' | '\'')) => url[1..].split(quote).next().unwrap_or_default(),
        _ => url.trim_end(),
    };
    Some(Refresh { after_s, is_fallback: false, url: url.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes() {
        let cases = [
            ("5; url=/a", Some((5, "/a"))),
            ("0;URL='http://x/ y' z", Some((0, "http://x/ y"))),
            ("3", Some((3, ""))),
            ("0.5, /b ", Some((0, "/b"))),
            ("1;url", Some((1, "url"))),
            ("soon", None),
        ];
        for (content, want) in cases {
            let have = refresh(content);
            assert_eq!(have.as_ref().map(|r| (r.after_s, r.url.as_str())), want, "{content}");
        }
    }

    #[test]
    fn queries_are_in_the_encoding_of_the_page() {
        let cases = [
            (encoding_rs::WINDOWS_1251, "/п?q=п&r=1#п", "/п?q=%EF&r=1#п"),
            (encoding_rs::WINDOWS_1252, "?q=caf\u{e9}&x=\u{416}", "?q=caf%E9&x=%26%231046%3B"),
            (encoding_rs::SHIFT_JIS, "?q=\u{30bd}a", "?q=%83\\a"),
            (encoding_rs::GBK, "?\u{4e2d}\u{6587}", "?%D6%D0%CE%C4"),
            (encoding_rs::WINDOWS_1251, "/п", "/п"),
            (encoding_rs::WINDOWS_1251, "?q=%D0%BF#?", "?q=%D0%BF#?"),
        ];
        for (encoding, reference, want) in cases {
            assert_eq!(in_encoding(reference, encoding), want, "{reference}");
        }
    }

    #[test]
    fn texts_are_collapsed_and_cut() {
        assert_eq!(collapse("  a\n\t b  "), "a b");
        let long = collapse(&"\u{fc}".repeat(MAX_TEXT_BYTES));
        assert!(long.len() <= MAX_TEXT_BYTES && long.len() > MAX_TEXT_BYTES - 4);
        assert!(collapse(&"ab ".repeat(MAX_TEXT_BYTES)).len() <= MAX_TEXT_BYTES);
    }
}
