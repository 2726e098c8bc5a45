//! Settings of the policy.

use serde::{Deserialize, Serialize};
use tidewatch_core::Span;

use super::news::Parts;

/// Settings of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Parts of the model of new pages.
    pub parts: Parts,
    /// Whether the log also has the clicks of pages never fetched.
    pub logs_all: bool,
    /// Share of the budget for random probes, which measure freshness without bias.
    pub probes: f64,
    /// Time between two solutions of the market.
    pub solve_every: Span,
}

impl Settings {
    /// The default.
    pub const DEFAULT: Settings = Settings {
        parts: Parts::DEFAULT,
        logs_all: false,
        probes: 0.01,
        solve_every: Span::MINUTE.times(30),
    };

    /// The share of probes, within 0 to 0.5.
    pub fn probes(&self) -> f64 {
        self.probes.clamp(0.0, 0.5)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
