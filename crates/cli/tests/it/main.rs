//! The whole command from outside: what it prints, what it refuses, what it leaves behind.

#![allow(clippy::unwrap_used)]

mod bad_tables;
mod bad_traces;
mod diff;
mod golden;
mod lab;
mod looking_inside;
mod rank;
mod science;
mod tool;
