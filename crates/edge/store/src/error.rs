//! What can go wrong with a crawl's directory.

use std::io;
use std::path::PathBuf;

/// Why a store cannot go on. Messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process uses the directory.
    #[error(
        "{} is in use by another tidewatch process; stop that one first, or give another --dir",
        dir.display()
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory was written by another version.
    #[error(
        "{} holds a crawl in format {found}, and this tidewatch reads format {ours}; use the \
         version that wrote it, or start a new crawl in another --dir",
        dir.display()
    )]
    OtherFormat {
        /// The directory.
        dir: PathBuf,
        /// What its format file says.
        found: String,
        /// What this version reads.
        ours: u32,
    },
    /// There are files, but no crawl.
    #[error("{} holds other files and no crawl; give an empty or new directory", dir.display())]
    NotACrawl {
        /// The directory.
        dir: PathBuf,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The storage engine failed.
    #[error("the store's tables failed: {0}")]
    Engine(#[from] fjall::Error),
    /// A write failed, and none has been tried since.
    #[error("the store's tables are closed since a write failed; free some room on the disk")]
    Closed,
    /// A row cannot be read.
    #[error("row {key} of table {table} is damaged; restore the directory from a copy")]
    Damaged {
        /// The table.
        table: &'static str,
        /// The row.
        key: u64,
    },
    /// More pages than numbers.
    #[error("this crawl knows 4,294,967,295 pages, which is as many as one directory can hold")]
    TooManyPages,
}

impl StoreError {
    /// Whether the disk is full, or may be: after a write that failed in the background the engine
    /// only says that there was one, and what it was shows when the tables are opened again.
    pub fn is_full_disk(&self) -> bool {
        match self {
            StoreError::Io { source, .. } => is_full(source),
            StoreError::Engine(fjall::Error::Poisoned) | StoreError::Closed => true,
            StoreError::Engine(error) => has_full_disk(error),
            _ => false,
        }
    }
}

/// Whether an error says that there is no room.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Whether one of an error's causes says so.
fn has_full_disk(error: &(dyn std::error::Error + 'static)) -> bool {
    let is_full_here = error.downcast_ref::<io::Error>().is_some_and(is_full);
    is_full_here || error.source().is_some_and(has_full_disk)
}
