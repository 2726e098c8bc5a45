//! The index from outside: what is put in is found, and nothing else.
#![allow(clippy::unwrap_used)]

mod finding;
mod following;
mod shards;
