//! A sorted file of fingerprints that never changes.
//!
//! Entries of 16 bytes in the order of their fingerprints, then the first key
//! of every block of 256 entries, then a footer. The block index is all that
//! stays in memory: 8 bytes for 256 entries. A look-up reads one block.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tidewatch_core::PageId;
use xxhash_rust::xxh3::Xxh3;

use super::{Entry, Fingerprint};

const ENTRY_BYTES: usize = 16;
const BLOCK_ENTRIES: usize = 256;
const FOOTER_BYTES: usize = 24;
const MAGIC: u64 = u64::from_le_bytes(*b"twsieve1");

/// A run that is open for look-ups.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) path: PathBuf,
    file: File,
    len: u64,
    /// The first key of every block.
    index: Vec<u64>,
}

impl Run {
    /// Entries in the run.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Writes sorted entries to `path` and syncs the file.
    pub(super) fn write(
        path: &Path,
        entries: impl Iterator<Item = io::Result<Entry>>,
    ) -> io::Result<Run> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let (mut len, mut index) = (0, Vec::new());
        for entry in entries {
            let entry = entry?;
            if len % BLOCK_ENTRIES as u64 == 0 {
                index.push(entry.fingerprint.key());
            }
            out.write_all(&encode(entry))?;
            len += 1;
        }
        let mut check = Xxh3::new();
        for key in &index {
            out.write_all(&key.to_le_bytes())?;
            check.update(&key.to_le_bytes());
        }
        for word in [len, check.digest(), MAGIC] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Run::open(path)
    }

    /// Opens a run; a file that is not whole is `InvalidData`.
    pub(super) fn open(path: &Path) -> io::Result<Run> {
        let mut file = File::open(path)?;
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let bytes = file.metadata()?.len();
        let body = bytes.checked_sub(FOOTER_BYTES as u64).ok_or_else(damaged)?;
        file.seek(SeekFrom::Start(body))?;
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact(&mut footer)?;
        let [len, check, magic] = words(&footer);
        let blocks = len.div_ceil(BLOCK_ENTRIES as u64);
        let expected = len.checked_mul(ENTRY_BYTES as u64).and_then(|b| b.checked_add(blocks * 8));
        if magic != MAGIC || expected != Some(body) {
            return Err(damaged());
        }
        file.seek(SeekFrom::Start(body - blocks * 8))?;
        let mut index_bytes = vec![0; blocks as usize * 8];
        file.read_exact(&mut index_bytes)?;
        let mut hash = Xxh3::new();
        hash.update(&index_bytes);
        if hash.digest() != check {
            return Err(damaged());
        }
        let index = index_bytes.chunks_exact(8).map(word).collect();
        Ok(Run { path: path.to_owned(), file, len, index })
    }

    /// The page of a fingerprint.
    pub(super) fn get(&self, wanted: Fingerprint) -> io::Result<Option<PageId>> {
        // Equal keys may straddle blocks: start at the last block that begins below.
        let mut block = self.index.partition_point(|&first| first < wanted.key()).saturating_sub(1);
        let mut bytes = [0; BLOCK_ENTRIES * ENTRY_BYTES];
        while self.index.get(block).is_some_and(|&first| first <= wanted.key()) {
            let start = block * BLOCK_ENTRIES;
            let count = BLOCK_ENTRIES.min(self.len as usize - start);
            let bytes = &mut bytes[..count * ENTRY_BYTES];
            self.file.read_exact_at(bytes, (start * ENTRY_BYTES) as u64)?;
            if let Some(page) = find(bytes, wanted) {
                return Ok(Some(page));
            }
            block += 1;
        }
        Ok(None)
    }

    /// All entries, in order.
    pub(super) fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<Entry>> + use<>> {
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&self.path)?);
        let mut left = self.len;
        Ok(std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let mut bytes = [0; ENTRY_BYTES];
            Some(reader.read_exact(&mut bytes).map(|()| decode(&bytes)))
        }))
    }
}

fn find(block: &[u8], wanted: Fingerprint) -> Option<PageId> {
    let (entries, _) = block.as_chunks::<ENTRY_BYTES>();
    let at = entries.binary_search_by_key(&wanted, |bytes| decode(bytes).fingerprint).ok()?;
    Some(decode(&entries[at]).page)
}

fn encode(entry: Entry) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..8].copy_from_slice(&entry.fingerprint.key().to_le_bytes());
    bytes[8..12].copy_from_slice(&entry.fingerprint.check().to_le_bytes());
    bytes[12..].copy_from_slice(&entry.page.0.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; ENTRY_BYTES]) -> Entry {
    let (key, rest) = bytes.split_at(8);
    let rest = word(rest);
    let fingerprint = Fingerprint::new(word(key), rest as u32);
    Entry { fingerprint, page: PageId((rest >> 32) as u32) }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn words(bytes: &[u8; FOOTER_BYTES]) -> [u64; 3] {
    [word(&bytes[..8]), word(&bytes[8..16]), word(&bytes[16..])]
}
