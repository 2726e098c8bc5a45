//! Drawings: pure functions from data to SVG.
//!
//! A drawing is made for a [`Size`] and hardly scaled, so that its text keeps the size of the text
//! around it. Colours come from the custom properties of [`crate::stylesheet`].

mod axis;
mod bars;
mod labels;
mod legend;
mod names;
mod plot;
mod scale;
mod series;
mod stripes;
mod svg;
mod thin;
mod ticks;
mod xy;

pub use axis::Axis;
pub use bars::{Bar, BarChart};
pub use series::{Point, Series};
pub use stripes::{Stripe, Stripes};
pub(crate) use svg::stylesheet;
pub use xy::{Chart, Reference};

use crate::Table;

/// Most rows in the data table under a drawing.
const MOST_DATA_ROWS: usize = 400;

/// Size of a drawing, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the plot, unless it follows from the data.
    pub plot_height: f64,
}

impl Size {
    /// A desktop screen or a printed page.
    pub const WIDE: Self = Self { width: 720.0, plot_height: 300.0 };
    /// A phone.
    pub const NARROW: Self = Self { width: 360.0, plot_height: 220.0 };
}

/// Any drawing.
#[derive(Clone, Debug)]
pub enum Graphic {
    /// Lines, points and areas over two numeric axes.
    Chart(Chart),
    /// Bars by category.
    Bars(BarChart),
    /// Spans of time by row.
    Stripes(Stripes),
}

impl Graphic {
    /// The title, also for screen readers.
    pub fn title(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.title,
            Self::Bars(bars) => &bars.title,
            Self::Stripes(stripes) => &stripes.title,
        }
    }

    /// The caption.
    pub fn caption(&self) -> Option<&str> {
        match self {
            Self::Chart(chart) => chart.caption.as_deref(),
            Self::Bars(bars) => bars.caption.as_deref(),
            Self::Stripes(stripes) => stripes.caption.as_deref(),
        }
    }

    /// The drawing, for a page with [`crate::stylesheet`].
    pub fn to_svg(&self, size: Size) -> String {
        match self {
            Self::Chart(chart) => chart.to_svg(size),
            Self::Bars(bars) => bars.to_svg(size),
            Self::Stripes(stripes) => stripes.to_svg(size),
        }
    }

    /// Notes on omitted data.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Chart(chart) => chart.notes(),
            Self::Bars(bars) => bars.notes(),
            Self::Stripes(stripes) => stripes.notes(),
        }
    }

    /// The data as a table; long data is sampled evenly, with a note in the caption.
    pub fn data_table(&self) -> Table {
        match self {
            Self::Chart(chart) => chart.data_table(),
            Self::Bars(bars) => bars.data_table(),
            Self::Stripes(stripes) => stripes.data_table(),
        }
    }
}

impl From<Chart> for Graphic {
    fn from(chart: Chart) -> Self {
        Self::Chart(chart)
    }
}

impl From<BarChart> for Graphic {
    fn from(bars: BarChart) -> Self {
        Self::Bars(bars)
    }
}

impl From<Stripes> for Graphic {
    fn from(stripes: Stripes) -> Self {
        Self::Stripes(stripes)
    }
}

/// Evenly spaced indices into `len` items: all of them, or [`MOST_DATA_ROWS`] from first to last.
fn sample(len: usize) -> impl Iterator<Item = usize> {
    let shown = len.min(MOST_DATA_ROWS);
    (0..shown).map(move |i| if shown == len { i } else { i * (len - 1) / (shown - 1) })
}

/// The caption of a sampled data table.
fn sample_caption(shown: usize, len: usize) -> Option<String> {
    (shown < len).then(|| format!("{shown} of {len} rows, evenly spaced."))
}
