//! Errors of index and click log.

use std::path::{Path, PathBuf};

/// Errors of index and click log. Messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The index failed.
    #[error("the search index failed: {0}; delete the crawl's `index` directory to rebuild it")]
    Index(#[from] tantivy::TantivyError),
    /// Another process writes to the index.
    #[error("the search index in {} is in use by another tidewatch process", path.display())]
    InUse {
        /// The index.
        path: PathBuf,
    },
    /// The system has no random bytes, or the key cannot be used.
    #[error("the system has no random bytes, which signed links need")]
    NoRandomness,
}

impl SearchError {
    /// An error about a file, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> SearchError + '_ {
        move |source| SearchError::Io { path: path.to_owned(), source }
    }
}
