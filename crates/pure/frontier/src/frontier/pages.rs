//! What the frontier keeps of every page: its host, and what decides the kind of its next fetch.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Discovery, Event, FetchKind, HostId, Observation, Outcome, PageId};

/// The page is watched for new links.
const SOURCE: u8 = 1;
/// A source revealed the page.
const FROM_SOURCE: u8 = 2;
/// The collection holds a copy.
const HELD: u8 = 4;

/// Five bytes a page, by page number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pages {
    hosts: Vec<HostId>,
    marks: Vec<u8>,
}

impl Pages {
    pub(super) fn len(&self) -> usize {
        self.hosts.len()
    }

    pub(super) fn host(&self, page: PageId) -> Option<HostId> {
        self.hosts.get(page.index()).copied()
    }

    pub(super) fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// The kind of a fetch of `page` that ends now.
    pub(super) fn fetch_kind(&self, page: PageId) -> FetchKind {
        let mark = self.marks[page.index()];
        match (mark & HELD != 0, mark & SOURCE != 0) {
            (true, true) => FetchKind::Source,
            (true, false) => FetchKind::Refresh,
            (false, false) if mark & FROM_SOURCE != 0 => FetchKind::New,
            (false, _) => FetchKind::Frontier,
        }
    }

    pub(super) fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => self.add(found),
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen),
            _ => {}
        }
    }

    fn add(&mut self, found: &Discovery<'_>) {
        debug_assert_eq!(found.page.index(), self.hosts.len(), "pages are numbered in order");
        let via = found.via.and_then(|via| self.marks.get(via.index()));
        let is_from_source = via.is_some_and(|via| via & SOURCE != 0);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        self.hosts.push(found.host);
        self.marks.push(
            flag(found.is_source, SOURCE)
                | flag(is_from_source, FROM_SOURCE)
                | flag(found.is_held, HELD),
        );
    }

    /// A failed fetch leaves the copy as it is.
    fn settle(&mut self, seen: &Observation<'_>) {
        let mark = &mut self.marks[seen.page.index()];
        match seen.outcome {
            Outcome::Fetched(_) => *mark |= HELD,
            Outcome::Gone => *mark &= !HELD,
            Outcome::Failed(_) => {}
        }
    }
}
