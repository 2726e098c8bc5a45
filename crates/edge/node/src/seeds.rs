//! The crawl's seeds, which every partition is told.
//!
//! They also say which hosts are in scope. A partition that opened before it knows them would drop links that
//! others have sent, so it waits until all that were there when the node began have been heard.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tidewatch_core::url::CanonicalUrl;

/// Seeds as they are heard. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Seeds(Arc<Inner>);

#[derive(Default)]
struct Inner {
    urls: Mutex<Vec<CanonicalUrl>>,
    is_complete: AtomicBool,
}

impl Seeds {
    /// More were heard.
    pub(crate) fn add(&self, more: impl IntoIterator<Item = CanonicalUrl>) {
        self.0.urls.lock().unwrap_or_else(PoisonError::into_inner).extend(more);
    }

    /// All that were there when the node began were heard.
    pub(crate) fn complete(&self) {
        self.0.is_complete.store(true, Ordering::Release);
    }

    /// Whether they were.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.is_complete.load(Ordering::Acquire)
    }

    /// Those after the first `told`.
    pub(crate) fn after(&self, told: usize) -> Vec<CanonicalUrl> {
        let urls = self.0.urls.lock().unwrap_or_else(PoisonError::into_inner);
        urls.get(told..).unwrap_or_default().to_vec()
    }
}
