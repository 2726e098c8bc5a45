//! Reads, writes and checks recorded or simulated webs on disk.
//!
//! A trace is a directory of tables (see `docs/traces.md`). In memory it is a
//! [`Trace`]: columns turned into plain vectors, pages and hosts numbered
//! densely in the order of the `pages` table, every other table sorted, every
//! reference resolved. The reader returns valid traces only; its errors name file, line and column.
//! [`Trace::check`] does the same for traces built in memory.
//!
//! The life of a table: [`read`] finds its file, streams its rows through the
//! rules of one row (`rules`), sorts them (`arrange`), then applies the rules
//! that hold between rows. [`write()`] writes to a temporary directory and renames it, so that a trace
//! on disk is complete or absent.

mod arrange;
mod cell;
mod check;
mod columns;
mod csv_rows;
mod csv_sink;
mod error;
mod ids;
mod locate;
mod manifest;
mod model;
mod parquet_rows;
mod parquet_sink;
mod read;
mod rows;
mod rules;
mod sink;
mod table;
mod truth;
mod write;

pub use error::{At, Place, TraceError};
pub use model::{
    Change, Count, Host, Signals, Trace, TraceLink, TracePage, TraceSignal, Version, Versions,
};
pub use read::read;
pub use table::{Format, UnknownFormat};
pub use truth::{Truth, TruthClass};
pub use write::{replace, write};
