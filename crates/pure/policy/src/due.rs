//! Pages that wait, each once.

use tidewatch_core::{HostId, PageId, Time};

use crate::{Agenda, Gate};

/// A queue in which each page has at most one key. A page that is queued again moves; its old entry is
/// dropped when it comes up.
pub(crate) struct DueQueue<K = (Time, u32)> {
    entries: Agenda<K>,
    /// The key of each page that is queued, by page number.
    keys: Vec<Option<K>>,
    len: usize,
}

impl<K: Ord + Copy> Default for DueQueue<K> {
    fn default() -> Self {
        DueQueue { entries: Agenda::default(), keys: Vec::new(), len: 0 }
    }
}

impl<K: Ord + Copy> DueQueue<K> {
    pub(crate) fn put(&mut self, key: K, host: HostId, page: PageId) {
        if self.keys.len() <= page.index() {
            self.keys.resize(page.index() + 1, None);
        }
        let old = self.keys[page.index()].replace(key);
        self.len += usize::from(old.is_none());
        if old != Some(key) {
            self.entries.push(key, host, page);
        }
    }

    /// Takes the page with the smallest key among those that may be fetched, if its key is `wanted`.
    pub(crate) fn take_if(
        &mut self,
        now: Time,
        gate: &dyn Gate,
        wanted: impl Fn(K) -> bool,
    ) -> Option<(K, PageId)> {
        while let Some((key, page)) = self.entries.pop_if(now, gate, &wanted) {
            if self.keys[page.index()] == Some(key) {
                self.remove(page);
                return Some((key, page));
            }
        }
        None
    }

    /// The key of a page; `None` if it is not queued.
    pub(crate) fn key(&self, page: PageId) -> Option<K> {
        self.keys.get(page.index()).copied().flatten()
    }

    /// Pages queued.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether no page is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn remove(&mut self, page: PageId) {
        let key = self.keys.get_mut(page.index()).and_then(Option::take);
        self.len -= usize::from(key.is_some());
    }

    pub(crate) fn clear(&mut self) {
        *self = DueQueue::default();
    }
}

/// By due time; of several due at once, the page with the least number first.
impl DueQueue {
    pub(crate) fn push(&mut self, due: Time, host: HostId, page: PageId) {
        self.put((due, page.0), host, page);
    }

    /// Takes the page that is due first, among those that may be fetched.
    pub(crate) fn pop(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        self.take_if(now, gate, |_| true).map(|(_, page)| page)
    }

    /// When a page is due; `None` if it is not queued.
    pub(crate) fn due(&self, page: PageId) -> Option<Time> {
        self.key(page).map(|(due, _)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlwaysOpen;
    use tidewatch_core::Span;

    #[test]
    fn a_page_queued_again_is_due_once_at_the_later_call() {
        let at = |seconds| Time::ZERO + Span::SECOND.times(seconds);
        let mut queue = DueQueue::default();
        let (first, second) = (PageId(1), PageId(0));
        queue.push(at(3), HostId(0), first);
        queue.push(at(2), HostId(0), second);
        queue.push(at(1), HostId(0), first);
        assert_eq!(queue.due(first), Some(at(1)));
        assert_eq!(queue.pop(at(0), &AlwaysOpen), Some(first));
        assert_eq!(queue.due(first), None);
        assert_eq!(queue.pop(at(0), &AlwaysOpen), Some(second));
        assert_eq!(queue.pop(at(0), &AlwaysOpen), None, "its first entry is dropped");
        queue.push(at(4), HostId(0), first);
        queue.remove(first);
        assert_eq!(queue.pop(at(9), &AlwaysOpen), None);
    }
}
