//! What can go wrong with a trace, told to the person who must put it right.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a trace was not read, written or accepted.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The contents are wrong: whoever made the trace corrects them at `place`.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: Place,
        /// What is wrong there and what to do.
        problem: String,
    },
    /// The operating system refused.
    #[error("cannot {doing} '{}': {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// The directory to write to is in use; nothing was touched.
    #[error("'{}' {problem}", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// By what, and what to do.
        problem: String,
    },
}

/// Where in a trace something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or the table of a trace in memory.
    pub file: String,
    /// Where in it.
    pub at: At,
    /// Which column, if one is to blame.
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
    /// A file whose contents are wrong as a whole.
    pub(crate) fn file(path: &Path, problem: impl Into<String>) -> Self {
        let place = Place { file: path.display().to_string(), at: At::Whole, column: None };
        TraceError::Invalid { place, problem: problem.into() }
    }

    /// For `map_err` on a call to the operating system.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| TraceError::Io { doing, path, source }
    }
}
