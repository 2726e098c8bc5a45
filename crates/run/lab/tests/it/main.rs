//! The lab from outside.

#![allow(clippy::unwrap_used)]

mod echo;
mod engine;
mod import;
mod longevity;
mod refresh;
mod worlds;
