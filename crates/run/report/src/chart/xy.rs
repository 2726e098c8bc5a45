//! Charts over two numeric axes: data, notes on omitted points, and the data as a table. `plot` draws
//! them.

use std::borrow::Cow;

use super::axis::Axis;
use super::series::{Mark, Point, Series};
use super::{MOST_DATA_ROWS, sample, sample_caption};
use crate::{Cell, Column, Table};

/// Significant digits in a data table.
const DATA_DIGITS: usize = 5;

/// A horizontal line at a value worth comparing with: a bound, a published result.
#[derive(Clone, Debug)]
pub struct Reference {
    pub(super) value: f64,
    pub(super) label: String,
}

impl Reference {
    /// A line at a height.
    pub fn horizontal(value: f64, label: impl Into<String>) -> Self {
        Self { value, label: label.into() }
    }
}

/// Lines, points and areas over two numeric axes.
#[derive(Clone, Debug)]
pub struct Chart {
    pub(super) title: String,
    pub(super) caption: Option<String>,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    pub(super) references: Vec<Reference>,
    is_stacked: bool,
}

impl Chart {
    /// A chart without data.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            caption: None,
            x,
            y,
            series: Vec::new(),
            references: Vec::new(),
            is_stacked: false,
        }
    }

    /// Draws each series as an area on top of those before it, if all have the same positions. The
    /// data table shows the series' own heights.
    pub fn stacked(self) -> Self {
        Self { is_stacked: true, ..self }
    }

    /// The chart as it is drawn: of a stacked one, each height is the sum so far, with the area below
    /// it as its interval.
    pub(super) fn drawn(&self) -> Cow<'_, Self> {
        if !self.is_stacked || !self.shares_positions() {
            return Cow::Borrowed(self);
        }
        let mut drawn = Self { is_stacked: false, ..self.clone() };
        let mut below = vec![0.0; drawn.series[0].points.len()];
        for series in &mut drawn.series {
            for (point, below) in series.points.iter_mut().zip(&mut below) {
                let above = *below + point.y;
                *point = Point::new(point.x, above).between(*below, above);
                *below = above;
            }
        }
        Cow::Owned(drawn)
    }

    /// Sets the caption.
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: Some(caption.into()), ..self }
    }

    /// The chart with one more series.
    pub fn series(mut self, series: Series) -> Self {
        self.push(series);
        self
    }

    /// The chart with more series.
    pub fn all(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        self.series.extend(series);
        self
    }

    /// Adds a series.
    pub fn push(&mut self, series: Series) {
        self.series.push(series);
    }

    /// The chart with one more reference line.
    pub fn reference(mut self, reference: Reference) -> Self {
        self.references.push(reference);
        self
    }

    pub(super) fn draws(&self, point: &Point) -> bool {
        self.x.draws(point.x) && self.y.draws(point.y)
    }

    /// Heights of the points and of the ends of their intervals.
    pub(super) fn heights(&self) -> impl Iterator<Item = f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        points.filter(|point| self.x.draws(point.x)).flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [point.y, low, high]
        })
    }

    /// Notes on omitted points.
    pub(super) fn notes(&self) -> Vec<String> {
        let points: usize = self.series.iter().map(|series| series.points.len()).sum();
        let mut notes: Vec<String> =
            self.series.iter().filter_map(|series| self.dropped_note(series)).collect();
        if points == 0 {
            notes.push("There is no data to draw.".to_owned());
        }
        notes
    }

    fn dropped_note(&self, series: &Series) -> Option<String> {
        let dropped = series.points.iter().filter(|point| !self.draws(point)).count();
        if dropped == 0 {
            return None;
        }
        let total = series.points.len();
        let not_positive = series
            .points
            .iter()
            .any(|p| (self.x.is_log() && p.x <= 0.0) || (self.y.is_log() && p.y <= 0.0));
        let reason = if not_positive {
            "not finite, or not positive on a logarithmic axis"
        } else {
            "not finite"
        };
        Some(format!("{}: {dropped} of {total} points left out ({reason}).", series.name))
    }

    /// One column per series if all share their positions, else one row per point.
    pub(super) fn data_table(&self) -> Table {
        if self.shares_positions() { self.wide_table() } else { self.long_table() }
    }

    fn shares_positions(&self) -> bool {
        let Some((first, rest)) = self.series.split_first() else { return false };
        let plain = |s: &Series| s.points.iter().all(|p| p.interval.is_none());
        let same = |s: &Series| {
            s.points.len() == first.points.len()
                && s.points.iter().zip(&first.points).all(|(a, b)| a.x.to_bits() == b.x.to_bits())
        };
        self.series.iter().all(plain) && rest.iter().all(same)
    }

    fn wide_table(&self) -> Table {
        let heads = self.series.iter().map(|series| {
            let is_alone = self.series.len() == 1 && series.name.is_empty();
            column(if is_alone { self.y.title() } else { &series.name }, &self.y)
        });
        let mut table = Table::new([column(self.x.title(), &self.x)].into_iter().chain(heads));
        let len = self.series[0].points.len();
        for i in sample(len) {
            let heights = self.series.iter().map(|series| data(series.points[i].y));
            table.push([data(self.series[0].points[i].x)].into_iter().chain(heights));
        }
        caption(table, len)
    }

    fn long_table(&self) -> Table {
        let points: Vec<(&Series, &Point)> =
            self.series.iter().flat_map(|s| s.points.iter().map(move |p| (s, p))).collect();
        let has_interval = points.iter().any(|(_, point)| point.interval.is_some());
        let mut heads = vec![Column::text("Series")];
        heads.push(column(self.x.title(), &self.x));
        heads.push(column(self.y.title(), &self.y));
        if has_interval {
            heads.extend([column("low", &self.y), column("high", &self.y)]);
        }
        let mut table = Table::new(heads);
        for i in sample(points.len()) {
            let (series, point) = points[i];
            let mut row = vec![Cell::text(series.name.clone())];
            row.extend([data(point.x), data(point.y)]);
            if has_interval {
                let (low, high) = point.interval.unwrap_or((f64::NAN, f64::NAN));
                row.extend([data(low), data(high)]);
            }
            table.push(row);
        }
        caption(table, points.len())
    }
}

