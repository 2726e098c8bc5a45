//! Against real brokers on loopback.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod broker;
mod joining;
