//! Drawing of charts over two numeric axes.
//!
//! From the top: legend if there is one, heading of the vertical axis, plot, labels and heading of
//! the horizontal axis. Names stand at the ends of their lines when all of them fit there.

use maud::{Markup, html};

use super::labels::Area;
use super::legend::{Swatch, legend};
use super::scale::Scale;
use super::series::{Mark, Series};
use super::svg::{self, FONT, Hold, LINE};
use super::ticks::Tick;
use super::xy::Chart;
use super::{Size, thin};
use crate::number;
use crate::text::{clean, cut_to_pixels, pixels};

/// Largest width of names beside lines, as a share of the drawing's width.
const NAMES_PART: f64 = 0.28;

/// Up to this many points, each has its values as a tooltip.
const MOST_TOOLTIPS: usize = 200;

/// More points than this in a series are drawn as dots without a shape.
const MOST_MARKERS: usize = 300;

/// Approximate number of ticks on the vertical axis.
const Y_TICKS: usize = 5;

/// Room to the right of a plot without names: half a tick label.
const MARGIN: f64 = 14.0;

/// Room to the right of the plot for names, besides their width.
const NAMES_MARGIN: f64 = 2.0 * BESIDE + LEADER;

/// Length of the line from the plot to a name.
pub(super) const LEADER: f64 = 6.0;

/// Room between the plot and names or labels beside it.
pub(super) const BESIDE: f64 = 8.0;

pub(super) type Pixel = (f64, f64);

/// A chart with its layout.
pub(super) struct Plot<'a> {
    pub(super) chart: &'a Chart,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) area: Area,
    /// Heading of the vertical axis.
    heading: String,
}

impl Chart {
    /// The drawing, for a page with [`crate::stylesheet`].
    pub fn to_svg(&self, size: Size) -> String {
        self.drawn().draw(size)
    }

    fn draw(&self, size: Size) -> String {
        let names_width = self.names_width(size);
        let named = self.place(size, 0.0, size.width - names_width - NAMES_MARGIN);
        let (plot, names, (legend, legend_height)) =
            if let Some(names) = named.end_names(names_width) {
                (named, names, (html! {}, 0.0))
            } else {
                let legend = legend(&self.legend_entries(), size.width);
                (self.place(size, legend.1, size.width - MARGIN), Vec::new(), legend)
            };
        let body = html! {
            (legend)
            (svg::text("q", 0.0, legend_height + LINE - 5.0, Hold::Start, &plot.heading))
            (plot.axes(size))
            (plot.data())
            (plot.references())
            (plot.end_name_marks(&names))
            @if self.is_blank() { (plot.blank()) }
        };
        let height = plot.area.bottom + 2.0 * LINE + 8.0;
        svg::drawing(size.width, height, &self.title, &self.describe(), &body)
    }

    /// Computes the layout, given the height of the legend and the right side.
    fn place(&self, size: Size, legend_height: f64, right: f64) -> Plot<'_> {
        let y = self.y.fit(self.heights().chain(self.references.iter().map(|r| r.value)), true);
        let xs = self.series.iter().flat_map(|s| &s.points).map(|point| point.x);
        let x = self.x.fit(xs, false);
        let ticks = y.ticks(Y_TICKS);
        let left = ticks.iter().map(|(_, t)| pixels(&t.label, FONT)).fold(0.0, f64::max) + BESIDE;
        let heading = cut_to_pixels(&clean(&self.y.heading(&y)), size.width, FONT);
        let top = legend_height + if heading.is_empty() { 8.0 } else { LINE + 8.0 };
        let area = Area { left, top, right, bottom: top + size.plot_height };
        let inset = if self.needs_inset() { 8.0 } else { 0.0 };
        let x = x.between(area.left + inset, area.right - inset);
        let y = y.between(area.bottom, area.top);
        Plot { chart: self, x, y, area, heading }
    }

    fn is_blank(&self) -> bool {
        !self.series.iter().flat_map(|series| &series.points).any(|point| self.draws(point))
    }

    /// Whether markers at the side would extend beyond the plot.
    fn needs_inset(&self) -> bool {
        self.series.iter().any(|series| matches!(series.mark, Mark::Points | Mark::Curve))
    }

    fn names_width(&self, size: Size) -> f64 {
        let widths = self.series.iter().map(|series| pixels(&clean(&series.name), FONT));
        widths.fold(0.0, f64::max).min(size.width * NAMES_PART)
    }

    fn legend_entries(&self) -> Vec<(usize, &str, Swatch)> {
        let named = self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
        // The title of a chart with one series says what it shows.
        let entries = named.map(|(i, series)| {
            let swatch = match series.mark {
                Mark::Line | Mark::Step => Swatch::Line,
                Mark::Curve => Swatch::LineAndMarker,
                Mark::Points if series.points.len() > MOST_MARKERS => Swatch::Dot,
                Mark::Points => Swatch::Marker,
            };
            (i, series.name.as_str(), swatch)
        });
        if self.series.len() > 1 { entries.collect() } else { Vec::new() }
    }

    /// A description for screen readers.
    fn describe(&self) -> String {
        let names: Vec<&str> =
            self.series.iter().take(12).map(|series| series.name.as_str()).collect();
        let more = if self.series.len() > 12 { ", …" } else { "" };
        format!(
            "{} against {}, {} series: {}{more}. The data follows as a table.",
            self.y.title(),
            self.x.title(),
            self.series.len(),
            names.join(", "),
        )
    }
}

