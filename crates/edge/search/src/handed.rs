//! Parsed documents on their way from the crawl to the index.
//!
//! They share a byte limit. A document beyond it is dropped; its page is read back from the archive
//! and parsed again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;
use tidewatch_core::PageId;
use tidewatch_parse::document::Parsed;

/// Most bytes of all documents, waiting or in the indexer's queue.
const MOST_BYTES: usize = 32 << 20;
/// Approximate bytes that a document and each of its links cost besides their texts.
const ENTRY: usize = 256;

/// A document within the limit; dropping it releases its bytes.
#[derive(Debug)]
pub(crate) struct Handed {
    parsed: Box<Parsed>,
    bytes: usize,
    all: Arc<AtomicUsize>,
}

/// Documents whose copies are not stored yet, or that the indexer's queue had no room for.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    documents: FxHashMap<PageId, Handed>,
    all: Arc<AtomicUsize>,
}

impl Handed {
    /// The document.
    pub(crate) fn parsed(&self) -> &Parsed {
        &self.parsed
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Waiting {
    /// Keeps documents within the same limit as `other`.
    pub(crate) fn beside(other: &Waiting) -> Waiting {
        Waiting { documents: FxHashMap::default(), all: Arc::clone(&other.all) }
    }

    /// Keeps a page's newest document, if there is room; drops the older one.
    pub(crate) fn keep(&mut self, page: PageId, parsed: Box<Parsed>) {
        self.forget(page);
        let links = parsed.page.as_ref().map_or(0, |page| page.links.len());
        let bytes = parsed.text.as_ref().map_or(0, String::len) + (links + 1) * ENTRY;
        let all = Arc::clone(&self.all);
        if all.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST_BYTES {
            self.documents.insert(page, Handed { parsed, bytes, all });
        } else {
            all.fetch_sub(bytes, Ordering::Relaxed);
        }
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

    fn of(bytes: usize) -> Box<Parsed> {
        Box::new(Parsed { text: Some("x".repeat(bytes)), ..Parsed::default() })
    }

    #[test]
    fn documents_are_kept_within_the_limit_and_the_newest_wins() {
        let mut waiting = Waiting::default();
        waiting.keep(PageId(1), of(10));
        waiting.keep(PageId(1), of(20));
        let handed = waiting.take(PageId(1)).unwrap();
        assert_eq!(handed.bytes, 20 + ENTRY);
        // A document taken out counts until it is indexed.
        waiting.keep(PageId(2), of(MOST_BYTES - 2 * ENTRY));
        assert!(waiting.take(PageId(2)).is_none());
        assert_eq!(handed.parsed().text.as_ref().unwrap().len(), 20);
        drop(handed);
        waiting.keep(PageId(2), of(MOST_BYTES - 2 * ENTRY));
        // No room for the newest: the older one must not be indexed in its place.
        waiting.keep(PageId(2), of(MOST_BYTES));
        assert!(waiting.take(PageId(2)).is_none());
        assert_eq!(waiting.all.load(Ordering::Relaxed), 0);
    }
}
