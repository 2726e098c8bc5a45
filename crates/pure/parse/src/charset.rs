//! Detects the encoding of a page by the web's own rules, in their order.
//!
//! A byte order mark wins, then the label of the HTTP header, then a `<meta>` in the first
//! 1,024 bytes, then a guess from the bytes `[WHATWG, "determining the character encoding"]`. A
//! wrong label is believed, as in a browser: the reader sees wrong text too, and the same bytes
//! still give the same text. Malformed bytes become U+FFFD.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

use crate::html::{Attribute, read_attributes};

/// Bytes searched for a `<meta>`, as the standard advises.
const PRESCAN_BYTES: usize = 1024;
/// Bytes read for a guess; that much text reveals its encoding.
const GUESS_BYTES: usize = 64 * 1024;

/// What decided the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A byte order mark.
    Mark,
    /// The charset of the Content-Type header.
    Header,
    /// A `<meta>` near the top.
    Meta,
    /// A guess from the bytes.
    Guess,
}

/// Decoded text and its encoding.
#[derive(Clone, Debug)]
pub struct Decoded<'a> {
    /// The text, without a byte order mark; borrowed if the bytes are UTF-8.
    pub text: Cow<'a, str>,
    /// The encoding used.
    pub encoding: &'static Encoding,
    /// What decided it.
    pub evidence: Evidence,
    /// Whether malformed bytes were replaced.
    pub malformed: bool,
}

/// Decodes bytes; `label` is the charset of the HTTP header, if any.
pub fn decode<'a>(bytes: &'a [u8], label: Option<&str>) -> Decoded<'a> {
    let (encoding, evidence) = sniff(bytes, label);
    let (text, malformed) = encoding.decode_with_bom_removal(bytes);
    Decoded { text, encoding, evidence, malformed }
}

/// The encoding of an HTML document and what decided it.
pub fn sniff(bytes: &[u8], label: Option<&str>) -> (&'static Encoding, Evidence) {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return (encoding, Evidence::Mark);
    }
    if let Some(encoding) = label.and_then(|label| Encoding::for_label(label.as_bytes())) {
        return (encoding, Evidence::Header);
    }
    if let Some(encoding) = prescan(&bytes[..bytes.len().min(PRESCAN_BYTES)]) {
        return (encoding, Evidence::Meta);
    }
    (guess(bytes), Evidence::Guess)
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let head = &bytes[..bytes.len().min(GUESS_BYTES)];
    let is_whole = head.len() == bytes.len();
    // The same answer as the detector's, twenty times faster.
    if shows_utf8(head, is_whole) { UTF_8 } else { detect(head, is_whole) }
}

/// Whether bytes are UTF-8 beyond ASCII; unless `is_whole`, they may end inside a character.
fn shows_utf8(head: &[u8], is_whole: bool) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => head,
        Err(error) if error.error_len().is_none() && !is_whole => &head[..error.valid_up_to()],
        Err(_) => return false,
    };
    !valid.is_ascii()
}

fn detect(head: &[u8], is_whole: bool) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, is_whole);
    detector.guess(None, Utf8Detection::Allow)
}

/// The charset of a Content-Type value, such as `text/html; charset="utf-8"`.
pub fn label_of(content_type: &str) -> Option<&str> {
    let mut rest = content_type;
    loop {
        let at = find_ignoring_case(rest.as_bytes(), b"charset")?;
        rest = rest.get(at + "charset".len()..)?.trim_start();
        if let Some(value) = rest.strip_prefix('=') {
            return unquoted(value.trim_start());
        }
    }
}

fn unquoted(value: &str) -> Option<&str> {
    if let Some(quote @ ('"' | '\'')) = value.chars().next() {
        return value[1..].split_once(quote).map(|(label, _)| label);
    }
    let end = value.find(|c: char| c == ';' || c.is_ascii_whitespace()).unwrap_or(value.len());
    (end > 0).then(|| &value[..end])
}

/// The standard's prescan: the first `<meta>` that names a known encoding, comments skipped.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'<', head.get(at..)?) {
        let start = at + open;
        let rest = &head[start..];
        if rest.starts_with(b"<!--") {
            at = start + 2 + memmem::find(&rest[2..], b"-->")? + "-->".len();
            continue;
        }
        let is_meta = rest.get(1..5).is_some_and(|name| name.eq_ignore_ascii_case(b"meta"))
            && rest.get(5).is_some_and(|&b| b.is_ascii_whitespace() || b == b'/');
        if is_meta && let Some(encoding) = encoding_of_meta(&rest[5..]) {
            return Some(encoding);
        }
        at = start + 1;
    }
    None
}

