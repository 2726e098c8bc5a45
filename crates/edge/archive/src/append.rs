//! The archive's directory: the file that grows, and its index.
//!
//! # The life of a record
//!
//! [`Archive::append`] gives a record its place and keeps it in memory, [`Archive::flush`] writes
//! everything that came together since, and [`Archive::sync`] makes that survive the machine. What
//! the disk refuses stays in memory and leaves no trace in the files, so a flush that failed can be
//! tried again at any time.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::date::warc_date;
use crate::grow::Growing;
use crate::gzip::push_member;
use crate::mend::mend;
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
    /// When the newest record was fetched, in microseconds of Unix time.
    newest: i64,
}

/// Where the first record of an exchange lies now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The file's number.
    pub file: u32,
    /// The record's first byte.
    pub offset: u64,
    /// Its compressed length.
    pub bytes: u32,
}

impl Archive {
    /// Opens the archive in `dir`; its files are closed once they have `most_bytes`.
    /// `unix_micros` dates the file that is begun if there is none. `whole` is the
    /// [`Archive::end`] at some sync: nothing before it needs to be read again.
    pub fn open(
        dir: &Path,
        most_bytes: u64,
        unix_micros: i64,
        whole: Option<(u32, u64)>,
    ) -> Result<Archive, ArchiveError> {
        fs::create_dir_all(dir).map_err(ArchiveError::io(dir))?;
        let Some(number) = last_number(dir)? else {
            return Archive::begin(dir, 1, most_bytes, unix_micros);
        };
        let path = path_of(dir, number);
        let whole = whole.filter(|(file, _)| *file == number).map_or(0, |(_, length)| length);
        if mend(&path, whole)? == 0 {
            return Archive::begin(dir, number, most_bytes, unix_micros);
        }
        let (file, index) = (Growing::open(&path)?, Growing::open(&index_path(&path))?);
        Ok(Archive { dir: dir.to_owned(), most_bytes, number, file, index, newest: unix_micros })
    }

    /// Begins a file with a record that says what it is.
    fn begin(
        dir: &Path,
        number: u32,
        most_bytes: u64,
        unix_micros: i64,
    ) -> Result<Archive, ArchiveError> {
        let path = path_of(dir, number);
        let mut file = Growing::create(&path)?;
        file.push(&file_info(&path, unix_micros));
        file.flush()?;
        let index = Growing::create(&index_path(&path))?;
        let synced = File::open(dir).and_then(|dir| dir.sync_all());
        synced.map_err(ArchiveError::io(dir))?;
        Ok(Archive { dir: dir.to_owned(), most_bytes, number, file, index, newest: unix_micros })
    }

    /// Gives an exchange its place; [`Archive::flush`] writes it.
    pub fn append(&mut self, packed: &Packed, unix_micros: i64) -> Appended {
        let (file, offset, bytes) = (self.number, self.file.end(), packed.first as u32);
        let path = path_of(&self.dir, self.number);
        self.file.push(&packed.bytes);
        self.index.push(placed(&packed.index, &path, offset, u64::from(bytes)).as_bytes());
        self.newest = self.newest.max(unix_micros);
        Appended { file, offset, bytes }
    }

    /// Writes everything appended, so that it survives this process, and begins the next file if
    /// this one is full. If the disk refuses, the files are as they were, and it can be tried again.
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

    /// The current file's number and length, with what is still to be written.
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
        let path = index_path(&path_of(&self.dir, self.number));
        sort_lines(&path).map_err(ArchiveError::io(&path))?;
        *self = Archive::begin(&self.dir, self.number + 1, self.most_bytes, self.newest)?;
        Ok(())
    }
}

/// The path of an archive file by its number.
/// The file of a number in an archive's directory.
pub fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("tidewatch-{number:05}.warc.gz"))
}

pub(crate) fn index_path(path: &Path) -> PathBuf {
    path.with_extension("").with_extension("cdxj")
}

fn last_number(dir: &Path) -> Result<Option<u32>, ArchiveError> {
    let mut last = None;
    for file in fs::read_dir(dir).map_err(ArchiveError::io(dir))? {
        let name = file.map_err(ArchiveError::io(dir))?.file_name();
        let name = name.to_string_lossy();
        let number = name.strip_prefix("tidewatch-").and_then(|rest| rest.strip_suffix(".warc.gz"));
        last = last.max(number.and_then(|number| number.parse().ok()));
    }
    Ok(last)
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

pub(crate) fn placed(open: &str, path: &Path, offset: u64, bytes: u64) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{open},\"length\":\"{bytes}\",\"offset\":\"{offset}\",\"filename\":\"{name}\"}}\n")
}

/// Sorts an index whose file is complete, as readers expect it.
fn sort_lines(path: &Path) -> std::io::Result<()> {
    let lines: std::io::Result<Vec<String>> = BufReader::new(File::open(path)?).lines().collect();
    let mut lines = lines?;
    lines.sort_unstable();
    let new = path.with_extension("cdxj.new");
    let mut out = BufWriter::new(File::create(&new)?);
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(new, path)
}
