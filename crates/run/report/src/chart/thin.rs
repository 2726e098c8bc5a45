//! Reduces the number of points without changing the picture: each pixel column keeps its first,
//! lowest, highest and last point.

use std::collections::HashSet;

/// Most points of a line. A line from left to right has at most four per pixel; a zigzag can have
/// more and is then sampled evenly.
const MOST_POINTS: usize = 8000;

/// Fewer points than this are kept as they are.
const THIN_FROM: usize = 800;

type Pixel = (f64, f64);

/// The pixel column of a place; drawings are far smaller than an `i32`.
fn column(x: f64) -> i32 {
    x.floor() as i32
}

/// Thins a line given in pixels.
pub(super) fn line(points: &[Pixel]) -> Vec<Pixel> {
    if points.len() < THIN_FROM {
        return points.to_vec();
    }
    let mut kept = Vec::new();
    for run in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        keep_extremes(run, &mut kept);
    }
    if kept.len() > MOST_POINTS {
        let last = kept.len() - 1;
        kept = (0..MOST_POINTS).map(|i| kept[i * last / (MOST_POINTS - 1)]).collect();
    }
    kept
}

/// Keeps first, lowest, highest and last of a run, in their order.
fn keep_extremes(run: &[Pixel], kept: &mut Vec<Pixel>) {
    let by_height = |a: &usize, b: &usize| run[*a].1.total_cmp(&run[*b].1);
    let mut keep = [
        0,
        (0..run.len()).min_by(by_height).unwrap_or(0),
        (0..run.len()).max_by(by_height).unwrap_or(0),
        run.len() - 1,
    ];
    keep.sort_unstable();
    for (i, &index) in keep.iter().enumerate() {
        if i == 0 || keep[i - 1] != index {
            kept.push(run[index]);
        }
    }
}

/// Thins a band given as `(x, low, high)` in pixels: one column keeps its outermost edges.
pub(super) fn band(points: &[(f64, f64, f64)]) -> Vec<(f64, f64, f64)> {
    if points.len() < THIN_FROM {
        return points.to_vec();
    }
    let columns = points.chunk_by(|a, b| column(a.0) == column(b.0));
    let mut kept: Vec<_> = columns
        .map(|run| {
            let low = run.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
            let high = run.iter().map(|p| p.2).fold(f64::INFINITY, f64::min);
            (run[0].0, low, high)
        })
        .collect();
    kept.truncate(MOST_POINTS);
    kept
}

/// Keeps one point per pixel or, if these are too many, per cell of 2, 4, … pixels.
pub(super) fn cloud(points: &[Pixel]) -> Vec<Pixel> {
    if points.len() < THIN_FROM {
        return points.to_vec();
    }
    let mut kept = points.to_vec();
    let mut cell = 1.0;
    loop {
        let mut seen = HashSet::new();
        kept.retain(|p| seen.insert((column(p.0 / cell), column(p.1 / cell))));
        if kept.len() <= MOST_POINTS {
            return kept;
        }
        cell *= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_extremes() {
        let count = 100_000;
        let mut points: Vec<Pixel> = (0..count)
            .map(|i| (f64::from(i) * 720.0 / f64::from(count), f64::from(i % 7)))
            .collect();
        points[54321].1 = 300.0;
        points[54322].1 = -300.0;
        let thinned = line(&points);
        assert!(thinned.len() <= 4 * 720, "{}", thinned.len());
        assert!(thinned.contains(&points[54321]) && thinned.contains(&points[54322]));
        assert_eq!((thinned[0], thinned[thinned.len() - 1]), (points[0], points[99_999]));
    }

    #[test]
    fn a_zigzag_stays_bounded() {
        let points: Vec<Pixel> =
            (0..100_000).map(|i| (f64::from(i % 2) * 500.0, f64::from(i % 300))).collect();
        assert_eq!(line(&points).len(), MOST_POINTS);
    }

    #[test]
    fn a_cloud_keeps_one_point_a_pixel() {
        let points: Vec<Pixel> = (0..10_000).map(|i| (f64::from(i % 10), 0.25)).collect();
        assert_eq!(cloud(&points).len(), 10);
        let full: Vec<Pixel> =
            (0..90_000).map(|i| (f64::from(i % 300), f64::from(i / 300))).collect();
        let kept = cloud(&full).len();
        assert!((MOST_POINTS / 4..=MOST_POINTS).contains(&kept), "{kept}");
    }
}
