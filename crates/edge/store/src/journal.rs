//! The engine's journals, checked before the engine reads them.
//!
//! The engine cuts a journal at the first batch that it cannot read and silently loses everything
//! after it. After a crash that is right: the last batch may be torn. After a flipped bit it loses
//! stored data. So the journals are read here first, by their own checksums, and compared with what
//! the last sync made durable ([`crate::guard`]).
//!
//! # Format
//!
//! A journal is a file `N.jnl`, the highest N being the one that grows. It holds batches and then zeros:
//!
//! ```text
//! batch = 1 u8, items u32, number u64; items; 3 u8, checksum u64 (xxh3 of the items' bytes), "FJL" 3 u8
//! item  = 2 u8, kind u8, compression u8, table u64, key length u16, value length u32,
//!         bytes of the value u32, key, value
//!       | 4 u8, table u64
//! ```
//!
//! Numbers are little-endian.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

/// Most numbers that the engine skips between two batches; each takes one, and so does a flush.
const MOST_SKIPPED: u64 = 1 << 24;

/// A journal, as far as it is readable.
#[derive(Debug)]
pub(crate) struct Journal {
    /// The file.
    pub(crate) path: PathBuf,
    /// Bytes of whole batches, from the beginning.
    pub(crate) whole: u64,
    /// Whether something other than zeros follows them.
    pub(crate) has_rest: bool,
    /// The number of the last batch on the tape that it holds.
    pub(crate) last_tape: Option<u64>,
    /// Whole batches behind the first that is not whole.
    islands: Vec<Range<usize>>,
}

/// The journals of the tables in `db`, oldest first; none if there are no tables. `tape_table` is the
/// engine's number of the table of the tape.
pub(crate) fn read(db: &Path, tape_table: u64) -> io::Result<Vec<Journal>> {
    let mut found = Vec::new();
    let files = match fs::read_dir(db) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    for file in files {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(".jnl")).map(str::parse::<u64>);
        if let Some(Ok(number)) = number {
            found.push((number, path));
        }
    }
    found.sort();
    let mut last_number = None;
    found.into_iter().map(|(_, path)| Journal::read(path, tape_table, &mut last_number)).collect()
}

impl Journal {
    /// Cuts off a torn tail. The engine cuts some tails itself and refuses to open with others, such
    /// as a last batch of which a page in the middle never reached the disk.
    pub(crate) fn cut_rest(&self) -> io::Result<()> {
        if self.has_rest {
            let file = fs::OpenOptions::new().write(true).open(&self.path)?;
            file.set_len(self.whole)?;
            file.sync_all()?;
        }
        Ok(())
    }

    /// Its bytes up to the first batch that is not whole.
    pub(crate) fn head(&self) -> io::Result<Vec<u8>> {
        let mut bytes = fs::read(&self.path)?;
        bytes.truncate(self.whole as usize);
        Ok(bytes)
    }

    /// All of its whole batches, without the damaged parts between them.
    pub(crate) fn whole_batches(&self) -> io::Result<Vec<u8>> {
        let bytes = fs::read(&self.path)?;
        let islands = self.islands.iter().filter_map(|range| bytes.get(range.clone()));
        let head = bytes.get(..self.whole as usize);
        Ok(head.into_iter().chain(islands).collect::<Vec<_>>().concat())
    }

    /// Reads a journal whose batches follow `last_number`, and sets that to its own last one.
    fn read(path: PathBuf, tape_table: u64, last_number: &mut Option<u64>) -> io::Result<Journal> {
        let bytes = fs::read(&path)?;
        let (mut whole, mut last_tape) = (0, None);
        while let Some(batch) = batch_after(&bytes, whole, tape_table, *last_number) {
            (whole, *last_number) = (batch.end, Some(batch.number));
            last_tape = last_tape.max(batch.tape);
        }
        let has_rest = bytes[whole..].iter().any(|&byte| byte != 0);
        let islands =
            if has_rest { islands(&bytes, whole, tape_table, *last_number) } else { Vec::new() };
        Ok(Journal { path, whole: whole as u64, has_rest, last_tape, islands })
    }
}

/// The batch that begins at `at`, if it is whole and may follow batch `last`. No checksum covers the
/// numbers of batches, but they grow, and by little.
fn batch_after(bytes: &[u8], at: usize, tape_table: u64, last: Option<u64>) -> Option<Batch> {
    let follows =
        |number: u64| last.is_none_or(|last| last < number && number - last <= MOST_SKIPPED);
    batch(bytes, at, tape_table).filter(|batch| follows(batch.number))
}

/// Whole batches from `at` on, wherever they begin.
fn islands(
    bytes: &[u8],
    mut at: usize,
    tape_table: u64,
    mut last: Option<u64>,
) -> Vec<Range<usize>> {
    let mut islands = Vec::new();
    while at < bytes.len() {
        match batch_after(bytes, at, tape_table, last) {
            Some(batch) => {
                islands.push(at..batch.end);
                (at, last) = (batch.end, Some(batch.number));
            }
            None => at += 1,
        }
    }
    islands
}

/// A whole batch.
struct Batch {
    end: usize,
    number: u64,
    /// Its number on the tape, if it is there.
    tape: Option<u64>,
}

/// The batch that begins at `at`; `None` if it is not whole.
fn batch(bytes: &[u8], at: usize, tape_table: u64) -> Option<Batch> {
    let mut input = Input { bytes, at };
    if input.take::<1>()? != [1] {
        return None;
    }
    let (items, number) = (u32::from_le_bytes(input.take()?), u64::from_le_bytes(input.take()?));
    let (mut sum, mut tape) = (Xxh3::new(), None);
    for _ in 0..items {
        let from = input.at;
        input.item(tape_table, &mut tape)?;
        sum.update(&bytes[from..input.at]);
    }
    let is_end = input.take::<1>()? == [3] && u64::from_le_bytes(input.take()?) == sum.digest();
    let is_whole = is_end && input.take::<4>()? == *b"FJL\x03";
    is_whole.then_some(Batch { end: input.at, number, tape })
}

struct Input<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Input<'b> {
    fn slice(&mut self, length: usize) -> Option<&'b [u8]> {
        let slice = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(slice)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.slice(N)?.try_into().ok()
    }

    /// Reads an item and puts its key into `tape`, if it is a row of the tape. `None` if it is not whole.
    fn item(&mut self, tape_table: u64, tape: &mut Option<u64>) -> Option<()> {
        match self.take()? {
            [4] => {
                self.slice(8)?;
            }
            [2] => {
                self.slice(2)?;
                let table = u64::from_le_bytes(self.take()?);
                let key = usize::from(u16::from_le_bytes(self.take()?));
                self.slice(4)?;
                let value = u32::from_le_bytes(self.take()?) as usize;
                let key = self.slice(key)?;
                self.slice(value)?;
                if table == tape_table
                    && let Ok(key) = key.try_into()
                {
                    *tape = Some(u64::from_be_bytes(key));
                }
            }
            _ => return None,
        }
        Some(())
    }
}
