//! Errors of traces.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Errors of reading, writing and checking traces.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Invalid contents at `place`.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: Place,
        /// The error and what to do.
        problem: String,
    },
    /// An I/O error.
    #[error("cannot {doing} '{}': {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The target directory is in use; nothing was changed.
    #[error("'{}' {problem}", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// Why, and what to do.
        problem: String,
    },
}

/// The place of an error in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or the table of a trace in memory.
    pub file: String,
    /// The position in it.
    pub at: At,
    /// The column, if one is at fault.
    pub column: Option<&'static str>,
}

/// A position in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The table as a whole.
    Whole,
    /// A line of a text file; the header is usually line 1.
    Line(u64),
    /// A row of a Parquet file or of a table in memory; the first is row 1.
    Row(u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Whole => f.write_str("the table"),
            At::Line(line) => write!(f, "line {line}"),
            At::Row(row) => write!(f, "row {row}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.at != At::Whole {
            write!(f, ", {}", self.at)?;
        }
        self.column.map_or(Ok(()), |column| write!(f, ", column '{column}'"))
    }
}

impl TraceError {
    /// An error of a file as a whole.
    pub(crate) fn file(path: &Path, problem: impl Into<String>) -> Self {
        let place = Place { file: path.display().to_string(), at: At::Whole, column: None };
        TraceError::Invalid { place, problem: problem.into() }
    }

    /// For `map_err` on I/O errors.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| TraceError::Io { doing, path, source }
    }
}
