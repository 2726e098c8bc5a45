//! Who holds what until when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{PageId, Time};

/// Leases that have not ended. `ends` may hold outdated entries as well; they are dropped when they
/// come up, or when there are too many.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Leases {
    until: FxHashMap<PageId, Time>,
    ends: BinaryHeap<Reverse<(Time, PageId)>>,
}

/// Outdated entries that `ends` may hold beyond the number of leases.
const OUTDATED: usize = 1 << 10;

impl Leases {
    pub(crate) fn begin(&mut self, page: PageId, until: Time) {
        self.until.insert(page, until);
        self.ends.push(Reverse((until, page)));
        if self.ends.len() > 2 * self.until.len() + OUTDATED {
            self.ends.retain(|Reverse((until, page))| self.until.get(page) == Some(until));
        }
    }

    /// Ends a lease early.
    pub(crate) fn end(&mut self, page: PageId) {
        self.until.remove(&page);
    }

    /// The next lease that has ended at `now`; it is forgotten.
    pub(crate) fn ended(&mut self, now: Time) -> Option<PageId> {
        while let Some(&Reverse((until, page))) = self.ends.peek().filter(|next| next.0.0 <= now) {
            self.ends.pop();
            if self.until.get(&page) == Some(&until) {
                self.until.remove(&page);
                return Some(page);
            }
        }
        None
    }

    /// A time before which no lease ends.
    pub(crate) fn first_end(&self) -> Option<Time> {
        self.ends.peek().map(|Reverse((end, _))| *end)
    }

    /// When the lease on a page ends.
    pub(crate) fn until(&self, page: PageId) -> Option<Time> {
        self.until.get(&page).copied()
    }
}
