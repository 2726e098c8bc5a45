//! Integration tests of the parse crate, in one binary.

#![allow(clippy::unwrap_used)]

mod bombs;
mod feed_suites;
mod links;
mod sitemaps;
