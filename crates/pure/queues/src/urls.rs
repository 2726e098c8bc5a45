//! All URLs by number, and the index that finds them by hash.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Time};

/// A URL's hash within its queue. The secret seed keeps others from making two URLs collide; among
/// 10 million URLs two collide by chance with probability 3·10⁻⁶.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Print(u32, u32);

/// What becomes of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It waits until it is due.
    Waiting,
    /// Somebody holds a lease on it.
    Held,
    /// It is not fetched again.
    Done,
    /// It is no longer known.
    Dropped,
}

/// One URL. Times are whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Url {
    pub(crate) queue: HostId,
    print: Print,
    pub(crate) due: u32,
    pub(crate) put: u32,
    pub(crate) state: State,
}

/// All URLs ever put.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Urls {
    all: Vec<Url>,
    #[serde(skip)]
    index: FxHashMap<Print, Number>,
}

/// A [`PageId`] without alignment beyond that of [`Print`], so that an index entry takes 12 bytes.
type Number = u32;

impl Print {
    /// The hash of `url` in `queue`.
    pub fn of(seed: u64, queue: HostId, url: &str) -> Print {
        // An odd factor: queues have different seeds.
        let seed = seed ^ u64::from(queue.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(url.as_bytes(), seed);
        Print((hash >> 32) as u32, hash as u32)
    }

    /// For tests of other parts: any number.
    #[cfg(test)]
    pub(crate) const fn raw(number: u32) -> Print {
        Print(number, number)
    }
}

/// The whole seconds of a time, rounded down; the last second for times beyond 2106.
pub(crate) fn second(time: Time) -> u32 {
    u32::try_from(time.as_micros() / 1_000_000).unwrap_or(u32::MAX)
}

/// The second from which something with this time may be given out: rounded up.
pub(crate) fn second_after(time: Time) -> u32 {
    u32::try_from(time.as_micros().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

/// The beginning of a second.
pub(crate) fn time_of(second: u32) -> Time {
    if second == u32::MAX { Time::NEVER } else { Time::from_micros(u64::from(second) * 1_000_000) }
}

#[cfg(test)]
impl Url {
    pub(crate) const fn print(&self) -> Print {
        self.print
    }
}

impl Urls {
    /// The number of the next URL.
    pub(crate) fn next(&self) -> PageId {
        PageId(self.all.len() as u32)
    }

    /// Whether no more numbers are left.
    pub(crate) fn is_full(&self) -> bool {
        self.all.len() >= u32::MAX as usize
    }

    pub(crate) fn find(&self, print: Print) -> Option<PageId> {
        self.index.get(&print).map(|&number| PageId(number))
    }

    pub(crate) fn add(&mut self, queue: HostId, print: Print, put: u32) -> PageId {
        let page = self.next();
        self.all.push(Url { queue, print, due: put, put, state: State::Waiting });
        self.index.insert(print, page.0);
        page
    }

    pub(crate) fn get(&self, page: PageId) -> Option<&Url> {
        self.all.get(page.index())
    }

    pub(crate) fn get_mut(&mut self, page: PageId) -> Option<&mut Url> {
        self.all.get_mut(page.index())
    }

    /// Forgets a URL; its number stays taken.
    pub(crate) fn forget(&mut self, page: PageId) {
        if let Some(url) = self.all.get_mut(page.index()) {
            url.state = State::Dropped;
            self.index.remove(&url.print);
        }
    }

    /// All URLs from a number on.
    pub(crate) fn from(&self, page: PageId) -> impl Iterator<Item = (PageId, &Url)> {
        let from = page.index().min(self.all.len());
        (page.0..).map(PageId).zip(&self.all[from..])
    }

    /// Builds the index anew from URLs for which `is_alive` holds.
    pub(crate) fn index_anew(&mut self, is_alive: impl Fn(&Url) -> bool) {
        let alive = self.all.iter().zip(0..).filter(|(url, _)| is_alive(url));
        self.index = alive.map(|(url, number)| (url.print, number)).collect();
    }
}
