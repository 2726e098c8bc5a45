//! Character references: `&amp;`, `&#8364;`, `&#x20AC;`, and `&copy` without its semicolon.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;
use html_escape::NAMED_ENTITIES;
use memchr::memchr2;

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

/// Names of two characters, by the second.
const PAIRS: &[(char, &str)] = &[
    (
        '\u{338}',
        " NotEqualTilde NotGreaterFullEqual NotGreaterGreater NotGreaterSlantEqual \
         NotHumpDownHump NotHumpEqual NotLeftTriangleBar NotLessLess NotLessSlantEqual \
         NotNestedGreaterGreater NotNestedLessLess NotPrecedesEqual NotRightTriangleBar \
         NotSquareSubset NotSquareSuperset NotSucceedsEqual NotSucceedsTilde nGg nGtv nLl \
         nLtv napE napid nbump nbumpe ncongdot nedot nesim ngE ngeqq ngeqslant nges nlE \
         nleqq nleqslant nles notinE notindot npart npre npreceq nrarrc nrarrw nsce nsubE \
         nsubseteqq nsucceq nsupE nsupseteqq ",
    ),
    (
        '\u{fe00}',
        " caps cups gesl gvertneqq gvnE lates lesg lvertneqq lvnE smtes sqcaps sqcups \
         varsubsetneq varsubsetneqq varsupsetneq varsupsetneqq vsubnE vsubne vsupnE \
         vsupne ",
    ),
    (
        '\u{20d2}',
        " NotSubset NotSuperset nGt nLt nang nsubset nsupset nvap nvge nvgt nvle nvlt \
         nvltrie nvrtrie nvsim vnsub vnsup ",
    ),
    ('\u{20e5}', " bne bnequiv nparsl "),
    ('\u{200a}', " ThickSpace "),
    ('\u{333}', " acE "),
    ('j', " fjlig "),
    ('\u{331}', " race "),
];

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
    /// A character and a second one, such as a combining stroke.
    Pair(&'static str, char),
}

impl Text {
    fn tell(&self, mut to: impl FnMut(&str)) {
        let mut buffer = [0; 4];
        match self {
            Text::Char(c) => to(c.encode_utf8(&mut buffer)),
            Text::Str(s) => to(s),
            Text::Pair(first, second) => {
                to(first);
                to(second.encode_utf8(&mut buffer));
            }
        }
    }
}

/// Decodes references and passes the text to `on_text`, in pieces that may break inside a word. A NUL
/// becomes `nul`.
#[inline]
pub(super) fn decode_text(mut run: &str, nul: &str, mut on_text: impl FnMut(&str)) {
    while let Some(at) = memchr2(b'&', 0, run.as_bytes()) {
        if run.as_bytes()[at] == 0 {
            let pieces = [&run[..at], nul].into_iter().filter(|piece| !piece.is_empty());
            pieces.for_each(&mut on_text);
            run = &run[at + 1..];
            continue;
        }
        let Some(reference) = read(&run[at..], false) else {
            let (before, rest) = run.split_at(at + 1);
            on_text(before);
            run = rest;
            continue;
        };
        if at > 0 {
            on_text(&run[..at]);
        }
        reference.text.tell(&mut on_text);
        run = &run[at + reference.len..];
    }
    if !run.is_empty() {
        on_text(run);
    }
}

/// Decodes the references in an attribute's value and replaces NUL.
pub(crate) fn decode_attribute(value: &str) -> Cow<'_, str> {
    if memchr2(b'&', 0, value.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = memchr2(b'&', 0, rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let len = match read(&rest[at..], true) {
            _ if rest.as_bytes()[at] == 0 => {
                out.push(char::REPLACEMENT_CHARACTER);
                1
            }
            Some(reference) => {
                reference.text.tell(|text| out.push_str(text));
                reference.len
            }
            None => {
                out.push('&');
                1
            }
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
        let text = match second(&body[..len], text) {
            Some(second) => Text::Pair(text, second),
            None => Text::Str(text),
        };
        return Some(Reference { text, len: len + 2 });
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

/// The second character of a reference to two, of which the table has only the `first`.
fn second(name: &[u8], first: &str) -> Option<char> {
    // Quick test: nearly all are arrows or operators, and no name has two letters.
    let may_have = |c| matches!(c, '<' | '=' | '>' | 'f' | '\u{205f}' | '\u{2190}'..='\u{2aff}');
    if name.len() < 3 || !first.starts_with(may_have) {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?;
    PAIRS.iter().find(|(_, names)| holds(names, name)).map(|(second, _)| *second)
}

fn is_legacy(name: &str) -> bool {
    holds(LEGACY, name)
}

/// Whether `name` is one of `names`, which are separated and surrounded by blanks.
fn holds(names: &str, name: &str) -> bool {
    names.match_indices(name).any(|(at, _)| {
        let bytes = names.as_bytes();
        bytes[at - 1] == b' ' && bytes[at + name.len()] == b' '
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(run: &str) -> String {
        let mut out = String::new();
        decode_text(run, "", |piece| out.push_str(piece));
        out
    }

    #[test]
    fn references_of_every_form() {
        assert_eq!(text("a &lt; b &amp;&amp; c"), "a < b && c");
        assert_eq!(text("&#8364;&#x20ac;&#X20AC &#128;&#0;&#x110000;"), "€€€ €\u{fffd}\u{fffd}");
        assert_eq!(text("&notin; &notit; &copy2026 &Ouml&szlig"), "∉ ¬it; ©2026 Öß");
        assert_eq!(text("&CounterClockwiseContourIntegral;"), "∳");
        assert_eq!(text("&NotSubset;&fjlig;&ThickSpace;"), "⊂\u{20d2}fj\u{205f}\u{200a}");
        assert_eq!(
            text("& &; &# &#; &x; &hellip &unknown; a&"),
            "& &; &# &#; &x; &hellip &unknown; a&"
        );
    }

    #[test]
    fn links_keep_their_ampersands() {
        assert_eq!(decode_attribute("?a=1&copy=2&amp;b&lt"), "?a=1&copy=2&b<");
        assert_eq!(decode_attribute("?a&section=1&sect;"), "?a&section=1§");
        assert_eq!(decode_attribute("a\0b&amp;\0"), "a\u{fffd}b&\u{fffd}");
    }

    #[test]
    fn the_table_is_sorted_and_holds_every_legacy_name() {
        assert!(NAMED_ENTITIES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(LEGACY.split_whitespace().count(), 106);
        assert!(LEGACY.split_whitespace().all(|name| look_up(name.as_bytes()).is_some()));
        let mut pairs = PAIRS.iter().flat_map(|(_, names)| names.split_whitespace());
        assert_eq!(pairs.clone().count(), 93);
        assert!(pairs.all(|name| text(&format!("&{name};")).chars().count() == 2));
    }
}
