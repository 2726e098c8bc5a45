//! Reading a damaged file to its end.
//!
//! Every record is a gzip member of its own, so damage costs the members that it touches. Behind a
//! damaged member the walk looks for the next gzip header that begins a whole record.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::{ArchiveError, Record, Records, read_at};

/// Gzip's magic number, and deflate as the method (RFC 1952 §2.3.1).
const MEMBER: [u8; 3] = [0x1f, 0x8b, 8];
/// Bytes read at once in search of a member.
const WINDOW: usize = 64 << 10;

/// A piece of a WARC file.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A whole record, and the bytes it takes in the file.
    Record(Record, Range<u64>),
    /// Bytes that are no record.
    Damaged {
        /// Up to the next record, or to the end of the file.
        range: Range<u64>,
        /// What is wrong with the record that should be there.
        what: &'static str,
    },
}

/// All pieces of a WARC file in order: records, and the damage between them.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("empty.warc.gz");
/// # std::fs::write(&path, "")?;
/// use tidewatch_archive::{Piece, Walk};
///
/// for piece in Walk::new(&path, 0)? {
///     match piece? {
///         Piece::Record(record, range) => println!("{} at byte {}", record.kind(), range.start),
///         Piece::Damaged { range, what } => println!("{} bytes lost: {what}", range.end - range.start),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Walk {
    path: PathBuf,
    records: Records<BufReader<File>>,
    /// Where `records` began.
    base: u64,
    length: u64,
}

impl Walk {
    /// Walks a file from a byte on, which should be the first of a record.
    pub fn new(path: &Path, from: u64) -> Result<Walk, ArchiveError> {
        let length = File::open(path).and_then(|file| file.metadata()).map(|data| data.len());
        let length = length.map_err(ArchiveError::io(path))?;
        Ok(Walk { path: path.to_owned(), records: records_at(path, from)?, base: from, length })
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, ArchiveError> {
        let from = self.base + self.records.offset();
        let what = match self.records.next() {
            None => return Ok(None),
            Some(Ok(mut record)) => {
                record.offset = from;
                return Ok(Some(Piece::Record(record, from..self.base + self.records.offset())));
            }
            Some(Err(ArchiveError::Damaged { what, .. })) => what,
            Some(Err(error)) => return Err(error),
        };
        self.base = self.next_record(from + 1)?.unwrap_or(self.length);
        self.records = records_at(&self.path, self.base)?;
        Ok(Some(Piece::Damaged { range: from..self.base, what }))
    }

    /// The first byte of the first whole record at `from` or later.
    fn next_record(&self, from: u64) -> Result<Option<u64>, ArchiveError> {
        let failed = || ArchiveError::io(&self.path);
        let mut file = File::open(&self.path).map_err(failed())?;
        let (mut at, mut bytes) = (from, Vec::new());
        loop {
            file.seek(SeekFrom::Start(at)).map_err(failed())?;
            bytes.clear();
            file.by_ref().take(WINDOW as u64).read_to_end(&mut bytes).map_err(failed())?;
            for begin in memchr::memmem::find_iter(&bytes, &MEMBER) {
                let begin = at + begin as u64;
                match read_at(&self.path, begin) {
                    Ok(_) => return Ok(Some(begin)),
                    Err(ArchiveError::Damaged { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            if bytes.len() < WINDOW {
                return Ok(None);
            }
            // A header may lie across the windows' border.
            at += (WINDOW - MEMBER.len() + 1) as u64;
        }
    }
}

impl Iterator for Walk {
    type Item = Result<Piece, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_piece().transpose()
    }
}

fn records_at(path: &Path, from: u64) -> Result<Records<BufReader<File>>, ArchiveError> {
    let mut file = File::open(path).map_err(ArchiveError::io(path))?;
    file.seek(SeekFrom::Start(from)).map_err(ArchiveError::io(path))?;
    Ok(Records::new(BufReader::new(file)))
}