impl Plot<'_> {
    fn blank(&self) -> Markup {
        let Area { left, top, right, bottom } = self.area;
        let (x, y) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        svg::text("q", x, y, Hold::Middle, "no data")
    }

    /// Grid, axis lines, tick labels and the heading of the horizontal axis.
    fn axes(&self, size: Size) -> Markup {
        let Area { left, right, bottom, .. } = self.area;
        let x_ticks = self.x.ticks_with_room(18.0, FONT);
        let x_at = |(at, tick): &(f64, Tick)| {
            let half = pixels(&tick.label, FONT) / 2.0;
            at.clamp(half, (size.width - half).max(half))
        };
        let heading = cut_to_pixels(&clean(&self.chart.x.heading(&self.x)), size.width, FONT);
        html! {
            @for (at, tick) in self.y.ticks(Y_TICKS) {
                (svg::shape("g", &svg::path(&[(left, at), (right, at)])))
                (svg::text("q", left - BESIDE, at + 4.0, Hold::End, &tick.label))
            }
            (svg::shape("a", &svg::path(&[(left, bottom), (right, bottom)])))
            @for tick in &x_ticks {
                (svg::shape("a", &svg::path(&[(tick.0, bottom), (tick.0, bottom + 4.0)])))
                (svg::text("q", x_at(tick), bottom + LINE, Hold::Middle, &tick.1.label))
            }
            @if !heading.is_empty() {
                @let middle = f64::midpoint(left, right);
                @let half = pixels(&heading, FONT) / 2.0;
                (svg::text("q", middle.clamp(half, (size.width - half).max(half)),
                    bottom + 2.0 * LINE + 2.0, Hold::Middle, &heading))
            }
        }
    }

    /// Bands under lines under markers, each series in its order.
    fn data(&self) -> Markup {
        let Area { left, top, right, bottom } = self.area;
        let numbered = || self.chart.series.iter().enumerate();
        let lines = html! {
            @for (i, series) in numbered() { g class=(svg::colour(i)) { (self.bands(series)) } }
            @for (i, series) in numbered() { g class=(svg::colour(i)) { (self.lines(i, series)) } }
        };
        html! {
            // Half a line's width of margin, so that a line along the side is not cut in half.
            (svg::window(left - 1.5, top - 1.5, right - left + 3.0, bottom - top + 3.0, &lines))
            @for (i, series) in numbered() { g class=(svg::colour(i)) { (self.marks(i, series)) } }
        }
    }

    /// The runs of points without a gap, in pixels.
    pub(super) fn segments(&self, series: &Series) -> Vec<Vec<Pixel>> {
        let runs = series.points.split(|point| !self.chart.draws(point));
        runs.filter(|run| !run.is_empty())
            .map(|run| run.iter().map(|p| (self.x.at(p.x), self.y.at(p.y))).collect())
            .collect()
    }

    fn bands(&self, series: &Series) -> Markup {
        let has_band = matches!(series.mark, Mark::Line | Mark::Step);
        let edge = |point: &super::Point| {
            let (low, high) = point.interval?;
            let is_drawn = self.chart.draws(point) && self.chart.y.draws(low);
            (is_drawn && self.chart.y.draws(high))
                .then(|| (self.x.at(point.x), self.y.at(low), self.y.at(high)))
        };
        let edges: Vec<_> = series.points.iter().map(edge).collect();
        let draw = if series.mark == Mark::Step { svg::steps } else { svg::path };
        html! {
            @if has_band {
                @for run in edges.split(Option::is_none) {
                    @let run = thin::band(&run.iter().flatten().copied().collect::<Vec<_>>());
                    @let upper: Vec<_> = run.iter().map(|p| (p.0, p.2)).collect();
                    @let lower: Vec<_> = run.iter().map(|p| (p.0, p.1)).collect();
                    (svg::shape("b", &outline(&upper, &lower, draw)))
                }
            }
        }
    }

    fn lines(&self, index: usize, series: &Series) -> Markup {
        let segments = self.segments(series);
        html! {
            @for segment in segments.iter().filter(|segment| segment.len() > 1) {
                @let points = thin::line(segment);
                @match series.mark {
                    Mark::Line | Mark::Curve => {
                        path.l d=(svg::path(&points)) stroke-dasharray=[svg::dash(index)] {}
                    },
                    Mark::Step => {
                        path.l d=(svg::steps(&points)) stroke-dasharray=[svg::dash(index)] {}
                    },
                    Mark::Points => {},
                }
            }
        }
    }

    /// Markers, whiskers, and dots for points of a line that have no neighbour.
    fn marks(&self, index: usize, series: &Series) -> Markup {
        let has_markers = matches!(series.mark, Mark::Points | Mark::Curve);
        let segments = self.segments(series);
        let marked = segments.iter().filter(|segment| has_markers || segment.len() == 1).flatten();
        let places: Vec<Pixel> = marked.filter(|p| self.area.contains(**p)).copied().collect();
        let points: usize = self.chart.series.iter().map(|s| s.points.len()).sum();
        html! {
            @if has_markers { (svg::shape("w", &self.whiskers(series))) }
            @if has_markers && points <= MOST_TOOLTIPS {
                @for point in series.points.iter().filter(|point| self.chart.draws(point)) {
                    @let place = (self.x.at(point.x), self.y.at(point.y));
                    @if self.area.contains(place) {
                        path.m d=(svg::marker(index, place.0, place.1)) {
                            title { (tooltip(series, point)) }
                        }
                    }
                }
            } @else {
                @let is_crowd = places.len() > MOST_MARKERS;
                @let draw = |p: &Pixel| if is_crowd { svg::dot(p.0, p.1) } else { svg::marker(index, p.0, p.1) };
                @let shapes: String = thin::cloud(&places).iter().map(draw).collect();
                (svg::shape(if is_crowd { "p" } else { "m" }, &shapes))
            }
        }
    }

    fn whiskers(&self, series: &Series) -> String {
        const CAP: f64 = 3.0;
        let drawn = series.points.iter().filter(|point| self.chart.draws(point));
        drawn
            .filter_map(|point| {
                let (low, high) = point.interval?;
                let y = &self.chart.y;
                (y.draws(low) && y.draws(high) && self.x.holds(point.x)).then(|| {
                    let x = self.x.at(point.x);
                    let (low, high) = (self.y.within(low), self.y.within(high));
                    let cap = |y| svg::path(&[(x - CAP, y), (x + CAP, y)]);
                    svg::path(&[(x, low), (x, high)]) + &cap(low) + &cap(high)
                })
            })
            .take(MOST_TOOLTIPS)
            .collect()
    }
}

/// A closed outline: along the upper edge, back along the lower one.
fn outline(upper: &[Pixel], lower: &[Pixel], draw: fn(&[Pixel]) -> String) -> String {
    if upper.is_empty() {
        return String::new();
    }
    // The lower edge runs backward. Steps are not symmetric, so their corners are computed forward.
    let back: Vec<Pixel> = if draw(&[(0.0, 0.0), (1.0, 1.0)]).contains('H') {
        let mut corners = Vec::new();
        for (i, &(x, y)) in lower.iter().enumerate() {
            if i > 0 {
                corners.push((x, lower[i - 1].1));
            }
            corners.push((x, y));
        }
        corners.into_iter().rev().collect()
    } else {
        lower.iter().rev().copied().collect()
    };
    format!("{}L{}z", draw(upper), svg::path(&back).trim_start_matches('M'))
}

fn tooltip(series: &Series, point: &super::Point) -> String {
    let name = clean(&series.name);
    format!("{name}: {}, {}", number::significant(point.x, 4), number::significant(point.y, 4))
}
