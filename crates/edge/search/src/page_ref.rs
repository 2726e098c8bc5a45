//! A page among all partitions of a crawl.

use serde::{Deserialize, Serialize};
use tidewatch_core::PageId;

/// A page's partition and its number there, as one number: `partition · 2³² + page`. In a crawl with
/// one partition that is the page's number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PageRef(u64);

impl PageRef {
    /// A page of a partition.
    pub fn new(partition: u32, page: PageId) -> PageRef {
        PageRef(u64::from(partition) << 32 | u64::from(page.0))
    }

    /// The page of a [`number`](PageRef::number).
    pub const fn of_number(number: u64) -> PageRef {
        PageRef(number)
    }

    /// Partition and page as one number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The partition.
    pub const fn partition(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The page's number in its partition.
    pub const fn page(self) -> PageId {
        PageId(self.0 as u32)
    }
}

/// A page of a crawl with one partition.
impl From<PageId> for PageRef {
    fn from(page: PageId) -> PageRef {
        PageRef::new(0, page)
    }
}