fn encoding_of_meta(rest: &[u8]) -> Option<&'static Encoding> {
    // Relevant attributes are ASCII; other characters may be cut in the middle.
    let text: String = rest.iter().map(|&b| char::from(b)).collect();
    let mut attributes = Vec::new();
    read_attributes(&text, 0, &mut attributes)?;
    let value = |name: &str| -> Option<&str> {
        attributes.iter().find(|a| a.name.eq_ignore_ascii_case(name)).map(Attribute::raw)
    };
    let refreshes = || value("http-equiv").is_some_and(|v| v.eq_ignore_ascii_case("content-type"));
    let label = value("charset").or_else(|| {
        let content = value("content").filter(|_| refreshes());
        content.and_then(label_of)
    })?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // Bytes with a readable <meta> are not UTF-16, whatever it says.
    Some(match encoding {
        e if e == UTF_16LE || e == UTF_16BE => UTF_8,
        e if e == X_USER_DEFINED => WINDOWS_1252,
        e => e,
    })
}

fn find_ignoring_case(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8], label: Option<&str>) -> (String, &'static str, Evidence) {
        let read = decode(bytes, label);
        (read.text.into_owned(), read.encoding.name(), read.evidence)
    }

    #[test]
    fn evidence_is_weighed_in_the_standard_order() {
        let meta = b"<meta charset=iso-8859-2>\xb1";
        assert_eq!(read(b"\xef\xbb\xbfa", Some("latin1")), ("a".into(), "UTF-8", Evidence::Mark));
        assert_eq!(read(meta, Some("koi8-r")).1, "KOI8-R");
        assert_eq!(read(meta, Some("no such thing")).1, "ISO-8859-2");
        assert_eq!(read(meta, None).2, Evidence::Meta);
        assert!(read(meta, None).0.ends_with('ą'));
        assert_eq!(read("größer, süßer, früher".as_bytes(), None).1, "UTF-8");
        let latin: Vec<u8> = "Das Mädchen trägt schöne Schuhe für große Füße"
            .chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect();
        assert_eq!(read(&latin, None).1, "windows-1252");
    }

    #[test]
    fn meta_is_found_where_the_standard_finds_it() {
        let of = |html: &str| prescan(html.as_bytes()).map(Encoding::name);
        assert_eq!(of("<META CHARSET = 'Windows-1251'>"), Some("windows-1251"));
        let equiv = "<meta content='text/html; charset=shift_jis' http-equiv=content-type>";
        assert_eq!(of(equiv), Some("Shift_JIS"));
        assert_eq!(of("<meta content='text/html; charset=shift_jis'>"), None);
        assert_eq!(of("<!-- <meta charset=koi8-r> --><meta charset=gbk>"), Some("GBK"));
        assert_eq!(of("<meta charset=utf-16>"), Some("UTF-8"));
        assert_eq!(of("<metadata charset=gbk>"), None);
        assert_eq!(of("<meta charset=gbk"), None);
    }

    #[test]
    fn header_labels_are_read() {
        assert_eq!(label_of("text/html; Charset = \"UTF-8\"; x"), Some("UTF-8"));
        assert_eq!(label_of("text/html;charset=koi8-r;q"), Some("koi8-r"));
        assert_eq!(label_of("text/html; charset"), None);
        assert_eq!(label_of("text/html; charset="), None);
        assert_eq!(label_of("charset; charset='x'"), Some("x"));
    }

    #[test]
    fn a_wrong_label_gives_defined_text() {
        let read = decode(b"caf\xe9", Some("utf-8"));
        assert_eq!((read.text.as_ref(), read.malformed), ("caf\u{fffd}", true));
    }

    proptest! {
        #[test]
        fn any_bytes_with_any_label_decode(bytes in proptest::collection::vec(any::<u8>(), 0..2000), label in ".{0,12}") {
            decode(&bytes, Some(&label));
            decode(&bytes, None);
            label_of(&label);
        }

        /// The shortcut for UTF-8 agrees with the detector, wherever the text is cut.
        #[test]
        fn utf8_is_known_without_the_detector(text in "[a-zéżя漢 ]{0,40}", cut in 0usize..80, is_whole: bool) {
            let bytes = &text.as_bytes()[..cut.min(text.len())];
            if shows_utf8(bytes, is_whole) {
                prop_assert_eq!(detect(bytes, is_whole), UTF_8);
            }
        }
    }
}
