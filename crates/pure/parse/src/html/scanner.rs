//! The scan itself: the standard's tokenizer without its rarities, on whole slices.

use memchr::{memchr, memmem};

use super::Visitor;
use super::entity::decode_text;
use super::name::{Name, names};
use super::stack::{Stack, is_void};
use super::tag::{Attribute, Tag, read_attributes};

/// Scans a page once and reports its contents to `visitor`.
pub fn scan<V: Visitor>(html: &str, visitor: &mut V) {
    let mut scanner = Scanner { html, stack: Stack::new(), attributes: Vec::new(), visitor };
    scanner.run();
    while let Some(name) = scanner.stack.pop() {
        scanner.visitor.close(name);
    }
}

struct Scanner<'a, 'v, V> {
    html: &'a str,
    stack: Stack,
    attributes: Vec<Attribute<'a>>,
    visitor: &'v mut V,
}

impl<V: Visitor> Scanner<'_, '_, V> {
    fn run(&mut self) {
        let bytes = self.html.as_bytes();
        let mut at = 0;
        // Start of the unreported text: a lone < belongs to the text around it.
        let mut told = 0;
        while let Some(found) = memchr(b'<', &bytes[at..]) {
            let open = at + found;
            let next = bytes.get(open + 1).copied().unwrap_or(0);
            if !(next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?')) {
                at = open + 1;
                continue;
            }
            self.tell(told, open);
            let end = match next {
                b'/' => self.end_tag(open),
                b'!' | b'?' => self.skip_markup(open),
                _ => self.start_tag(open),
            };
            // The page ends inside a tag: the standard drops the rest.
            let Some(end) = end else { return };
            (at, told) = (end, end);
        }
        self.tell(told, bytes.len());
    }

    #[inline]
    fn tell(&mut self, from: usize, to: usize) {
        if from < to {
            decode_text(&self.html[from..to], |piece| self.visitor.text(piece));
        }
    }

    /// The end of a comment, doctype, or anything else in `<! … >`.
    fn skip_markup(&self, open: usize) -> Option<usize> {
        let rest = &self.html.as_bytes()[open..];
        if let Some(comment) = rest.strip_prefix(b"<!--") {
            if comment.starts_with(b">") || comment.starts_with(b"->") {
                return memchr(b'>', comment).map(|len| open + 4 + len + 1);
            }
            return end_of_comment(comment).map(|len| open + 4 + len);
        }
        memchr(b'>', rest).map(|len| open + len + 1)
    }

    fn end_tag(&mut self, open: usize) -> Option<usize> {
        let bytes = self.html.as_bytes();
        if !bytes.get(open + 2).is_some_and(u8::is_ascii_alphabetic) {
            return memchr(b'>', &bytes[open..]).map(|len| open + len + 1);
        }
        let (name, end) = self.name(open + 2)?;
        // Attributes of an end tag have no effect.
        let end = read_attributes(self.html, end, &mut self.attributes)?;
        let visitor = &mut *self.visitor;
        self.stack.end(name, |closed| visitor.close(closed));
        Some(end)
    }

    fn start_tag(&mut self, open: usize) -> Option<usize> {
        let (name, name_end) = self.name(open + 1)?;
        let end = read_attributes(self.html, name_end, &mut self.attributes)?;
        let visitor = &mut *self.visitor;
        self.stack.make_room(name, |closed| visitor.close(closed));
        let depth = self.stack.depth();
        let is_leaf = is_void(name) || !self.stack.push(name);
        let written = &self.html[open + 1..name_end];
        visitor.open(&Tag { name, depth, is_leaf, written, attributes: &self.attributes });
        let Some(kind) = holds_no_html(name) else { return Some(end) };
        Some(self.inside(name, kind, end, is_leaf))
    }

    /// Reports the inside of an element without markup and closes it; returns its end tag's end.
    fn inside(&mut self, name: Name, kind: Inside, start: usize, is_leaf: bool) -> usize {
        let (stop, end) = self.find_end(name, start);
        if kind == Inside::Text {
            self.tell(start, stop);
        } else if start < stop {
            self.visitor.raw(name, &self.html[start..stop]);
        }
        let visitor = &mut *self.visitor;
        self.stack.end(name, |closed| visitor.close(closed));
        debug_assert!(!is_leaf || self.stack.depth() == super::DEPTH_CAP);
        end
    }

    /// The end of an element's inside, and the end of its end tag.
    fn find_end(&mut self, name: Name, start: usize) -> (usize, usize) {
        let len = self.html.len();
        if name == names::PLAINTEXT {
            return (len, len);
        }
        let mut at = start;
        while let Some(found) = memmem::find(&self.html.as_bytes()[at..], b"</") {
            let stop = at + found;
            if let Some((_, end)) = self.name(stop + 2).filter(|(n, _)| *n == name) {
                let end = read_attributes(self.html, end, &mut self.attributes);
                return (stop, end.unwrap_or(len));
            }
            at = stop + 2;
        }
        (len, len)
    }

    /// The name at `at` and its end; `None` if the page ends there.
    #[inline]
    fn name(&self, at: usize) -> Option<(Name, usize)> {
        let rest = &self.html.as_bytes()[at..];
        let is_end = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'/' | b'>');
        let len = rest.iter().position(is_end)?;
        Some((Name::of_bytes(&rest[..len]), at + len))
    }
}

/// The end of a comment, after its `-->` or `--!>`.
fn end_of_comment(comment: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memmem::find(&comment[at..], b"--") {
        let dashes = at + found;
        match comment.get(dashes + 2..)? {
            [b'>', ..] => return Some(dashes + 3),
            [b'!', b'>', ..] => return Some(dashes + 4),
            _ => at = dashes + 1,
        }
    }
    None
}

/// The content of an element that holds no HTML.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Text with character references.
    Text,
    /// Anything else, such as a script.
    Raw,
}

fn holds_no_html(name: Name) -> Option<Inside> {
    match name {
        names::TITLE | names::TEXTAREA => Some(Inside::Text),
        names::SCRIPT
        | names::STYLE
        | names::IFRAME
        | names::NOEMBED
        | names::NOFRAMES
        | names::XMP
        | names::PLAINTEXT => Some(Inside::Raw),
        _ => None,
    }
}
