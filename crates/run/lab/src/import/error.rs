//! What can go wrong with an import, told to the person who ran it.

use std::io;
use std::path::{Path, PathBuf};

use tidewatch_trace::{Place, TraceError};

/// Why a data set could not be turned into a trace.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No importer has this name.
    #[error("there is no format '{name}'; the formats are {known}")]
    UnknownFormat {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// The format has no use for an option that was given.
    #[error("the format {format} has no use for {option}; leave it out")]
    UselessOption {
        /// The format.
        format: &'static str,
        /// The option as users write it.
        option: &'static str,
    },
    /// An option is missing its companion.
    #[error("{option} has no effect without {needs}")]
    Incomplete {
        /// The option given.
        option: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// A file of the data set is not there.
    #[error("'{}' holds no {file} (plain, .gz or .xz); is this a {format} data set?", dir.display())]
    Missing {
        /// Where it was looked for.
        dir: PathBuf,
        /// Its name without the ending of a compressor.
        file: &'static str,
        /// The format asked for.
        format: &'static str,
    },
    /// The contents are wrong at a place.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: Place,
        /// What is wrong there and what to do.
        problem: String,
    },
    /// The window holds nothing.
    #[error("no data from {from} for {length}: the data span {first} to {last}; choose within")]
    Window {
        /// Start asked for.
        from: String,
        /// Length asked for.
        length: String,
        /// Where the data begin.
        first: String,
        /// Where they end.
        last: String,
    },
    /// The files are in order but hold nothing to make a trace of.
    #[error("'{}': {problem}", path.display())]
    Useless {
        /// The data set.
        path: PathBuf,
        /// What is lacking and what to do.
        problem: String,
    },
    /// The operating system refused.
    #[error("cannot {doing} '{}': {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// The trace that came out breaks a rule of traces: a defect of the importer.
    #[error("the import made an invalid trace, which is a defect of the importer: {0}")]
    Trace(#[from] TraceError),
}

impl ImportError {
    /// For `map_err` on a call to the operating system.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| ImportError::Io { doing, path, source }
    }

    /// Data that hold nothing of use.
    pub(super) fn useless(path: &Path, problem: impl Into<String>) -> Self {
        ImportError::Useless { path: path.to_owned(), problem: problem.into() }
    }
}
