//! Series of points and their marks.

/// A point with an optional interval around its height.
#[derive(Clone, Debug)]
pub struct Point {
    /// Position.
    pub x: f64,
    /// Height.
    pub y: f64,
    /// Lower and upper end of an interval around the height.
    pub interval: Option<(f64, f64)>,
}

impl Point {
    /// A point without interval.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
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
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self::new(x, y)
    }
}

/// Mark of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A line through the points; intervals become a band.
    Line,
    /// A line that keeps each height until the next point; intervals become a band.
    Step,
    /// A line with a marker on each point; intervals become whiskers.
    Curve,
    /// Markers alone; intervals become whiskers.
    Points,
}

/// A named sequence of points. Lines join them in the given order.
#[derive(Clone, Debug)]
pub struct Series {
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) points: Vec<Point>,
}

impl Series {
    fn new<P: Into<Point>>(
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
}
