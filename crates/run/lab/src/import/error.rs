//! Errors of imports.

use std::io;
use std::path::{Path, PathBuf};

use tidewatch_trace::{Place, TraceError};

/// Errors of imports.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No importer has this name.
    #[error("unknown format '{name}'; choose one of {known}")]
    UnknownFormat {
        /// The unknown name.
        name: String,
        /// All names.
        known: String,
    },
    /// The format does not support an option.
    #[error("the format {format} does not support {option}")]
    UselessOption {
        /// The format.
        format: &'static str,
        /// The option on the command line.
        option: &'static str,
    },
    /// An option requires another one.
    #[error("{option} has no effect without {needs}")]
    Incomplete {
        /// The option given.
        option: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// A file of the data set is missing.
    #[error("'{}' holds no {file} (plain, .gz or .xz); is this a {format} data set?", dir.display())]
    Missing {
        /// The searched directory.
        dir: PathBuf,
        /// Its name without the extension of a compressor.
        file: &'static str,
        /// The format.
        format: &'static str,
    },
    /// Invalid contents.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: Place,
        /// The error and what to do.
        problem: String,
    },
    /// The window contains no data.
    #[error("no data from {from} for {length}: the data span {first} to {last}")]
    Window {
        /// Start of the window.
        from: String,
        /// Length of the window.
        length: String,
        /// Start of the data.
        first: String,
        /// End of the data.
        last: String,
    },
    /// The files are valid but contain nothing for a trace.
    #[error("'{}': {problem}", path.display())]
    Useless {
        /// The data set.
        path: PathBuf,
        /// What is missing and what to do.
        problem: String,
    },
    /// An I/O error.
    #[error("cannot {doing} '{}': {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The importer produced an invalid trace, which is a bug.
    #[error("bug in the importer: it produced an invalid trace: {0}")]
    Trace(#[from] TraceError),
}

impl ImportError {
    /// For `map_err` on I/O errors.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| ImportError::Io { doing, path, source }
    }

    /// Data without usable contents.
    pub(super) fn useless(path: &Path, problem: impl Into<String>) -> Self {
        ImportError::Useless { path: path.to_owned(), problem: problem.into() }
    }
}
