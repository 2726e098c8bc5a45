//! What the last sync made durable, in a file of its own beside the tables.
//!
//! The tables cannot tell whether they once held more. This file can: after each sync it says how
//! long the tape was and how many pages there were. It is written after the sync and never synced
//! itself, so it may be older than the tables but is never newer.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

/// The file's name.
pub(crate) const NAME: &str = "synced";

/// What was durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Batches on the tape.
    pub tape: u64,
    /// Pages.
    pub pages: u32,
}

impl Synced {
    /// Reads a directory's file; zeros if it is missing or damaged.
    pub fn read(dir: &Path) -> Synced {
        let text = std::fs::read_to_string(dir.join(NAME)).unwrap_or_default();
        Synced::parse(&text).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Synced> {
        let mut words = text.split_whitespace();
        let found =
            Synced { tape: words.next()?.parse().ok()?, pages: words.next()?.parse().ok()? };
        (text == found.text()).then_some(found)
    }

    /// Of fixed length, so that overwriting leaves no remainder.
    fn text(self) -> String {
        let numbers = format!("{:020} {:010}", self.tape, self.pages);
        let sum = xxh3_64(numbers.as_bytes());
        format!("{numbers} {sum:016x}\n")
    }
}

/// The file that says what the last sync made durable, open.
#[derive(Debug)]
pub struct Mark(File);

impl Mark {
    /// Opens the file, or makes it, with its name synced.
    pub fn open(dir: &Path) -> io::Result<Mark> {
        let (path, mut options) = (dir.join(NAME), OpenOptions::new());
        let is_new = !path.exists();
        let file = options.create(true).truncate(false).write(true).open(path)?;
        if is_new {
            File::open(dir)?.sync_all()?;
        }
        Ok(Mark(file))
    }

    /// Replaces what the file says.
    pub fn write(&self, synced: Synced) -> io::Result<()> {
        self.0.write_all_at(synced.text().as_bytes(), 0)
    }
}
