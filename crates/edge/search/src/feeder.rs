//! Hands pages of a partition to the indexer without blocking the crawl.
//!
//! The feeder runs on the partition's thread. It keeps one bit per page, set while the index may lag
//! behind the store and cleared when the indexer's bounded queue accepts the page. At the start the
//! feeder scans the store, a little at a time, and sets the bits of pages that the index has
//! missed: a few after a crash, all if the index was lost.
//!
//! Documents that the crawl has parsed wait beside the bits, within a limit ([`crate::handed`]).

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Time};
use tidewatch_parse::extract::Extract;
use tidewatch_robots::Use;
use tidewatch_store::{CopyRow, Place, Store, StoreError};

use crate::PageRef;
use crate::bits::Bits;
use crate::handed::{Handed, Waiting};

/// Longest that one call may scan for missed pages.
const SCAN: Duration = Duration::from_millis(5);
/// Copies scanned between two clock readings.
const SCAN_STEP: usize = 64;

/// A task of the indexer.
#[derive(Debug)]
pub(crate) enum Task {
    /// Index a copy.
    Put(Box<Put>),
    /// Remove a page.
    Remove(PageRef),
    /// A partition has handed over everything that changed before this time of it, microseconds.
    UpTo(u32, u64),
}

/// A copy to be indexed.
#[derive(Debug)]
pub(crate) struct Put {
    /// The page.
    pub(crate) page: PageRef,
    /// Its address.
    pub(crate) url: CanonicalUrl,
    /// The archive file that holds its copy.
    pub(crate) file: PathBuf,
    /// The offset in `file`.
    pub(crate) offset: u64,
    /// When it last changed, seconds of Unix time.
    pub(crate) changed_s: i64,
    /// Its sketch.
    pub(crate) sketch: Vec<u64>,
    /// The words of the copy, as the crawl extracted them; read back from the archive if missing.
    pub(crate) handed: Option<Handed>,
}

/// Converts a time of the crawl to microseconds of Unix time.
pub type Unix<'u> = &'u dyn Fn(Time) -> i64;

/// A partition's side of the indexer.
pub struct Feeder {
    partition: u32,
    tasks: SyncSender<Task>,
    dirty: Bits,
    waiting: Waiting,
    archive: PathBuf,
    /// Changes before this time have been seen.
    seen: Time,
    scan: Option<Scan>,
}

/// The scan for pages that the index has missed.
struct Scan {
    next: PageId,
    /// Pages that the index has.
    held: Bits,
    /// Pages handed over since the scan began.
    fed: Bits,
    /// Changes before this time are in the index, if it has the page at all.
    since: Time,
}

impl Feeder {
    /// Feeds the pages of a partition, which lies in `dir`. The index has the pages `held`, with all
    /// changes before `up_to`, in microseconds.
    pub(crate) fn new(
        tasks: SyncSender<Task>,
        partition: u32,
        dir: &Path,
        waiting: Waiting,
        held: Bits,
        up_to: u64,
    ) -> Feeder {
        let scan =
            Scan { next: PageId(0), held, fed: Bits::default(), since: Time::from_micros(up_to) };
        let (dirty, archive) = (Bits::default(), dir.join("archive"));
        Feeder { partition, tasks, dirty, waiting, archive, seen: Time::ZERO, scan: Some(scan) }
    }

    /// Whether the scan for missed pages is over.
    pub const fn is_even(&self) -> bool {
        self.scan.is_none()
    }

