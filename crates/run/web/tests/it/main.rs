//! The living web from outside: pure replies, and real sockets.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod client;
mod hostile;
mod manners;
mod pages;
mod serving;
mod worlds;
