//! Test helpers of several crates. No crate depends on it except for its tests.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[cfg(feature = "browser")]
pub mod browser;
#[cfg(feature = "living")]
pub mod living;
pub mod memory;
pub mod nats;
pub mod s3;
pub mod skip;
pub mod suites;
