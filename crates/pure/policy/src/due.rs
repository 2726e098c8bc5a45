//! Fetched pages by the time when they are due again.

use tidewatch_core::{HostId, PageId, Time};

use crate::{Agenda, Gate};

/// A queue in which each page has at most one due time. A page that is queued again moves; its old
/// entry is dropped when it comes up.
#[derive(Default)]
pub(crate) struct DueQueue {
    entries: Agenda<(Time, u32)>,
    /// The due time of each page that is queued, by page number.
    due: Vec<Option<Time>>,
}

impl DueQueue {
    pub(crate) fn push(&mut self, due: Time, host: HostId, page: PageId) {
        if self.due.len() <= page.index() {
            self.due.resize(page.index() + 1, None);
        }
        self.due[page.index()] = Some(due);
        self.entries.push((due, page.0), host, page);
    }

    /// Takes the page that is due first, among those that may be fetched.
    pub(crate) fn pop(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        while let Some(((due, _), page)) = self.entries.pop(now, gate) {
            if self.due[page.index()] == Some(due) {
                self.remove(page);
                return Some(page);
            }
        }
        None
    }

    /// When a page is due; `None` if it is not queued.
    pub(crate) fn due(&self, page: PageId) -> Option<Time> {
        self.due.get(page.index()).copied().flatten()
    }

    pub(crate) fn remove(&mut self, page: PageId) {
        if let Some(due) = self.due.get_mut(page.index()) {
            *due = None;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries = Agenda::default();
        self.due.clear();
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
