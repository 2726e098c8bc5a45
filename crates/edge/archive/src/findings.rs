//! What is wrong with an archive.

use std::fmt;
use std::ops::Range;

use crate::Location;

/// Something an archive should hold and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A WARC file is gone.
    Missing {
        /// Its number.
        file: u32,
    },
    /// A WARC file is shorter than it was when it was synced.
    Short {
        /// Its number.
        file: u32,
        /// Its length now.
        length: u64,
        /// Its length then.
        synced: u64,
    },
    /// A part of a WARC file is no record, or a record that does not match its digest.
    Unreadable {
        /// The file's number.
        file: u32,
        /// The bytes concerned.
        range: Range<u64>,
        /// What is wrong with them.
        what: &'static str,
    },
    /// An index is missing, out of order, or does not name the records of its WARC file.
    /// [`Archive::open`](crate::Archive::open) rebuilds it.
    Index {
        /// The number of its WARC file.
        file: u32,
    },
}

impl Damage {
    /// Whether a record there is lost by this damage.
    fn hits(&self, place: Location) -> bool {
        match self {
            Damage::Missing { file } => place.file == *file,
            Damage::Short { file, length, .. } => place.file == *file && place.end() > *length,
            Damage::Unreadable { file, range, .. } => {
                place.file == *file && place.offset < range.end && range.start < place.end()
            }
            Damage::Index { .. } => false,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Missing { file } => write!(f, "tidewatch-{file:05}.warc.gz is missing"),
            Damage::Short { file, length, synced } => {
                write!(f, "tidewatch-{file:05}.warc.gz has {length} of its {synced} bytes")
            }
            Damage::Unreadable { file, range: Range { start, end }, what } => {
                write!(f, "tidewatch-{file:05}.warc.gz, bytes {start} to {end}: {what}")
            }
            Damage::Index { file } => {
                write!(f, "tidewatch-{file:05}.cdxj does not match its WARC file")
            }
        }
    }
}

/// What [`Archive::open`](crate::Archive::open) or [`check_archive`](crate::check_archive) found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Everything damaged.
    pub damage: Vec<Damage>,
    /// Bytes behind the last whole record that were never synced: what a crash left half.
    pub torn_bytes: u64,
    /// Files of which the index had to be rebuilt.
    pub reindexed: Vec<u32>,
    /// The file that grows and where it ends.
    pub end: (u32, u64),
}

impl Findings {
    /// Whether no record is lost and nothing had to be mended.
    pub const fn is_clean(&self) -> bool {
        self.damage.is_empty() && self.torn_bytes == 0 && self.reindexed.is_empty()
    }

    /// Whether the record at a place is damaged, or is not in the archive at all. Cheap: it looks
    /// at these findings only, and [`verify`](crate::verify) at the record.
    pub fn is_lost(&self, place: Location) -> bool {
        (place.file, place.end()) > self.end || self.damage.iter().any(|damage| damage.hits(place))
    }
}
