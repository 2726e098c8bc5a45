//! Synthetic webs, each calibrated to published figures of real ones.
//!
//! A generator is a pure function of its configuration and a seed. Every
//! random number is keyed by (seed, purpose, item), so the same seed gives the
//! same bytes on any number of threads, and changing one part of a generator
//! leaves the other parts' numbers alone. Each says how its output compares
//! with the figures it was calibrated to: facts about the data, never results
//! of policies.

pub mod echo;
pub mod graph;
pub mod kinds;
pub mod longevity;
pub mod merge;
pub mod mixed;
pub mod renewal;
pub(crate) mod rhythm;
pub mod shared;

use tidewatch_trace::Trace;

/// A generated web and how well it meets its facts.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The web.
    pub trace: Trace,
    /// What was aimed at and what came out.
    pub facts: Vec<Fact>,
}

/// One figure that a generator is calibrated to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What is counted or measured, with its unit.
    pub what: String,
    /// The published figure; `None` where the source gives only the shape.
    pub published: Option<f64>,
    /// Ours.
    pub ours: f64,
    /// Where the figure is published, or what the shape is.
    pub source: &'static str,
}
