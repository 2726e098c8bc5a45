//! The lab from outside.

#![allow(clippy::unwrap_used)]

mod echo;
mod engine;
mod import;
mod longevity;
mod order;
mod refresh;
mod told;
mod why;
mod worlds;
