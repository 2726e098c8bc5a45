//! One pass over XML, reported to a handler; reads feeds and sitemaps.
//!
//! Feeds are written by hand and by broken software, so the pass forgives what
//! browsers forgive: bare ampersands, unmatched end tags, unclosed elements, control
//! characters. On purpose it processes no document type, expands no declared entity (it
//! refuses a document that declares one) and looks up nothing outside. Time is linear and
//! memory constant: names of open elements are slices of the text, at most [`DEPTH_CAP`].

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr, memmem};

use crate::{Refused, charset, html::decode_attribute};

/// Most open elements tracked; deeper ones count as empty.
pub(crate) const DEPTH_CAP: usize = 256;

/// Bytes of an XML declaration searched for its encoding.
const DECLARATION_BYTES: usize = 256;

/// A start tag.
pub(crate) struct Element<'a> {
    /// The part of the name before the colon; empty without one.
    pub(crate) prefix: &'a str,
    /// The name without its prefix.
    pub(crate) name: &'a str,
    attributes: &'a str,
}

impl<'a> Element<'a> {
    fn new(name: &'a str, attributes: &'a str) -> Self {
        let (prefix, name) = name.rsplit_once(':').unwrap_or(("", name));
        Self { prefix, name, attributes }
    }

    /// Whether the local name is `name`, case-insensitive.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value of the attribute with the (prefixed) `name`.
    pub(crate) fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        let found = self.attributes().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| decode_attribute(value))
    }

    /// The prefix that the element declares for a namespace whose name has one of `parts`.
    pub(crate) fn prefix_of(&self, parts: &[&str]) -> Option<&'a str> {
        self.attributes().find_map(|(key, value)| {
            let prefix = key.strip_prefix("xmlns:")?;
            parts.iter().any(|part| value.contains(part)).then_some(prefix)
        })
    }

    /// Names and values as written.
    fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut rest = self.attributes;
        std::iter::from_fn(move || {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, next) = after[1..].split_once(quote)?;
            rest = next;
            Some((key.trim(), value))
        })
    }
}

/// Receives the contents of a document. The root is at depth 0.
pub(crate) trait Handler {
    fn open(&mut self, depth: usize, element: &Element<'_>) -> Result<(), Refused>;
    fn text(&mut self, text: &str);
    fn close(&mut self, depth: usize);
    /// The document ends inside an element: what is being gathered is incomplete.
    fn cut(&mut self) {}
    /// Whether to stop.
    fn is_full(&self) -> bool {
        false
    }
}

/// Decodes a document by its byte order mark, the zeros of UTF-16, the header's `label`, its
/// declaration, or else as UTF-8. A document without zeros is not UTF-16, whatever it says.
pub(crate) fn decode<'a>(bytes: &'a [u8], label: Option<&str>) -> Cow<'a, str> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_BYTES)]);
    let declared = head.split_once("<?xml").and_then(|(_, rest)| {
        let (declaration, _) = rest.split_once("?>")?;
        Element::new("xml", declaration).attribute("encoding").map(Cow::into_owned)
    });
    let named = [label, declared.as_deref()].into_iter().flatten();
    let mut named = named.filter_map(|label| Encoding::for_label(label.as_bytes()));
    let named = named.find(|encoding| ![UTF_16LE, UTF_16BE].contains(encoding));
    let encoding = utf16(bytes).or(named).unwrap_or(UTF_8);
    charset::decode(bytes, Some(encoding.name())).text
}

