//! How is a result shown to a person? Tables, charts and self-contained pages.
//!
//! A [`Report`] is a title, a lead and sections of [`Block`]s; [`Report::to_html`] turns it into
//! one HTML file that needs no script and no other file, follows the reader's light or dark
//! setting, fits a phone and prints. A [`Table`] renders as HTML and as aligned text for a
//! terminal. [`Chart`], [`BarChart`] and [`Stripes`] are pure functions from data to SVG.
//!
//! Invariants:
//! - The same input gives the same bytes: no date, no random identifier, no hash order.
//! - Every text is hostile. Markup is escaped, control and direction-changing characters are
//!   replaced, long names are cut in drawings (never in tables).
//! - No value makes a drawing fail. Points that cannot be drawn (NaN, ∞, zero on a logarithmic axis)
//!   are left out, and a note under the chart counts them.
//! - Output is bounded: a drawing holds a few points per pixel, whatever the length of its data.
//!
//! ```
//! use tidewatch_report::{Axis, Cell, Chart, Column, Report, Series, Table};
//!
//! let table = Table::new([Column::text("Policy"), Column::number("Freshness").highest()])
//!     .row([Cell::text("uniform"), Cell::plus_minus(0.71, 0.01, 3)])
//!     .row([Cell::text("price"), Cell::plus_minus(0.84, 0.01, 3)]);
//! let chart = Chart::new("Freshness over time", Axis::seconds("time"), Axis::new("freshness"))
//!     .series(Series::line("price", [(0.0, 0.2), (3600.0, 0.8), (7200.0, 0.84)]));
//! let page = Report::new("Two policies")
//!     .section("Results", |s| {
//!         s.table(table).chart(chart);
//!     })
//!     .to_html();
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! ```

mod chart;
mod number;
mod page;
mod palette;
mod plain;
mod report;
mod table;
mod text;
mod write;

pub use chart::{
    Axis, Bar, BarChart, Chart, Graphic, Point, Reference, Series, Size, Stripe, Stripes,
};
pub use page::stylesheet;
pub use report::{Block, Report, Section};
pub use table::{Cell, Column, Table};
pub use text::clean;
pub use write::{WriteError, write_report};
