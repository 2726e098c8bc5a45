//! Maps values to pixels.

use super::ticks::{self, Tick};
use crate::text;

/// Kind of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    Log,
}

/// Limit of positions outside the range, in lengths of the axis: lines still leave the plot in the
/// right direction, and coordinates stay small.
const OVERSHOOT: f64 = 2.0;

/// A fitted axis: values between `low` and `high` lie between the pixels `start` and `end`.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub(crate) kind: Kind,
    /// Ends of the range in shown units.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Raw data divided by this gives shown units.
    per_unit: f64,
    pub(crate) unit: Option<&'static str>,
    start: f64,
    end: f64,
}

impl Scale {
    pub(crate) fn new(
        kind: Kind,
        low: f64,
        high: f64,
        per_unit: f64,
        unit: Option<&'static str>,
    ) -> Self {
        Self { kind, low, high, per_unit, unit, start: 0.0, end: 1.0 }
    }

    /// The same scale between two pixels.
    pub(crate) fn between(self, start: f64, end: f64) -> Self {
        Self { start, end, ..self }
    }

    /// The pixel of a raw value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.place(value / self.per_unit)
    }

    /// The pixel of a raw value, or the near end of the axis if it lies outside.
    pub(crate) fn within(&self, value: f64) -> f64 {
        self.at(value).clamp(self.start.min(self.end), self.start.max(self.end))
    }

    /// Whether a raw value lies on the axis.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.at(value) - self.within(value)).abs() < 0.5
    }

    /// The pixel of a value in shown units.
    fn place(&self, value: f64) -> f64 {
        let part = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => {
                let low = self.low.log10();
                (value.log10() - low) / (self.high.log10() - low)
            }
        };
        self.start + part.clamp(-OVERSHOOT, 1.0 + OVERSHOOT) * (self.end - self.start)
    }

    /// Where bars start: zero, or the near end of the axis if zero is not on it.
    pub(crate) fn base(&self) -> f64 {
        match self.kind {
            Kind::Linear => self.place(0.0_f64.clamp(self.low, self.high)),
            Kind::Log => self.start,
        }
    }

    /// About `about` ticks with their pixels.
    pub(crate) fn ticks(&self, about: usize) -> Vec<(f64, Tick)> {
        let ticks = match self.kind {
            Kind::Linear => ticks::linear(self.low, self.high, about),
            Kind::Log => ticks::log(self.low, self.high, about),
        };
        ticks.into_iter().map(|tick| (self.place(tick.value), tick)).collect()
    }

    /// As many ticks as fit along the axis with `gap` pixels between their labels.
    pub(crate) fn ticks_with_room(&self, gap: f64, font_size: f64) -> Vec<(f64, Tick)> {
        let length = (self.end - self.start).abs();
        let most = ((length / 45.0) as usize).clamp(2, 10);
        for about in (3..=most).rev() {
            let ticks = self.ticks(about);
            if has_room(&ticks, gap, font_size) {
                return ticks;
            }
        }
        let mut ticks = self.ticks(2);
        if !has_room(&ticks, gap, font_size) {
            ticks.truncate(1);
        }
        ticks
    }
}

fn has_room(ticks: &[(f64, Tick)], gap: f64, font_size: f64) -> bool {
    let half = |tick: &Tick| text::pixels(&tick.label, font_size) / 2.0;
    ticks
        .windows(2)
        .all(|pair| (pair[1].0 - pair[0].0).abs() >= half(&pair[0].1) + half(&pair[1].1) + gap)
}
