//! Learners of impact from scores: a regression tree and online gradient descent `[TTKN15, §6]`.

mod online;
mod tree;

pub use online::OnLine;
pub use tree::{Tree, TreeSettings};

/// Known impacts: rows of features with one target each.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    width: usize,
    features: Vec<f64>,
    targets: Vec<f64>,
}

impl Examples {
    /// No examples yet, of `width` features.
    pub fn new(width: usize) -> Self {
        Examples { width, ..Examples::default() }
    }

    /// Adds an example. Features and target must be finite.
    pub fn push(&mut self, features: &[f64], target: f64) {
        debug_assert_eq!(features.len(), self.width);
        self.features.extend_from_slice(features);
        self.targets.push(target);
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The features of example `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.features[i * self.width..(i + 1) * self.width]
    }

    /// The target of example `i`.
    pub fn target(&self, i: usize) -> f64 {
        self.targets[i]
    }
}
