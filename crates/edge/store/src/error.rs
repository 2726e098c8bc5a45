//! Errors of a crawl's directory.

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
        /// The system's error.
        source: io::Error,
    },
    /// The storage engine failed.
    #[error("the tables in db cannot be read or written ({})", cause(.0))]
    Engine(#[from] fjall::Error),
    /// The tables hold less than was synced.
    #[error(
        "{} is damaged: it holds fewer pages or less history than was stored, and nothing was changed; \
         run `tidewatch repair --dir` with the crawl's directory, or restore that from a copy",
        path.display()
    )]
    Lost {
        /// The journal, or the directory of the tables.
        path: PathBuf,
    },
    /// A write to a store that was opened for reading.
    #[error("{} was opened for reading", dir.display())]
    ReadOnly {
        /// The crawl's directory.
        dir: PathBuf,
    },
    /// There is no crawl to read.
    #[error("{} holds no crawl; begin one with tidewatch crawl", dir.display())]
    NoCrawl {
        /// The directory.
        dir: PathBuf,
    },
    /// A write failed, and none has been tried since.
    #[error("the store's tables are closed since a write failed; free some room on the disk")]
    Closed,
    /// A small file is malformed.
    #[error("{} does not hold {held}; run `tidewatch repair`, or restore the directory from a copy", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        held: &'static str,
    },
    /// A row cannot be read.
    #[error(
        "row {key} of table {table} is damaged; run `tidewatch repair`, or restore the directory from a copy"
    )]
    Damaged {
        /// The table.
        table: &'static str,
        /// The row.
        key: u64,
    },
    /// A run of the sieve cannot be read.
    #[error(
        "{} is damaged; nothing is lost: start again, and it is rebuilt from the tables",
        path.display()
    )]
    DamagedSieve {
        /// The sieve's directory.
        path: PathBuf,
    },
    /// Page numbers are used up.
    #[error("this crawl knows 4,294,967,295 pages, which is as many as one directory can hold")]
    TooManyPages,
}

impl StoreError {
    /// Whether the disk is full.
    pub fn is_full_disk(&self) -> bool {
        match self {
            StoreError::Io { source, .. } => is_full(source),
            // It is closed since a write failed for that reason: any other ends the crawl.
            StoreError::Closed => true,
            StoreError::Engine(error) => io_cause(error).is_some_and(is_full),
            _ => false,
        }
    }
}

/// Whether an error says that there is no room.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// The I/O error behind `error`, if there is one.
fn io_cause<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e io::Error> {
    error.downcast_ref().or_else(|| io_cause(error.source()?))
}

/// Describes the engine's error for the operator.
fn cause(error: &fjall::Error) -> String {
    if let Some(io) = io_cause(error) {
        return io.to_string();
    }
    match error {
        fjall::Error::Locked => "another process uses them".to_owned(),
        fjall::Error::Poisoned => {
            "a write or sync failed, although the disk takes writes again; look for its errors in the \
             system's log, then start again"
                .to_owned()
        }
        fjall::Error::Storage(_) => {
            "a table is damaged; run `tidewatch repair`, or restore the directory from a copy".to_owned()
        }
        fjall::Error::JournalRecovery(_) => {
            "a journal is damaged; run `tidewatch repair`, or restore the directory from a copy".to_owned()
        }
        _ => "they are damaged or of another version; run `tidewatch repair`, or restore the directory from a copy".to_owned(),
    }
}
