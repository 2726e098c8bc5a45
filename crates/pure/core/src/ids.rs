//! Numbers of pages and hosts, and the hash that identifies a page everywhere.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A page within one crawl: dense, counted up in the order of discovery.
///
/// Dense numbers let a policy keep its state in plain arrays. 32 bits hold 4 billion pages, more
/// than one partition keeps; each partition has its own numbers. A number tells the order of
/// discovery and nothing else: in the lab it hides the ids of the trace.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct PageId(pub u32);

/// A host within one crawl: dense, counted up in the order of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(pub u32);

/// The identity of a page across crawls: the 64-bit hash of its canonical URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageKey(pub u64);

impl PageId {
    /// The number as an array index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl HostId {
    /// The number as an array index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PageKey {
    /// The key of a URL that is already in canonical form.
    pub fn of(canonical_url: &str) -> Self {
        PageKey(xxhash_rust::xxh3::xxh3_64(canonical_url.as_bytes()))
    }
}

impl fmt::Display for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
