//! What can be chosen about the policy.

use serde::{Deserialize, Serialize};
use tidewatch_core::Span;

use super::news::Parts;

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What takes part in the learning.
    pub parts: Parts,
    /// Whether the log tells the clicks of pages that were never fetched too.
    pub logs_all: bool,
    /// Share of the budget for copies drawn at random, whatever they are worth: they tell how fresh
    /// the collection is without favour.
    pub probes: f64,
    /// Time between two solutions of the market.
    pub solve_every: Span,
}

impl Settings {
    /// What is used where nothing else is asked for.
    pub const DEFAULT: Settings = Settings {
        parts: Parts::DEFAULT,
        logs_all: false,
        probes: 0.01,
        solve_every: Span::MINUTE.times(30),
    };

    /// The share of probes, as far as it makes sense.
    pub fn probes(&self) -> f64 {
        self.probes.clamp(0.0, 0.5)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
