//! Synthetic webs, each calibrated to published figures of real ones.
//!
//! A generator is a pure function of its configuration and a seed. Random numbers are keyed by (seed,
//! purpose, item): the same seed gives the same bytes on any number of threads, and a change in one
//! part of a generator leaves the numbers of the others alone. Each generator compares its output with
//! the figures it is calibrated to, which are facts about data, never results of policies.

pub mod echo;
pub mod graph;
pub mod kinds;
pub mod longevity;
pub mod merge;
pub mod mixed;
pub mod renewal;
pub(crate) mod rhythm;
pub mod shared;
pub mod unclean;

use tidewatch_trace::Trace;

/// A generated web and its facts.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The web.
    pub trace: Trace,
    /// Published and measured figures.
    pub facts: Vec<Fact>,
}

/// One figure that a generator is calibrated to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What is measured, with its unit.
    pub what: String,
    /// The published figure; `None` where the source gives only the shape.
    pub published: Option<f64>,
    /// The figure of the generated web.
    pub ours: f64,
    /// Source of the figure, or the shape.
    pub source: &'static str,
}
