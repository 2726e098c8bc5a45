//! Drawing of charts over two numeric axes.
//!
//! From the top: legend if there is one, heading of the vertical axis, plot, labels and heading of
//! the horizontal axis. Names stand at the ends of their lines when all of them fit there.

use maud::{Markup, html};

use super::labels::{self, Area};
use super::legend::{Swatch, legend};
use super::scale::Scale;
use super::series::{Mark, Series};
use super::svg::{self, FONT, Hold, LINE};
use super::ticks::Tick;
use super::xy::Chart;
use super::{Size, thin};
use crate::number;
use crate::text::{clean, cut_to_pixels, pixels};

/// Least distance of two text baselines.
const LABEL_GAP: f64 = 15.0;

/// A name may stand this far from the end of its line.
const MOST_SHIFT: f64 = 45.0;

/// A line must end within this part of the plot's width from its right side to be named there.
const MOST_SHORT: f64 = 0.15;

/// Lines whose ends are nearer than this cannot be told apart by names there.
const LEAST_APART: f64 = 2.0;

/// Names beside lines take at most this part of the drawing's width.
const NAMES_PART: f64 = 0.28;

/// Up to this many points, each carries its values as a tooltip.
const MOST_TOOLTIPS: usize = 200;

/// More points than this in a series are drawn as dots without a shape.
const MOST_MARKERS: usize = 300;

/// Room between the plot and names or labels beside it.
const BESIDE: f64 = 8.0;

type Pixel = (f64, f64);

/// A chart with its places worked out.
struct Plot<'a> {
    chart: &'a Chart,
    x: Scale,
    y: Scale,
    area: Area,
}

/// Names at the ends of lines: series, name as shown, end of line, height of the name.
type EndNames = Vec<(usize, String, Pixel, f64)>;

impl Chart {
    /// The drawing, to stand in a page that has [`crate::stylesheet`].
    pub fn to_svg(&self, size: Size) -> String {
        let y = self.y.fit(self.heights().chain(self.reference_values(true)), true);
        let xs = self.series.iter().flat_map(|s| &s.points).map(|point| point.x);
        let x = self.x.fit(xs.chain(self.reference_values(false)), false);
        let y_ticks = y.clone().between(size.plot_height, 0.0).ticks(5);
        let left = y_ticks.iter().map(|(_, t)| pixels(&t.label, FONT)).fold(0.0, f64::max) + BESIDE;
        let heading = cut_to_pixels(&clean(&self.y.heading(&y)), size.width, FONT);

        let place = |top: f64, right: f64| {
            let top = top + if heading.is_empty() { 8.0 } else { LINE + 8.0 };
            let area = Area { left, top, right, bottom: top + size.plot_height };
            let inset = if self.needs_inset() { 8.0 } else { 0.0 };
            Plot {
                chart: self,
                x: x.clone().between(area.left + inset, area.right - inset),
                y: y.clone().between(area.bottom, area.top),
                area,
            }
        };
        let names_width = self.names_width(size);
        let named = place(0.0, size.width - names_width - 2.0 * BESIDE - 6.0);
        let (plot, names, (legend, legend_height)) =
            if let Some(names) = named.end_names(names_width) {
                (named, names, (html! {}, 0.0))
            } else {
                let legend = legend(&self.legend_entries(), size.width);
                (place(legend.1, size.width - 14.0), Vec::new(), legend)
            };
        let height = plot.area.bottom + 2.0 * LINE + 8.0;
        let body = html! {
            (legend)
            @if !heading.is_empty() {
                (svg::text("q", 0.0, legend_height + LINE - 5.0, Hold::Start, &heading))
            }
            (plot.axes(size))
            (plot.data())
            (plot.references())
            (plot.end_name_marks(&names))
            (plot.point_names())
            @if self.is_blank() {
                (svg::text("q", f64::midpoint(plot.area.left, plot.area.right),
                    f64::midpoint(plot.area.top, plot.area.bottom), Hold::Middle, "no data"))
            }
        };
        svg::drawing(size.width, height, &self.title, &self.describe(), &body)
    }

