//! Links among pages: how they are kept, and what walks along them tell.
//!
//! The life of a link: a fetch shows it and [`log::LinkLog`] appends it; now
//! and then the log becomes a [`Graph`], plain lists of successors and
//! predecessors in memory, on which the walks of [`walk`] run; a graph to be
//! kept is written in the compressed form of [`bv`], which other tools read.
//!
//! What is defined for odd input: a link of a page to itself is dropped, a link
//! given twice counts once, a node that no link names is a node without links,
//! and a node without links out (dangling) is handled by each walk as its
//! documentation says.
//!
//! Pure: bytes and numbers in, numbers out. Every result is the same on any
//! number of threads, to the last bit.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

mod bits;
pub mod bv;
pub mod csr;
mod error;
pub mod log;
pub mod walk;

pub use csr::{Csr, Graph};
pub use error::GraphError;
