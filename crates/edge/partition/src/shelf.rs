//! The archive as a partition uses it: where a body lies, and whether it is still there.
//!
//! The tables must never be ahead of the archive, whenever a crash strikes. So a copy is committed
//! only after its record is synced ([`Shelf::sync`] comes before [`crate::Partition::commit`]
//! writes the tables), and a place that the files do not reach counts as missing: its page is then
//! fetched without conditions and archived anew.

use std::path::Path;

use tidewatch_archive::{Archive, ArchiveError, Findings, Location, Packed};
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
}

impl Shelf {
    /// No archive.
    pub(crate) fn none() -> Shelf {
        Shelf { archive: None, findings: Findings::default(), is_dirty: false }
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
        Ok(Shelf { archive: Some(archive), findings, is_dirty: false })
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
        let (file, length) = archive.end();
        Ok(Some([&file.to_le_bytes()[..], &length.to_le_bytes()].concat()))
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
