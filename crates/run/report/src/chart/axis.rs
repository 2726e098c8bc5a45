//! Axes, and their fit to the data.

use super::scale::{Kind, Scale};
use super::ticks;

/// Larger values are not drawn, because their differences could overflow.
const LARGEST: f64 = 1e300;

/// Positive values below this are not drawn on a logarithmic axis.
const SMALLEST: f64 = 1e-300;

/// A relative spread below this is rounding, not data: ticks could not separate the values.
const LEAST_SPREAD: f64 = 1e-9;

/// Number of ticks assumed when the ends of an axis are rounded.
const ROUNDING_TICKS: usize = 5;

/// Units of time, longest first, with the seconds they hold.
const TIME_UNITS: [(&str, f64); 4] = [("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)];

/// A numeric axis.
#[derive(Clone, Debug)]
pub struct Axis {
    title: String,
    unit: Option<String>,
    kind: Kind,
    is_seconds: bool,
    includes: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl Axis {
    /// A linear axis that fits its data.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            unit: None,
            kind: Kind::Linear,
            is_seconds: false,
            includes: None,
            low: None,
            high: None,
        }
    }

    /// An axis for data in seconds, shown in seconds, minutes, hours or days.
    pub fn seconds(title: impl Into<String>) -> Self {
        Self { is_seconds: true, ..Self::new(title) }
    }

    /// The unit, shown after the title.
    pub fn unit(self, unit: impl Into<String>) -> Self {
        Self { unit: Some(unit.into()), ..self }
    }

    /// Makes the axis logarithmic; values that are not positive are left out with a note.
    pub fn log(self) -> Self {
        Self { kind: Kind::Log, ..self }
    }

    /// Includes zero.
    pub fn from_zero(self) -> Self {
        self.include(0.0)
    }

    /// Includes a value.
    pub fn include(self, value: f64) -> Self {
        Self { includes: Some(value), ..self }
    }

    /// Fixes both ends; data outside is clipped. An invalid range is ignored.
    pub fn range(self, low: f64, high: f64) -> Self {
        let is_range = low < high && self.draws(low) && self.draws(high);
        if is_range { Self { low: Some(low), high: Some(high), ..self } } else { self }
    }

    pub(super) fn is_log(&self) -> bool {
        self.kind == Kind::Log
    }

    /// Whether a value has a place on this axis.
    pub(super) fn draws(&self, value: f64) -> bool {
        match self.kind {
            Kind::Linear => value.is_finite() && value.abs() <= LARGEST,
            Kind::Log => (SMALLEST..=LARGEST).contains(&value),
        }
    }

    /// Title and unit of the axis.
    pub(super) fn heading(&self, scale: &Scale) -> String {
        match scale.unit.or(self.unit.as_deref()) {
            Some(unit) if self.title.is_empty() => unit.to_owned(),
            Some(unit) => format!("{} ({unit})", self.title),
            None => self.title.clone(),
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Title and the unit of the raw data, for a data table.
    pub(super) fn data_unit(&self) -> Option<&str> {
        if self.is_seconds { Some("s") } else { self.unit.as_deref() }
    }

    /// The scale that holds `values`; `round` moves its free ends outward to round numbers.
    pub(super) fn fit(&self, values: impl IntoIterator<Item = f64>, round: bool) -> Scale {
        let values = values.into_iter().chain(self.includes).filter(|&value| self.draws(value));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = self.widen(self.low.unwrap_or(low), self.high.unwrap_or(high));
        let (unit, per_unit) = self.unit_for(low, high);
        let mut scale = Scale::new(self.kind, low / per_unit, high / per_unit, per_unit, unit);
        if round {
            let (low, high) = ticks::round_out(scale.kind, scale.low, scale.high, ROUNDING_TICKS);
            scale.low = if self.low.is_none() { low } else { scale.low };
            scale.high = if self.high.is_none() { high } else { scale.high };
        }
        scale
    }

    /// Gives an empty or single-valued range some width.
    fn widen(&self, low: f64, high: f64) -> (f64, f64) {
        if low > high {
            return if self.is_log() { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let size = low.abs().max(high.abs());
        if high - low > size * LEAST_SPREAD && high - low > SMALLEST {
            return (low, high);
        }
        match self.kind {
            Kind::Log => (low / 2.0, high * 2.0),
            Kind::Linear if size > SMALLEST => (low - 0.1 * size, high + 0.1 * size),
            Kind::Linear => (0.0, 1.0),
        }
    }

    /// The unit for a range of seconds: the longest that fits twice.
    fn unit_for(&self, low: f64, high: f64) -> (Option<&'static str>, f64) {
        if !self.is_seconds {
            return (None, 1.0);
        }
        let fits = TIME_UNITS.iter().find(|(_, seconds)| high - low >= 2.0 * seconds);
        let (unit, seconds) = *fits.unwrap_or(&("s", 1.0));
        (Some(unit), seconds)
    }
}