pub(super) fn data(value: f64) -> Cell {
    Cell::significant(value, DATA_DIGITS)
}

pub(super) fn column(name: &str, axis: &Axis) -> Column {
    let column = Column::number(name);
    match axis.data_unit() {
        Some(unit) => column.unit(unit),
        None => column,
    }
}

fn caption(table: Table, len: usize) -> Table {
    match sample_caption(len.min(MOST_DATA_ROWS), len) {
        Some(text) => table.caption(text),
        None => table,
    }
}

impl Mark {
    /// Whether the series runs to an end that a label can stand beside.
    pub(super) fn is_line(self) -> bool {
        matches!(self, Self::Line | Self::Step | Self::Curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(second: [(f64, f64); 2]) -> Chart {
        Chart::new("fetches", Axis::new("time"), Axis::new("rate").from_zero())
            .series(Series::line("new", [(0.0, 1.0), (1.0, 2.0)]))
            .series(Series::line("refresh", second))
            .stacked()
    }

    #[test]
    fn stacked_heights_add_up_in_the_drawing_and_not_in_the_table() {
        let chart = chart([(0.0, 3.0), (1.0, 4.0)]);
        let drawn = chart.drawn();
        let top: Vec<_> = drawn.series[1].points.iter().map(|p| (p.y, p.interval)).collect();
        assert_eq!(top, [(4.0, Some((1.0, 4.0))), (6.0, Some((2.0, 6.0)))]);
        let heights: Vec<_> = chart.series[1].points.iter().map(|p| p.y).collect();
        assert_eq!(heights, [3.0, 4.0]);
        assert!(!chart.data_table().to_text(100).contains('6'));
    }

    #[test]
    fn series_at_other_positions_are_not_stacked() {
        let chart = chart([(0.5, 3.0), (1.0, 4.0)]);
        let heights: Vec<_> = chart.drawn().heights().collect();
        assert_eq!(heights, chart.heights().collect::<Vec<_>>());
    }
}
