//! Start tags and their attributes.

use std::borrow::Cow;

use memchr::memchr;

use super::entity::decode_attribute;
use super::name::Name;

/// Most attributes kept per tag; no real page has more.
const MOST_ATTRIBUTES: usize = 256;

/// An attribute as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its name, in the case as written.
    pub name: &'a str,
    value: &'a str,
}

impl<'a> Attribute<'a> {
    /// The value with character references decoded; empty if there is none.
    pub fn value(&self) -> Cow<'a, str> {
        decode_attribute(self.value)
    }

    /// The value as written, character references not decoded.
    pub fn raw(&self) -> &'a str {
        self.value
    }
}

/// A start tag.
#[derive(Clone, Copy, Debug)]
pub struct Tag<'a> {
    /// The element's name.
    pub name: Name,
    /// How many elements are open around it; at most [`super::DEPTH_CAP`].
    pub depth: usize,
    /// Whether no `close` follows: a void element such as `<br>`, a foreign one such as `<path/>`, a
    /// second `<body>`, or an element beyond the depth cap.
    pub is_leaf: bool,
    pub(super) written: &'a str,
    pub(super) attributes: &'a [Attribute<'a>],
}

impl<'a> Tag<'a> {
    /// The name as written, for names that [`super::names`] does not list.
    pub fn written(&self) -> &'a str {
        self.written
    }

    /// All attributes, in page order; of two with the same name, the first counts.
    pub fn attributes(&self) -> &'a [Attribute<'a>] {
        self.attributes
    }

    /// The attribute `name`.
    pub fn attribute(&self, name: &str) -> Option<&'a Attribute<'a>> {
        self.attributes.iter().find(|a| a.name.eq_ignore_ascii_case(name))
    }

    /// The decoded value of the attribute `name`.
    pub fn value(&self, name: &str) -> Option<Cow<'a, str>> {
        self.attribute(name).map(Attribute::value)
    }
}

/// Reads attributes from `at`, just after the tag's name, into `into`; returns the position after
/// the tag's `>`, or `None` if the text ends first. Linear in the bytes read.
#[inline]
pub(crate) fn read_attributes<'a>(
    html: &'a str,
    mut at: usize,
    into: &mut Vec<Attribute<'a>>,
) -> Option<usize> {
    let bytes = html.as_bytes();
    into.clear();
    loop {
        while matches!(bytes.get(at)?, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'/') {
            at += 1;
        }
        if bytes[at] == b'>' {
            return Some(at + 1);
        }
        let name = at;
        // By the standard, a leading = belongs to the name.
        at += 1;
        while !matches!(bytes.get(at)?, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'/' | b'>' | b'=') {
            at += 1;
        }
        let name = &html[name..at];
        let (value, next) = read_value(html, at)?;
        if into.len() < MOST_ATTRIBUTES {
            into.push(Attribute { name, value });
        }
        at = next;
    }
}

/// Whether the tag before `end` is written `<… />`; the slash may belong to the `last` attribute.
pub(super) fn is_self_closing(html: &str, end: usize, last: Option<&Attribute<'_>>) -> bool {
    // Values are slices of the page, so their place follows from their address.
    let start = html.as_ptr() as usize;
    let value_end = last.map_or(0, |last| last.value.as_ptr() as usize + last.value.len() - start);
    html.as_bytes()[end - 2] == b'/' && value_end != end - 1
}

/// The value after an attribute's name, if any, and its end.
#[inline]
fn read_value(html: &str, name_end: usize) -> Option<(&str, usize)> {
    let bytes = html.as_bytes();
    let after = skip_space(bytes, name_end)?;
    if bytes[after] != b'=' {
        return Some((&html[name_end..name_end], after));
    }
    let start = skip_space(bytes, after + 1)?;
    if let quote @ (b'"' | b'\'') = bytes[start] {
        let len = memchr(quote, &bytes[start + 1..])?;
        return Some((&html[start + 1..start + 1 + len], start + len + 2));
    }
    let mut end = start;
    while !matches!(bytes.get(end)?, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'>') {
        end += 1;
    }
    Some((&html[start..end], end))
}

#[inline]
fn skip_space(bytes: &[u8], mut at: usize) -> Option<usize> {
    while matches!(bytes.get(at)?, b' ' | b'\t' | b'\n' | b'\r' | 0x0c) {
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> Option<Vec<(&str, &str)>> {
        let mut into = Vec::new();
        read_attributes(rest, 0, &mut into)?;
        Some(into.iter().map(|a| (a.name, a.raw())).collect())
    }

    #[test]
    fn every_way_of_writing_an_attribute() {
        let written = " a b=1 c = '2>' d=\"it's\"/e=f/g =h>";
        let read = read(written).unwrap();
        let wanted = [("a", ""), ("b", "1"), ("c", "2>"), ("d", "it's"), ("e", "f/g"), ("=h", "")];
        assert_eq!(read, wanted);
    }

    #[test]
    fn unfinished_tags_are_no_tags() {
        for cut in [" a", " a=", " a='x", " a=\"x>", " a = ", "", " /"] {
            assert_eq!(read(cut), None, "{cut}");
        }
        assert_eq!(read("/>"), Some(vec![]));
    }

    #[test]
    fn a_flood_of_attributes_is_passed_over() {
        let flood = format!("{} last>", " a=1".repeat(100_000));
        let mut into = Vec::new();
        assert_eq!(read_attributes(&flood, 0, &mut into), Some(flood.len()));
        assert_eq!(into.len(), MOST_ATTRIBUTES);
    }
}
