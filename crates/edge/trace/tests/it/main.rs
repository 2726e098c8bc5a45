//! Traces on disk, seen from outside.

// Helpers outside #[test] functions are tests too, which clippy does not see.
#![allow(clippy::unwrap_used)]

mod arbitrary;
mod bad_input;
mod check;
mod damage;
mod directory;
mod foreign_parquet;
mod round_trip;
mod samples;
mod tiny;
