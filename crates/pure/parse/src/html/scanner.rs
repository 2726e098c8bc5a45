//! The scan itself: the standard's tokenizer on whole slices.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memmem};

use super::Visitor;
use super::entity::decode_text;
use super::name::{Name, names};
use super::stack::{End, Stack, Start, ends_foreign, is_text_point};
use super::tag::{Attribute, Tag, is_self_closing, read_attributes};

/// Scans a page once and reports its contents to `visitor`.
pub fn scan<V: Visitor>(html: &str, visitor: &mut V) {
    let mut scanner = Scanner {
        html,
        stack: Stack::new(),
        attributes: Vec::new(),
        visitor,
        shows_something: false,
        is_frameset: false,
    };
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
    /// Whether the page has shown anything yet, so that a frameset comes too late.
    shows_something: bool,
    /// Whether the page is a frameset: it shows nothing but frames.
    is_frameset: bool,
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
            let is_markup = next.is_ascii_alphabetic()
                || matches!(next, b'!' | b'?')
                || next == b'/' && open + 2 < bytes.len();
            if !is_markup {
                at = open + 1;
                continue;
            }
            self.tell(told, open);
            let end = match next {
                b'/' => self.end_tag(open),
                b'!' | b'?' => self.markup(open),
                _ => self.start_tag(open),
            };
            // The page ends inside a tag: the standard drops the rest.
            let Some(end) = end else { return };
            (at, told) = (end, end);
        }
        self.tell(told, bytes.len());
    }

    /// Reports text with character references.
    #[inline]
    fn tell(&mut self, from: usize, to: usize) {
        if from < to {
            let html = self.html;
            let run = &html[from..to];
            self.shows_something = self.shows_something || shows(run);
            if self.is_frameset {
                return;
            }
            // NUL is dropped in HTML and replaced in foreign content.
            let nul = if self.stack.is_text_foreign() { REPLACED } else { "" };
            decode_text(run, nul, |piece| self.visitor.text(piece));
        }
    }

    /// Reports text without character references.
    fn tell_exactly(&mut self, run: &str) {
        let mut pieces = run.split('\0');
        let first = pieces.next().into_iter();
        let pieces = first.chain(pieces.flat_map(|piece| [REPLACED, piece]));
        pieces.filter(|piece| !piece.is_empty()).for_each(|piece| self.visitor.text(piece));
    }

    /// Reads a comment, doctype, CDATA section or anything else in `<! … >`; returns its end.
    fn markup(&mut self, open: usize) -> Option<usize> {
        let html = self.html;
        let rest = &html.as_bytes()[open..];
        if let Some(comment) = rest.strip_prefix(b"<!--") {
            if comment.starts_with(b">") || comment.starts_with(b"->") {
                return memchr(b'>', comment).map(|len| open + 4 + len + 1);
            }
            return end_of_comment(comment).map(|len| open + 4 + len);
        }
        if rest.starts_with(CDATA) && self.stack.foreign().is_some() {
            let start = open + CDATA.len();
            let len = memmem::find(&rest[CDATA.len()..], b"]]>");
            let stop = len.map_or(html.len(), |len| start + len);
            self.tell_exactly(&html[start..stop]);
            return Some(html.len().min(stop + "]]>".len()));
        }
        if rest.get(2..9).is_some_and(|word| word.eq_ignore_ascii_case(b"doctype")) {
            self.stack.see_doctype();
        }
        memchr(b'>', rest).map(|len| open + len + 1)
    }

    fn end_tag(&mut self, open: usize) -> Option<usize> {
        let bytes = self.html.as_bytes();
        if !bytes.get(open + 2).is_some_and(u8::is_ascii_alphabetic) {
            return memchr(b'>', &bytes[open..]).map(|len| open + len + 1);
        }
        let (name, name_end) = self.name(open + 2)?;
        // Attributes of an end tag have no effect.
        let end = read_attributes(self.html, name_end, &mut self.attributes)?;
        if self.is_frameset {
            return Some(end);
        }
        let visitor = &mut *self.visitor;
        match self.stack.end(name, |closed| visitor.close(closed)) {
            End::Closes => {}
            End::Implies => {
                self.attributes.clear();
                self.report(name, open + 2..name_end, true);
            }
            End::Leaves => visitor.leave(name),
        }
        Some(end)
    }

    fn start_tag(&mut self, open: usize) -> Option<usize> {
        let (name, name_end) = self.name(open + 1)?;
        let end = read_attributes(self.html, name_end, &mut self.attributes)?;
        let written = open + 1..name_end;
        let name = match self.stack.foreign() {
            Some(around) => match self.foreign_name(name, around) {
                Some(name) => {
                    self.open_foreign(name, written, end);
                    return Some(end);
                }
                None => name,
            },
            None => name,
        };
        let content = content(name);
        if content == Content::Frames || self.is_frameset {
            return Some(self.frames(name, written, end));
        }
        let visitor = &mut *self.visitor;
        match self.stack.make_room(name, |closed| visitor.close(closed)) {
            Start::Opens => {}
            Start::Adds => {
                self.report(name, written, true);
                return Some(end);
            }
            Start::Ignored => return Some(end),
        }
        self.shows_something = self.shows_something || shows_itself(name);
        if content == Content::Foreign {
            let name = if name == names::SVG { name.in_svg() } else { name.in_math() };
            self.open_foreign(name, written, end);
            return Some(end);
        }
        let depth = self.stack.depth();
        let is_leaf = content == Content::None || !self.stack.push(name);
        let (attributes, written) = (&self.attributes, &self.html[written]);
        self.visitor.open(&Tag { name, depth, is_leaf, written, attributes });
        match content {
            Content::Html | Content::None => Some(end),
            _ => Some(self.inside(name, content, end)),
        }
    }

    /// Reports a rare start tag, before its element is on the stack.
    #[cold]
    fn report(&mut self, name: Name, written: Range<usize>, is_leaf: bool) {
        let (depth, written) = (self.stack.depth(), &self.html[written]);
        self.visitor.open(&Tag { name, depth, is_leaf, written, attributes: &self.attributes });
    }

    /// The name, marked as foreign, of an element that starts inside the foreign element `around`;
    /// `None` if HTML's rules apply to it. An HTML element ends the foreign ones around it.
    fn foreign_name(&mut self, name: Name, around: Name) -> Option<Name> {
        let is_glyph = matches!(name, names::MGLYPH | names::MALIGNMARK);
        let is_annotation = around == names::ANNOTATION_XML.in_math();
        if around.is_point()
            || is_text_point(around) && !is_glyph
            || is_annotation && name == names::SVG
        {
            return None;
        }
        let has = |key: &str| self.attributes.iter().any(|a| a.name.eq_ignore_ascii_case(key));
        let is_styled_font = || ["color", "face", "size"].iter().any(|key| has(key));
        if ends_foreign(name) || name == names::FONT && is_styled_font() {
            let visitor = &mut *self.visitor;
            self.stack.leave_foreign(|closed| visitor.close(closed));
            return None;
        }
        Some(match name {
            _ if !around.is_svg() => {
                let encoding =
                    self.attributes.iter().find(|a| a.name.eq_ignore_ascii_case("encoding"));
                let is_html = encoding.is_some_and(|encoding| {
                    let kinds = ["text/html", "application/xhtml+xml"];
                    kinds.iter().any(|kind| encoding.value().eq_ignore_ascii_case(kind))
                });
                let name = name.in_math();
                if is_html && name == names::ANNOTATION_XML.in_math() {
                    name.marked()
                } else {
                    name
                }
            }
            names::FOREIGNOBJECT | names::DESC | names::TITLE => name.in_svg().marked(),
            _ => name.in_svg(),
        })
    }

    /// Opens a foreign element; `<path/>` is a leaf.
    fn open_foreign(&mut self, name: Name, written: Range<usize>, end: usize) {
        let is_closed = is_self_closing(self.html, end, self.attributes.last());
        let is_leaf = is_closed || !self.stack.has_room();
        self.report(name.unmarked(), written, is_leaf);
        if !is_closed {
            self.stack.push(name);
        }
    }

    /// Handles a tag of or in a frameset: nothing but frames counts there.
    fn frames(&mut self, name: Name, written: Range<usize>, end: usize) -> usize {
        self.is_frameset = self.is_frameset || name == names::FRAMESET && !self.shows_something;
        match name {
            names::FRAME if self.is_frameset => self.report(name, written, true),
            names::NOFRAMES => return self.inside(name, Content::Raw, end),
            _ => {}
        }
        end
    }

    /// Reports the inside of an element without markup and closes it; returns its end tag's end.
    fn inside(&mut self, name: Name, content: Content, start: usize) -> usize {
        let html = self.html;
        let (stop, end) = self.find_end(name, start);
        let inside = &html[start..stop];
        match content {
            Content::Text => decode_text(inside, REPLACED, |piece| self.visitor.text(piece)),
            Content::Shown => self.tell_exactly(inside),
            _ if start < stop && !self.is_frameset => self.visitor.raw(name, inside),
            _ => {}
        }
        let visitor = &mut *self.visitor;
        self.stack.end(name, |closed| visitor.close(closed));
        end
    }

    /// The end of an element's inside, and the end of its end tag.
    fn find_end(&mut self, name: Name, start: usize) -> (usize, usize) {
        let len = self.html.len();
        if name == names::PLAINTEXT {
            return (len, len);
        }
        let found = match self.find_end_tag(name, start) {
            (Some(_), true) if name == names::SCRIPT => self.find_end_of_escaped(start),
            (found, _) => found,
        };
        let Some(stop) = found else { return (len, len) };
        let (_, end) = self.name(stop + 2).unwrap_or((name, len));
        let end = read_attributes(self.html, end, &mut self.attributes);
        (stop, end.unwrap_or(len))
    }

    /// The start of the next end tag of `name`, and whether a comment begins before it.
    fn find_end_tag(&self, name: Name, start: usize) -> (Option<usize>, bool) {
        let inside = &self.html.as_bytes()[start..];
        let mut has_comment = false;
        for at in memchr_iter(b'<', inside) {
            match inside.get(at + 1) {
                Some(b'/') if self.name(start + at + 2).is_some_and(|(n, _)| n == name) => {
                    return (Some(start + at), has_comment);
                }
                Some(b'!') => has_comment = has_comment || inside[at..].starts_with(b"<!--"),
                _ => {}
            }
        }
        (None, has_comment)
    }

    /// The start of the end tag of a script that holds `<!--`: inside such a comment, a `<script>`
    /// needs an end tag of its own (the standard's *script data double escaped state*).
    fn find_end_of_escaped(&self, start: usize) -> Option<usize> {
        let bytes = self.html.as_bytes();
        let (mut in_comment, mut in_script) = (false, false);
        let mut at = start;
        while let Some(found) = memchr2(b'<', b'-', &bytes[at..]) {
            let here = at + found;
            let rest = &bytes[here..];
            let is_script =
                |from: usize| self.name(here + from).is_some_and(|(n, _)| n == names::SCRIPT);
            at = here + 1;
            if rest.starts_with(b"-->") {
                (in_comment, in_script) = (false, false);
            } else if !in_comment && rest.starts_with(b"<!--") {
                // The dashes may be those of its end: <!-->.
                (in_comment, at) = (true, here + 2);
            } else if rest.starts_with(b"</") && is_script(2) {
                if !in_script {
                    return Some(here);
                }
                in_script = false;
            } else if in_comment && rest[0] == b'<' && is_script(1) {
                in_script = true;
            }
        }
        None
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

const CDATA: &[u8] = b"<![CDATA[";
/// Stands for NUL where the standard does not drop it.
const REPLACED: &str = "\u{fffd}";

/// Whether text is more than white space.
fn shows(text: &str) -> bool {
    text.bytes().any(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | 0))
}

