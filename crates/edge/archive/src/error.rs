//! What can go wrong with an archive.

use std::io;
use std::path::PathBuf;

/// Why an archive cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The bytes are no WARC record.
    #[error("at byte {offset} of the archive: {what}")]
    Damaged {
        /// Where the record begins.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl ArchiveError {
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> ArchiveError {
        let path = path.to_owned();
        move |source| ArchiveError::Io { path, source }
    }
}
