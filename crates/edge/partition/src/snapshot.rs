//! The frontier as it was at some batch of the tape, in a file.
//!
//! Playing a whole tape takes long; with a snapshot only what came after it is played. A snapshot is only
//! a short cut: if it is missing, damaged or newer than the tables, the whole tape is played. Decisions
//! played after it are checked as always.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use tidewatch_core::Time;
use tidewatch_frontier::Frontier;
use tidewatch_policy::Policy;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const NAME: &str = "frontier.snapshot";
/// Begins the file; the last character counts versions.
const MAGIC: &[u8; 8] = b"tidesnp6";
/// Magic, checksum, batch, time.
const HEAD: usize = 32;
/// Bytes read or written at a time.
const BUFFER: usize = 1 << 20;

/// A frontier, and where the tape goes on.
pub(crate) struct Snapshot {
    pub(crate) frontier: Frontier<'static>,
    /// The first batch after it.
    pub(crate) batch: u64,
    /// The latest time of any input before it.
    pub(crate) last: Time,
}

/// Writes a snapshot atomically. `false` if the policy cannot be saved.
pub(crate) fn write(
    dir: &Path,
    frontier: &Frontier<'_>,
    batch: u64,
    last: Time,
) -> io::Result<bool> {
    let new = dir.join("frontier.new");
    let mut file = File::create(&new)?;
    file.seek(SeekFrom::Start(HEAD as u64))?;
    let mut to = BufWriter::with_capacity(BUFFER, Summed { file, sum: Xxh3::new() });
    if !frontier.save(&mut to)? {
        fs::remove_file(new)?;
        return Ok(false);
    }
    let Summed { mut file, sum } = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[16..24].copy_from_slice(&batch.to_le_bytes());
    head[24..].copy_from_slice(&last.as_micros().to_le_bytes());
    let sum = checksum(&head[16..], &sum);
    head[8..16].copy_from_slice(&sum.to_le_bytes());
    file.rewind()?;
    file.write_all(&head)?;
    file.sync_data()?;
    fs::rename(new, dir.join(NAME))?;
    File::open(dir)?.sync_all()?;
    Ok(true)
}

/// The snapshot of a directory, if there is a valid one from before `next_batch`.
pub(crate) fn read(dir: &Path, policy: Box<dyn Policy>, next_batch: u64) -> Option<Snapshot> {
    // Read twice: the checksum is verified before anything is decoded.
    let (mut file, batch, last) = verified(&dir.join(NAME))?;
    if batch > next_batch {
        return None;
    }
    file.seek(SeekFrom::Start(HEAD as u64)).ok()?;
    let mut from = BufReader::with_capacity(BUFFER, file);
    let frontier = Frontier::load(policy, &mut from)?;
    Some(Snapshot { frontier, batch, last: Time::from_micros(last) })
}

/// Whether the snapshot in a crawl's directory is whole; `None` if there is none.
pub fn check_snapshot(dir: &Path) -> Option<bool> {
    let path = dir.join(NAME);
    path.exists().then(|| verified(&path).is_some())
}

/// A snapshot's file with its batch and time, if it matches its checksum.
fn verified(path: &Path) -> Option<(File, u64, u64)> {
    let mut file = File::open(path).ok()?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    let number = |at: usize| head[at..at + 8].try_into().ok().map(u64::from_le_bytes);
    let (sum, batch, last) = (number(8)?, number(16)?, number(24)?);
    let is_good = head[..8] == *MAGIC && sum == checksum(&head[16..], &sum_of(&mut file).ok()?);
    is_good.then_some((file, batch, last))
}

/// Checksum of head and state.
fn checksum(head: &[u8], state: &Xxh3) -> u64 {
    xxh3_64(head) ^ state.digest().rotate_left(1)
}

/// Checksum of the rest of a file.
fn sum_of(file: &mut File) -> io::Result<Xxh3> {
    let (mut sum, mut buffer) = (Xxh3::new(), vec![0; BUFFER]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum),
            read => sum.update(&buffer[..read]),
        }
    }
}

/// A file that hashes what is written to it.
struct Summed {
    file: File,
    sum: Xxh3,
}

impl io::Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
