//! Tables, shown as HTML and as text for a terminal.
//!
//! A cell keeps its number, not its text, so that the best value of a column can be found. Rows may
//! be ragged: short rows are filled with missing cells, and cells past the last column get a column
//! without a name.

mod html;
mod plain;

use crate::number::{self, MISSING};
use crate::text;

/// Alignment of a column: left for text, right for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// The best value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Best {
    None,
    Highest,
    Lowest,
}

/// The head of a column.
#[derive(Clone, Debug)]
pub struct Column {
    header: String,
    unit: Option<String>,
    align: Align,
    best: Best,
}

impl Column {
    /// A column of text.
    pub fn text(header: impl Into<String>) -> Self {
        Self { header: header.into(), unit: None, align: Align::Left, best: Best::None }
    }

    /// A column of numbers.
    pub fn number(header: impl Into<String>) -> Self {
        Self { align: Align::Right, ..Self::text(header) }
    }

    /// The unit of the numbers, shown after the header.
    pub fn unit(self, unit: impl Into<String>) -> Self {
        Self { unit: Some(unit.into()), ..self }
    }

    /// Emphasises the highest number of the column.
    pub fn highest(self) -> Self {
        Self { best: Best::Highest, ..self }
    }

    /// Emphasises the lowest number of the column.
    pub fn lowest(self) -> Self {
        Self { best: Best::Lowest, ..self }
    }
}

/// What a cell holds.
#[derive(Clone, Debug)]
enum Content {
    Missing,
    Text(String),
    Number { value: f64, decimals: usize },
    Significant { value: f64, digits: usize },
    PlusMinus { value: f64, half_width: f64, decimals: usize },
}

/// One cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    content: Content,
}

impl Cell {
    fn of(content: Content) -> Self {
        Self { content }
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }

    /// A number with a fixed count of decimals. NaN reads as missing.
    pub fn number(value: f64, decimals: usize) -> Self {
        Self::of(Content::Number { value, decimals })
    }

    /// A count.
    pub fn count(value: u64) -> Self {
        Self::number(value as f64, 0)
    }

    /// A number with a count of significant digits, for columns over many magnitudes.
    pub fn significant(value: f64, digits: usize) -> Self {
        Self::of(Content::Significant { value, digits })
    }

    /// A number and the half-width of its confidence interval, both with the same decimals. A
    /// half-width of NaN is not shown.
    pub fn plus_minus(value: f64, half_width: f64, decimals: usize) -> Self {
        Self::of(Content::PlusMinus { value, half_width, decimals })
    }

    /// No value: `—`.
    pub fn missing() -> Self {
        Self::of(Content::Missing)
    }

    /// A number if there is one, else missing.
    pub fn maybe(value: Option<f64>, decimals: usize) -> Self {
        value.map_or_else(Self::missing, |value| Self::number(value, decimals))
    }

    /// The number by which the cell is compared.
    fn value(&self) -> Option<f64> {
        match self.content {
            Content::Missing | Content::Text(_) => None,
            Content::Number { value, .. }
            | Content::Significant { value, .. }
            | Content::PlusMinus { value, .. } => value.is_finite().then_some(value),
        }
    }

    /// The number as shown, without its uncertainty: equal texts tie.
    fn shown_value(&self) -> String {
        match self.content {
            Content::PlusMinus { value, decimals, .. } => number::fixed(value, decimals),
            _ => self.shown(),
        }
    }

    /// The cell as a person reads it.
    fn shown(&self) -> String {
        match &self.content {
            Content::Missing => MISSING.to_owned(),
            Content::Text(text) => text::clean(text),
            Content::Number { value, decimals } => number::fixed(*value, *decimals),
            Content::Significant { value, digits } => number::significant(*value, *digits),
            Content::PlusMinus { value, .. } if value.is_nan() => MISSING.to_owned(),
            Content::PlusMinus { value, half_width, decimals } => {
                let half_width = half_width.abs();
                let value = number::fixed(*value, *decimals);
                if half_width.is_nan() {
                    value
                } else {
                    format!("{value} ± {}", number::fixed(half_width, *decimals))
                }
            }
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// A table with a caption, columns and rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    caption: Option<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// What the table shows.
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: Some(caption.into()), ..self }
    }

    /// The table with one more row.
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.push(cells);
        self
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        while self.columns.len() < cells.len() {
            self.columns.push(Column::text(""));
        }
        self.rows.push(cells);
    }

    /// Count of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The best cell of each column as shown, where the column has a best.
    fn best_shown(&self) -> Vec<Option<String>> {
        (0..self.columns.len()).map(|column| self.best_in(column)).collect()
    }

    fn best_in(&self, column: usize) -> Option<String> {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let valued = cells.filter_map(|cell| cell.value().map(|value| (value, cell)));
        let best = match self.columns[column].best {
            Best::None => None,
            Best::Highest => valued.max_by(|a, b| a.0.total_cmp(&b.0)),
            Best::Lowest => valued.min_by(|a, b| a.0.total_cmp(&b.0)),
        };
        best.map(|(_, cell)| cell.shown_value())
    }

    /// Every row filled to the full width, each cell as shown with whether it is emphasised.
    fn shown_rows(&self) -> Vec<Vec<(String, bool)>> {
        let best = self.best_shown();
        let missing = Cell::missing();
        self.rows
            .iter()
            .map(|row| {
                (best.iter().enumerate())
                    .map(|(column, best)| {
                        let cell = row.get(column).unwrap_or(&missing);
                        let is_best = best.is_some()
                            && cell.value().is_some()
                            && best.as_ref() == Some(&cell.shown_value());
                        (cell.shown(), is_best)
                    })
                    .collect()
            })
            .collect()
    }
}
