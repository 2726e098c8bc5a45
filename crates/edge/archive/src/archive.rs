//! The archive's directory: the file that grows, and its index.
//!
//! # The life of a record
//!
//! [`Archive::append`] gives a record its place and keeps it in memory, [`Archive::flush`] writes
//! everything appended since, and [`Archive::sync`] makes that survive the machine. What the disk
//! refuses stays in memory and leaves no trace in the files, so a failed flush can be repeated.

use std::path::{Path, PathBuf};

use tidewatch_core::calendar::warc_date;

use crate::files::{Lengths, Manifest, index_path, path_of, sync_dir};
use crate::grow::Growing;
use crate::gzip::push_member;
use crate::index::{Index, placed};
use crate::pack::urn;
use crate::{ArchiveError, Packed};

/// Files named `tidewatch-00001.warc.gz` and so on, one of which grows.
#[derive(Debug)]
pub struct Archive {
    dir: PathBuf,
    most_bytes: u64,
    number: u32,
    file: Growing,
    index: Growing,
    manifest: Manifest,
    /// When the newest record was fetched, in microseconds of Unix time.
    newest: i64,
}

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's number.
    pub file: u32,
    /// The record's first byte.
    pub offset: u64,
    /// Its compressed length.
    pub bytes: u32,
}

impl Location {
    /// The first byte behind the record.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes as u64)
    }
}

impl Archive {
    /// Begins a file with a record that says what it is.
    pub(crate) fn begin(
        dir: &Path,
        number: u32,
        most_bytes: u64,
        unix_micros: i64,
        manifest: Manifest,
    ) -> Result<Archive, ArchiveError> {
        let path = path_of(dir, number);
        let mut file = Growing::create(&path)?;
        file.push(&file_info(&path, unix_micros));
        file.flush()?;
        let index = Growing::create(&index_path(&path))?;
        sync_dir(dir)?;
        let (dir, newest) = (dir.to_owned(), unix_micros);
        Ok(Archive { dir, most_bytes, number, file, index, manifest, newest })
    }

    /// Goes on with a file whose end and index are whole.
    pub(crate) fn go_on(
        dir: &Path,
        number: u32,
        most_bytes: u64,
        unix_micros: i64,
        manifest: Manifest,
    ) -> Result<Archive, ArchiveError> {
        let path = path_of(dir, number);
        let (file, index) = (Growing::open(&path)?, Growing::open(&index_path(&path))?);
        let (dir, newest) = (dir.to_owned(), unix_micros);
        Ok(Archive { dir, most_bytes, number, file, index, manifest, newest })
    }

    /// Gives an exchange its place; [`Archive::flush`] writes it.
    pub fn append(&mut self, packed: &Packed, unix_micros: i64) -> Location {
        let (file, offset, bytes) = (self.number, self.file.end(), packed.first as u32);
        let path = path_of(&self.dir, self.number);
        self.file.push(&packed.bytes);
        if !packed.index.is_empty() {
            self.index.push(placed(&packed.index, &path, offset, u64::from(bytes)).as_bytes());
        }
        self.newest = self.newest.max(unix_micros);
        Location { file, offset, bytes }
    }

    /// Writes everything appended, so that it survives this process, and begins the next file if
    /// this one is full. If the disk refuses, the files are as they were, and it can be repeated.
    pub fn flush(&mut self) -> Result<(), ArchiveError> {
        self.file.flush()?;
        self.index.flush()?;
        if self.file.end() >= self.most_bytes { self.next_file() } else { Ok(()) }
    }

    /// Makes everything appended survive the machine.
    pub fn sync(&mut self) -> Result<(), ArchiveError> {
        self.flush()?;
        self.file.sync()?;
        self.index.sync()
    }

    /// Syncs, and sorts the index of the file that grows, as tools that replay archives expect it.
    /// More can be appended afterwards.
    pub fn finish(&mut self) -> Result<(), ArchiveError> {
        self.sync()?;
        self.sort_index()
    }

    /// The current file's number and length, with what is still to be written. At a
    /// [`sync`](Archive::sync), this is the mark to hand to the next [`Archive::open`].
    pub const fn end(&self) -> (u32, u64) {
        (self.number, self.file.end())
    }

    /// The path of a file by its number.
    pub fn path(&self, number: u32) -> PathBuf {
        path_of(&self.dir, number)
    }

    fn next_file(&mut self) -> Result<(), ArchiveError> {
        self.file.sync()?;
        self.index.sync()?;
        self.sort_index()?;
        // If the next file cannot begin, this one goes on growing.
        let (next, manifest) = (self.number + 1, self.manifest.clone());
        *self = Archive::begin(&self.dir, next, self.most_bytes, self.newest, manifest)?;
        Ok(())
    }

    /// Sorts the index and notes the lengths of both files, which are synced.
    fn sort_index(&mut self) -> Result<(), ArchiveError> {
        let path = path_of(&self.dir, self.number);
        let index = match Index::read(&path, self.index.end())? {
            Some(index) => index,
            None => crate::open::reindex(&path, self.number, &mut Vec::new())?,
        };
        let lengths = Lengths { warc: self.file.end(), index: index.write(&path)? };
        self.index = Growing::open(&index_path(&path))?;
        self.manifest.set(self.number, lengths);
        self.manifest.write(&self.dir)
    }
}

fn file_info(path: &Path, unix_micros: i64) -> Vec<u8> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = urn(xxhash_rust::xxh3::xxh3_128(format!("{unix_micros} {name}").as_bytes()));
    let block = concat!(
        "software: tidewatch/",
        env!("CARGO_PKG_VERSION"),
        "\r\nformat: WARC File Format 1.1\r\n",
        "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    );
    let head = format!(
        "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: {id}\r\nWARC-Date: {}\r\n\
         WARC-Filename: {name}\r\nContent-Type: application/warc-fields\r\nContent-Length: {}\r\n\r\n",
        warc_date(unix_micros),
        block.len()
    );
    let mut bytes = Vec::new();
    push_member(&mut bytes, &[head.as_bytes(), block.as_bytes(), b"\r\n\r\n"], 6);
    bytes
}
