//! The whole command from outside: what it prints, what it refuses, what it leaves behind.

#![allow(clippy::unwrap_used)]

mod bad_tables;
mod bad_traces;
mod browser;
mod cluster;
mod crawls;
mod descriptors;
mod diff;
mod disk;
mod golden;
mod kill;
mod lab;
mod living;
mod looking_inside;
mod rank;
mod revisits;
mod science;
mod tool;
mod why;
