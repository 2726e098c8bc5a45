//! A file that grows by whole pieces.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::ArchiveError;

/// A file, and what is still to be written to it.
///
/// Invariant: the file's first `length` bytes are whole pieces. Behind them there is something only
/// if `is_torn`, and then it is cut off before more is written.
#[derive(Debug)]
pub(crate) struct Growing {
    path: PathBuf,
    file: File,
    length: u64,
    waiting: Vec<u8>,
    is_torn: bool,
}

impl Growing {
    /// A new file, or an old one made empty.
    pub(crate) fn create(path: &Path) -> Result<Growing, ArchiveError> {
        File::create(path).map_err(ArchiveError::io(path))?;
        Growing::open(path)
    }

    /// A file that is whole.
    pub(crate) fn open(path: &Path) -> Result<Growing, ArchiveError> {
        let file = OpenOptions::new().append(true).open(path).map_err(ArchiveError::io(path))?;
        let length = file.metadata().map_err(ArchiveError::io(path))?.len();
        let path = path.to_owned();
        Ok(Growing { path, file, length, waiting: Vec::new(), is_torn: false })
    }

    /// Its length once everything is written.
    pub(crate) const fn end(&self) -> u64 {
        self.length + self.waiting.len() as u64
    }

    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.waiting.extend_from_slice(piece);
    }

    /// Writes what is waiting. What the disk refuses goes on waiting.
    pub(crate) fn flush(&mut self) -> Result<(), ArchiveError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if self.is_torn {
            self.file.set_len(self.length).map_err(ArchiveError::io(&self.path))?;
        }
        self.is_torn = true;
        if let Err(error) = self.file.write_all(&self.waiting) {
            // So that nobody finds the torn piece meanwhile; if this fails it is done next time.
            self.is_torn = self.file.set_len(self.length).is_err();
            return Err(ArchiveError::io(&self.path)(error));
        }
        self.is_torn = false;
        self.length += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Makes what is written survive the machine.
    pub(crate) fn sync(&self) -> Result<(), ArchiveError> {
        self.file.sync_data().map_err(ArchiveError::io(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is always full.
    const FULL: &str = "/dev/full";

    #[test]
    fn what_the_disk_refuses_is_written_once_there_is_room() {
        if !Path::new(FULL).exists() {
            tidewatch_testing::skip::skip(&format!("there is no {FULL}"));
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = Growing::create(&path).unwrap();
        file.push(b"one");
        file.flush().unwrap();
        let full = OpenOptions::new().append(true).open(FULL).unwrap();
        let good = std::mem::replace(&mut file.file, full);
        file.push(b"two");
        assert!(file.flush().is_err() && file.flush().is_err());
        assert_eq!(file.end(), 6, "it has its place already");
        file.file = good;
        file.is_torn = true;
        std::fs::write(&path, b"onetw").unwrap();
        file.flush().unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), file.end()), (b"onetwo".to_vec(), 6));
    }
}
