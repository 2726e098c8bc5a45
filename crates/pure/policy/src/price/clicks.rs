//! How many clicks a second does a copy have? By the log, fading with a half-life, shrunk towards the
//! weight that the page came with times the clicks that a unit of weight has had so far. Without a log
//! the weights decide alone.

use serde::{Deserialize, Serialize};
use tidewatch_core::Span;

/// Half-life of interest: clicks of last week count half.
const HALF_LIFE: Span = Span::WEEK;
/// Clicks fade in steps of this time, since every page is touched by each: a log may be read every other
/// second, and a step is a two-hundredth of the half-life at most.
const FADE_EVERY: Span = Span::MINUTE.times(30);
/// Expected clicks after which a page's own record outweighs its weight.
const PRIOR_CLICKS: f64 = 1.0;
/// What a unit of weight is taken to bring where there is no log: a click a week.
pub const UNIT: f64 = 1.0 / 604_800.0;
/// A unit counts as known once so many clicks have told it.
const UNIT_CLICKS: f64 = 10.0;

/// What the log has told of all pages.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Clicks {
    /// Until when clicks are faded, seconds.
    until: f64,
    /// Clicks, and weight × seconds, of pages held, both faded.
    counted: f64,
    exposure: f64,
    /// Weight of all pages held.
    held: f64,
}

impl Clicks {
    /// A page of this weight is held from now on.
    pub fn hold(&mut self, weight: f32) {
        self.held += f64::from(weight);
    }

    /// A page of this weight is held no longer.
    pub fn release(&mut self, weight: f32) {
        self.held -= f64::from(weight);
    }

    /// Time passes: the share of its clicks that every page keeps.
    pub fn fade(&mut self, now: f64) -> Option<f32> {
        let passed = now - self.until;
        if passed < FADE_EVERY.seconds() {
            return None;
        }
        self.until = now;
        let share = (-passed / HALF_LIFE.seconds()).exp2();
        self.counted *= share;
        self.exposure = self.exposure * share + self.held * passed;
        Some(share as f32)
    }

    /// A page was clicked.
    pub fn count(&mut self, clicks: f64) {
        self.counted += clicks;
    }

    /// Clicks a second that a unit of weight brings.
    pub fn unit(&self) -> f64 {
        (self.counted + UNIT_CLICKS) / (self.exposure + UNIT_CLICKS / UNIT)
    }

    /// Clicks a second on a page of a weight, known since a second, with so many faded clicks.
    pub fn rate(&self, weight: f32, since: u32, clicks: f32) -> f64 {
        let prior = self.unit() * f64::from(weight);
        if prior <= 0.0 {
            return 0.0;
        }
        let memory = HALF_LIFE.seconds() / std::f64::consts::LN_2;
        let watched = (self.until - f64::from(since)).max(0.0);
        let seconds = memory * -(-watched / memory).exp_m1();
        (f64::from(clicks) + PRIOR_CLICKS) / (seconds + PRIOR_CLICKS / prior)
    }
}
