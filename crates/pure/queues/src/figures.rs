//! What can be asked of queues without changing them.

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Time};

use crate::queue::{Counts, Queue};
use crate::{CrawlId, Print, Queues, State};

/// How much a crawl or a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// URLs that wait.
    pub waiting: u64,
    /// URLs that somebody holds.
    pub held: u64,
    /// URLs that are done.
    pub done: u64,
    /// Queues.
    pub queues: u64,
    /// Queues with URLs that wait or are held.
    pub busy_queues: u64,
}

impl Figures {
    pub(crate) fn of(queue: &Queue) -> Figures {
        let Counts { waiting, held, done } = queue.counts();
        Figures {
            waiting: waiting.into(),
            held: held.into(),
            done: done.into(),
            queues: u64::from(!queue.is_dropped()),
            busy_queues: u64::from(waiting + held > 0),
        }
    }

    /// URLs in all states.
    pub const fn urls(&self) -> u64 {
        self.waiting + self.held + self.done
    }

    pub(crate) fn add(&mut self, other: Figures) {
        self.combine(other, u64::wrapping_add);
    }

    pub(crate) fn subtract(&mut self, other: Figures) {
        self.combine(other, u64::wrapping_sub);
    }

    fn combine(&mut self, other: Figures, with: impl Fn(u64, u64) -> u64) {
        self.waiting = with(self.waiting, other.waiting);
        self.held = with(self.held, other.held);
        self.done = with(self.done, other.done);
        self.queues = with(self.queues, other.queues);
        self.busy_queues = with(self.busy_queues, other.busy_queues);
    }
}

impl Queues {
    /// The crawl of that name.
    pub fn crawl(&self, name: &str) -> Option<CrawlId> {
        self.names.get(name).copied()
    }

    /// The names of all crawls.
    pub fn crawls(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(|name| &**name)
    }

    /// The queue of that key.
    pub fn queue(&self, crawl: CrawlId, key: &str) -> Option<HostId> {
        self.crawls.get(crawl.0 as usize)?.queues.get(key).copied()
    }

    /// The queues of a crawl, by key.
    pub fn queues(&self, crawl: CrawlId) -> impl Iterator<Item = (&str, HostId)> {
        let crawl = self.crawls.get(crawl.0 as usize);
        crawl.into_iter().flat_map(|crawl| &crawl.queues).map(|(key, &queue)| (&**key, queue))
    }

    /// All queues that were not dropped.
    pub fn queue_count(&self) -> u64 {
        self.crawls.iter().map(|crawl| crawl.figures.queues).sum()
    }

    /// The crawl's name and the key of a queue.
    pub fn name_of(&self, queue: HostId) -> Option<(&str, &str)> {
        let queue = self.queues.get(queue.index())?;
        Some((&self.crawls.get(queue.crawl.0 as usize)?.name, &queue.key))
    }

    /// Whether a queue has URLs that are not done and is not blocked.
    pub fn is_in_use(&self, queue: HostId, now: Time) -> bool {
        let queue = self.queues.get(queue.index());
        queue.is_some_and(|queue| {
            Figures::of(queue).busy_queues > 0 && !queue.is_blocked(self.now.max(now))
        })
    }

    /// The figures of a crawl.
    pub fn crawl_figures(&self, crawl: CrawlId) -> Figures {
        self.crawls.get(crawl.0 as usize).map(|crawl| crawl.figures).unwrap_or_default()
    }

    /// The figures of a queue.
    pub fn queue_figures(&self, queue: HostId) -> Figures {
        self.queues.get(queue.index()).map(Figures::of).unwrap_or_default()
    }

    /// The URL with that hash.
    pub fn find(&self, print: Print) -> Option<PageId> {
        self.urls.find(print)
    }

    /// The queue and the state of a URL.
    pub fn state(&self, page: PageId) -> Option<(HostId, State)> {
        let url = self.urls.get(page)?;
        let is_dropped = self.queues.get(url.queue.index()).is_none_or(Queue::is_dropped);
        Some((url.queue, if is_dropped { State::Dropped } else { url.state }))
    }

    /// When a URL was put, in whole seconds.
    pub fn put_at(&self, page: PageId) -> Option<u32> {
        self.urls.get(page).map(|url| url.put)
    }

    /// When the lease on a URL ends.
    pub fn held_until(&self, page: PageId) -> Option<Time> {
        self.leases.until(page)
    }

    /// The number of the next URL.
    pub fn next_page(&self) -> PageId {
        self.urls.next()
    }

    /// The number of the next queue.
    pub fn next_queue(&self) -> HostId {
        HostId(self.queues.len() as u32)
    }

    /// The number of the next crawl.
    pub fn next_crawl(&self) -> CrawlId {
        CrawlId(self.crawls.len() as u32)
    }

    /// Whether URLs are given out.
    pub const fn is_active(&self) -> bool {
        self.is_active
    }

    /// The latest time seen.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Whether another URL can be put.
    pub fn has_room(&self) -> bool {
        !self.urls.is_full()
    }
}