/// UTF-16 without a byte order mark shows by the zeros beside its first two characters.
fn utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    match bytes {
        [1..0x80, 0, 1..0x80, 0, ..] => Some(UTF_16LE),
        [0, 1..0x80, 0, 1..0x80, ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// Walks a document and reports it to `handler`.
pub(crate) fn walk(text: &str, handler: &mut impl Handler) -> Result<(), Refused> {
    let mut walker = Walker { open: Vec::new(), handler };
    let mut rest = text;
    while !rest.is_empty() && !walker.handler.is_full() {
        rest = walker.step(rest)?;
    }
    if rest.is_empty() && !walker.open.is_empty() {
        walker.handler.cut();
    }
    while walker.open.pop().is_some() {
        walker.handler.close(walker.open.len());
    }
    Ok(())
}

struct Walker<'a, 'h, H> {
    open: Vec<&'a str>,
    handler: &'h mut H,
}

impl<'a, H: Handler> Walker<'a, '_, H> {
    /// Reports the next piece to the handler; returns the rest.
    fn step(&mut self, rest: &'a str) -> Result<&'a str, Refused> {
        let Some(at) = memchr(b'<', rest.as_bytes()) else {
            self.text(rest);
            return Ok("");
        };
        if at > 0 {
            self.text(&rest[..at]);
            return Ok(&rest[at..]);
        }
        let after = &rest[1..];
        match after.as_bytes().first() {
            Some(b'!') => self.declaration(after),
            Some(b'?') => Ok(after_mark(after, "?>")),
            Some(b'/') => {
                let (name, rest) = after[1..].split_once('>').unwrap_or((&after[1..], ""));
                self.end(name.trim());
                Ok(rest)
            }
            Some(byte) if is_name_start(*byte) => self.start(after),
            _ => {
                self.text("<");
                Ok(after)
            }
        }
    }

    fn text(&mut self, text: &str) {
        if !self.open.is_empty() {
            self.handler.text(&decode_attribute(text));
        }
    }

    fn declaration(&mut self, rest: &'a str) -> Result<&'a str, Refused> {
        if let Some(comment) = rest.strip_prefix("!--") {
            return Ok(after_mark(comment, "-->"));
        }
        if let Some(data) = rest.strip_prefix("![CDATA[") {
            let end = memmem::find(data.as_bytes(), b"]]>").unwrap_or(data.len());
            if !self.open.is_empty() {
                self.handler.text(&data[..end]);
            }
            return Ok(data.get(end + 3..).unwrap_or_default());
        }
        document_type(rest)
    }

    fn start(&mut self, rest: &'a str) -> Result<&'a str, Refused> {
        let end = tag_end(rest);
        let tag = &rest[..end];
        let after = rest.get(end + 1..).unwrap_or_default();
        let (tag, is_empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name_end = tag.find(|c: char| c.is_ascii_whitespace()).unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(name_end);
        let depth = self.open.len();
        self.handler.open(depth, &Element::new(name, attributes))?;
        if is_empty || depth >= DEPTH_CAP {
            self.handler.close(depth);
        } else {
            self.open.push(name);
        }
        Ok(after)
    }

    /// Closes the innermost element `name` and all inside it, if one is open.
    fn end(&mut self, name: &str) {
        let Some(at) = self.open.iter().rposition(|open| *open == name) else { return };
        while self.open.len() > at {
            self.open.pop();
            self.handler.close(self.open.len());
        }
    }
}

fn after_mark<'a>(rest: &'a str, mark: &str) -> &'a str {
    memmem::find(rest.as_bytes(), mark.as_bytes()).map_or("", |at| &rest[at + mark.len()..])
}

/// Skips a document type; refuses one that declares entities.
fn document_type(rest: &str) -> Result<&str, Refused> {
    let close = memchr(b'>', rest.as_bytes()).unwrap_or(rest.len());
    let subset = memchr(b'[', &rest.as_bytes()[..close]);
    let end = match subset {
        Some(_) => memmem::find(rest.as_bytes(), b"]>").map_or(rest.len(), |at| at + 1),
        None => close,
    };
    if subset.is_some() && memmem::find(&rest.as_bytes()[..end], b"<!ENTITY").is_some() {
        return Err(Refused::Entities);
    }
    Ok(rest.get(end + 1..).unwrap_or_default())
}

/// The position of a tag's `>`, ignoring quoted ones.
fn tag_end(rest: &str) -> usize {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    rest.len()
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[derive(Default)]
    struct Told(String);

    impl Handler for Told {
        fn open(&mut self, depth: usize, element: &Element<'_>) -> Result<(), Refused> {
            let id = element.attribute("id").unwrap_or_default();
            let _ = write!(self.0, "<{depth}{}:{}{id}>", element.prefix, element.name);
            Ok(())
        }

        fn text(&mut self, text: &str) {
            self.0.push_str(text);
        }

        fn close(&mut self, depth: usize) {
            let _ = write!(self.0, "</{depth}>");
        }
    }

    fn told(text: &str) -> Result<String, Refused> {
        let mut told = Told::default();
        walk(text, &mut told).map(|()| told.0)
    }

    #[test]
    fn tells_elements_text_and_ends() {
        let text = "<?xml version='1.0'?><!-- < --><a:b x='>' id=\"1&amp;2\">c &amp; &#100; \
                    <e/><![CDATA[<&amp;>]]></a:b>tail";
        assert_eq!(told(text).unwrap(), "<0a:b1&2>c & d <1:e></1><&amp;></0>");
    }

    #[test]
    fn forgives() {
        assert_eq!(told("<a>x & y <3 <b></c>z</a>").unwrap(), "<0:a>x & y <3 <1:b>z</1></0>");
        assert_eq!(told("<a").unwrap(), "<0:a></0>");
        assert_eq!(told("<!DOCTYPE a SYSTEM 'x'><a/>").unwrap(), "<0:a></0>");
    }

    #[test]
    fn refuses_entities() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"x]y\"> ]><a>&b;</a>";
        assert_eq!(told(bomb), Err(Refused::Entities));
        assert_eq!(told("<!DOCTYPE a [<!ELEMENT a ANY>]><a>&b;</a>").unwrap(), "<0:a>&b;</0>");
    }
}