    /// Whether parsed pages wait for room in the indexer's queue.
    pub fn has_parsed(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Call when the crawl has parsed a page; its copy will be stored.
    pub fn extracted(&mut self, page: PageId, extract: Extract) {
        self.waiting.keep(page, extract);
    }

    /// Call when a page is gone.
    pub fn gone(&mut self, page: PageId) {
        self.waiting.forget(page);
        self.dirty.set(page);
    }

    /// Call when copies of `pages`, new or confirmed, are stored, at crawl time `now`.
    pub fn stored(
        &mut self,
        store: &Store,
        pages: &[PageId],
        now: Time,
        unix: Unix<'_>,
    ) -> Result<(), StoreError> {
        for &page in pages {
            // A copy that was only confirmed is in the index already.
            let copy = store.tables()?.copy(page)?;
            if copy.is_none_or(|copy| copy.changed_at >= self.seen) {
                self.dirty.set(page);
            } else {
                self.waiting.forget(page);
            }
        }
        self.seen = now;
        self.feed(store, unix)
    }

    /// Hands over as many pages as the queue accepts.
    pub fn feed(&mut self, store: &Store, unix: Unix<'_>) -> Result<(), StoreError> {
        self.look_for_missed(store)?;
        let had_some = self.dirty.count() > 0;
        while let Some(page) = self.dirty.first() {
            let task = self.task(store, page, unix)?;
            match self.tasks.try_send(task) {
                Ok(()) => {
                    self.dirty.clear(page);
                    self.scan.iter_mut().for_each(|scan| scan.fed.set(page));
                }
                Err(TrySendError::Full(task) | TrySendError::Disconnected(task)) => {
                    if let Task::Put(put) = task
                        && let Some(handed) = put.handed
                    {
                        self.waiting.put_back(page, handed);
                    }
                    return Ok(());
                }
            }
        }
        if had_some && self.scan.is_none() {
            // If the queue is full, the next start only rescans more than needed.
            let _ = self.tasks.try_send(Task::UpTo(self.partition, self.seen.as_micros()));
        }
        Ok(())
    }

    fn task(&mut self, store: &Store, page: PageId, unix: Unix<'_>) -> Result<Task, StoreError> {
        let tables = store.tables()?;
        let gone = || Ok(Task::Remove(PageRef::new(self.partition, page)));
        let Some(copy) = tables.copy(page)?.filter(|copy| !is_denied(copy)) else { return gone() };
        let damaged = || StoreError::Damaged { table: "pages", key: u64::from(page.0) };
        let row = tables.page(page)?.ok_or_else(damaged)?;
        let host = tables.host(row.host)?.ok_or_else(damaged)?;
        let url = CanonicalUrl::parse(&format!("{}{}", host.origin, row.path));
        let Ok(url) = url else { return gone() };
        let changed_s = unix(copy.changed_at).div_euclid(1_000_000);
        Ok(Task::Put(Box::new(self.put(page, url, copy, changed_s))))
    }

    fn put(&mut self, page: PageId, url: CanonicalUrl, copy: CopyRow, changed_s: i64) -> Put {
        let Place { file, offset, .. } = copy.place;
        let file = tidewatch_archive::path_of(&self.archive, file);
        let handed = self.waiting.take(page);
        let page = PageRef::new(self.partition, page);
        Put { page, url, file, offset, changed_s, sketch: copy.sketch, handed }
    }

    /// Continues the scan through the store, for at most [`SCAN`].
    fn look_for_missed(&mut self, store: &Store) -> Result<(), StoreError> {
        let Some(mut scan) = self.scan.take() else { return Ok(()) };
        let began = Instant::now();
        let mut copies = store.tables()?.copies_from(scan.next);
        while began.elapsed() < SCAN {
            for row in copies.by_ref().take(SCAN_STEP) {
                let (page, copy) = row?;
                // Numbers without a copy are gone, if the index has them.
                (scan.next.0..page.0)
                    .map(PageId)
                    .filter(|page| scan.held.has(*page))
                    .for_each(|page| self.dirty.set(page));
                let is_missed = !scan.held.has(page) || copy.changed_at >= scan.since;
                if is_missed && !scan.fed.has(page) {
                    self.dirty.set(page);
                }
                scan.next = PageId(page.0 + 1);
            }
            if store.tables()?.copies_from(scan.next).next().is_none() {
                (scan.next.0..store.pages())
                    .map(PageId)
                    .filter(|page| scan.held.has(*page))
                    .for_each(|page| self.dirty.set(page));
                return Ok(());
            }
        }
        self.scan = Some(scan);
        Ok(())
    }
}
/// Whether the owner of a page denies its use for search.
fn is_denied(copy: &CopyRow) -> bool {
    copy.capture.as_ref().is_some_and(|capture| capture.wishes.denies(Use::Search))
}
