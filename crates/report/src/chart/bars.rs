//! Bars by category, lying, so that names of any length can be read.

use maud::{Markup, html};

use super::axis::Axis;
use super::legend::{Swatch, legend};
use super::scale::Scale;
use super::svg::{self, FONT, Hold, LINE};
use super::xy::{column, data};
use super::{Size, sample, sample_caption};
use crate::number;
use crate::text::{clean, cut_to_pixels, pixels};
use crate::{Column, Table};

/// Most categories that are drawn; the data table names more.
const MOST_CATEGORIES: usize = 200;

/// Names of categories take at most this part of the drawing's width.
const NAMES_PART: f64 = 0.36;

/// Significant digits of the largest value beside its bar; the others have as many decimals.
const VALUE_DIGITS: f64 = 3.0;

/// A bar, with an interval around its end where there is one.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Bar {
    /// A bar without interval.
    pub fn new(value: f64) -> Self {
        Self { value, interval: None }
    }

    /// A bar whose value may lie a half-width to either side.
    pub fn plus_minus(value: f64, half_width: f64) -> Self {
        Self::between(value, value - half_width, value + half_width)
    }

    /// A bar whose value may lie between two others.
    pub fn between(value: f64, low: f64, high: f64) -> Self {
        Self { value, interval: Some((low, high)) }
    }

    /// No value.
    pub fn missing() -> Self {
        Self::new(f64::NAN)
    }
}

impl From<f64> for Bar {
    fn from(value: f64) -> Self {
        Self::new(value)
    }
}

/// Bars by category, one in each category for each group. On a logarithmic axis, which has no zero
/// to start from, dots take the place of bars.
#[derive(Clone, Debug)]
pub struct BarChart {
    pub(super) title: String,
    pub(super) caption: Option<String>,
    axis: Axis,
    groups: Vec<String>,
    categories: Vec<(String, Vec<Bar>)>,
}

/// A bar with its places worked out.
struct Lane<'a> {
    bar: &'a Bar,
    group: usize,
    top: f64,
    height: f64,
}

