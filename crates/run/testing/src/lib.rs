//! What tests of several crates share. No crate depends on it but for its tests.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[cfg(feature = "browser")]
pub mod browser;
#[cfg(feature = "living")]
pub mod living;
pub mod memory;
pub mod suites;
