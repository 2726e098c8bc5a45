//! A sorted file of fingerprints that never changes.
//!
//! Entries of 16 bytes in the order of their fingerprints; then, for every block of 256 entries, its
//! first key and its checksum; then a footer. The list of blocks is all that stays in memory: 16
//! bytes for 256 entries. A look-up reads one block and verifies its checksum.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tidewatch_core::PageId;
use xxhash_rust::xxh3::xxh3_64;

use super::{Entry, Fingerprint};

const ENTRY_BYTES: usize = 16;
const BLOCK_ENTRIES: usize = 256;
const BLOCK_BYTES: usize = BLOCK_ENTRIES * ENTRY_BYTES;
/// A block's first key and checksum in the list of blocks.
const LISTED_BYTES: usize = 16;
const FOOTER_BYTES: usize = 24;
const MAGIC: u64 = u64::from_le_bytes(*b"twsieve2");

#[derive(Clone, Copy, Debug)]
struct Block {
    first_key: u64,
    checksum: u64,
}

/// A run that is open for look-ups.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) path: PathBuf,
    file: File,
    len: u64,
    blocks: Vec<Block>,
}

impl Run {
    /// Entries in the run.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Writes sorted entries to `path` and syncs the file.
    pub(super) fn write(
        path: &Path,
        mut entries: impl Iterator<Item = io::Result<Entry>>,
    ) -> io::Result<Run> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let (mut len, mut list) = (0, Vec::new());
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        loop {
            block.clear();
            for entry in entries.by_ref().take(BLOCK_ENTRIES) {
                block.extend_from_slice(&encode(entry?));
            }
            let Some((first_key, _)) = block.split_first_chunk::<8>() else { break };
            list.extend_from_slice(first_key);
            list.extend_from_slice(&xxh3_64(&block).to_le_bytes());
            out.write_all(&block)?;
            len += (block.len() / ENTRY_BYTES) as u64;
        }
        out.write_all(&list)?;
        for word in [len, xxh3_64(&list), MAGIC] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Run::open(path)
    }

    /// Opens a run; a file that is not whole is `InvalidData`. Reads the list of blocks only.
    pub(super) fn open(path: &Path) -> io::Result<Run> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let body = bytes.checked_sub(FOOTER_BYTES as u64).ok_or_else(damaged)?;
        file.seek(SeekFrom::Start(body))?;
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact(&mut footer)?;
        let [len, checksum, magic] = words(&footer);
        let list_bytes = len.div_ceil(BLOCK_ENTRIES as u64).saturating_mul(LISTED_BYTES as u64);
        let expected =
            len.checked_mul(ENTRY_BYTES as u64).and_then(|entries| entries.checked_add(list_bytes));
        if magic != MAGIC || expected != Some(body) {
            return Err(damaged());
        }
        file.seek(SeekFrom::Start(body - list_bytes))?;
        let mut list = vec![0; list_bytes as usize];
        file.read_exact(&mut list)?;
        if xxh3_64(&list) != checksum {
            return Err(damaged());
        }
        let (listed, _) = list.as_chunks::<LISTED_BYTES>();
        let block = |bytes: &[u8; LISTED_BYTES]| {
            let (first_key, checksum) = bytes.split_at(8);
            Block { first_key: word(first_key), checksum: word(checksum) }
        };
        let blocks = listed.iter().map(block).collect();
        Ok(Run { path: path.to_owned(), file, len, blocks })
    }

    /// The page of a fingerprint; `InvalidData` if the block that would hold it is damaged.
    pub(super) fn get(&self, wanted: Fingerprint) -> io::Result<Option<PageId>> {
        // Equal keys may straddle blocks: start at the last block that begins below.
        let is_below = |block: &Block| block.first_key < wanted.key();
        let mut at = self.blocks.partition_point(is_below).saturating_sub(1);
        let mut bytes = [0; BLOCK_BYTES];
        while self.blocks.get(at).is_some_and(|block| block.first_key <= wanted.key()) {
            if let Some(page) = find(self.read(at, &mut bytes)?, wanted) {
                return Ok(Some(page));
            }
            at += 1;
        }
        Ok(None)
    }

    /// Reads a block and verifies its checksum.
    fn read<'b>(&self, at: usize, bytes: &'b mut [u8; BLOCK_BYTES]) -> io::Result<&'b [u8]> {
        let start = at * BLOCK_ENTRIES;
        let count = BLOCK_ENTRIES.min(self.len as usize - start);
        let bytes = &mut bytes[..count * ENTRY_BYTES];
        self.file.read_exact_at(bytes, (start * ENTRY_BYTES) as u64)?;
        if xxh3_64(bytes) == self.blocks[at].checksum { Ok(bytes) } else { Err(damaged()) }
    }

    /// All entries, in order; an error in the place of a damaged block.
    pub(super) fn entries(self) -> impl Iterator<Item = io::Result<Entry>> {
        (0..self.blocks.len()).flat_map(move |at| {
            let mut bytes = [0; BLOCK_BYTES];
            match self.read(at, &mut bytes) {
                Ok(block) => block.as_chunks().0.iter().map(|bytes| Ok(decode(bytes))).collect(),
                Err(error) => vec![Err(error)],
            }
        })
    }

    /// Reads every block; `InvalidData` if one is damaged.
    pub(super) fn check(&self) -> io::Result<()> {
        let mut bytes = [0; BLOCK_BYTES];
        (0..self.blocks.len()).try_for_each(|at| self.read(at, &mut bytes).map(|_| ()))
    }
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
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
