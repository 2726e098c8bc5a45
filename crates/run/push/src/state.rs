//! State that all requests share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::Semaphore;

use crate::book::{Book, SubscriptionView};
use crate::hearer::Hearer;
use crate::keys::Keys;

/// Most bodies read at once: bounds memory.
const MOST_BODIES: usize = 16;

pub(crate) struct State {
    pub(crate) hearer: Box<dyn Hearer>,
    /// `None` if IndexNow is off.
    pub(crate) keys: Option<Keys>,
    pub(crate) bodies: Semaphore,
    pub(crate) tally: Tally,
    book: Mutex<Book>,
}

/// What came in since the start.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) submitted: AtomicU64,
    pub(crate) unproven: AtomicU64,
    pub(crate) unfit: AtomicU64,
    pub(crate) delivered: AtomicU64,
    pub(crate) forged: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) busy: AtomicU64,
}

/// What came in since the start, and the subscriptions there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushReport {
    /// IndexNow submissions whose key was good.
    pub submitted: u64,
    /// Those whose key was not.
    pub unproven: u64,
    /// Those that are malformed, or about pages of others.
    pub unfit: u64,
    /// WebSub deliveries that brought hints or nothing new.
    pub delivered: u64,
    /// Those without a right signature, or of another topic.
    pub forged: u64,
    /// Those that came before.
    pub repeated: u64,
    /// Requests beyond a limit.
    pub busy: u64,
    /// WebSub subscriptions.
    pub subscriptions: Vec<SubscriptionView>,
}

impl State {
    pub(crate) fn new(hearer: Box<dyn Hearer>, keys: Option<Keys>, book: Book) -> State {
        let (bodies, tally, book) =
            (Semaphore::new(MOST_BODIES), Tally::default(), Mutex::new(book));
        State { hearer, keys, bodies, tally, book }
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the subscriptions. A failure is ignored, because every later call tries again. A subscription
    /// that a crash loses meanwhile only delivers in vain.
    pub(crate) fn save(&self) {
        let _ = self.book().save();
    }

    pub(crate) fn report(&self) -> PushReport {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Tally { submitted, unproven, unfit, delivered, forged, repeated, busy } = &self.tally;
        PushReport {
            submitted: get(submitted),
            unproven: get(unproven),
            unfit: get(unfit),
            delivered: get(delivered),
            forged: get(forged),
            repeated: get(repeated),
            busy: get(busy),
            subscriptions: self.book().views(),
        }
    }
}

/// Seconds of Unix time.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Counts one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
