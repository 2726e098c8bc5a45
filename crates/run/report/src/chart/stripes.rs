//! Spans of time by row, such as the lifetimes of fragments.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::axis::Axis;
use super::legend::{Swatch, legend};
use super::scale::Scale;
use super::svg::{self, FONT, Hold, LINE, px};
use super::xy::{column, data};
use super::{Size, sample, sample_caption};
use crate::text::{clean, cut_to_pixels, pixels};
use crate::{Cell, Column, Table};

/// Most rows drawn: at two pixels each, two screens.
const MOST_ROWS: usize = 600;

/// Most stripes drawn.
const MOST_SPANS: usize = 20_000;

/// Least width of a stripe, to keep it visible.
const LEAST_WIDTH: f64 = 0.8;

/// Largest width of row names, as a share of the drawing's width.
const NAMES_PART: f64 = 0.3;

/// A span of a row in one tone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stripe {
    /// Where it starts.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its tone: an index into the names of [`Stripes::tones`].
    pub tone: usize,
}

/// Rectangles over time, row by row.
#[derive(Clone, Debug)]
pub struct Stripes {
    pub(super) title: String,
    pub(super) caption: Option<String>,
    axis: Axis,
    tones: Vec<String>,
    rows: Vec<(String, Vec<Stripe>)>,
}

