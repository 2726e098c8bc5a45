//! The log of shown and clicked results: JSON lines, one file a day.
//!
//! Every line is appended in one write, so two processes may append at once; readers skip a line
//! torn by a crash. Old days are deleted.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::date::{DAY_S, day_of, name_of};
use crate::{PageRef, SearchError};

/// Longest line read.
const MOST_LINE: u64 = 64 << 10;
/// Most bytes of one day's file; lines beyond it are dropped.
const MOST_DAY: u64 = 1 << 30;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Entry {
    /// Results were shown.
    Shown {
        /// When, milliseconds of Unix time.
        at_ms: i64,
        /// Number of the result page.
        id: u64,
        /// The client.
        client: u64,
        /// The query.
        query: String,
        /// Position of the first result, from 1.
        first: u16,
        /// The pages, in order.
        pages: Vec<PageRef>,
    },
    /// A result was clicked.
    Clicked {
        /// When, milliseconds of Unix time.
        at_ms: i64,
        /// Number of the result page.
        id: u64,
        /// The client.
        client: u64,
        /// Its position.
        position: u16,
        /// The page.
        page: PageRef,
    },
    /// Imported from another search engine.
    Told {
        /// When, milliseconds of Unix time.
        at_ms: i64,
        /// The page's address.
        url: String,
        /// Clicked, or only shown.
        is_click: bool,
        /// How often.
        count: f64,
        /// Its position; 0 if unknown.
        position: u16,
        /// The query; empty if unknown.
        query: String,
    },
}

/// A position in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The day, since 1970.
    pub day: i64,
    /// Bytes of its file.
    pub offset: u64,
}

impl Mark {
    /// After everything.
    pub const END: Mark = Mark { day: i64::MAX, offset: u64::MAX };

    /// Encodes the position for storage.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.day.to_le_bytes());
        bytes[8..].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }

    /// Decodes stored bytes; the beginning of the log if invalid.
    pub fn of_bytes(bytes: &[u8]) -> Mark {
        let read = |bytes: &[u8]| -> Option<Mark> {
            let (day, offset) = bytes.split_first_chunk()?;
            let offset = u64::from_le_bytes(offset.try_into().ok()?);
            Some(Mark { day: i64::from_le_bytes(*day), offset })
        };
        read(bytes).unwrap_or_default()
    }
}

/// A log in one directory.
pub struct Log {
    dir: PathBuf,
    day: i64,
    file: Option<File>,
    bytes: u64,
    /// Lines dropped because the day's file was full.
    lost: u64,
    is_synced: bool,
}

impl Log {
    /// Opens or creates a log.
    pub fn open(dir: &Path) -> Result<Log, SearchError> {
        std::fs::create_dir_all(dir).map_err(SearchError::io(dir))?;
        Ok(Log {
            dir: dir.to_owned(),
            day: i64::MIN,
            file: None,
            bytes: 0,
            lost: 0,
            is_synced: true,
        })
    }

    /// Appends `entries` to the day of `now_s`, seconds of Unix time.
    pub fn append(&mut self, entries: &[Entry], now_s: i64) -> Result<(), SearchError> {
        let mut lines = Vec::new();
        for entry in entries {
            // Entries always serialise to JSON.
            if serde_json::to_writer(&mut lines, entry).is_ok() {
                lines.push(b'\n');
            }
        }
        self.turn_to(now_s.div_euclid(DAY_S))?;
        if self.bytes + lines.len() as u64 > MOST_DAY {
            self.lost += entries.len() as u64;
            return Ok(());
        }
        let path = self.path(self.day);
        if let Some(file) = &mut self.file {
            file.write_all(&lines).map_err(SearchError::io(&path))?;
            self.bytes += lines.len() as u64;
            self.is_synced = false;
        }
        Ok(())
    }

    /// Syncs the log to disk.
    pub fn sync(&mut self) -> Result<(), SearchError> {
        if std::mem::replace(&mut self.is_synced, true) {
            return Ok(());
        }
        let path = self.path(self.day);
        self.file.as_ref().map_or(Ok(()), File::sync_data).map_err(SearchError::io(&path))
    }

    /// Lines dropped because the day's file was full.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Removes days before the last `keep_days`.
    pub fn tidy(&self, keep_days: u32, now_s: i64) -> Result<(), SearchError> {
        let first = now_s.div_euclid(DAY_S) - i64::from(keep_days);
        for day in days(&self.dir)?.into_iter().filter(|day| *day < first) {
            let path = self.path(day);
            std::fs::remove_file(&path).map_err(SearchError::io(&path))?;
        }
        Ok(())
    }

    fn path(&self, day: i64) -> PathBuf {
        path_of(&self.dir, day)
    }

