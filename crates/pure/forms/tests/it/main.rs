//! Tests of whole ways through the crate.

#![allow(clippy::unwrap_used, clippy::format_collect, reason = "tests fail by panicking")]

mod coverage;
mod desk;
mod labels;
mod never;
