//! Horizontal bars by category.

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

/// Most categories drawn; the data table has more.
const MOST_CATEGORIES: usize = 200;

/// Most bars drawn per category.
const MOST_GROUPS: usize = 24;

/// Largest width of category names, as a share of the drawing's width.
const NAMES_PART: f64 = 0.36;

/// Significant digits of the largest value; the others have as many decimals.
const VALUE_DIGITS: usize = 3;

/// A bar with an optional interval.
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

    /// A bar with an interval of `half_width` on both sides; none if `half_width` is NaN.
    pub fn plus_minus(value: f64, half_width: f64) -> Self {
        let interval = (value - half_width, value + half_width);
        Self { value, interval: (!half_width.is_nan()).then_some(interval) }
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

/// Bars by category, one per group. A logarithmic axis has no zero, so it gets dots instead of bars.
#[derive(Clone, Debug)]
pub struct BarChart {
    pub(super) title: String,
    pub(super) caption: Option<String>,
    axis: Axis,
    groups: Vec<String>,
    categories: Vec<(String, Vec<Bar>)>,
}

/// Layout of a drawing.
struct Layout {
    names: Vec<String>,
    names_width: f64,
    scale: Scale,
    top: f64,
    bottom: f64,
    left: f64,
    right: f64,
    /// Height of a bar.
    thick: f64,
    /// Height of a category.
    pitch: f64,
    /// Decimals of all values; `None` on a logarithmic axis, where values differ too much.
    decimals: Option<usize>,
}

impl Layout {
    fn value_text(&self, bar: &Bar) -> String {
        match self.decimals {
            Some(decimals) => number::fixed(bar.value, decimals),
            None => number::significant(bar.value, VALUE_DIGITS),
        }
    }
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

    /// Sets the caption.
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: Some(caption.into()), ..self }
    }

    /// Names the bars of each category.
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

    /// All drawn bars, by category.
    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.drawn().iter().flat_map(|(_, bars)| bars.iter().take(MOST_GROUPS))
    }

    /// Bars in each category.
    fn width(&self) -> usize {
        let bars = self.categories.iter().map(|(_, bars)| bars.len());
        bars.chain([self.groups.len(), 1]).max().unwrap_or(1)
    }

    /// The drawing, for a page with [`crate::stylesheet`].
    pub fn to_svg(&self, size: Size) -> String {
        let (legend, legend_height) = legend(&self.legend_entries(), size.width);
        let layout = self.lay_out(size, legend_height + 6.0);
        let Layout { top, bottom, .. } = layout;
        let base = layout.scale.base();
        let body = html! {
            (legend)
            (self.axis_marks(&layout, size))
            @for category in 0..layout.names.len() { (self.category_marks(&layout, category)) }
            (svg::shape("a", &svg::path(&[(base, top), (base, bottom)])))
        };
        svg::drawing(size.width, bottom + 2.0 * LINE + 8.0, &self.title, &self.describe(), &body)
    }

    fn legend_entries(&self) -> Vec<(usize, &str, Swatch)> {
        let swatch = if self.axis.is_log() { Swatch::Marker } else { Swatch::Fill };
        // The title of a chart with one group says what it shows.
        let shown = if self.width() > 1 { MOST_GROUPS } else { 0 };
        let names = self.groups.iter().take(shown).enumerate();
        names.map(|(i, name)| (i, name.as_str(), swatch)).collect()
    }

    fn lay_out(&self, size: Size, top: f64) -> Layout {
        let names: Vec<String> = self.drawn().iter().map(|(name, _)| clean(name)).collect();
        let widest = names.iter().map(|name| pixels(name, FONT)).fold(0.0, f64::max);
        let names_width = widest.min(size.width * NAMES_PART);
        let width = self.width().min(MOST_GROUPS);
        let (thick, gap) = if width == 1 { (16.0, 10.0) } else { (13.0, 14.0) };
        let pitch = thick * width as f64 + gap;
        let mut layout = Layout {
            names_width,
            scale: self.axis.fit(self.bars().flat_map(extent), true),
            top,
            bottom: top + pitch * names.len().max(1) as f64,
            left: names_width + 10.0,
            right: 0.0,
            thick,
            pitch,
            decimals: (!self.axis.is_log()).then(|| self.decimals()),
            names,
        };
        let values = self.bars().map(|bar| pixels(&layout.value_text(bar), FONT));
        layout.right = size.width - values.fold(0.0, f64::max) - 10.0;
        layout.scale = layout.scale.between(layout.left, layout.right);
        layout
    }

    fn decimals(&self) -> usize {
        let values = self.bars().map(|bar| bar.value.abs());
        let largest = values.filter(|&value| self.axis.draws(value)).fold(0.0, f64::max);
        let digits_before = if largest > 0.0 { largest.log10().floor() + 1.0 } else { 1.0 };
        (VALUE_DIGITS as f64 - digits_before).max(0.0) as usize
    }

    fn axis_marks(&self, layout: &Layout, size: Size) -> Markup {
        let Layout { scale, top, bottom, left, right, .. } = layout;
        let heading = cut_to_pixels(&clean(&self.axis.heading(scale)), size.width, FONT);
        let half = pixels(&heading, FONT) / 2.0;
        let middle = f64::midpoint(*left, *right).clamp(half, (size.width - half).max(half));
        html! {
            @for (at, tick) in scale.ticks_with_room(18.0, FONT) {
                (svg::shape("g", &svg::path(&[(at, *top), (at, *bottom)])))
                (svg::text("q", at, bottom + LINE - 2.0, Hold::Middle, &tick.label))
            }
            (svg::text("q", middle, bottom + 2.0 * LINE, Hold::Middle, &heading))
        }
    }

    /// The name of a category and its bars.
    fn category_marks(&self, layout: &Layout, category: usize) -> Markup {
        let (full, bars) = (&layout.names[category], &self.drawn()[category].1);
        let top = layout.top + layout.pitch * category as f64;
        let middle = top + layout.pitch / 2.0;
        let bars_height = layout.thick * self.width().min(MOST_GROUPS) as f64;
        let first = middle - bars_height / 2.0 + layout.thick / 2.0;
        let shown = cut_to_pixels(full, layout.names_width, FONT);
        html! {
            (svg::cut_text(layout.names_width, middle + 4.0, Hold::End, &shown, full))
            @for (group, bar) in bars.iter().take(MOST_GROUPS).enumerate() {
                (self.bar(layout, group, bar, first + layout.thick * group as f64))
            }
        }
    }

    /// A bar, its interval and its value around a height.
    fn bar(&self, layout: &Layout, group: usize, bar: &Bar, middle: f64) -> Markup {
        let base = layout.scale.base();
        if !self.axis.draws(bar.value) {
            return svg::text("q", base + 6.0, middle + 4.0, Hold::Start, number::MISSING);
        }
        let at = layout.scale.within(bar.value);
        let whisker = self.whisker(layout, bar);
        let end = whisker.map_or(at, |(_, high)| high.max(at)).max(base);
        let whisker = whisker.map_or_else(String::new, |(low, high)| {
            let cap = |x: f64| svg::path(&[(x, middle - 3.0), (x, middle + 3.0)]);
            svg::path(&[(low, middle), (high, middle)]) + &cap(low) + &cap(high)
        });
        let half = layout.thick / 2.0 - 1.0;
        let (top, bottom) = (middle - half, middle + half);
        html! {
            g class=(svg::colour(group)) {
                @if self.axis.is_log() {
                    (svg::shape("w", &whisker))
                    (svg::shape("m", &svg::marker(group, at, middle)))
                } @else {
                    @let corners = [(base, top), (at, top), (at, bottom), (base, bottom)];
                    (svg::shape("f", &(svg::path(&corners) + "z")))
                    (svg::shape("k", &whisker))
                }
            }
            (svg::text("", end + 6.0, middle + 4.0, Hold::Start, &layout.value_text(bar)))
        }
    }

    fn whisker(&self, layout: &Layout, bar: &Bar) -> Option<(f64, f64)> {
        let (low, high) = bar.interval?;
        let drawn = self.axis.draws(low) && self.axis.draws(high);
        drawn.then(|| (layout.scale.within(low), layout.scale.within(high)))
    }

    fn describe(&self) -> String {
        format!(
            "Bars of {} for {} categories. The data follows as a table.",
            self.axis.title(),
            self.categories.len(),
        )
    }

    /// Notes on omitted data.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.categories.is_empty() {
            notes.push("There is no data to draw.".to_owned());
        }
        if self.categories.len() > MOST_CATEGORIES {
            let all = self.categories.len();
            notes.push(format!("The first {MOST_CATEGORIES} of {all} categories are drawn."));
        }
        if self.width() > MOST_GROUPS {
            let all = self.width();
            notes.push(format!("The first {MOST_GROUPS} of {all} bars a category are drawn."));
        }
        let missing = self.bars().filter(|bar| !self.axis.draws(bar.value)).count();
        if missing > 0 {
            notes.push(format!(
                "Bars without a value to draw: {missing} of {}.",
                self.bars().count()
            ));
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
