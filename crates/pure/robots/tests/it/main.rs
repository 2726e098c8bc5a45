//! Integration tests of the robots crate, in one binary.

#![allow(clippy::unwrap_used)]

mod rules;
mod suites;
