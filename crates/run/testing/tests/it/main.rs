//! Checks of the workspace as a whole, and of the helpers.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod docs;
mod layers;
mod skips;
