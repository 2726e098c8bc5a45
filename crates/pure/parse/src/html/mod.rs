//! One pass over a page, reported to visitors.
//!
//! [`scan`] reads decoded HTML once and calls a [`Visitor`] for every start tag, run of text and
//! end. It builds no tree: it keeps only the names of open elements, at most [`DEPTH_CAP`], so time
//! is linear in the page and memory constant, however deep the nesting. Visitors combine as tuples
//! and are inlined, so that several share one pass: `scan(html, &mut (links, text))`.
//!
//! Visitors may rely on this: every `open` of a tag that is not a leaf is followed by exactly one
//! `close` of the same name, properly nested, whether or not the page has the end tag; nothing is
//! reported twice. On broken pages, tokens follow the HTML standard (a browser reads the same tags,
//! attributes and text); nesting follows its rules for scopes, tables and foreign content
//! ([`stack`]). SVG and MathML elements are reported like HTML's, under their names.

mod entity;
mod name;
mod scanner;
pub mod stack;
mod tag;

pub(crate) use entity::decode_attribute;
pub use name::{Name, names};
pub use scanner::scan;
pub use stack::{DEPTH_CAP, is_block};
pub(crate) use tag::read_attributes;
pub use tag::{Attribute, Tag};

/// Receives the contents of a page. All methods do nothing by default.
pub trait Visitor {
    /// An element starts.
    fn open(&mut self, _tag: &Tag<'_>) {}

    /// A piece of text, character references decoded. White space is as written; a word may be
    /// split into several pieces, with or without tags between them.
    fn text(&mut self, _text: &str) {}

    /// The inside, as written, of an element that shows no text: script, style, iframe, noembed,
    /// noframes. Called between its `open` and its `close`.
    fn raw(&mut self, _of: Name, _text: &str) {}

    /// Formatting such as a link has its end tag, but closes later, with the block that is open
    /// inside it.
    fn leave(&mut self, _name: Name) {}

    /// An element ends, at its end tag or implicitly.
    fn close(&mut self, _name: Name) {}
}

impl<V: Visitor + ?Sized> Visitor for &mut V {
    #[inline]
    fn open(&mut self, tag: &Tag<'_>) {
        (**self).open(tag);
    }

    #[inline]
    fn text(&mut self, text: &str) {
        (**self).text(text);
    }

    #[inline]
    fn raw(&mut self, of: Name, text: &str) {
        (**self).raw(of, text);
    }

    #[inline]
    fn leave(&mut self, name: Name) {
        (**self).leave(name);
    }

    #[inline]
    fn close(&mut self, name: Name) {
        (**self).close(name);
    }
}

macro_rules! visit_together {
    ($($visitor:ident . $place:tt),*) => {
        impl<$($visitor: Visitor),*> Visitor for ($($visitor,)*) {
            #[inline]
            fn open(&mut self, tag: &Tag<'_>) {
                $(self.$place.open(tag);)*
            }

            #[inline]
            fn text(&mut self, text: &str) {
                $(self.$place.text(text);)*
            }

            #[inline]
            fn raw(&mut self, of: Name, text: &str) {
                $(self.$place.raw(of, text);)*
            }

            #[inline]
            fn leave(&mut self, name: Name) {
                $(self.$place.leave(name);)*
            }

            #[inline]
            fn close(&mut self, name: Name) {
                $(self.$place.close(name);)*
            }
        }
    };
}

visit_together!(A.0, B.1);
visit_together!(A.0, B.1, C.2);
visit_together!(A.0, B.1, C.2, D.3);

#[cfg(test)]
mod tests;
