//! Character references: `&amp;`, `&#8364;`, `&#x20AC;`, and `&copy` without its semicolon.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;
use html_escape::NAMED_ENTITIES;
use memchr::memchr;

/// One more than the longest name in the standard (CounterClockwiseContourIntegral).
const LONGEST_NAME: usize = 32;
/// Legacy names that need no semicolon.
const LEGACY: &str = " AElig AMP Aacute Acirc Agrave Aring Atilde Auml COPY Ccedil ETH Eacute Ecirc \
    Egrave Euml GT Iacute Icirc Igrave Iuml LT Ntilde Oacute Ocirc Ograve Oslash Otilde Ouml QUOT \
    REG THORN Uacute Ucirc Ugrave Uuml Yacute aacute acirc acute aelig agrave amp aring atilde auml \
    brvbar ccedil cedil cent copy curren deg divide eacute ecirc egrave eth euml frac12 frac14 \
    frac34 gt iacute icirc iexcl igrave iquest iuml laquo lt macr micro middot nbsp not ntilde \
    oacute ocirc ograve ordf ordm oslash otilde ouml para plusmn pound quot raquo reg sect shy \
    sup1 sup2 sup3 szlig thorn times uacute ucirc ugrave uml uuml yacute yen yuml ";

/// A decoded reference.
pub(super) struct Reference {
    pub(super) text: Text,
    /// Its length in bytes, ampersand included.
    pub(super) len: usize,
}

/// The text that a reference stands for.
pub(super) enum Text {
    Char(char),
    Str(&'static str),
}

impl Text {
    pub(super) fn as_str<'a>(&'a self, buffer: &'a mut [u8; 4]) -> &'a str {
        match self {
            Text::Char(c) => c.encode_utf8(buffer),
            Text::Str(s) => s,
        }
    }
}

/// Decodes references and passes the text to `on_text`, in pieces that may break inside a word.
#[inline]
pub(super) fn decode_text(mut run: &str, mut on_text: impl FnMut(&str)) {
    let mut buffer = [0; 4];
    while let Some(at) = memchr(b'&', run.as_bytes()) {
        let Some(reference) = read(&run[at..], false) else {
            let (before, rest) = run.split_at(at + 1);
            on_text(before);
            run = rest;
            continue;
        };
        if at > 0 {
            on_text(&run[..at]);
        }
        on_text(reference.text.as_str(&mut buffer));
        run = &run[at + reference.len..];
    }
    if !run.is_empty() {
        on_text(run);
    }
}

/// Decodes the references in an attribute's value.
pub(crate) fn decode_attribute(value: &str) -> Cow<'_, str> {
    if memchr(b'&', value.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut buffer = [0; 4];
    let mut rest = value;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let len = if let Some(reference) = read(&rest[at..], true) {
            out.push_str(reference.text.as_str(&mut buffer));
            reference.len
        } else {
            out.push('&');
            1
        };
        rest = &rest[at + len..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The reference at the start of `text`, which begins with an ampersand.
fn read(text: &str, in_attribute: bool) -> Option<Reference> {
    let body = &text.as_bytes()[1..];
    match body.first()? {
        b'#' => numeric(body),
        b if b.is_ascii_alphanumeric() => named(body, in_attribute),
        _ => None,
    }
}

fn numeric(body: &[u8]) -> Option<Reference> {
    let (radix, prefix) = if matches!(body.get(1)?, b'x' | b'X') { (16, 2) } else { (10, 1) };
    let digits = body[prefix..].iter().take_while(|&&b| char::from(b).is_digit(radix)).count();
    if digits == 0 {
        return None;
    }
    let number = body[prefix..prefix + digits].iter().fold(0u32, |number, &b| {
        let digit = char::from(b).to_digit(radix).unwrap_or(0);
        number.saturating_mul(radix).saturating_add(digit)
    });
    let semicolon = usize::from(body.get(prefix + digits) == Some(&b';'));
    let text = Text::Char(character(number));
    Some(Reference { text, len: 1 + prefix + digits + semicolon })
}

/// Reads 128–159 as windows-1252, as the standard does.
fn character(number: u32) -> char {
    match number {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => {
            let byte = [number as u8];
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(&byte);
            text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn named(body: &[u8], in_attribute: bool) -> Option<Reference> {
    let len = body.iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_alphanumeric()).count();
    if body.get(len) == Some(&b';')
        && let Some(text) = look_up(&body[..len])
    {
        return Some(Reference { text: Text::Str(text), len: len + 2 });
    }
    let text = std::str::from_utf8(&body[..len]).ok()?;
    let legacy = (2..=len.min(6)).rev().find(|&n| is_legacy(&text[..n]))?;
    // `?a=1&copy=2` in a link is not a copyright sign.
    let next = body.get(legacy);
    if in_attribute && next.is_some_and(|&b| b == b'=' || b.is_ascii_alphanumeric()) {
        return None;
    }
    look_up(&body[..legacy]).map(|text| Reference { text: Text::Str(text), len: legacy + 1 })
}

fn look_up(name: &[u8]) -> Option<&'static str> {
    let found = NAMED_ENTITIES.binary_search_by(|(entry, _)| entry[..].cmp(name));
    found.ok().map(|i| NAMED_ENTITIES[i].1)
}

fn is_legacy(name: &str) -> bool {
    LEGACY.match_indices(name).any(|(at, _)| {
        let bytes = LEGACY.as_bytes();
        bytes[at - 1] == b' ' && bytes[at + name.len()] == b' '
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(run: &str) -> String {
        let mut out = String::new();
        decode_text(run, |piece| out.push_str(piece));
        out
    }

    #[test]
    fn references_of_every_form() {
        assert_eq!(text("a &lt; b &amp;&amp; c"), "a < b && c");
        assert_eq!(text("&#8364;&#x20ac;&#X20AC &#128;&#0;&#x110000;"), "€€€ €\u{fffd}\u{fffd}");
        assert_eq!(text("&notin; &notit; &copy2026 &Ouml&szlig"), "∉ ¬it; ©2026 Öß");
        assert_eq!(text("&CounterClockwiseContourIntegral;"), "∳");
        assert_eq!(
            text("& &; &# &#; &x; &hellip &unknown; a&"),
            "& &; &# &#; &x; &hellip &unknown; a&"
        );
    }

    #[test]
    fn links_keep_their_ampersands() {
        assert_eq!(decode_attribute("?a=1&copy=2&amp;b&lt"), "?a=1&copy=2&b<");
        assert_eq!(decode_attribute("?a&section=1&sect;"), "?a&section=1§");
    }

    #[test]
    fn the_table_is_sorted_and_holds_every_legacy_name() {
        assert!(NAMED_ENTITIES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(LEGACY.split_whitespace().count(), 106);
        assert!(LEGACY.split_whitespace().all(|name| look_up(name.as_bytes()).is_some()));
    }
}
