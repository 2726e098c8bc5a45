//! Random walks on links, to their fixed points.
//!
//! Every walk here is x = P·x + b with ‖P‖₁ ≤ α < 1, so there is one fixed
//! point, repeating x ← P·x + b leads to it from anywhere, and after a step that
//! moved x by r = ‖x' − x‖₁ the distance left is at most r·α/(1 − α). A walk ends
//! when that bound is small enough, and says how it ended ([`Scores`]).
//!
//! A step pulls: the score of a node is a sum over its predecessors in a fixed
//! order, and sums over all nodes are made of fixed pieces, so threads cannot
//! change a bit of any result.

mod impact;
mod opic;
mod pagerank;
mod pull;
#[cfg(test)]
mod testing;

pub use impact::{ImpactWalk, SMOOTHING};
pub use opic::{Cash, opic};
pub use pagerank::{pagerank, pagerank_from, pagerank_steps};

use crate::GraphError;

/// The usual chance of following a link `[BP98]`.
pub const ALPHA: f64 = 0.85;

/// When to stop a walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Distance from the fixed point, in the sum of all scores' errors, relative to their sum.
    pub tolerance: f64,
    /// Most steps.
    pub most_steps: u32,
}

impl Stop {
    /// As exact as the sum of many rounded numbers can be.
    pub const EXACT: Stop = Stop { tolerance: 1e-12, most_steps: 1000 };
    /// Enough to order pages by.
    pub const ORDER: Stop = Stop { tolerance: 1e-6, most_steps: 200 };
}

/// Where a walk ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// One score a node.
    pub values: Vec<f64>,
    /// Steps made.
    pub steps: u32,
    /// Change of the last step, ‖x' − x‖₁.
    pub residual: f64,
    /// Bound on the distance from the fixed point, ‖x − x*‖₁ ≤ residual·α/(1 − α).
    pub error: f64,
    /// Bound on the distance between that fixed point and the exact one, where hubs
    /// were left out; 0 where none were.
    pub truncation: f64,
}

/// A number in [0, 1), as a chance of going on must be.
fn check_alpha(alpha: f64) -> Result<(), GraphError> {
    let wanted = "a number from 0 to below 1";
    let ok = (0.0..1.0).contains(&alpha);
    if ok { Ok(()) } else { Err(GraphError::Parameter { name: "alpha", value: alpha, wanted }) }
}

/// One value a node.
fn check_length(what: &'static str, found: usize, nodes: usize) -> Result<(), GraphError> {
    if found == nodes { Ok(()) } else { Err(GraphError::Length { what, found, nodes }) }
}

/// The scores to start from: those of `start` where they are usable, `level` elsewhere.
fn beginning(start: &[f64], nodes: usize, level: f64) -> Vec<f64> {
    let usable = |&x: &f64| if x.is_finite() && x >= 0.0 { x } else { level };
    let mut x: Vec<f64> = start.iter().take(nodes).map(usable).collect();
    x.resize(nodes, level);
    x
}