impl BarChart {
    /// A chart without bars.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self {
            title: title.into(),
            caption: None,
            axis: if axis.is_log() { axis } else { axis.from_zero() },
            groups: Vec::new(),
            categories: Vec::new(),
        }
    }

    /// What the reader should see in it.
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: Some(caption.into()), ..self }
    }

    /// Names the bars that stand together in each category.
    pub fn groups<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        Self { groups: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// The chart with one more category and a bar for each group.
    pub fn category<B: Into<Bar>>(
        mut self,
        name: impl Into<String>,
        bars: impl IntoIterator<Item = B>,
    ) -> Self {
        self.push(name, bars);
        self
    }

    /// Adds a category.
    pub fn push<B: Into<Bar>>(
        &mut self,
        name: impl Into<String>,
        bars: impl IntoIterator<Item = B>,
    ) {
        self.categories.push((name.into(), bars.into_iter().map(Into::into).collect()));
    }

    fn drawn(&self) -> &[(String, Vec<Bar>)] {
        &self.categories[..self.categories.len().min(MOST_CATEGORIES)]
    }

    /// Bars in each category.
    fn width(&self) -> usize {
        let bars = self.categories.iter().map(|(_, bars)| bars.len());
        bars.chain([self.groups.len(), 1]).max().unwrap_or(1)
    }

    /// The drawing, to stand in a page that has [`crate::stylesheet`].
    pub fn to_svg(&self, size: Size) -> String {
        let entries: Vec<_> = if self.width() > 1 {
            let swatch = if self.axis.is_log() { Swatch::Marker } else { Swatch::Fill };
            self.groups.iter().enumerate().map(|(i, name)| (i, name.as_str(), swatch)).collect()
        } else {
            Vec::new()
        };
        let (legend, top) = legend(&entries, size.width);
        let top = top + 6.0;
        let names: Vec<String> = self.drawn().iter().map(|(name, _)| clean(name)).collect();
        let widest = names.iter().map(|name| pixels(name, FONT)).fold(0.0, f64::max);
        let names_width = widest.min(size.width * NAMES_PART);
        let bars = || self.drawn().iter().flat_map(|(_, bars)| bars);
        let decimals = self.decimals();
        let value_text = |bar: &Bar| number::fixed(bar.value, decimals);
        let values_width = bars().map(|b| pixels(&value_text(b), FONT)).fold(0.0, f64::max);
        let scale = self.axis.fit(bars().flat_map(extent), true);
        let right = size.width - values_width - 10.0;
        let scale = scale.between(names_width + 10.0, right);

        let thick = if self.width() == 1 { 16.0 } else { 13.0 };
        let pitch = thick * self.width() as f64 + if self.width() == 1 { 10.0 } else { 14.0 };
        let bottom = top + pitch * names.len().max(1) as f64;
        let body = html! {
            (legend)
            (self.axis_marks(&scale, size, top, bottom, names_width + 10.0, right))
            @for (i, (full, (_, bars))) in names.iter().zip(self.drawn()).enumerate() {
                @let middle = top + pitch * (i as f64 + 0.5);
                @let shown = cut_to_pixels(full, names_width, FONT);
                (svg::cut_text(names_width, middle + 4.0, Hold::End, &shown, full))
                @for (group, bar) in bars.iter().enumerate() {
                    @let lane_top = middle - thick * self.width() as f64 / 2.0 + thick * group as f64;
                    (self.bar(&Lane { bar, group, top: lane_top, height: thick }, &scale, &value_text(bar)))
                }
            }
            (svg::shape("a", &svg::path(&[(scale.base(), top), (scale.base(), bottom)])))
        };
        let height = bottom + 2.0 * LINE + 8.0;
        svg::drawing(size.width, height, &self.title, &self.describe(), &body)
    }

    fn axis_marks(
        &self,
        scale: &Scale,
        size: Size,
        top: f64,
        bottom: f64,
        left: f64,
        right: f64,
    ) -> Markup {
        let heading = cut_to_pixels(&clean(&self.axis.heading(scale)), size.width, FONT);
        let half = pixels(&heading, FONT) / 2.0;
        let middle = f64::midpoint(left, right).clamp(half, (size.width - half).max(half));
        html! {
            @for (at, tick) in scale.ticks_with_room(18.0, FONT) {
                (svg::shape("g", &svg::path(&[(at, top), (at, bottom)])))
                (svg::text("q", at, bottom + LINE - 2.0, Hold::Middle, &tick.label))
            }
            (svg::text("q", middle, bottom + 2.0 * LINE, Hold::Middle, &heading))
        }
    }

    fn bar(&self, lane: &Lane<'_>, scale: &Scale, value: &str) -> Markup {
        let middle = lane.top + lane.height / 2.0;
        let base = scale.base();
        if !self.axis.draws(lane.bar.value) {
            return svg::text("q", base + 6.0, middle + 4.0, Hold::Start, number::MISSING);
        }
        let at = scale.at(lane.bar.value);
        let (top, bottom) = (lane.top + 1.0, lane.top + lane.height - 1.0);
        let whisker = self.whisker(lane, scale);
        let end = whisker.map_or(at, |(_, high)| high.max(at)).max(base);
        html! {
            g class=(svg::colour(lane.group)) {
                @if self.axis.is_log() {
                    path.m d=(svg::marker(lane.group, at, middle)) {}
                } @else {
                    path.f d=(svg::path(&[(base, top), (at, top), (at, bottom), (base, bottom)]) + "z") {}
                }
            }
            @if let Some((low, high)) = whisker {
                @let cap = |x: f64| svg::path(&[(x, middle - 3.0), (x, middle + 3.0)]);
                (svg::shape("k", &(svg::path(&[(low, middle), (high, middle)]) + &cap(low) + &cap(high))))
            }
            (svg::text("", end + 6.0, middle + 4.0, Hold::Start, value))
        }
    }

    fn whisker(&self, lane: &Lane<'_>, scale: &Scale) -> Option<(f64, f64)> {
        let (low, high) = lane.bar.interval?;
        (self.axis.draws(low) && self.axis.draws(high)).then(|| (scale.at(low), scale.at(high)))
    }

    /// Decimals of all values, so that they can be compared digit by digit.
    fn decimals(&self) -> usize {
        let values = self.drawn().iter().flat_map(|(_, bars)| bars).map(|bar| bar.value.abs());
        let largest = values.filter(|&value| self.axis.draws(value)).fold(0.0, f64::max);
        let digits_before = if largest > 0.0 { largest.log10().floor() } else { 0.0 };
        (VALUE_DIGITS - 1.0 - digits_before).max(0.0) as usize
    }

    fn describe(&self) -> String {
        format!(
            "Bars of {} for {} categories. The data follows as a table.",
            self.axis.title(),
            self.categories.len(),
        )
    }

    /// What the chart leaves out, as sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.categories.is_empty() {
            notes.push("There is no data to draw.".to_owned());
        }
        if self.categories.len() > MOST_CATEGORIES {
            let all = self.categories.len();
            notes.push(format!("The first {MOST_CATEGORIES} of {all} categories are drawn."));
        }
        let bars = || self.drawn().iter().flat_map(|(_, bars)| bars);
        let missing = bars().filter(|bar| !self.axis.draws(bar.value)).count();
        if missing > 0 {
            notes.push(format!("Bars without a value to draw: {missing} of {}.", bars().count()));
        }
        notes
    }

    pub(super) fn data_table(&self) -> Table {
        let has_interval =
            self.categories.iter().flat_map(|(_, bars)| bars).any(|bar| bar.interval.is_some());
        let mut heads = vec![Column::text("Category")];
        for group in 0..self.width() {
            let name = self.groups.get(group).map_or(self.axis.title(), String::as_str);
            heads.push(column(name, &self.axis));
            if has_interval {
                heads.extend([column("low", &self.axis), column("high", &self.axis)]);
            }
        }
        let mut table = Table::new(heads);
        for i in sample(self.categories.len()) {
            let (name, bars) = &self.categories[i];
            let cells = bars.iter().flat_map(|bar| {
                let (low, high) = bar.interval.unwrap_or((f64::NAN, f64::NAN));
                let shown = if has_interval { 3 } else { 1 };
                [bar.value, low, high].into_iter().take(shown).map(data)
            });
            table.push([name.as_str().into()].into_iter().chain(cells));
        }
        match sample_caption(table.len(), self.categories.len()) {
            Some(text) => table.caption(text),
            None => table,
        }
    }
}

fn extent(bar: &Bar) -> [f64; 3] {
    let (low, high) = bar.interval.unwrap_or((bar.value, bar.value));
    [bar.value, low, high]
}
