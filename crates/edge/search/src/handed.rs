//! Documents on their way from the crawl to the index.
//!
//! They share a limit of memory. Beyond it they go to a file without a name, whose space is used
//! again once all of its documents were taken. A document that has no room there either is dropped;
//! its page is read back from the archive and parsed again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tidewatch_core::PageId;
use tidewatch_parse::extract::Extract;

/// Most bytes of all documents in memory, waiting or in the indexer's queue.
const MOST_BYTES: usize = 32 << 20;
/// Most bytes of the file.
const MOST_SPILLED: u64 = 1 << 30;

/// A document within the limits; dropping it releases its room.
#[derive(Debug)]
pub(crate) struct Handed {
    place: Place,
    room: Arc<Room>,
}

#[derive(Debug)]
enum Place {
    Memory { extract: Extract, bytes: usize },
    File { offset: u64, bytes: usize },
}

/// The limits that all documents share.
#[derive(Debug)]
struct Room {
    memory: AtomicUsize,
    /// `None` if there can be no file.
    file: Option<File>,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    end: u64,
    documents: usize,
}

/// Documents whose copies are not stored yet, or that the indexer's queue had no room for.
#[derive(Debug)]
pub(crate) struct Waiting {
    documents: FxHashMap<PageId, Handed>,
    room: Arc<Room>,
}

impl Handed {
    /// The document; `None` if it cannot be read any more.
    pub(crate) fn take(mut self) -> Option<Extract> {
        match &mut self.place {
            Place::Memory { extract, .. } => Some(std::mem::take(extract)),
            Place::File { offset, bytes } => self.room.read(*offset, *bytes),
        }
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        match self.place {
            Place::Memory { bytes, .. } => {
                self.room.memory.fetch_sub(bytes, Ordering::Relaxed);
            }
            Place::File { .. } => self.room.release(),
        }
    }
}

impl Room {
    fn new(dir: &Path) -> Room {
        let (memory, used) = (AtomicUsize::new(0), Mutex::default());
        Room { memory, file: nameless(dir).ok(), used }
    }

    fn place(&self, extract: Extract) -> Option<Place> {
        let bytes = extract.bytes();
        if self.memory.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST_BYTES {
            return Some(Place::Memory { extract, bytes });
        }
        self.memory.fetch_sub(bytes, Ordering::Relaxed);
        self.write(&extract)
    }

    fn write(&self, extract: &Extract) -> Option<Place> {
        let file = self.file.as_ref()?;
        let encoded = postcard::to_stdvec(extract).ok()?;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let (offset, bytes) = (used.end, encoded.len());
        if offset + bytes as u64 > MOST_SPILLED {
            return None;
        }
        // A full disk is for the crawl to report; the archive has the page.
        file.write_all_at(&encoded, offset).ok()?;
        *used = Used { end: offset + bytes as u64, documents: used.documents + 1 };
        Some(Place::File { offset, bytes })
    }

    fn read(&self, offset: u64, bytes: usize) -> Option<Extract> {
        let mut encoded = vec![0; bytes];
        self.file.as_ref()?.read_exact_at(&mut encoded, offset).ok()?;
        postcard::from_bytes(&encoded).ok()
    }

    fn release(&self) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.documents -= 1;
        if let (0, Some(file)) = (used.documents, &self.file) {
            used.end = 0;
            // Otherwise the space is freed with the file.
            let _ = file.set_len(0);
        }
    }
}

/// A file that goes with the process.
fn nameless(dir: &Path) -> io::Result<File> {
    let path = dir.join("index.waiting");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

impl Waiting {
    /// Keeps documents that have no room in memory in a file in `dir`.
    pub(crate) fn new(dir: &Path) -> Waiting {
        Waiting { documents: FxHashMap::default(), room: Arc::new(Room::new(dir)) }
    }

    /// Keeps documents within the same limits as `other`.
    pub(crate) fn beside(other: &Waiting) -> Waiting {
        Waiting { documents: FxHashMap::default(), room: Arc::clone(&other.room) }
    }

    /// Keeps a page's newest document, if there is room; drops the older one.
    pub(crate) fn keep(&mut self, page: PageId, extract: Extract) {
        self.forget(page);
        if let Some(place) = self.room.place(extract) {
            self.documents.insert(page, Handed { place, room: Arc::clone(&self.room) });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Takes a page's document out.
    pub(crate) fn take(&mut self, page: PageId) -> Option<Handed> {
        self.documents.remove(&page)
    }

    /// Puts back a document that was taken out.
    pub(crate) fn put_back(&mut self, page: PageId, handed: Handed) {
        self.documents.insert(page, handed);
    }

    /// Drops a page's document.
    pub(crate) fn forget(&mut self, page: PageId) {
        self.documents.remove(&page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: usize) -> Extract {
        Extract { text: Some("x".repeat(bytes)), ..Extract::default() }
    }

    fn text(handed: Handed) -> usize {
        handed.take().and_then(|extract| extract.text).map_or(0, |text| text.len())
    }

    #[test]
    fn documents_beyond_the_memory_go_to_a_file_and_the_newest_wins() {
        let dir = tempfile::tempdir().unwrap();
        let mut waiting = Waiting::new(dir.path());
        waiting.keep(PageId(1), of(10));
        waiting.keep(PageId(1), of(20));
        let handed = waiting.take(PageId(1)).unwrap();
        // A document taken out counts until it is indexed.
        waiting.keep(PageId(2), of(MOST_BYTES));
        waiting.keep(PageId(3), of(30));
        waiting.keep(PageId(4), of(MOST_BYTES));
        let used = |waiting: &Waiting| waiting.room.used.lock().unwrap().documents;
        assert_eq!(used(&waiting), 2, "two are in the file");
        assert_eq!(text(handed), 20);
        assert_eq!(text(waiting.take(PageId(4)).unwrap()), MOST_BYTES);
        waiting.keep(PageId(2), of(40));
        assert_eq!((used(&waiting), waiting.room.used.lock().unwrap().end), (0, 0));
        assert_eq!(text(waiting.take(PageId(2)).unwrap()), 40, "the newest wins");
        assert_eq!(text(waiting.take(PageId(3)).unwrap()), 30);
        assert_eq!(waiting.room.memory.load(Ordering::Relaxed), 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
    }

    #[test]
    fn without_a_file_a_document_beyond_the_memory_is_dropped() {
        let mut waiting = Waiting::new(Path::new("/nowhere/at/all"));
        waiting.keep(PageId(1), of(MOST_BYTES));
        assert!(waiting.take(PageId(1)).is_none());
        waiting.keep(PageId(1), of(1));
        assert_eq!(text(waiting.take(PageId(1)).unwrap()), 1);
    }
}