    fn turn_to(&mut self, day: i64) -> Result<(), SearchError> {
        if self.file.is_some() && self.day == day {
            return Ok(());
        }
        let path = self.path(day);
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).read(true).open(&path);
        let mut file = file.map_err(SearchError::io(&path))?;
        let bytes = end_line(&mut file).map_err(SearchError::io(&path))?;
        (self.day, self.file, self.bytes) = (day, Some(file), bytes);
        Ok(())
    }
}

/// Ends a torn last line, so the next is whole; returns the file's length.
fn end_line(file: &mut File) -> std::io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(length + u64::from(last != *b"\n"))
}

fn path_of(dir: &Path, day: i64) -> PathBuf {
    dir.join(format!("{}.jsonl", name_of(day)))
}

/// The days that a log has, in order.
fn days(dir: &Path) -> Result<Vec<i64>, SearchError> {
    let files = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.map_err(SearchError::io(dir))?,
    };
    let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
    let mut days: Vec<i64> =
        names.filter_map(|name| name.strip_suffix(".jsonl").and_then(day_of)).collect();
    days.sort_unstable();
    Ok(days)
}

/// Lines of a log from a position on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Their entries.
    pub entries: Vec<Entry>,
    /// The position after the last.
    pub end: Mark,
    /// Lines that could not be read.
    pub bad: u64,
    /// Whether there are more.
    pub has_more: bool,
}

impl Rows {
    /// Reads at most `most` lines of the log in `dir`. An unfinished last line is left for the next
    /// call.
    pub fn read(dir: &Path, from: Mark, most: usize) -> Result<Rows, SearchError> {
        Rows::read_to(dir, from, Mark::END, most)
    }

    /// The same, up to the position `to`.
    pub(crate) fn read_to(
        dir: &Path,
        from: Mark,
        to: Mark,
        most: usize,
    ) -> Result<Rows, SearchError> {
        let mut rows = Rows { end: from, ..Rows::default() };
        for day in days(dir)?.into_iter().filter(|day| (from.day..=to.day).contains(day)) {
            if day > rows.end.day {
                rows.end = Mark { day, offset: 0 };
            }
            let path = path_of(dir, day);
            rows.read_file(&path, to, most).map_err(SearchError::io(&path))?;
            if rows.has_more {
                break;
            }
        }
        Ok(rows)
    }

    fn read_file(&mut self, path: &Path, to: Mark, most: usize) -> std::io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.end.offset))?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        while self.end < to {
            if self.entries.len() >= most {
                self.has_more = true;
                return Ok(());
            }
            line.clear();
            let read = lines.by_ref().take(MOST_LINE).read_until(b'\n', &mut line)?;
            if read == 0 || (line.last() != Some(&b'\n') && (read as u64) < MOST_LINE) {
                return Ok(());
            }
            self.end.offset += read as u64;
            match serde_json::from_slice(&line) {
                Ok(entry) => self.entries.push(entry),
                Err(_) => self.bad += u64::from(line != b"\n"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn click(page: u32) -> Entry {
        let page = PageRef::from(tidewatch_core::PageId(page));
        Entry::Clicked { at_ms: 5, id: u64::MAX, client: u64::MAX - 1, position: 2, page }
    }

    #[test]
    fn appended_entries_are_read_from_any_mark() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(dir.path()).unwrap();
        log.append(&[click(1), click(2)], 0).unwrap();
        log.append(&[click(3)], 3 * DAY_S).unwrap();
        let all = Rows::read(dir.path(), Mark::default(), 100).unwrap();
        assert_eq!(all.entries, [click(1), click(2), click(3)]);
        let first = Rows::read(dir.path(), Mark::default(), 1).unwrap();
        assert!(first.has_more);
        let rest = Rows::read(dir.path(), Mark::of_bytes(&first.end.to_bytes()), 100).unwrap();
        assert_eq!(rest.entries, [click(2), click(3)]);
        assert_eq!((rest.end, rest.has_more), (all.end, false));
        assert_eq!(Rows::read(dir.path(), all.end, 100).unwrap().entries, []);
        log.tidy(2, 3 * DAY_S).unwrap();
        assert_eq!(Rows::read(dir.path(), Mark::default(), 100).unwrap().entries, [click(3)]);
    }

    #[test]
    fn half_lines_and_nonsense_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(dir.path()).unwrap();
        log.append(&[click(1)], 0).unwrap();
        let path = path_of(dir.path(), 0);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"what\":\"clic").unwrap();
        let rows = Rows::read(dir.path(), Mark::default(), 100).unwrap();
        assert_eq!((rows.entries.len(), rows.bad), (1, 0), "it may still be on its way");
        let mut log = Log::open(dir.path()).unwrap();
        log.append(&[click(2)], 0).unwrap();
        let rows = Rows::read(dir.path(), rows.end, 100).unwrap();
        assert_eq!((rows.entries, rows.bad), (vec![click(2)], 1));
        assert_eq!(Rows::read(&dir.path().join("none"), Mark::default(), 9).unwrap().entries, []);
    }
}
