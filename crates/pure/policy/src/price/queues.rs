//! The queues in which pages wait: those never fetched by worth, the others by due time.
//!
//! An entry of a queue may be outdated. Every page has one [`Place`], and an entry counts only if it
//! is in that place. Others are dropped when they come up, at the expense of the push that made them,
//! and a sweep clears them all.

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Time};

use crate::agenda::Highest;
use crate::{Agenda, Gate};

/// Outdated entries that a queue may have before a sweep clears them.
const OUTDATED: usize = 1 << 14;

/// Where a page waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Place {
    /// In no queue.
    #[default]
    Nowhere,
    /// Never fetched, and worth the price when it was put there.
    Dear,
    /// Never fetched, and not worth the price then.
    Cheap,
    /// To be looked at, fetched or retried at a time.
    Due(Time),
    /// Being fetched.
    UnderWay,
}

/// All queues.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Queues {
    places: Vec<Place>,
    /// Pages never fetched, by worth.
    dear: Agenda<Highest>,
    cheap: Agenda<Highest>,
    /// Copies and sources, by due time.
    due: Agenda<(Time, u32)>,
    /// Pages that are gone or never came, by the time of the next try.
    retries: Agenda<(Time, u32)>,
}

impl Queues {
    /// Adds the next page, in no queue.
    pub(super) fn add(&mut self) {
        self.places.push(Place::Nowhere);
    }

    /// Where a page waits; nowhere if it is unknown.
    pub(super) fn place(&self, page: PageId) -> Place {
        self.places.get(page.index()).copied().unwrap_or_default()
    }

    /// Whether a page waits for its first fetch.
    pub(super) fn is_unfetched(&self, page: PageId) -> bool {
        matches!(self.place(page), Place::Dear | Place::Cheap)
    }

    /// Takes a page out of its queue.
    pub(super) fn remove(&mut self, page: PageId) {
        self.places[page.index()] = Place::Nowhere;
    }

    /// A page is being fetched from now on.
    pub(super) fn take(&mut self, page: PageId) {
        self.places[page.index()] = Place::UnderWay;
    }

    /// Queues a page never fetched.
    pub(super) fn offer(&mut self, page: PageId, host: HostId, worth: f64, is_dear: bool) {
        let (queue, place) =
            if is_dear { (&mut self.dear, Place::Dear) } else { (&mut self.cheap, Place::Cheap) };
        queue.push(Highest(worth), host, page);
        self.places[page.index()] = place;
    }

    /// Queues a page until `due`; takes it out if that is never.
    pub(super) fn wait_until(&mut self, page: PageId, host: HostId, due: Option<Time>) {
        self.places[page.index()] = due.map_or(Place::Nowhere, Place::Due);
        if let Some(due) = due {
            self.due.push((due, page.0), host, page);
        }
    }

    /// Queues a page that is gone or never came until `at`; takes it out if that is never.
    pub(super) fn retry_at(&mut self, page: PageId, host: HostId, at: Option<Time>) {
        self.places[page.index()] = at.map_or(Place::Nowhere, Place::Due);
        if let Some(at) = at {
            self.retries.push((at, page.0), host, page);
        }
    }

    /// Puts a popped entry back where it was.
    pub(super) fn put_back(&mut self, page: PageId, host: HostId, due: Time) {
        self.due.push((due, page.0), host, page);
    }

    /// Puts a popped entry back among those not worth the price.
    pub(super) fn put_back_cheap(&mut self, page: PageId, host: HostId, worth: f64) {
        self.cheap.push(Highest(worth), host, page);
    }

    /// The dearest page that was worth the price when it was queued.
    pub(super) fn pop_dear(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        loop {
            let (_, page) = self.dear.pop(now, gate)?;
            if self.place(page) == Place::Dear {
                return Some(page);
            }
        }
    }

    /// The dearest page that was not worth the price when it was queued, with its worth then.
    pub(super) fn pop_cheap(&mut self, now: Time, gate: &dyn Gate) -> Option<(f64, PageId)> {
        loop {
            let (Highest(worth), page) = self.cheap.pop(now, gate)?;
            if self.place(page) == Place::Cheap {
                return Some((worth, page));
            }
        }
    }

    /// The copy or source due first, if it is due by `until`.
    pub(super) fn pop_due(
        &mut self,
        now: Time,
        gate: &dyn Gate,
        until: Time,
    ) -> Option<(Time, PageId)> {
        pop_by(&mut self.due, &self.places, now, gate, until)
    }

    /// The page that is gone or never came whose next try is due first, if it is due.
    pub(super) fn pop_retry(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        pop_by(&mut self.retries, &self.places, now, gate, now).map(|(_, page)| page)
    }

    /// Whether most entries are outdated, where `held` pages wait for a due time.
    pub(super) fn is_crowded(&self, held: usize) -> bool {
        let unfetched = self.dear.len() + self.cheap.len();
        self.due.len() > 2 * held + OUTDATED || unfetched > 2 * self.places.len() + OUTDATED
    }

    /// Empties the queue of due times; the places stay.
    pub(super) fn clear_due(&mut self) {
        self.due = Agenda::default();
    }

    /// Empties the queues of pages never fetched; the places stay.
    pub(super) fn clear_unfetched(&mut self) {
        self.cheap = Agenda::default();
        self.dear = Agenda::default();
    }
}

/// The first entry of a queue by time that is not outdated, if its time comes by `until`.
fn pop_by(
    queue: &mut Agenda<(Time, u32)>,
    places: &[Place],
    now: Time,
    gate: &dyn Gate,
    until: Time,
) -> Option<(Time, PageId)> {
    loop {
        let ((at, _), page) = queue.pop_if(now, gate, |(at, _)| at <= until)?;
        if places[page.index()] == Place::Due(at) {
            return Some((at, page));
        }
    }
}
