//! Clicks per second of a copy: from the log, fading with a half-life, and shrunk towards the weight that
//! the page came with times the clicks per unit of weight. Without a log the weights alone decide.

use serde::{Deserialize, Serialize};
use tidewatch_core::Span;

/// Half-life of interest: clicks of last week count half.
const HALF_LIFE: Span = Span::WEEK;
/// Clicks fade in steps of this time, because each step touches every page and a log may be read every
/// other second.
const FADE_EVERY: Span = Span::MINUTE.times(30);
/// Expected clicks after which a page's own record outweighs its weight.
const PRIOR_CLICKS: f64 = 1.0;
/// The same for a page's weight by links, and the least such weight.
const LINK_CLICKS: f64 = 0.1;
const LEAST_MEAN: f64 = 1e-12;
/// Clicks per second of a unit of weight without a log: one a week.
pub(super) const UNIT: f64 = 1.0 / 604_800.0;
/// Strength of that prior, in clicks.
const UNIT_CLICKS: f64 = 10.0;

/// Clicks and weights of all copies.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Clicks {
    /// The time to which clicks are faded, in seconds.
    until: f64,
    /// Clicks, and weight × seconds, of pages held, both faded.
    counted: f64,
    exposure: f64,
    /// Weight of all pages held.
    held: f64,
}

impl Clicks {
    /// Adds a copy of this weight.
    pub(super) fn hold(&mut self, weight: f32) {
        self.held += f64::from(weight);
    }

    /// Removes a copy of this weight.
    pub(super) fn release(&mut self, weight: f32) {
        // Never below zero, whatever rounding has left of weights of different magnitude.
        self.held = (self.held - f64::from(weight)).max(0.0);
    }

    /// Fades the clicks to `now`. Returns the share of its clicks that every page keeps, or `None` if it is
    /// too early for a step.
    pub(super) fn fade(&mut self, now: f64) -> Option<f32> {
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

    /// Counts clicks on a copy.
    pub(super) fn count(&mut self, clicks: f64) {
        self.counted += clicks;
    }

    /// Clicks per second of a unit of weight.
    pub(super) fn unit(&self) -> f64 {
        (self.counted + UNIT_CLICKS) / (self.exposure + UNIT_CLICKS / UNIT)
    }

    /// Clicks per second on a page of this weight, watched since `since` seconds, with these faded clicks.
    pub(super) fn rate(&self, weight: f32, since: u32, clicks: f32) -> f64 {
        let prior = self.unit() * f64::from(weight);
        if prior <= 0.0 {
            return 0.0;
        }
        (f64::from(clicks) + PRIOR_CLICKS) / (self.watched(since) + PRIOR_CLICKS / prior)
    }

    /// A page's clicks in units of those of a page of weight one, if `mean` is expected without its log.
    ///
    /// Pages with equal expectation differ far more than copies with given weights do, so the prior is
    /// worth [`LINK_CLICKS`]. Exposure counts as at least a day, so that pages which link to one
    /// another do not raise one another without bound.
    pub(super) fn weight(&self, mean: f64, since: u32, clicks: f32) -> f64 {
        let least = if clicks > 0.0 { Span::DAY.seconds() } else { 0.0 };
        let expected = self.unit() * self.watched(since).max(least);
        (f64::from(clicks) + LINK_CLICKS) / (expected + LINK_CLICKS / mean.max(LEAST_MEAN))
    }

    /// Seconds for which a page was watched since `since`, faded like its clicks.
    fn watched(&self, since: u32) -> f64 {
        let memory = HALF_LIFE.seconds() / std::f64::consts::LN_2;
        let watched = (self.until - f64::from(since)).max(0.0);
        memory * -(-watched / memory).exp_m1()
    }
}
