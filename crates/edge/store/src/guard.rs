//! Checks that tables hold all that was synced, before their engine opens them.
//!
//! The engine takes what it cannot read for the torn end of a crash and goes on without it. So whoever
//! keeps tables in `DIR/db` with a tape of numbered batches, as a crawl does, calls [`check_and_cut`]
//! before it opens them, and writes a [`Mark`] after each sync. Readers open a [`view`] instead, in which
//! the engine may write.

use std::path::Path;

use tempfile::TempDir;

use crate::journal::{self, Journal};
pub use crate::synced::{Mark, Synced};
use crate::tables::Tables;
use crate::{StoreError, view};

/// Checks the tables in `dir/db` and cuts a torn end off their last journal, as a crash leaves one.
/// `tape_table` is the engine's number of the table of the tape, and `batches_in` counts that table's rows
/// in a copy of the tables.
pub fn check_and_cut<E: From<StoreError>>(
    dir: &Path,
    tape_table: u64,
    batches_in: impl FnOnce(&Path) -> Result<u64, E>,
) -> Result<(), E> {
    if let Some(journal) = check(dir, tape_table, batches_in)?.last() {
        let failed = |source| StoreError::Io { path: journal.path.clone(), source };
        journal.cut_rest().map_err(failed)?;
    }
    Ok(())
}

/// Checks the tables in `dir/db`, and returns a directory whose `db` shows them as they are. What the
/// engine writes there is gone when it is dropped.
pub fn view<E: From<StoreError>>(
    dir: &Path,
    tape_table: u64,
    batches_in: impl FnOnce(&Path) -> Result<u64, E>,
) -> Result<TempDir, E> {
    let journals = check(dir, tape_table, batches_in)?;
    Ok(made(view::of(dir, &journals))?)
}

fn made(view: std::io::Result<TempDir>) -> Result<TempDir, StoreError> {
    view.map_err(|source| StoreError::Io { path: std::env::temp_dir(), source })
}

/// Checks that no table lost its newest version and that the journals hold everything that was synced.
/// A crash may have torn whatever follows.
fn check<E: From<StoreError>>(
    dir: &Path,
    tape_table: u64,
    batches_in: impl FnOnce(&Path) -> Result<u64, E>,
) -> Result<Vec<Journal>, E> {
    let db = dir.join("db");
    Tables::check_files(&db)?;
    let read = journal::read(&db, tape_table);
    let journals = read.map_err(|source| StoreError::Io { path: db, source })?;
    let last = journals.iter().filter_map(|journal| journal.last_tape).max();
    let synced = Synced::read(dir).tape;
    let is_short = match last {
        Some(last) => last + 1 < synced,
        // A journal that has just begun holds no whole batch, and all that was synced is in the tables.
        None if synced > 0 && journals.iter().any(|journal| journal.has_rest) => {
            batches_in(&made(view::of(dir, &journals))?.path().join("db"))? < synced
        }
        None => false,
    };
    // The engine syncs a journal before it begins the next one, so only the last can be torn.
    let mut sealed = journals.iter().rev().skip(1);
    let damaged = sealed.find(|journal| journal.has_rest);
    let short = journals.iter().rev().find(|journal| journal.has_rest).or(journals.last());
    match damaged.or(short.filter(|_| is_short)) {
        Some(journal) => Err(StoreError::Lost { path: journal.path.clone() }.into()),
        None => Ok(journals),
    }
}
