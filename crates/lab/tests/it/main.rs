//! The lab from outside.

#![allow(clippy::unwrap_used)]

mod engine;
mod import;
mod refresh;
mod worlds;