    fn is_blank(&self) -> bool {
        !self.series.iter().flat_map(|series| &series.points).any(|point| self.draws(point))
    }

    /// Markers at the very side of the plot would stick out of it.
    fn needs_inset(&self) -> bool {
        self.series.iter().any(|series| matches!(series.mark, Mark::Points | Mark::Curve))
    }

    fn reference_values(&self, horizontal: bool) -> impl Iterator<Item = f64> {
        self.references.iter().filter(move |r| r.is_horizontal == horizontal).map(|r| r.value)
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
                Mark::Area => Swatch::Fill,
            };
            (i, series.name.as_str(), swatch)
        });
        if self.series.len() > 1 { entries.collect() } else { Vec::new() }
    }

    /// A sentence for those who do not see the drawing.
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
            @for (at, tick) in self.y.ticks(5) {
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
    fn segments(&self, series: &Series) -> Vec<Vec<Pixel>> {
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
                    Mark::Area => {
                        @let base = self.y.base();
                        @let ground = [(points[points.len() - 1].0, base), (points[0].0, base)];
                        path.d d=(format!("{}L{}z", svg::steps(&points),
                            svg::path(&ground).trim_start_matches('M'))) {}
                        path.w d=(svg::steps(&points)) {}
                    },
                    Mark::Points => {},
                }
            }
        }
    }

    /// Markers, whiskers, and dots for points of a line that have no neighbour.
    fn marks(&self, index: usize, series: &Series) -> Markup {
        let inside = |p: &Pixel| {
            p.0 >= self.area.left - 1.0
                && p.0 <= self.area.right + 1.0
                && p.1 >= self.area.top - 1.0
                && p.1 <= self.area.bottom + 1.0
        };
        let has_markers = matches!(series.mark, Mark::Points | Mark::Curve);
        let segments = self.segments(series);
        let marked = segments.iter().filter(|segment| has_markers || segment.len() == 1).flatten();
        let places: Vec<Pixel> = marked.filter(|p| inside(p)).copied().collect();
        let points: usize = self.chart.series.iter().map(|s| s.points.len()).sum();
        html! {
            @if has_markers { (svg::shape("w", &self.whiskers(series))) }
            @if has_markers && points <= MOST_TOOLTIPS {
                @for point in series.points.iter().filter(|point| self.chart.draws(point)) {
                    @let place = (self.x.at(point.x), self.y.at(point.y));
                    @if inside(&place) {
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
                (y.draws(low) && y.draws(high)).then(|| {
                    let (x, low, high) = (self.x.at(point.x), self.y.at(low), self.y.at(high));
                    let cap = |y| svg::path(&[(x - CAP, y), (x + CAP, y)]);
                    svg::path(&[(x, low), (x, high)]) + &cap(low) + &cap(high)
                })
            })
            .take(MOST_TOOLTIPS)
            .collect()
    }

    fn references(&self) -> Markup {
        let Area { left, top, right, bottom } = self.area;
        let refs = |horizontal: bool| {
            let axis = if horizontal { &self.chart.y } else { &self.chart.x };
            let all = self.chart.references.iter();
            all.filter(move |r| r.is_horizontal == horizontal && axis.draws(r.value))
        };
        let heights: Vec<f64> = refs(true).map(|r| self.y.at(r.value) - 5.0).collect();
        let heights =
            labels::spread(&heights, LABEL_GAP, top + 10.0, bottom - 4.0).unwrap_or(heights);
        html! {
            @for (r, label_at) in refs(true).zip(heights) {
                @let at = self.y.at(r.value);
                @let label = cut_to_pixels(&clean(&r.label), (right - left) * 0.6, FONT);
                (svg::shape("r", &svg::path(&[(left, at), (right, at)])))
                (svg::text("q h", left + 6.0, label_at, Hold::Start, &label))
            }
            @for (row, r) in refs(false).enumerate() {
                @let at = self.x.at(r.value);
                @let label = cut_to_pixels(&clean(&r.label), (right - left) * 0.45, FONT);
                @let label_at = top + 11.0 + row as f64 * LABEL_GAP;
                (svg::shape("r", &svg::path(&[(at, top), (at, bottom)])))
                @if at > f64::midpoint(left, right) {
                    (svg::text("q h", at - 5.0, label_at, Hold::End, &label))
                } @else {
                    (svg::text("q h", at + 5.0, label_at, Hold::Start, &label))
                }
            }
        }
    }

    /// Places for all names at the ends of their lines, or `None` if one has none.
    fn end_names(&self, width: f64) -> Option<EndNames> {
        let mut ends = Vec::new();
        for (i, series) in self.chart.series.iter().enumerate() {
            let Some(end) = self.segments(series).last().and_then(|s| s.last().copied()) else {
                continue;
            };
            let short = (self.area.right - end.0) / (self.area.right - self.area.left);
            let is_nameable = series.mark.is_line() && !series.name.is_empty();
            if !is_nameable || short > MOST_SHORT {
                return None;
            }
            let end = (end.0, end.1.clamp(self.area.top, self.area.bottom));
            ends.push((i, cut_to_pixels(&clean(&series.name), width, FONT), end));
        }
        let wanted: Vec<f64> = ends.iter().map(|end| end.2.1).collect();
        let mut sorted = wanted.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted.windows(2).any(|pair| pair[1] - pair[0] < LEAST_APART) {
            return None;
        }
        let heights = labels::spread(&wanted, LABEL_GAP, self.area.top, self.area.bottom)?;
        let near = wanted.iter().zip(&heights).all(|(a, b)| (a - b).abs() <= MOST_SHIFT);
        let enough = !ends.is_empty() && near;
        enough.then(|| ends.into_iter().zip(heights).map(|((i, n, e), h)| (i, n, e, h)).collect())
    }

    fn end_name_marks(&self, names: &EndNames) -> Markup {
        let at = self.area.right + BESIDE + 6.0;
        html! {
            @for (series, shown, end, height) in names {
                @let full = clean(&self.chart.series[*series].name);
                g class=(svg::colour(*series)) {
                    (svg::shape("t", &svg::path(&[*end, (at - 3.0, *height)])))
                }
                (svg::cut_text(at, height + 4.0, Hold::Start, shown, &full))
            }
        }
    }

    /// Names of single points, as far as they have room; all stand in the data table.
    fn point_names(&self) -> Markup {
        let all = self.chart.series.iter().flat_map(|series| &series.points);
        let named: Vec<(Pixel, String)> = all
            .filter(|point| self.chart.draws(point))
            .filter_map(|point| {
                let name = cut_to_pixels(&clean(point.label.as_ref()?), 140.0, FONT);
                Some(((self.x.at(point.x), self.y.at(point.y)), name))
            })
            .take(MOST_TOOLTIPS)
            .collect();
        let dot = |&((x, y), _): &(Pixel, String)| Area {
            left: x - 4.0,
            top: y - 4.0,
            right: x + 4.0,
            bottom: y + 4.0,
        };
        // A name may reach over the edge of the plot, into the margin that is always there.
        let bounds = Area { top: self.area.top - 8.0, right: self.area.right + 10.0, ..self.area };
        let mut taken: Vec<Area> = named.iter().map(dot).collect();
        let places: Vec<Option<Area>> = named
            .iter()
            .map(|(at, name)| labels::beside(*at, (pixels(name, FONT), 13.0), &bounds, &mut taken))
            .collect();
        html! {
            @for ((_, name), place) in named.iter().zip(places) {
                @if let Some(place) = place {
                    (svg::text("h", place.left, place.bottom - 2.5, Hold::Start, name))
                }
            }
        }
    }
}

/// A closed outline: along the upper edge, back along the lower one.
fn outline(upper: &[Pixel], lower: &[Pixel], draw: fn(&[Pixel]) -> String) -> String {
    if upper.is_empty() {
        return String::new();
    }
    // The lower edge must run backward. Steps are not symmetric, so they are laid forward first.
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
    let name = clean(point.label.as_ref().unwrap_or(&series.name));
    format!("{name}: {}, {}", number::significant(point.x, 4), number::significant(point.y, 4))
}
