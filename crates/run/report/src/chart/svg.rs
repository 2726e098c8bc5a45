//! SVG elements shared by all drawings.
//!
//! Shapes carry a class for what they are (see `drawing.css`) and a class `c0`–`c7` for the colour
//! of their series. Nothing has an `id`, so a page may contain a drawing several times.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::palette::SERIES_COLOURS;
use crate::text::clean;

/// Size of all text in a drawing; `drawing.css` says the same.
pub(super) const FONT: f64 = 12.0;

/// Height of a line of text.
pub(super) const LINE: f64 = 18.0;

/// Radius of a marker.
const MARKER: f64 = 3.6;

/// A pixel, to a tenth.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The colour class of a series.
pub(super) fn colour(series: usize) -> String {
    format!("c{}", series % SERIES_COLOURS)
}

/// The dashes of a series; `None` is a solid line.
pub(super) fn dash(series: usize) -> Option<&'static str> {
    const DASHES: [Option<&str>; 7] = [
        None,
        Some("7 3"),
        Some("2 2.5"),
        Some("10 3 2 3"),
        Some("4 2"),
        Some("12 4"),
        Some("7 2 2 2 2 2"),
    ];
    DASHES[series % DASHES.len()]
}

/// Joins points by straight lines.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        // Writing to a String cannot fail.
        let _ = write!(d, "{command}{} {}", px(*x), px(*y));
    }
    d
}

/// Joins points by steps: across, then up or down.
pub(super) fn steps(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = match i {
            0 => write!(d, "M{} {}", px(*x), px(*y)),
            _ => write!(d, "H{}V{}", px(*x), px(*y)),
        };
    }
    d
}

/// A marker whose shape depends on the series.
pub(super) fn marker(series: usize, x: f64, y: f64) -> String {
    let r = MARKER;
    let corners: &[(f64, f64)] = match series % 6 {
        0 => {
            return format!(
                "M{} {}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 {} 0z",
                px(x - r),
                px(y),
                2.0 * r,
                -2.0 * r
            );
        }
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
        3 => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        4 => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
        _ => &[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ],
    };
    let points: Vec<_> = corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect();
    path(&points) + "z"
}

/// A dot: a line of length zero with round ends.
pub(super) fn dot(x: f64, y: f64) -> String {
    format!("M{} {}h0", px(x), px(y))
}

/// Anchor of a text.
#[derive(Clone, Copy)]
pub(super) enum Hold {
    Start,
    Middle,
    End,
}

/// A text whose baseline passes through a point.
pub(super) fn text(class: &str, x: f64, y: f64, hold: Hold, content: &str) -> Markup {
    let anchor = match hold {
        Hold::Start => None,
        Hold::Middle => Some("middle"),
        Hold::End => Some("end"),
    };
    let class = (!class.is_empty()).then_some(class);
    html! {
        @if !content.is_empty() {
            text class=[class] x=(px(x)) y=(px(y)) text-anchor=[anchor] { (content) }
        }
    }
}

/// A text; if it was cut, with the full text as a tooltip.
pub(super) fn cut_text(x: f64, y: f64, hold: Hold, shown: &str, full: &str) -> Markup {
    if shown == full {
        return text("", x, y, hold, shown);
    }
    let anchor = matches!(hold, Hold::End).then_some("end");
    html! { text x=(px(x)) y=(px(y)) text-anchor=[anchor] { (shown) title { (full) } } }
}

/// A path of one class.
pub(super) fn shape(class: &str, d: &str) -> Markup {
    html! { @if !d.is_empty() { path class=(class) d=(d) {} } }
}

/// The SVG element with title and description.
pub(super) fn drawing(
    width: f64,
    height: f64,
    title: &str,
    description: &str,
    body: &Markup,
) -> String {
    let view = format!("0 0 {} {}", px(width), px(height));
    html! {
        svg.tw xmlns="http://www.w3.org/2000/svg" viewBox=(view) role="img" {
            title { (clean(title)) }
            desc { (clean(description)) }
            (body)
        }
    }
    .into_string()
}

/// Clips `body` to a rectangle.
pub(super) fn window(x: f64, y: f64, width: f64, height: f64, body: &Markup) -> Markup {
    let view = [x, y, width, height].map(px);
    html! {
        svg x=(view[0]) y=(view[1]) width=(view[2]) height=(view[3]) viewBox=(view.join(" ")) {
            (body)
        }
    }
}

/// The style sheet of drawings, without the colours of the themes.
pub(crate) fn stylesheet() -> String {
    let mut css = include_str!("drawing.css").to_owned();
    for i in 0..SERIES_COLOURS {
        let _ = write!(css, ".c{i}{{--c:var(--s{i})}}");
    }
    css.push('\n');
    css
}
