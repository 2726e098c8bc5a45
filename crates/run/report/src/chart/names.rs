//! Names and reference lines on a plot, placed without overlap.

use maud::{Markup, html};

use super::labels::{self, Area};
use super::plot::{BESIDE, LEADER, Pixel, Plot};
use super::svg::{self, FONT, Hold};
use crate::text::{clean, cut_to_pixels};

/// Least distance of two text baselines.
const LABEL_GAP: f64 = 15.0;

/// Largest distance of a name from the end of its line.
const MOST_SHIFT: f64 = 45.0;

/// A line is named at the right side only if it ends within this share of the plot's width from it.
const MOST_SHORT: f64 = 0.15;

/// Lines whose ends are closer than this are not named at their ends.
const LEAST_APART: f64 = 2.0;

/// Names at the ends of lines: series, name as shown, end of line, height of the name.
pub(super) type EndNames = Vec<(usize, String, Pixel, f64)>;

impl Plot<'_> {
    pub(super) fn references(&self) -> Markup {
        let Area { left, top, right, bottom } = self.area;
        let shown = |value: f64| self.chart.y.draws(value) && self.y.holds(value);
        let drawn: Vec<_> = self.chart.references.iter().filter(|r| shown(r.value)).collect();
        let heights: Vec<f64> = drawn.iter().map(|r| self.y.at(r.value) - 5.0).collect();
        let heights =
            labels::spread(&heights, LABEL_GAP, top + 10.0, bottom - 4.0).unwrap_or(heights);
        html! {
            @for (r, label_at) in drawn.into_iter().zip(heights) {
                @let at = self.y.at(r.value);
                @let label = cut_to_pixels(&clean(&r.label), (right - left) * 0.6, FONT);
                (svg::shape("r", &svg::path(&[(left, at), (right, at)])))
                (svg::text("q h", left + 6.0, label_at, Hold::Start, &label))
            }
        }
    }

    /// Positions of all names at the ends of their lines, or `None` if one does not fit.
    pub(super) fn end_names(&self, width: f64) -> Option<EndNames> {
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

    pub(super) fn end_name_marks(&self, names: &EndNames) -> Markup {
        let at = self.area.right + BESIDE + LEADER;
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
}
