//! One queue: the URLs that wait in it, and when it is open.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Span, Time};

use crate::tape::CrawlId;
use crate::urls::{State, Urls, second, time_of};

/// Outdated entries that a queue may hold beyond the number of URLs that wait.
const OUTDATED: usize = 64;

/// A queue.
///
/// Invariant: every waiting URL has an entry in `waiting` with its due time. There may be outdated
/// entries as well; they are dropped when they come up, or when there are too many.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Queue {
    id: HostId,
    pub(crate) crawl: CrawlId,
    pub(crate) key: Box<str>,
    waiting: BinaryHeap<Reverse<(u32, PageId)>>,
    counts: Counts,
    gap: Option<Span>,
    blocked_until: Time,
    limit: u32,
    /// When it last gave out URLs.
    last: Option<Time>,
    /// When it was last passed over: it then ranks behind queues that opened before.
    passed: Time,
    /// Its place in its crawl's order.
    listed: Time,
    is_dropped: bool,
}

/// How many URLs of a queue are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) waiting: u32,
    pub(crate) held: u32,
    pub(crate) done: u32,
}

impl Counts {
    fn of(&mut self, state: State) -> Option<&mut u32> {
        match state {
            State::Waiting => Some(&mut self.waiting),
            State::Held => Some(&mut self.held),
            State::Done => Some(&mut self.done),
            State::Dropped => None,
        }
    }
}

impl Queue {
    pub(crate) fn new(id: HostId, crawl: CrawlId, key: Box<str>) -> Self {
        Queue {
            id,
            crawl,
            key,
            waiting: BinaryHeap::new(),
            counts: Counts::default(),
            gap: None,
            blocked_until: Time::ZERO,
            limit: 0,
            last: None,
            passed: Time::ZERO,
            listed: Time::NEVER,
            is_dropped: false,
        }
    }

    pub(crate) const fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) const fn is_dropped(&self) -> bool {
        self.is_dropped
    }

    pub(crate) fn is_blocked(&self, now: Time) -> bool {
        self.blocked_until > now
    }

    pub(crate) const fn blocked_until(&self) -> Time {
        self.blocked_until
    }

    /// Whether it has as many done URLs as it may have.
    pub(crate) const fn is_full(&self) -> bool {
        self.limit > 0 && self.counts.done >= self.limit
    }

    pub(crate) fn set_gap(&mut self, gap: Span) {
        self.gap = Some(gap);
    }

    pub(crate) fn block(&mut self, until: Time) {
        self.blocked_until = until;
    }

    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Gives out nothing any more and forgets its URLs.
    pub(crate) fn drop_all(&mut self) -> Counts {
        self.is_dropped = true;
        self.waiting = BinaryHeap::new();
        std::mem::take(&mut self.counts)
    }

    /// A URL enters in `state`.
    pub(crate) fn enter(&mut self, state: State) {
        if let Some(count) = self.counts.of(state) {
            *count += 1;
        }
    }

    /// A URL leaves from `state`.
    pub(crate) fn leave(&mut self, state: State) {
        if let Some(count) = self.counts.of(state) {
            *count = count.saturating_sub(1);
        }
    }

    /// Adds the entry of a URL that waits.
    pub(crate) fn push(&mut self, page: PageId, due: u32, urls: &Urls) {
        self.waiting.push(Reverse((due, page)));
        if self.waiting.len() > 2 * self.counts.waiting as usize + OUTDATED {
            let id = self.id;
            let mut sorted = std::mem::take(&mut self.waiting).into_vec();
            sorted.retain(|&Reverse((due, page))| is_current(id, page, due, urls));
            sorted.sort_unstable();
            sorted.dedup();
            self.waiting = sorted.into();
        }
    }

    /// When the URL that is due first is due.
    pub(crate) fn first_due(&mut self, urls: &Urls) -> Option<u32> {
        while let Some(&Reverse((due, page))) = self.waiting.peek() {
            if is_current(self.id, page, due, urls) {
                return Some(due);
            }
            self.waiting.pop();
        }
        None
    }

    /// Takes the URL that is due first, if it is due at `now`.
    pub(crate) fn pop(&mut self, now: Time, urls: &Urls) -> Option<PageId> {
        self.first_due(urls).filter(|&due| due <= second(now))?;
        self.waiting.pop().map(|Reverse((_, page))| page)
    }

    /// From when politeness lets it give out URLs, whether it has any or not.
    pub(crate) fn opens_at(&self, usual_gap: Span) -> Time {
        if self.is_dropped || self.is_full() {
            return Time::NEVER;
        }
        let rested = self.last.map_or(Time::ZERO, |last| last + self.gap.unwrap_or(usual_gap));
        rested.max(self.blocked_until)
    }

    /// Its place in the strict order: since when it has been open with something to give.
    pub(crate) fn place(&mut self, usual_gap: Span, urls: &Urls) -> Time {
        let opens = self.opens_at(usual_gap).max(self.passed);
        self.first_due(urls).map_or(Time::NEVER, |due| opens.max(time_of(due)))
    }

    /// Notes its place in its crawl's order and returns the one before.
    pub(crate) fn list(&mut self, at: Time) -> Time {
        std::mem::replace(&mut self.listed, at)
    }

    /// It gave out URLs.
    pub(crate) fn gave(&mut self, now: Time) {
        self.last = Some(now);
    }

    /// Whether it gave out URLs at `now`.
    pub(crate) fn gives_at(&self, now: Time) -> bool {
        self.last == Some(now)
    }

    /// It was open and gave out nothing: others come first.
    pub(crate) fn pass(&mut self, now: Time) {
        self.passed = now;
    }
}

/// Whether a queue's entry still says when the URL is due.
fn is_current(queue: HostId, page: PageId, due: u32, urls: &Urls) -> bool {
    let current = urls.get(page).filter(|url| url.state == State::Waiting && url.due == due);
    current.is_some_and(|url| url.queue == queue)
}
