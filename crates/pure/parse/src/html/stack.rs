//! Tracks open elements: enough of HTML's tree building to know the nesting.
//!
//! A `<p>` ends at the next block, a list item or cell at the next one: without these rules a
//! hidden paragraph would hide the rest of the page. The finer rules (misnested formatting, foster
//! parents) move text but do not change what a reader sees, and are left out.
//!
//! Invariant: `counts[b]` is the number of open elements whose name falls into bucket b. A stray
//! end tag is thus detected without a search, and a matching one pays for its search with the
//! elements it closes: time stays linear.

use super::name::{Name, names};

/// Most open elements; deeper ones are reported but not nested.
pub const DEPTH_CAP: usize = 512;

pub(super) struct Stack {
    open: Vec<Name>,
    counts: [u16; 64],
    /// Elements open beyond the cap.
    beyond: usize,
}

impl Stack {
    pub(super) fn new() -> Self {
        Stack { open: Vec::with_capacity(32), counts: [0; 64], beyond: 0 }
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Opens an element; returns whether there was room.
    pub(super) fn push(&mut self, name: Name) -> bool {
        if self.open.len() == DEPTH_CAP {
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
        Some(name)
    }

    /// Handles an end tag: closes the element and all inside it.
    pub(super) fn end(&mut self, name: Name, on_close: impl FnMut(Name)) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        self.close_down_to(|open| open == name, |_| false, name, on_close);
    }

    /// Closes the elements that the start of `name` implicitly ends.
    #[inline]
    pub(super) fn make_room(&mut self, name: Name, mut on_close: impl FnMut(Name)) {
        if self.beyond > 0 {
            return;
        }
        match name {
            names::LI => self.close_down_to(|n| n == names::LI, is_list, name, on_close),
            names::DT | names::DD => {
                for sibling in [names::DT, names::DD] {
                    self.close_down_to(|n| n == sibling, is_list, sibling, &mut on_close);
                }
            }
            names::OPTION => {
                self.close_down_to(|n| n == name, |n| n == names::SELECT, name, on_close);
            }
            names::TD | names::TH => {
                for sibling in [names::TD, names::TH] {
                    self.close_down_to(|n| n == sibling, is_table, sibling, &mut on_close);
                }
            }
            names::TR => self.close_down_to(|n| n == name, is_table, name, on_close),
            names::TBODY | names::TFOOT => {
                for sibling in [names::THEAD, names::TBODY] {
                    self.close_down_to(|n| n == sibling, is_table, sibling, &mut on_close);
                }
            }
            names::BODY => {
                self.close_down_to(|n| n == names::HEAD, |_| false, names::HEAD, on_close);
            }
            _ if ends_paragraph(name) => {
                self.close_down_to(|n| n == names::P, is_scope, names::P, on_close);
            }
            _ => {}
        }
    }

    /// Closes the innermost `is_target` element and all inside it, unless an `is_barrier` one is
    /// in between. `of` is the target's name, for a quick test that none is open.
    #[inline]
    fn close_down_to(
        &mut self,
        is_target: impl Fn(Name) -> bool,
        is_barrier: impl Fn(Name) -> bool,
        of: Name,
        mut on_close: impl FnMut(Name),
    ) {
        if self.counts[of.bucket()] == 0 {
            return;
        }
        let found =
            self.open.iter().rev().take_while(|&&n| !is_barrier(n)).position(|&n| is_target(n));
        for _ in 0..found.map_or(0, |inside| inside + 1) {
            if let Some(name) = self.pop() {
                on_close(name);
            }
        }
    }
}

fn is_list(name: Name) -> bool {
    matches!(name, names::UL | names::OL | names::DL | names::MENU | names::TABLE)
}

fn is_table(name: Name) -> bool {
    name == names::TABLE
}

/// Elements beyond which a paragraph's end has no effect.
fn is_scope(name: Name) -> bool {
    matches!(
        name,
        names::TABLE
            | names::TD
            | names::TH
            | names::CAPTION
            | names::BUTTON
            | names::OBJECT
            | names::TEMPLATE
            | names::SVG
            | names::MATH
            | names::HTML
    )
}

fn ends_paragraph(name: Name) -> bool {
    is_block(name) || matches!(name, names::PLAINTEXT | names::XMP)
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
            | names::MAIN
            | names::MENU
            | names::NAV
            | names::OL
            | names::P
            | names::PRE
            | names::SECTION
            | names::SUMMARY
            | names::TABLE
            | names::UL
    )
}

/// Void elements.
pub(super) fn is_void(name: Name) -> bool {
    matches!(
        name,
        names::AREA
            | names::BASE
            | names::BR
            | names::COL
            | names::EMBED
            | names::FRAME
            | names::HR
            | names::IMG
            | names::INPUT
            | names::LINK
            | names::META
            | names::PARAM
            | names::SOURCE
            | names::TRACK
            | names::WBR
    )
}
