//! References as a page writes them.

use super::{Field, LinkKind, MAX_TEXT_BYTES, Refresh, Region, Rel};
use crate::html::Tag;

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

/// A form as written.
#[derive(Debug)]
pub(super) struct RawForm {
    pub(super) action: String,
    pub(super) method: String,
    pub(super) fields: Vec<Field>,
}

impl RawForm {
    pub(super) fn of(tag: &Tag<'_>) -> Self {
        let method = tag.value("method").unwrap_or_default().to_ascii_lowercase();
        let method =
            if matches!(method.as_str(), "post" | "dialog") { method } else { "get".into() };
        let action = tag.value("action").unwrap_or_default().trim().to_owned();
        Self { action, method, fields: Vec::new() }
    }
}

/// The words of a list attribute such as `rel`.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_ascii_whitespace().take(32)
}

/// The text with white space collapsed, truncated to [`MAX_TEXT_BYTES`].
pub(super) fn collapse(text: &str) -> String {
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
    Some(Refresh { after_s, url: url.to_owned() })
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
    fn texts_are_collapsed_and_cut() {
        assert_eq!(collapse("  a\n\t b  "), "a b");
        let long = collapse(&"\u{fc}".repeat(MAX_TEXT_BYTES));
        assert!(long.len() <= MAX_TEXT_BYTES && long.len() > MAX_TEXT_BYTES - 4);
        assert!(collapse(&"ab ".repeat(MAX_TEXT_BYTES)).len() <= MAX_TEXT_BYTES);
    }
}
