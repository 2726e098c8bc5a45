//! Where a page waits: among those never fetched by its worth, among copies and sources by when it is
//! due.

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Reason, Span, Time};

use super::news::NO_SOURCE;
use super::policy::Price;
use super::value::Value;
use crate::agenda::Highest;
use tidewatch_science::rhythm::by_the_clock;

/// A page that is not due for so long is looked at again then, and ever less often.
const LOOK_AGAIN: Span = Span::DAY;
const LOOK_LATER: f64 = 1.25;
const LOOK_SOON: Span = Span::HOUR;
/// Times that a page never fetched is tried before it is left alone for long, which each further
/// failure doubles.
const ATTEMPTS: u8 = 3;
const RETRY: Span = Span::MINUTE.times(10);
/// A page that sends on to another, which is a page of its own, has not failed: it is asked again in a
/// day, and each further time doubles that.
const MOVED_AGAIN: Span = Span::HOUR.times(12);
/// A page that is gone is not looked for sooner.
const GONE_AGAIN: Span = Span::WEEK;

/// Where a page waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Place {
    #[default]
    Nowhere,
    Once,
    Cheap,
    Due(Time),
    UnderWay,
}

impl Price {
    /// Puts a page that was never fetched where its worth says.
    pub(super) fn offer(&mut self, page: PageId) {
        let (place, copy) = (self.places[page.index()], self.copies.page(page));
        let is_settled = copy.last().is_some() || copy.is_gone();
        // One that waits for its time has failed too often to be tried now, whatever names it.
        if matches!(place, Place::UnderWay | Place::Due(_)) || is_settled {
            return;
        }
        let Some(worth) = self.offered_worth(page) else {
            self.places[page.index()] = Place::Nowhere;
            return;
        };
        let host = self.copies.page(page).host;
        let is_dear = worth >= self.host_price(host);
        let (queue, place) =
            if is_dear { (&mut self.once, Place::Once) } else { (&mut self.cheap, Place::Cheap) };
        queue.push(Highest(worth), host, page);
        self.places[page.index()] = place;
    }

    /// What a page never fetched is worth now: sources all that there is, since nothing is known of
    /// them before; nothing what is known of no more.
    pub(super) fn offered_worth(&self, page: PageId) -> Option<f64> {
        let is_source = self.copies.page(page).source != NO_SOURCE;
        self.once_worth(page).or(is_source.then_some(f64::MAX))
    }

    /// What a page never fetched is worth, and since when it loses that.
    pub(super) fn once_value(&self, page: PageId, now: Time) -> Option<(Value, Time)> {
        self.news.value(page).or_else(|| {
            let factor = self.copies.page(page).kept_factor()?;
            let clicks = factor * self.news.prospect(self.copies.page(page).host);
            Some((Value::Once { clicks, decay: 0.0 }, now))
        })
    }

    /// What a page never fetched is worth now.
    pub(super) fn once_worth(&self, page: PageId) -> Option<f64> {
        let (value, since) = self.once_value(page, self.now)?;
        Some(value.worth(self.now.since(since).seconds(), 0.0))
    }

    /// What further fetches of a page are worth.
    pub(super) fn value(&self, page: PageId, now: Time) -> Value {
        if let Some(told) = self.told.get(&page) {
            return *told;
        }
        match self.copies.page(page).source {
            NO_SOURCE => self.copies.value(page),
            source => Value::Source(self.news.source(source, now)),
        }
    }

    /// Puts a page that has been fetched where its worth will have reached the price.
    pub(super) fn schedule(&mut self, page: PageId, from: Time) {
        let copy = self.copies.page(page);
        if copy.is_gone() {
            self.places[page.index()] = Place::Nowhere;
            return;
        }
        let host = copy.host;
        let (value, price) = (self.value(page, self.now), self.host_price(host));
        let passed = self.now.since(from).seconds();
        let later = LOOK_LATER * passed + LOOK_AGAIN.seconds();
        // Nearly all copies are not due for long: when exactly need not be known yet.
        let look = match value.not_before(price) {
            soonest if soonest > passed + LOOK_AGAIN.seconds() => Some(soonest),
            _ if value.worth(later, price) < price => Some(later),
            _ => None,
        };
        let wait = self.backed_off(page, look.unwrap_or_else(|| value.wait(price)));
        let due = self.copies.due_at_least(page, from, wait, self.now);
        // By the hours of its host a look may come up before its time; not at once again.
        let due = if look.is_some() { due.map(|due| due.max(self.now + LOOK_SOON)) } else { due };
        self.wait_until(page, host, due);
    }

    /// When a page is due that waits so long after a fetch; `None` if never. After failures it is asked
    /// for less and less often.
    pub(super) fn due_time(&self, page: PageId, from: Time, wait: f64) -> Option<Time> {
        self.copies.due(page, from, self.backed_off(page, wait))
    }

    fn backed_off(&self, page: PageId, wait: f64) -> f64 {
        wait * f64::from(1u32 << self.copies.page(page).failures())
    }

    pub(super) fn wait_until(&mut self, page: PageId, host: HostId, due: Option<Time>) {
        self.places[page.index()] = due.map_or(Place::Nowhere, Place::Due);
        if let Some(due) = due {
            self.due.push((due, page.0), host, page);
        }
    }

    /// Decides when to retry a page whose fetch failed. An interruption of ours is no failure of
    /// the page, so it is not counted among `failures`.
    pub(super) fn retry(&mut self, page: PageId, is_first: bool, why: Reason, at: Time) {
        let copy = self.copies.page(page);
        let (failures, host) = (copy.failures(), copy.host);
        if !is_first {
            self.schedule(page, at);
        } else if why == Reason::Redirect {
            self.wait_until(page, host, Some(at + MOVED_AGAIN.times(1 << failures)));
        } else if failures < ATTEMPTS {
            self.offer(page);
        } else {
            self.wait_until(page, host, Some(at + RETRY.times(1 << failures)));
        }
    }

    /// A page is gone. What was there, or is watched for links, may come back: a server's bad day must
    /// not lose it. It is looked for when it would be due if it were there, though not within a week;
    /// each time that it is still gone doubles the time to the next look.
    pub(super) fn look_for(&mut self, page: PageId, at: Time) {
        let copy = self.copies.page(page);
        let (host, is_source) = (copy.host, copy.source != NO_SOURCE);
        let wait = match copy.last() {
            Some(_) => self.value(page, self.now).wait(self.host_price(host)),
            None if is_source => 0.0,
            None => f64::INFINITY,
        };
        let wait = self.backed_off(page, wait.max(GONE_AGAIN.seconds()));
        self.wait_until(page, host, by_the_clock(at, wait));
    }
}
