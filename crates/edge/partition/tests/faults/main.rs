//! Crawls on disks that fail and machines that lose power.
//!
//! `sim` is the simulator of a partition.
//!
//! A test starts itself again with a library (`faults.c`) that stands between the crawl and the system.
//! Directories are judged in processes of their own too: a process that is started while a crawl is open
//! in this one would hold its lock for a moment.
#![allow(clippy::unwrap_used)]

mod changes;
mod child;
mod disk;
mod power;
mod sim;
#[path = "../it/small.rs"]
mod small;
