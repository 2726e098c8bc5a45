//! A legend above the plot, for names that do not fit beside their lines.

use maud::{Markup, html};

use super::svg::{self, FONT, Hold, LINE};
use crate::text::{clean, cut_to_pixels, pixels};

/// Width of the sample of a line or shape.
const SAMPLE: f64 = 26.0;

/// Room between two entries.
const GAP: f64 = 20.0;

/// Most entries of a legend.
const MOST_ENTRIES: usize = 24;

/// The symbol of a series in the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Swatch {
    Line,
    LineAndMarker,
    Marker,
    Dot,
    Fill,
    None,
}

/// Draws the entries in rows from the top; returns them and their height.
pub(super) fn legend(entries: &[(usize, &str, Swatch)], width: f64) -> (Markup, f64) {
    let mut named: Vec<(usize, String, Swatch)> = entries
        .iter()
        .take(MOST_ENTRIES)
        .map(|&(series, name, swatch)| (series, clean(name), swatch))
        .collect();
    if entries.len() > MOST_ENTRIES {
        let rest = entries.len() - MOST_ENTRIES;
        named.push((0, format!("and {rest} more, named in the data"), Swatch::None));
    }
    let (mut x, mut y) = (0.0, LINE);
    let mut placed = Vec::new();
    for (series, name, swatch) in &named {
        let shown = cut_to_pixels(name, width - SAMPLE, FONT);
        let wide = SAMPLE + pixels(&shown, FONT);
        if x > 0.0 && x + wide > width {
            (x, y) = (0.0, y + LINE);
        }
        placed.push((x, y, *series, name, shown, *swatch));
        x += wide + GAP;
    }
    let height = if placed.is_empty() { 0.0 } else { y + 10.0 };
    let rows = html! {
        @for (x, y, series, name, shown, swatch) in &placed {
            (sample(*swatch, *series, *x, *y - 4.0))
            (svg::cut_text(*x + SAMPLE, *y, Hold::Start, shown, name))
        }
    };
    (rows, height)
}

fn sample(swatch: Swatch, series: usize, x: f64, y: f64) -> Markup {
    let wide = SAMPLE - 6.0;
    let line = || svg::path(&[(x, y), (x + wide, y)]);
    let marker = || svg::marker(series, x + wide / 2.0, y);
    let fill =
        || svg::path(&[(x, y - 5.0), (x + wide, y - 5.0), (x + wide, y + 5.0), (x, y + 5.0)]) + "z";
    html! {
        g class=(svg::colour(series)) {
            @match swatch {
                Swatch::Line => path.l d=(line()) stroke-dasharray=[svg::dash(series)] {},
                Swatch::LineAndMarker => {
                    path.l d=(line()) stroke-dasharray=[svg::dash(series)] {}
                    path.m d=(marker()) {}
                },
                Swatch::Marker => path.m d=(marker()) {},
                Swatch::Dot => path.p d=(svg::dot(x + wide / 2.0, y)) {},
                Swatch::Fill => path.f d=(fill()) {},
                Swatch::None => {},
            }
        }
    }
}
