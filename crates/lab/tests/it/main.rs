//! The lab from outside.

#![allow(clippy::unwrap_used)]

mod engine;
mod refresh;
mod worlds;
