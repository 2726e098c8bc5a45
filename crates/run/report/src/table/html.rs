//! Tables for a page: a scrolling box around a `<table>`.

use maud::{Markup, html};

use super::{Align, Column, Table};
use crate::text::{clean, columns};

/// Texts of at most this many characters do not wrap.
const SHORT: usize = 24;

impl Table {
    /// The table as markup; needs [`crate::stylesheet`] to look right.
    pub fn to_markup(&self) -> Markup {
        html! {
            // The box scrolls sideways on a narrow screen; a keyboard reaches it by tabindex.
            div.scroll tabindex="0" role="group" aria-label=[self.caption.as_deref().map(clean)] {
                table {
                    @if let Some(text) = &self.caption { caption { (clean(text)) } }
                    thead { tr { @for column in &self.columns { (head(column)) } } }
                    tbody {
                        @for row in self.shown_rows() {
                            tr { @for (cell, column) in row.iter().zip(&self.columns) {
                                td.n[column.align == Align::Right].short[columns(&cell.0) <= SHORT].best[cell.1] {
                                    (cell.0)
                                }
                            } }
                        }
                    }
                }
            }
        }
    }
}

fn head(column: &Column) -> Markup {
    html! {
        th.n[column.align == Align::Right] scope="col" {
            (clean(&column.header))
            @if let Some(unit) = &column.unit { " " span.unit { (clean(unit)) } }
        }
    }
}
