//! What a chart draws: named points and how they are marked.

/// Most bins of a histogram.
const MOST_BINS: usize = 1000;

/// A place in a chart, with an interval around its height where there is one.
#[derive(Clone, Debug)]
pub struct Point {
    /// Position.
    pub x: f64,
    /// Height.
    pub y: f64,
    /// Lower and upper end of an interval around the height.
    pub interval: Option<(f64, f64)>,
    /// A name shown beside the point.
    pub label: Option<String>,
}

impl Point {
    /// A point without interval or name.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, label: None }
    }

    /// Gives the point an interval from `low` to `high`.
    pub fn between(self, low: f64, high: f64) -> Self {
        Self { interval: Some((low, high)), ..self }
    }

    /// Gives the point an interval of a half-width on both sides.
    pub fn plus_minus(self, half_width: f64) -> Self {
        let (low, high) = (self.y - half_width, self.y + half_width);
        self.between(low, high)
    }

    /// Gives the point a name.
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self::new(x, y)
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through the points; intervals become a band.
    Line,
    /// A line that keeps each height until the next point; intervals become a band.
    Step,
    /// A line with a marker on each point; intervals become whiskers.
    Curve,
    /// Markers alone; intervals become whiskers.
    Points,
    /// A filled step line down to zero: a histogram.
    Area,
}

/// A named row of points. Lines join the points in the order given.
#[derive(Clone, Debug)]
pub struct Series {
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) points: Vec<Point>,
}

impl Series {
    /// A series of any mark.
    pub fn new<P: Into<Point>>(
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        let points = points.into_iter().map(Into::into).collect();
        Self { name: name.into(), mark, points }
    }

    /// A line.
    pub fn line<P: Into<Point>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        Self::new(name, Mark::Line, points)
    }

    /// A line in steps.
    pub fn step<P: Into<Point>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        Self::new(name, Mark::Step, points)
    }

    /// A line with markers: few measured points, such as cost against staleness.
    pub fn curve<P: Into<Point>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        Self::new(name, Mark::Curve, points)
    }

    /// Markers.
    pub fn points<P: Into<Point>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        Self::new(name, Mark::Points, points)
    }

    /// The share of samples that are at most x, as a step line. Samples that are not numbers count
    /// for nothing.
    pub fn cdf(name: impl Into<String>, samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().filter(|x| x.is_finite()).collect();
        samples.sort_unstable_by(f64::total_cmp);
        let count = samples.len() as f64;
        let mut points = Vec::new();
        if let Some(&first) = samples.first() {
            points.push(Point::new(first, 0.0));
        }
        let mut below = 0;
        // In rising order, "not below the next" means equal.
        for run in samples.chunk_by(|a, b| a >= b) {
            below += run.len();
            points.push(Point::new(run[0], below as f64 / count));
        }
        Self::step(name, points)
    }

    /// Counts of samples in bins of equal width between the smallest and the largest sample. A
    /// point stands at the left edge of its bin; the last one closes the picture at zero.
    pub fn histogram(
        name: impl Into<String>,
        samples: impl IntoIterator<Item = f64>,
        bins: usize,
    ) -> Self {
        let samples: Vec<f64> = samples.into_iter().filter(|x| x.is_finite()).collect();
        let (low, high) = range(&samples);
        Self::new(name, Mark::Area, bin(&samples, low, high, bins.clamp(1, MOST_BINS)))
    }

    /// Histograms over the same bins, so that their heights can be compared.
    pub fn histograms<N: Into<String>, S: IntoIterator<Item = f64>>(
        named: impl IntoIterator<Item = (N, S)>,
        bins: usize,
    ) -> Vec<Self> {
        let finite = |samples: S| samples.into_iter().filter(|x| x.is_finite()).collect();
        let named: Vec<(String, Vec<f64>)> =
            named.into_iter().map(|(name, samples)| (name.into(), finite(samples))).collect();
        let (low, high) = named
            .iter()
            .map(|(_, samples)| range(samples))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |all, one| {
                (all.0.min(one.0), all.1.max(one.1))
            });
        let bins = bins.clamp(1, MOST_BINS);
        let draw = |(name, samples): (String, Vec<f64>)| {
            Self::new(name, Mark::Area, bin(&samples, low, high, bins))
        };
        named.into_iter().map(draw).collect()
    }
}

fn range(samples: &[f64]) -> (f64, f64) {
    samples
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
}

fn bin(samples: &[f64], low: f64, high: f64, bins: usize) -> Vec<Point> {
    if samples.is_empty() {
        return Vec::new();
    }
    // All samples equal, or a span that overflows: one bin of width 1 holds them.
    let span = high - low;
    let (bins, span) = if span > 0.0 && span.is_finite() { (bins, span) } else { (1, 1.0) };
    let mut counts = vec![0_u64; bins];
    for sample in samples {
        let bin = ((sample - low) / span * bins as f64) as usize;
        counts[bin.min(bins - 1)] += 1;
    }
    let edge = |i: usize| low + span * i as f64 / bins as f64;
    let mut points: Vec<Point> =
        counts.iter().enumerate().map(|(i, &count)| Point::new(edge(i), count as f64)).collect();
    points.push(Point::new(edge(bins), 0.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(series: &Series) -> Vec<(f64, f64)> {
        series.points.iter().map(|p| (p.x, p.y)).collect()
    }

    #[test]
    fn a_cdf_climbs_to_one_and_joins_ties() {
        let cdf = Series::cdf("x", [3.0, 1.0, f64::NAN, 1.0, 2.0]);
        assert_eq!(pairs(&cdf), [(1.0, 0.0), (1.0, 0.5), (2.0, 0.75), (3.0, 1.0)]);
        assert!(Series::cdf("none", []).points.is_empty());
    }

    #[test]
    fn histograms_share_their_bins() {
        let both = Series::histograms([("a", vec![0.0, 1.0]), ("b", vec![4.0])], 2);
        assert_eq!(pairs(&both[0]), [(0.0, 2.0), (2.0, 0.0), (4.0, 0.0)]);
        assert_eq!(pairs(&both[1]), [(0.0, 0.0), (2.0, 1.0), (4.0, 0.0)]);
    }

    #[test]
    fn a_histogram_counts_every_finite_sample() {
        let samples = [0.0, 0.1, 0.9, 1.0, 2.0, f64::INFINITY];
        let histogram = Series::histogram("x", samples, 2);
        assert_eq!(pairs(&histogram), [(0.0, 3.0), (1.0, 2.0), (2.0, 0.0)]);
        assert_eq!(pairs(&Series::histogram("x", [7.0; 5], 9)), [(7.0, 5.0), (8.0, 0.0)]);
        assert!(Series::histogram("none", [], 9).points.is_empty());
        let extreme = Series::histogram("x", [-f64::MAX, f64::MAX], 3);
        assert_eq!(pairs(&extreme)[0], (-f64::MAX, 2.0));
    }
}