impl Stripes {
    /// A picture without rows.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self { title: title.into(), caption: None, axis, tones: Vec::new(), rows: Vec::new() }
    }

    /// Sets the caption.
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: Some(caption.into()), ..self }
    }

    /// Names the tones.
    pub fn tones<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        Self { tones: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// The picture with one more row.
    pub fn row(mut self, name: impl Into<String>, spans: impl IntoIterator<Item = Stripe>) -> Self {
        self.push(name, spans);
        self
    }

    /// Adds a row.
    pub fn push(&mut self, name: impl Into<String>, spans: impl IntoIterator<Item = Stripe>) {
        self.rows.push((name.into(), spans.into_iter().collect()));
    }

    fn drawn(&self) -> &[(String, Vec<Stripe>)] {
        &self.rows[..self.rows.len().min(MOST_ROWS)]
    }

    fn draws(&self, span: &Stripe) -> bool {
        self.axis.draws(span.from) && self.axis.draws(span.to) && span.from <= span.to
    }

    /// The drawing, for a page with [`crate::stylesheet`].
    pub fn to_svg(&self, size: Size) -> String {
        let tones = self.tones.iter().enumerate();
        let entries: Vec<_> = tones.map(|(i, name)| (i, name.as_str(), Swatch::Fill)).collect();
        let (legend, legend_height) = legend(&entries, size.width);
        let count = self.drawn().len().max(1) as f64;
        let pitch = (size.plot_height / count).clamp(2.0, 20.0);
        let top = legend_height + 6.0;
        let bottom = top + pitch * count;
        let names_width = if pitch >= FONT { self.names_width(size) } else { 0.0 };
        let left = if names_width > 0.0 { names_width + 10.0 } else { 0.0 };
        let scale = self.fit().between(left, size.width - 14.0);
        let body = html! {
            (legend)
            (self.row_names(names_width, top, pitch))
            @for (tone, d) in self.shapes(&scale, top, pitch).iter().enumerate() {
                @if !d.is_empty() { path class=(format!("f {}", svg::colour(tone))) d=(d) {} }
            }
            (self.axis_marks(&scale, left, size.width - 14.0, bottom))
        };
        let height = bottom + 2.0 * LINE + 8.0;
        svg::drawing(size.width, height, &self.title, &self.describe(), &body)
    }

    fn fit(&self) -> Scale {
        let spans = self.drawn().iter().flat_map(|(_, spans)| spans);
        let ends = spans.filter(|span| self.draws(span)).flat_map(|span| [span.from, span.to]);
        self.axis.fit(ends, false)
    }

    fn names_width(&self, size: Size) -> f64 {
        let widths = self.drawn().iter().map(|(name, _)| pixels(&clean(name), FONT));
        widths.fold(0.0, f64::max).min(size.width * NAMES_PART)
    }

    fn row_names(&self, width: f64, top: f64, pitch: f64) -> Markup {
        html! {
            @if width > 0.0 {
                @for (i, (name, _)) in self.drawn().iter().enumerate() {
                    @let full = clean(name);
                    @let shown = cut_to_pixels(&full, width, FONT);
                    @let at = top + pitch * (i as f64 + 0.5) + 4.0;
                    (svg::cut_text(width, at, Hold::End, &shown, &full))
                }
            }
        }
    }

    fn axis_marks(&self, scale: &Scale, left: f64, right: f64, bottom: f64) -> Markup {
        let heading = cut_to_pixels(&clean(&self.axis.heading(scale)), right - left, FONT);
        let middle = f64::midpoint(left, right);
        html! {
            (svg::shape("a", &svg::path(&[(left, bottom), (right, bottom)])))
            @for (at, tick) in scale.ticks_with_room(18.0, FONT) {
                @let half = pixels(&tick.label, FONT) / 2.0;
                (svg::shape("a", &svg::path(&[(at, bottom), (at, bottom + 4.0)])))
                (svg::text("q", at.max(half), bottom + LINE, Hold::Middle, &tick.label))
            }
            (svg::text("q", middle, bottom + 2.0 * LINE + 2.0, Hold::Middle, &heading))
        }
    }

    /// One path for all stripes of a tone, which keeps large pictures small.
    fn shapes(&self, scale: &Scale, top: f64, pitch: f64) -> Vec<String> {
        let gap = if pitch > 4.0 { 2.0 } else { 0.4 };
        let mut shapes = vec![String::new(); crate::palette::SERIES_COLOURS];
        let spans = self.drawn().iter().enumerate().flat_map(|(row, (_, spans))| {
            spans.iter().filter(|span| self.draws(span)).map(move |span| (row, span))
        });
        for (row, span) in spans.take(MOST_SPANS) {
            let (from, to) = (scale.within(span.from), scale.within(span.to));
            let y = top + pitch * row as f64 + gap / 2.0;
            let (width, height) = (px((to - from).max(LEAST_WIDTH)), px(pitch - gap));
            let tone = span.tone % shapes.len();
            // Writing to a String cannot fail.
            let _ = write!(shapes[tone], "M{} {}h{width}v{height}h-{width}z", px(from), px(y));
        }
        shapes
    }

    fn describe(&self) -> String {
        format!("Spans over {} in {} rows.", self.axis.title(), self.rows.len())
    }

    /// Notes on omitted data.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let spans = || self.drawn().iter().flat_map(|(_, spans)| spans);
        let drawn = spans().filter(|span| self.draws(span)).count();
        let dropped = spans().count() - drawn;
        if drawn == 0 {
            notes.push("There is no data to draw.".to_owned());
        }
        if self.rows.len() > MOST_ROWS {
            notes.push(format!("The first {MOST_ROWS} of {} rows are drawn.", self.rows.len()));
        }
        if dropped > 0 {
            notes.push(format!("{dropped} spans without a finite start and end are left out."));
        }
        if drawn > MOST_SPANS {
            notes.push(format!("The first {MOST_SPANS} of {drawn} spans are drawn."));
        }
        notes
    }

    pub(super) fn data_table(&self) -> Table {
        let spans: Vec<(&str, &Stripe)> = self
            .rows
            .iter()
            .flat_map(|(name, spans)| spans.iter().map(move |span| (name.as_str(), span)))
            .collect();
        let mut table = Table::new([
            Column::text("Row"),
            column("from", &self.axis),
            column("to", &self.axis),
            Column::text("Tone"),
        ]);
        for i in sample(spans.len()) {
            let (name, span) = spans[i];
            let tone = self.tones.get(span.tone).cloned().unwrap_or_default();
            table.push([Cell::text(name), data(span.from), data(span.to), Cell::text(tone)]);
        }
        match sample_caption(table.len(), spans.len()) {
            Some(text) => table.caption(text),
            None => table,
        }
    }
}
