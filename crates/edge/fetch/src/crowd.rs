//! How many fetches are under way, and how long each may stand still.
//!
//! A server that sends nothing, or a byte a second, holds a place. With `u` of `c` places taken, a time
//! limit `t` becomes `t · min(1, 2·(1 − u/c))`, but at least [`LEAST`]: whoever has stood still longest
//! goes first, and only as many go as have to.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// No limit becomes shorter than this.
const LEAST: Duration = Duration::from_secs(2);
/// How often a fetch that stands still looks whether there is a crowd.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The fetches under way.
pub(crate) struct Crowd {
    places: usize,
    taken: AtomicUsize,
}

/// A fetch under way; it leaves when dropped.
pub(crate) struct Place<'c>(&'c Crowd);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Crowd {
    pub(crate) const fn new(places: usize) -> Crowd {
        Crowd { places, taken: AtomicUsize::new(0) }
    }

    /// Counts a fetch.
    pub(crate) fn join(&self) -> Place<'_> {
        self.taken.fetch_add(1, Ordering::Relaxed);
        Place(self)
    }

    /// What is left of a time limit now.
    pub(crate) fn patience(&self, limit: Duration) -> Duration {
        let taken = self.taken.load(Ordering::Relaxed) as f64 / self.places.max(1) as f64;
        let share = (2.0 * (1.0 - taken)).clamp(0.0, 1.0);
        limit.mul_f64(share).max(LEAST.min(limit))
    }

    /// Waits for `done`; `None` once it takes longer than is left of `limit`.
    pub(crate) async fn limit<T>(
        &self,
        limit: Duration,
        mut done: impl Future<Output = T> + Unpin,
    ) -> Option<T> {
        let began = Instant::now();
        loop {
            let left = self.patience(limit).checked_sub(began.elapsed())?;
            let look = left.min(LOOK_EVERY).max(Duration::from_millis(1));
            if let Ok(done) = tokio::time::timeout(look, &mut done).await {
                return Some(done);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_shrinks_from_half_the_places_on() {
        let crowd = Crowd::new(8);
        let limit = Duration::from_secs(30);
        let mut places = Vec::new();
        let mut left = Vec::new();
        for _ in 0..=8 {
            left.push(crowd.patience(limit).as_secs_f64());
            places.push(crowd.join());
        }
        assert_eq!(left, [30.0, 30.0, 30.0, 30.0, 30.0, 22.5, 15.0, 7.5, 2.0]);
        drop(places);
        assert_eq!(crowd.patience(limit), limit);
        assert_eq!(crowd.patience(Duration::from_secs(1)), Duration::from_secs(1), "never longer");
    }

    #[tokio::test]
    async fn whoever_stands_still_is_given_up_once_there_is_a_crowd() {
        let crowd = Crowd::new(1);
        let limit = Duration::from_mins(1);
        let began = Instant::now();
        let (waited, ()) = tokio::join!(crowd.limit(limit, std::future::pending::<()>()), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            std::mem::forget(crowd.join());
        });
        assert_eq!(waited, None);
        assert!(began.elapsed() >= LEAST && began.elapsed() < 2 * LEAST);
    }
}
