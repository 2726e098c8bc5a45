//! Integration tests of the parse crate, in one binary.

#![allow(clippy::unwrap_used)]

mod bombs;
mod feed_suites;
mod links;
mod sitemaps;

/// The command's allocator: memory is measured here, and the system's may grow a buffer in place where this
/// one copies it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
