//! What one line of a robots.txt says.
//!
//! People write robots.txt by hand, so lines are read with good will, as Google
//! reads them: any case, blanks around the colon, no colon at all if exactly two
//! words are left, common misspellings. What is not understood is passed over.

use std::borrow::Cow;
use std::time::Duration;

use crate::pattern::push_triplet;
use crate::usage::Wishes;

/// Bytes of one line that are looked at: eight times the longest URL of an old
/// browser less one for an end mark, which is what Google's parser takes.
pub(super) const MAX_LINE_BYTES: usize = 8 * 2083 - 1;

/// A line that means something.
#[derive(Debug, PartialEq)]
pub(super) enum Field<'a> {
    UserAgent(&'a str),
    Rule {
        allows: bool,
        path: &'a str,
    },
    /// `path` is `/` where the line has none.
    Usage {
        path: &'a str,
        wishes: Wishes,
    },
    CrawlDelay(Duration),
    Sitemap(&'a str),
}

/// The meaningful lines with their numbers, from 1. Lines end in `\n`, `\r` or `\r\n`.
pub(super) struct Lines<'a> {
    rest: &'a str,
    number: u32,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, number: 0 }
    }

    fn next_line(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix("\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
        Some(line)
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u32, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.next_line()?;
            let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
            if let Some(field) = field(line) {
                return Some((self.number, field));
            }
        }
    }
}

/// The text of a file in UTF-8, or in UTF-16 if a byte order mark says so. Bytes that are no UTF-8
/// are percent-encoded, as they would be in a URL.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest),
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|&byte| push_triplet(&mut text, byte));
    }
    Cow::Owned(text)
}

/// The text without its last line if that does not end.
pub(super) fn whole(text: &str) -> &str {
    &text[..text.rfind(['\n', '\r']).map_or(0, |at| at + 1)]
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn field(line: &str) -> Option<Field<'_>> {
    let line = line.split('#').next().unwrap_or_default().trim_matches(is_blank);
    let (name, value) = match line.split_once(':') {
        Some((name, value)) => (name.trim_matches(is_blank), value.trim_matches(is_blank)),
        None => two_words(line)?,
    };
    let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is(&["user-agent", "useragent", "user agent"]) {
        Some(Field::UserAgent(value))
    } else if is(&["allow"]) {
        Some(Field::Rule { allows: true, path: value })
    } else if is(&DISALLOW) {
        Some(Field::Rule { allows: false, path: value })
    } else if is(&["crawl-delay", "crawldelay", "crawl delay"]) {
        delay(value).map(Field::CrawlDelay)
    } else if is(&["content-signal"]) {
        let (path, rest) = usage_path(value);
        Some(Field::Usage { path, wishes: Wishes::of_signal(rest) })
    } else if is(&["content-usage"]) {
        let (path, rest) = usage_path(value);
        Some(Field::Usage { path, wishes: Wishes::of_usage(rest) })
    } else if is(&["sitemap", "site-map"]) && !value.is_empty() {
        Some(Field::Sitemap(value))
    } else {
        None
    }
}

/// The path of a usage line, and what it says: `/a train-ai=n`, or `train-ai=n` for every path.
fn usage_path(value: &str) -> (&str, &str) {
    match value.split_once(is_blank) {
        Some((path, rest)) if path.starts_with('/') => (path, rest),
        _ => ("/", value),
    }
}

/// With the misspellings that are met in the wild; each forbids something, so reading
/// one wrongly costs a page and never the host's patience.
const DISALLOW: [&str; 7] =
    ["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow"];

/// "disallow /x": no colon, but exactly two words.
fn two_words(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(is_blank)?;
    let value = value.trim_matches(is_blank);
    (!value.contains(is_blank)).then_some((name, value))
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}' || c == '\0'
}

/// Seconds, decimals allowed; nonsense is no delay.
fn delay(value: &str) -> Option<Duration> {
    let number = value.split(is_blank).next()?;
    Duration::try_from_secs_f64(number.parse().ok()?).ok()
}

/// Whether a user-agent line speaks to all crawlers: `*`, perhaps with words after it.
pub(super) fn is_everybody(name: &str) -> bool {
    name.strip_prefix('*').is_some_and(|rest| rest.is_empty() || rest.starts_with(is_blank))
}

/// The product token that a user-agent line names (RFC 9309 §2.2.1): "Foo" of "Foo/1.2 (x)".
/// Digits are no part of one by the RFC, but crawlers have them in their names.
pub(super) fn product_token(name: &str) -> &str {
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = name.find(|c| !is_token(c)).unwrap_or(name.len());
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Vec<(u32, Field<'_>)> {
        Lines::new(text).collect()
    }

    #[test]
    fn reads_common_spellings() {
        let text = "USER-agent : a b # c\r\n\rdisallow /x\ndisallow /x y\nAllow:/y\tz\n\
                    crawl-delay: 1.5 s\nCrawl-delay: -1\nsitemap: http://a/:b\nnoise\n";
        let want = vec![
            (1, Field::UserAgent("a b")),
            (3, Field::Rule { allows: false, path: "/x" }),
            (5, Field::Rule { allows: true, path: "/y\tz" }),
            (6, Field::CrawlDelay(Duration::from_millis(1500))),
            (8, Field::Sitemap("http://a/:b")),
        ];
        assert_eq!(fields(text), want);
    }

    #[test]
    fn tells_marks_of_byte_order() {
        let text = "allow: /\u{fc}";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(&[&[0xFF, 0xFE], &little[..]].concat()), text);
        assert_eq!(decode(&[&[0xFE, 0xFF], &big[..]].concat()), text);
        assert_eq!(decode(&[b"\xEF\xBB\xBF", text.as_bytes()].concat()), text);
    }

    #[test]
    fn names_product_tokens() {
        assert_eq!(product_token("Foo-Bot_x/1.0 (b)"), "Foo-Bot_x");
        assert!(is_everybody("*") && is_everybody("* foo") && !is_everybody("*bot"));
    }
}
