//! Real graphs, where they are at hand.

#![allow(clippy::unwrap_used)]

mod cnr;
mod shared;
