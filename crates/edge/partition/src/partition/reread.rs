//! Reads the copies again after the scope has changed.
//!
//! A link that the scope drops is stored nowhere but in its page, whose newest copy is in the archive.
//! So a start with another scope reads every copy once more and takes in the links that are now in
//! scope. It does so beside the crawl, a slice of time in every turn of the loop, one copy in memory at
//! a time; the position is stored, so the next start goes on where this one stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use tidewatch_archive::{path_of, read_at};
use tidewatch_core::{PageId, Time};
use tidewatch_store::{CopyRow, StoreError};

use super::{CrawlError, Found, Partition, SCOPE};
use crate::pages::Pages;
use crate::read::{links_of, requisites_of};
use crate::work::Content;

/// Name under which the store keeps the next copy to be read; empty once all are.
const NAME: &str = "reread";
/// Time for it in one turn of the loop: requests wait no longer than this for their answer.
const SLICE: Duration = Duration::from_millis(20);

/// The copies that are still to be read.
pub(super) struct Reread {
    next: PageId,
    /// Pages from here on became known under the new scope.
    end: PageId,
    /// Copies taken since then were read under the new scope.
    began: Time,
}

impl Reread {
    /// Stores the scope. Returns what is to be read again: everything if the scope is another one or
    /// other hosts are the operator's own, else what an earlier run left.
    pub(super) fn of(
        pages: &mut Pages,
        scope: String,
        is_own_other: bool,
        now: Time,
    ) -> Result<Option<Reread>, StoreError> {
        let end = PageId(pages.store().pages());
        let stored = pages.meta(SCOPE)?;
        // The first versions stored no scope; what they dropped is looked for once.
        let is_other =
            stored.as_ref().map_or(end.0 > 0, |stored| stored.as_slice() != scope.as_bytes());
        if is_other || (is_own_other && end.0 > 0) {
            pages.put_meta(NAME, 0_u32.to_le_bytes().to_vec());
        }
        if is_other || stored.is_none() {
            pages.put_meta(SCOPE, scope.into_bytes());
        }
        let left =
            pages.meta(NAME)?.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        Ok(left.map(|next| Reread { next: PageId(next), end, began: now }))
    }
}

impl Partition {
    /// Reads copies again for a moment, if the scope has changed. The loop calls it every turn.
    pub fn reread(&mut self, now: Time) -> Result<(), CrawlError> {
        let Some(Reread { mut next, end, began }) = self.reread else { return Ok(()) };
        let start = Instant::now();
        while next < end && start.elapsed() < SLICE {
            self.reread_page(next, began, now)?;
            next = PageId(next.0 + 1);
        }
        let is_done = next >= end;
        self.reread = (!is_done).then_some(Reread { next, end, began });
        let left = if is_done { Vec::new() } else { next.0.to_le_bytes().to_vec() };
        self.pages.put_meta(NAME, left);
        Ok(())
    }

    /// Pages read again because the scope has changed, and how many there are; `None` if none is left.
    pub fn rereading(&self) -> Option<(u32, u32)> {
        self.reread.as_ref().map(|left| (left.next.0, left.end.0))
    }

    fn reread_page(&mut self, page: PageId, began: Time, now: Time) -> Result<(), CrawlError> {
        self.reopen_if_allowed(page, now)?;
        let is_due = |copy: &CopyRow| copy.at <= began && copy.place.bytes > 0;
        let Some(mut copy) = self.pages.copy(page)?.filter(is_due) else { return Ok(()) };
        let file = path_of(&self.pages.store().dir().join("archive"), copy.place.file);
        // A record that is lost is fetched again in its own time.
        let Ok(record) = read_at(&file, copy.place.offset) else { return Ok(()) };
        let (url, row) = (self.address(page)?, self.pages.page_row(page)?);
        // A page that makes the parser panic has no requisites and no links.
        if self.config.scope.requisites {
            let content_type = record.http_header("content-type");
            let read = || requisites_of(&url, content_type.as_deref(), record.message().1);
            let requisites = catch_unwind(AssertUnwindSafe(read)).unwrap_or_default();
            self.need(page, &row, &mut Content { requisites, ..Content::default() }, now)?;
        }
        if row.hops.is_requisite() {
            return Ok(());
        }
        let read = || links_of(&url, &record, &self.config.agent);
        let (links, feeds) = catch_unwind(AssertUnwindSafe(read)).unwrap_or_default();
        let depth = row.depth.saturating_add(1);
        let found = Found { via: Some(page), depth, ..Found::named(false) };
        let mut seen = Vec::with_capacity(links.len());
        for link in &links {
            // The rules of its host may not be in memory yet.
            if let Some(host) = self.pages.host_of(link.origin()) {
                self.read_robots(host)?;
            }
            seen.extend(self.link(link, found, now)?.map(|link| link.page));
        }
        for feed in &feeds {
            self.link(feed, Found { is_source: true, ..found }, now)?;
        }
        if seen != copy.links {
            copy.links = seen;
            self.pages.put_copy(page, copy);
        }
        Ok(())
    }
}
