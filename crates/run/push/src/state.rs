//! State that all requests share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::Semaphore;

use crate::book::{Book, SubscriptionView, write};
use crate::hearer::Hearer;
use crate::keys::Keys;
use crate::meter::Meter;

/// Most bodies of submissions read at once: bounds memory. Anybody may send one.
const MOST_BODIES: usize = 16;
/// The same of deliveries. They have places of their own: only hubs know where to send one.
const MOST_DELIVERIES: usize = 16;

pub(crate) struct State {
    pub(crate) hearer: Box<dyn Hearer>,
    /// `None` if IndexNow is off.
    pub(crate) keys: Option<Keys>,
    pub(crate) bodies: Semaphore,
    pub(crate) deliveries: Semaphore,
    pub(crate) tally: Tally,
    book: Mutex<Book>,
    meter: Mutex<Meter>,
    /// Held while the book is written, so that the last write is the newest.
    saving: tokio::sync::Mutex<()>,
    unsaved: Mutex<Option<String>>,
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
    /// Why the subscriptions could not be written last time; `None` if they could.
    pub unsaved: Option<String>,
    /// WebSub subscriptions.
    pub subscriptions: Vec<SubscriptionView>,
}

impl State {
    pub(crate) fn new(hearer: Box<dyn Hearer>, keys: Option<Keys>, book: Book) -> State {
        State {
            hearer,
            keys,
            bodies: Semaphore::new(MOST_BODIES),
            deliveries: Semaphore::new(MOST_DELIVERIES),
            tally: Tally::default(),
            book: Mutex::new(book),
            meter: Mutex::default(),
            saving: tokio::sync::Mutex::default(),
            unsaved: Mutex::default(),
        }
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a publisher may submit so many URLs now. If so, they are counted.
    pub(crate) fn admits(&self, publisher: &str, urls: usize) -> bool {
        let mut meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        meter.admits(publisher, urls, now())
    }

    /// Writes the subscriptions if they have changed. After a failure the answer is `false`, the report says
    /// why, and every later call tries again.
    pub(crate) async fn save(&self) -> bool {
        let _turn = self.saving.lock().await;
        let Some((file, text)) = self.book().changes() else { return true };
        let written = tokio::task::spawn_blocking(move || write(&file, &text)).await;
        let written = written.unwrap_or_else(|stopped| Err(std::io::Error::other(stopped)));
        if written.is_err() {
            self.book().keep_changed();
        }
        *self.unsaved() = written.as_ref().err().map(ToString::to_string);
        written.is_ok()
    }

    fn unsaved(&self) -> MutexGuard<'_, Option<String>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
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
            unsaved: self.unsaved().clone(),
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
