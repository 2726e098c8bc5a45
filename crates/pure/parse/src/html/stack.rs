//! Tracks open elements: enough of HTML's tree building to know the nesting.
//!
//! A `<p>` ends at the next block, a list item or cell at the next one, an end tag only closes what
//! is in its scope: without these rules a hidden paragraph would hide the rest of the page. Where the
//! standard moves nodes, text stays where it was written: text between the cells of a table is not
//! put before it, and formatting whose end tag comes too early (`<b><p></b></p>`) stays on the stack,
//! marked as ended, until its block closes.
//!
//! Invariant: `counts[b]` is the number of open elements whose name falls into bucket b, so that
//! most stray end tags are detected without a search. A search looks at no more than [`DEPTH_CAP`]
//! elements: time stays linear.

use super::name::{Name, names};

/// Most open elements; deeper ones are reported but not nested.
pub const DEPTH_CAP: usize = 512;

pub(super) struct Stack {
    open: Vec<Name>,
    counts: [u16; 64],
    /// Elements open beyond the cap.
    beyond: usize,
    /// Whether the page has no doctype: then a table does not end a paragraph.
    is_quirky: bool,
}

/// What becomes of a start tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// It opens an element.
    Opens,
    /// It adds to an open element, such as a second `<body>`, and opens none.
    Adds,
    /// It has no effect.
    Ignored,
}

/// What becomes of an end tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It closes elements, or none.
    Closes,
    /// It stands for an empty element: `</p>` without a paragraph, `</br>`.
    Implies,
    /// It ends formatting that stays open, because a block inside it is.
    Leaves,
}

