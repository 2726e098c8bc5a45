//! When a crawl that fetches everything once is over.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidewatch_core::Span;

/// How long all partitions must have had nothing to do: links on their way from one to another take
/// less.
const QUIET: Duration = Duration::from_secs(2);
/// A host that is closed for longer is not waited for.
pub(crate) const PATIENCE: Span = Span::MINUTE.times(2);

/// Since when each partition has had nothing to fetch.
#[derive(Debug)]
pub struct Quiet(Mutex<Vec<Option<Instant>>>);

impl Default for Quiet {
    /// One partition, which is busy.
    fn default() -> Quiet {
        Quiet(Mutex::new(vec![None]))
    }
}

impl Quiet {
    /// There are so many partitions, all of them busy.
    pub(crate) fn expect(&self, partitions: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = vec![None; partitions];
    }

    /// A partition has nothing to fetch, or it has.
    pub(crate) fn note(&self, partition: u32, is_done: bool) {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = since.get_mut(partition as usize) {
            *since = if is_done { since.or_else(|| Some(Instant::now())) } else { None };
        }
    }

    /// Whether no partition has had anything to fetch for a while.
    pub(crate) fn is_over(&self) -> bool {
        let since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.iter().all(|since| since.is_some_and(|since| since.elapsed() >= QUIET))
    }
}
