//! Traces on disk, seen from outside.

// Helpers outside #[test] functions are tests too, which clippy does not see.
#![allow(clippy::unwrap_used)]

mod arbitrary;
mod round_trip;
mod samples;
mod tiny;