/// Elements that show something by themselves.
fn shows_itself(name: Name) -> bool {
    matches!(
        name,
        names::AREA
            | names::BR
            | names::BUTTON
            | names::EMBED
            | names::HR
            | names::IFRAME
            | names::IMG
            | names::INPUT
            | names::LI
            | names::OBJECT
            | names::PRE
            | names::SELECT
            | names::TABLE
            | names::TEXTAREA
            | names::WBR
            | names::XMP
    )
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

/// What an element holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Elements and text.
    Html,
    /// Nothing: a void element.
    None,
    /// SVG or MathML.
    Foreign,
    /// Text with character references.
    Text,
    /// Text without character references.
    Shown,
    /// What is no text, such as a script.
    Raw,
    /// Frames.
    Frames,
}

fn content(name: Name) -> Content {
    match name {
        names::SVG | names::MATH => Content::Foreign,
        names::TITLE | names::TEXTAREA => Content::Text,
        names::XMP | names::PLAINTEXT => Content::Shown,
        names::SCRIPT | names::STYLE | names::IFRAME | names::NOEMBED | names::NOFRAMES => {
            Content::Raw
        }
        names::FRAMESET | names::FRAME => Content::Frames,
        names::AREA
        | names::BASE
        | names::BASEFONT
        | names::BGSOUND
        | names::BR
        | names::COL
        | names::EMBED
        | names::HR
        | names::IMAGE
        | names::IMG
        | names::INPUT
        | names::KEYGEN
        | names::LINK
        | names::META
        | names::PARAM
        | names::SOURCE
        | names::TRACK
        | names::WBR => Content::None,
        _ => Content::Html,
    }
}
