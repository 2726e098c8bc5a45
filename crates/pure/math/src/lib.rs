//! Roots, quadrature, special functions, small linear systems, compensated sums, keyed randomness.
//!
//! The numerical ground of the workspace. It knows no page, no host and no URL, reads no clock and
//! no ambient randomness: every function is determined by its arguments, every random number by
//! its key. Accuracy is stated where a function is defined and held there by a test against
//! reference values of 40 digits.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]
#![allow(clippy::float_cmp, reason = "numerical code compares with exact values on purpose")]

pub mod array;
mod error;
pub mod linear;
pub mod quadrature;
pub mod rng;
pub mod roots;
pub mod sample;
pub mod special;
pub mod stats;
pub mod sum;
#[cfg(test)]
mod testing;

pub use error::MathError;
pub use rng::Draws;
pub use sum::{Estimate, Moments, Sum};
