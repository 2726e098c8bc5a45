//! Real graphs.

#![allow(clippy::unwrap_used)]

mod cnr;