impl Stack {
    pub(super) fn new() -> Self {
        Stack { open: Vec::with_capacity(32), counts: [0; 64], beyond: 0, is_quirky: true }
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Notes a doctype. One after the first element has no effect.
    pub(super) fn see_doctype(&mut self) {
        self.is_quirky &= !self.open.is_empty();
    }

    /// The innermost open element, if it is foreign: SVG or MathML.
    #[inline]
    pub(super) fn foreign(&self) -> Option<Name> {
        self.open.last().copied().filter(|name| name.is_foreign() && self.beyond == 0)
    }

    /// Whether text is foreign: not inside an integration point, where it is HTML.
    pub(super) fn is_text_foreign(&self) -> bool {
        self.foreign().is_some_and(|around| !around.is_point() && !is_text_point(around))
    }

    pub(super) fn has_room(&self) -> bool {
        self.open.len() < DEPTH_CAP
    }

    /// Opens an element; returns whether there was room.
    pub(super) fn push(&mut self, name: Name) -> bool {
        if !self.has_room() {
            self.beyond += 1;
            return false;
        }
        self.open.push(name);
        self.counts[name.bucket()] += 1;
        true
    }

    pub(super) fn pop(&mut self) -> Option<Name> {
        let name = self.open.pop()?;
        self.counts[name.bucket()] -= 1;
        Some(name.unmarked())
    }

    /// Handles an end tag: closes the element and all inside it.
    #[inline]
    pub(super) fn end(&mut self, name: Name, mut on_close: impl FnMut(Name)) -> End {
        let is_usual = self.beyond == 0 && !matches!(name, names::BODY | names::HTML);
        if is_usual && self.open.last() == Some(&name) {
            self.close_above(self.open.len() - 1, on_close);
            return End::Closes;
        }
        self.end_other(name, &mut on_close)
    }

    /// Handles an end tag of another element than the innermost.
    fn end_other(&mut self, name: Name, on_close: &mut dyn FnMut(Name)) -> End {
        if self.beyond > 0 {
            self.beyond -= 1;
            return End::Closes;
        }
        // Whatever follows belongs to the body still.
        if matches!(name, names::BODY | names::HTML) {
            return End::Closes;
        }
        if self.foreign().is_some() && self.end_foreign(name, &mut *on_close) {
            return End::Closes;
        }
        let is_it = |open| open == name;
        let found = match name {
            names::BR => return End::Implies,
            names::P => match self.find(name, is_it, is_button_scope) {
                None => return End::Implies,
                found => found,
            },
            names::LI => self.find(name, is_it, is_list_scope),
            names::H1 | names::H2 | names::H3 | names::H4 | names::H5 | names::H6 => {
                self.search(is_heading, is_scope)
            }
            names::TABLE | names::TEMPLATE => self.find(name, is_it, |n| n == names::TEMPLATE),
            names::CAPTION
            | names::COLGROUP
            | names::TBODY
            | names::THEAD
            | names::TFOOT
            | names::TR
            | names::TD
            | names::TH => self.find(name, is_it, is_table_scope),
            _ if is_formatting(name) => match self.find(name, is_it, is_scope) {
                Some(at) if self.holds_block(at) => {
                    self.mark_ended(at);
                    return End::Leaves;
                }
                found => found,
            },
            _ if is_block(name) => self.find(name, is_it, is_scope),
            names::BUTTON | names::OBJECT | names::APPLET | names::MARQUEE | names::SELECT => {
                self.find(name, is_it, is_scope)
            }
            _ => self.find(name, is_it, is_special),
        };
        if let Some(at) = found {
            self.close_above(at, on_close);
        }
        End::Closes
    }

    /// Whether a block is open inside the element at place `at`.
    fn holds_block(&self, at: usize) -> bool {
        self.open[at + 1..].iter().any(|open| is_special(*open))
    }

    fn mark_ended(&mut self, at: usize) {
        let name = self.open[at];
        self.counts[name.bucket()] -= 1;
        self.counts[name.marked().bucket()] += 1;
        self.open[at] = name.marked();
    }

    /// Handles an end tag inside a foreign element; returns `false` if HTML's rules apply.
    fn end_foreign(&mut self, name: Name, on_close: impl FnMut(Name)) -> bool {
        if matches!(name, names::BR | names::P) {
            self.leave_foreign(on_close);
            return false;
        }
        let foreign = self.open.iter().rev().take_while(|open| open.is_foreign());
        let found = foreign.enumerate().find(|(_, open)| open.unmarked() == name);
        let at = found.map(|(above, _)| self.open.len() - 1 - above);
        at.inspect(|at| self.close_above(*at, on_close)).is_some()
    }

    /// Closes foreign elements up to HTML or an integration point.
    pub(super) fn leave_foreign(&mut self, on_close: impl FnMut(Name)) {
        let is_html = |open: &Name| !open.is_foreign() || open.is_point() || is_text_point(*open);
        let at = self.open.iter().rposition(is_html).map_or(0, |at| at + 1);
        self.close_above(at, on_close);
    }

    /// Closes the elements that the start of `name` implicitly ends.
    #[inline]
    pub(super) fn make_room(&mut self, name: Name, mut on_close: impl FnMut(Name)) -> Start {
        if self.beyond > 0 {
            return Start::Opens;
        }
        match name {
            names::LI => {
                self.end_item(&[names::LI], &mut on_close);
                self.end_paragraph(on_close);
            }
            names::DT | names::DD => {
                self.end_item(&[names::DT, names::DD], &mut on_close);
                self.end_paragraph(on_close);
            }
            names::H1 | names::H2 | names::H3 | names::H4 | names::H5 | names::H6 => {
                self.end_paragraph(&mut on_close);
                self.end_top(is_heading, on_close);
            }
            names::TABLE => self.make_room_for_table(on_close),
            names::CAPTION
            | names::COLGROUP
            | names::COL
            | names::TBODY
            | names::THEAD
            | names::TFOOT
            | names::TR
            | names::TD
            | names::TH => return self.make_room_in_table(name, on_close),
            names::OPTION => self.end_top(|n| n == names::OPTION, on_close),
            names::OPTGROUP => {
                self.end_top(|n| n == names::OPTION, &mut on_close);
                let is_in_select = self.find(names::SELECT, |n| n == names::SELECT, is_scope);
                if is_in_select.is_some() {
                    self.end_top(|n| n == names::OPTGROUP, on_close);
                }
            }
            names::INPUT | names::TEXTAREA | names::KEYGEN => {
                self.end_in_scope(names::SELECT, is_table_scope, on_close);
            }
            // A select inside another ends it and opens none.
            names::SELECT if self.end_in_scope(name, is_table_scope, &mut on_close) => {
                return Start::Ignored;
            }
            names::BUTTON => {
                self.end_in_scope(names::BUTTON, is_scope, on_close);
            }
            names::A | names::NOBR => match self.find(name, |n| n == name, is_scope) {
                Some(at) if self.holds_block(at) => self.mark_ended(at),
                Some(at) => self.close_above(at, on_close),
                None => {}
            },
            names::BODY => {
                self.end_top(|n| n == names::HEAD, on_close);
                if self.open.iter().any(|n| *n != names::HTML) {
                    return Start::Adds;
                }
            }
            names::HTML if !self.open.is_empty() => return Start::Adds,
            names::HEAD if self.open.iter().any(|n| *n != names::HTML) => return Start::Ignored,
            _ if is_block(name) => self.end_paragraph(on_close),
            _ => {}
        }
        Start::Opens
    }

    #[inline]
    fn end_paragraph(&mut self, on_close: impl FnMut(Name)) {
        self.end_in_scope(names::P, is_button_scope, on_close);
    }

    /// Closes the list item around the next one.
    fn end_item(&mut self, items: &[Name], on_close: impl FnMut(Name)) {
        let is_barrier = |n| is_special(n) && !matches!(n, names::ADDRESS | names::DIV | names::P);
        if items.iter().any(|item| self.counts[item.bucket()] > 0)
            && let Some(at) = self.search(|n| items.contains(&n), is_barrier)
        {
            self.close_above(at, on_close);
        }
    }

    fn end_top(&mut self, is_target: impl Fn(Name) -> bool, on_close: impl FnMut(Name)) {
        if self.open.last().is_some_and(|top| is_target(*top)) {
            self.close_above(self.open.len() - 1, on_close);
        }
    }

    /// A table ends a paragraph, and a table in which no cell is open.
    fn make_room_for_table(&mut self, mut on_close: impl FnMut(Name)) {
        let is_cell = |n| matches!(n, names::TD | names::TH | names::CAPTION | names::TEMPLATE);
        if !self.end_in_scope(names::TABLE, is_cell, &mut on_close) && !self.is_quirky {
            self.end_paragraph(on_close);
        }
    }

    /// Closes what is open above the part of a table that `name` goes into.
    fn make_room_in_table(&mut self, name: Name, on_close: impl FnMut(Name)) -> Start {
        let Some(table) = self.search(is_table_scope, |_| false) else { return Start::Ignored };
        if self.open[table] == names::TEMPLATE {
            return Start::Opens;
        }
        if self.open[table] != names::TABLE {
            return Start::Ignored;
        }
        let is_section = |n| matches!(n, names::TBODY | names::THEAD | names::TFOOT);
        let is_around = |n: &Name| match name {
            names::TD | names::TH => *n == names::TR || is_section(*n),
            names::TR => is_section(*n),
            names::COL => *n == names::COLGROUP,
            _ => false,
        };
        let inside = &self.open[table + 1..];
        let around = inside.iter().rposition(is_around).map_or(table, |at| table + 1 + at);
        // A form between the parts of a table ends at its own end tag.
        let forms = self.open[around + 1..].iter().take_while(|n| **n == names::FORM).count();
        self.close_above(around + 1 + forms, on_close);
        Start::Opens
    }

    /// Closes the innermost element `name` and all inside it, unless an `is_barrier` one is in
    /// between; returns whether it did.
    #[inline]
    fn end_in_scope(
        &mut self,
        name: Name,
        is_barrier: impl Fn(Name) -> bool,
        on_close: impl FnMut(Name),
    ) -> bool {
        let found = self.find(name, |n| n == name, is_barrier);
        found.inspect(|at| self.close_above(*at, on_close)).is_some()
    }

    /// The place of the innermost `is_target` element, unless an `is_barrier` one is in between.
    /// `of` is the target's name, for a quick test that none is open.
    #[inline]
    fn find(
        &self,
        of: Name,
        is_target: impl Fn(Name) -> bool,
        is_barrier: impl Fn(Name) -> bool,
    ) -> Option<usize> {
        if self.counts[of.bucket()] == 0 { None } else { self.search(is_target, is_barrier) }
    }

    fn search(
        &self,
        is_target: impl Fn(Name) -> bool,
        is_barrier: impl Fn(Name) -> bool,
    ) -> Option<usize> {
        let at = self.open.iter().rposition(|&n| is_target(n) || is_barrier(n))?;
        is_target(self.open[at]).then_some(at)
    }

    /// Closes the element at place `at` and all inside it.
    #[inline]
    fn close_above(&mut self, at: usize, mut on_close: impl FnMut(Name)) {
        while self.open.len() > at || self.open.last().is_some_and(|top| top.has_ended()) {
            self.pop().into_iter().for_each(&mut on_close);
        }
    }
}

fn is_heading(name: Name) -> bool {
    matches!(name, names::H1 | names::H2 | names::H3 | names::H4 | names::H5 | names::H6)
}

/// Elements whose inside a table's tags do not reach out of.
fn is_table_scope(name: Name) -> bool {
    matches!(name, names::TABLE | names::TEMPLATE | names::HTML)
}

/// Elements that an end tag inside them does not reach out of.
fn is_scope(name: Name) -> bool {
    matches!(
        name,
        names::TABLE
            | names::TD
            | names::TH
            | names::CAPTION
            | names::OBJECT
            | names::APPLET
            | names::MARQUEE
            | names::SELECT
            | names::TEMPLATE
            | names::HTML
    ) || is_foreign_scope(name)
}

fn is_foreign_scope(name: Name) -> bool {
    name.is_foreign() && (name.is_point() || is_text_point(name) || name == ANNOTATION)
}

const ANNOTATION: Name = names::ANNOTATION_XML.in_math();
const TEXT_POINTS: [Name; 5] = [
    names::MI.in_math(),
    names::MO.in_math(),
    names::MN.in_math(),
    names::MS.in_math(),
    names::MTEXT.in_math(),
];

/// Whether a MathML element holds text, in which HTML is allowed.
pub(super) fn is_text_point(name: Name) -> bool {
    TEXT_POINTS.contains(&name)
}

fn is_button_scope(name: Name) -> bool {
    name == names::BUTTON || is_scope(name)
}

fn is_list_scope(name: Name) -> bool {
    matches!(name, names::UL | names::OL) || is_scope(name)
}

/// Elements that the end tag of an ordinary element, such as a span, does not close.
fn is_special(name: Name) -> bool {
    is_block(name) && name != names::DIALOG
        || matches!(
            name,
            names::APPLET
                | names::BODY
                | names::BUTTON
                | names::CAPTION
                | names::COLGROUP
                | names::FRAMESET
                | names::HEAD
                | names::HTML
                | names::MARQUEE
                | names::NOSCRIPT
                | names::OBJECT
                | names::SELECT
                | names::TBODY
                | names::TD
                | names::TEMPLATE
                | names::TFOOT
                | names::TH
                | names::THEAD
                | names::TR
        )
        || is_foreign_scope(name)
}

fn is_formatting(name: Name) -> bool {
    matches!(
        name,
        names::A
            | names::B
            | names::BIG
            | names::CODE
            | names::EM
            | names::FONT
            | names::I
            | names::NOBR
            | names::S
            | names::SMALL
            | names::STRIKE
            | names::STRONG
            | names::TT
            | names::U
    )
}

/// HTML elements that end the foreign elements they stand in.
pub(super) fn ends_foreign(name: Name) -> bool {
    is_heading(name)
        || is_formatting(name) && !matches!(name, names::A | names::FONT)
        || matches!(
            name,
            names::BLOCKQUOTE
                | names::BODY
                | names::BR
                | names::CENTER
                | names::DD
                | names::DIV
                | names::DL
                | names::DT
                | names::EMBED
                | names::HEAD
                | names::HR
                | names::IMG
                | names::LI
                | names::LISTING
                | names::MENU
                | names::META
                | names::OL
                | names::P
                | names::PRE
                | names::RUBY
                | names::SPAN
                | names::SUB
                | names::SUP
                | names::TABLE
                | names::UL
                | names::VAR
        )
}

/// Elements that start a new line of text.
pub fn is_block(name: Name) -> bool {
    matches!(
        name,
        names::ADDRESS
            | names::ARTICLE
            | names::ASIDE
            | names::BLOCKQUOTE
            | names::CENTER
            | names::DETAILS
            | names::DIALOG
            | names::DIR
            | names::DIV
            | names::DL
            | names::DT
            | names::DD
            | names::FIELDSET
            | names::FIGCAPTION
            | names::FIGURE
            | names::FOOTER
            | names::FORM
            | names::H1
            | names::H2
            | names::H3
            | names::H4
            | names::H5
            | names::H6
            | names::HEADER
            | names::HGROUP
            | names::HR
            | names::LI
            | names::LISTING
            | names::MAIN
            | names::MENU
            | names::NAV
            | names::OL
            | names::P
            | names::PLAINTEXT
            | names::PRE
            | names::SEARCH
            | names::SECTION
            | names::SUMMARY
            | names::TABLE
            | names::UL
            | names::XMP
    )
}
