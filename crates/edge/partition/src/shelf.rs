//! The archive as a partition uses it: where a body lies, and whether it is still there.
//!
//! The tables must never be ahead of the archive, whenever a crash strikes. So a copy is committed
//! only after its record is synced ([`Shelf::sync`] comes before [`crate::Partition::commit`]
//! writes the tables), and a place that the files do not reach counts as missing: its page is then
//! fetched without conditions and archived anew.

use std::path::Path;

use tidewatch_archive::{Archive, ArchiveError, Damage, Findings, Location, Packed, read_at};
use tidewatch_core::PageId;
use tidewatch_store::{Place, Store};

use crate::CrawlError;
use crate::partition::ARCHIVED;

/// The archive; none if the crawl is open for reading.
pub(crate) struct Shelf {
    archive: Option<Archive>,
    /// What was damaged when the archive was opened.
    findings: Findings,
    /// Whether something was appended since the last sync.
    is_dirty: bool,
    /// Pages whose records were looked at since the archive was opened.
    seen: Seen,
}

/// A set of pages, a bit each.
#[derive(Default)]
struct Seen(Vec<u64>);

impl Seen {
    fn has(&self, page: PageId) -> bool {
        self.0.get(page.index() / 64).is_some_and(|word| word >> (page.index() % 64) & 1 == 1)
    }

    fn add(&mut self, page: PageId) {
        let word = page.index() / 64;
        self.0.resize(self.0.len().max(word + 1), 0);
        self.0[word] |= 1 << (page.index() % 64);
    }
}

impl Shelf {
    /// No archive.
    pub(crate) fn none() -> Shelf {
        Shelf {
            archive: None,
            findings: Findings::default(),
            is_dirty: false,
            seen: Seen::default(),
        }
    }

    /// Opens a directory's archive for appending; `synced` is what [`Shelf::sync`] returned last.
    pub(crate) fn open(
        dir: &Path,
        most_bytes: u64,
        unix_micros: i64,
        synced: Option<&[u8]>,
    ) -> Result<Shelf, ArchiveError> {
        let (archive, findings) =
            Archive::open(dir, most_bytes, unix_micros, synced.and_then(mark))?;
        Ok(Shelf { archive: Some(archive), findings, is_dirty: false, seen: Seen::default() })
    }

    /// What was damaged when the archive was opened.
    pub(crate) fn damage(&self) -> &[Damage] {
        &self.findings.damage
    }

    /// Gives a record its place; `None` without an archive.
    pub(crate) fn append(&mut self, packed: &Packed, unix_micros: i64) -> Option<Place> {
        let archive = self.archive.as_mut()?;
        self.is_dirty = true;
        let Location { file, offset, bytes } = archive.append(packed, unix_micros);
        Some(Place { file, offset, bytes })
    }

    /// Whether the record at a place is in the archive, as far as opening it and appending to it showed.
    /// Always `true` without an archive.
    pub(crate) fn has(&self, place: Place) -> bool {
        let Place { file, offset, bytes } = place;
        // A place beyond the end at opening was assigned since then: no place is assigned twice.
        let is_new = (file, offset) >= self.findings.end;
        let is_lost = || self.findings.is_lost(Location { file, offset, bytes });
        self.archive.is_none() || bytes > 0 && (is_new || !is_lost())
    }

    /// Whether the record at a place is in the archive and about a page's URL. It is read once for each
    /// page: an earlier version could leave a copy whose place another record took.
    pub(crate) fn holds(&mut self, page: PageId, place: Place, url: &str) -> bool {
        if !self.has(place) {
            return false;
        }
        let is_new = (place.file, place.offset) >= self.findings.end;
        let Some(archive) = self.archive.as_ref().filter(|_| !is_new) else { return true };
        if self.seen.has(page) {
            return true;
        }
        let record = read_at(&archive.path(place.file), place.offset);
        let is_there =
            record.is_ok_and(|record| record.field("WARC-Target-URI").is_some_and(|of| of == url));
        if is_there {
            self.seen.add(page);
        }
        is_there
    }

    /// Writes everything appended to the archive's file, which is not synced yet.
    pub(crate) fn flush(&mut self) -> Result<(), ArchiveError> {
        self.archive.as_mut().map_or(Ok(()), Archive::flush)
    }

    /// Sorts the index of everything that was synced.
    pub(crate) fn finish(&mut self) -> Result<(), ArchiveError> {
        self.archive.as_mut().map_or(Ok(()), Archive::finish)
    }

    /// Syncs everything appended to disk. Returns the mark to commit with the copies, if something
    /// was appended.
    pub(crate) fn sync(&mut self) -> Result<Option<Vec<u8>>, ArchiveError> {
        let Some(archive) = self.archive.as_mut().filter(|_| self.is_dirty) else {
            return Ok(None);
        };
        archive.sync()?;
        self.is_dirty = false;
        Ok(Some(self.mark()))
    }

    /// How far the archive reaches, as [`Shelf::open`] wants it once that is synced.
    pub(crate) fn mark(&self) -> Vec<u8> {
        let (file, length) = self.archive.as_ref().map_or((0, 0), Archive::end);
        [&file.to_le_bytes()[..], &length.to_le_bytes()].concat()
    }
}

/// Reads the whole archive of a crawl that is not running and checks every file. Changes nothing.
pub fn check_archive(store: &Store) -> Result<Findings, CrawlError> {
    let synced = store.tables()?.meta(ARCHIVED)?;
    let dir = store.dir().join("archive");
    Ok(tidewatch_archive::check_archive(&dir, synced.as_deref().and_then(mark))?)
}

/// The file and length up to which the archive is synced.
fn mark(bytes: &[u8]) -> Option<(u32, u64)> {
    let (file, length) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*file), u64::from_le_bytes(length.try_into().ok()?)))
}
