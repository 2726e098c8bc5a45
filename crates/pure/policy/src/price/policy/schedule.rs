//! Where a page waits: if never fetched by its worth, else until it is due.

use tidewatch_core::{PageId, Reason, Span, Time};
use tidewatch_science::rhythm::by_the_clock;

use super::Price;
use crate::price::market::LEAST;
use crate::price::queues::Place;

/// A page not due for longer than this is looked at again after this and `LOOK_LATER` times the wait so
/// far, but never within `LOOK_SOON`.
const LOOK_AGAIN: Span = Span::DAY;
const LOOK_LATER: f64 = 1.25;
const LOOK_SOON: Span = Span::HOUR;
/// Attempts at a first fetch before the page waits for `RETRY`, doubled by every failure so far.
const ATTEMPTS: u8 = 3;
const RETRY: Span = Span::MINUTE.times(10);
/// A redirect is no failure, since its target is a page of its own: the page is tried again after a day,
/// doubled every time.
const MOVED_AGAIN: Span = Span::HOUR.times(12);
/// Neither waits for longer: a server that was down for a day is not forgotten for months.
const LONGEST_RETRY: Span = Span::WEEK;
/// A page that is gone is not looked for sooner.
const GONE_AGAIN: Span = Span::WEEK;

impl Price {
    /// Queues a page that was never fetched by what it is worth now.
    pub(super) fn offer(&mut self, page: PageId) {
        let (place, copy) = (self.queues.place(page), self.pages.copy(page));
        let is_settled = copy.last().is_some() || copy.is_gone();
        // One with a due time has failed too often to be tried now, whatever links to it.
        if matches!(place, Place::UnderWay | Place::Due(_)) || is_settled {
            return;
        }
        let host = copy.host();
        match self.pages.offered_worth(page, self.now) {
            None => self.queues.remove(page),
            Some(worth) => {
                let is_dear = worth >= self.market.host_price(host);
                self.queues.offer(page, host, worth, is_dear);
            }
        }
    }

    /// Queues a page that has been fetched until its worth will have reached the price.
    pub(super) fn schedule(&mut self, page: PageId, from: Time) {
        let copy = self.pages.copy(page);
        if copy.is_gone() {
            self.queues.remove(page);
            return;
        }
        let host = copy.host();
        let (value, price) = (self.pages.value(page, self.now), self.market.host_price(host));
        let passed = self.now.since(from).seconds();
        let later = LOOK_LATER * passed + LOOK_AGAIN.seconds();
        // Nearly all copies are not due for long: when exactly need not be known yet.
        let look = match value.not_before(price) {
            soonest if soonest > passed + LOOK_AGAIN.seconds() => Some(soonest),
            _ if value.worth(later, price) < price => Some(later),
            _ => None,
        };
        let wait = look.unwrap_or_else(|| value.wait(price));
        let due = self.pages.due_at_least(page, from, wait, self.now);
        let is_exact = look.is_none() && due.is_some();
        // What is never due at this price stays in the queue if it is worth anything, for allowances
        // that would lapse.
        let is_worth_some = || value.worth(later, LEAST) > 0.0;
        let due = due.or_else(|| by_the_clock(from, later).filter(|_| is_worth_some()));
        // By the rhythm of its host a look may come up before its time; not at once again.
        let due = if is_exact { due } else { due.map(|due| due.max(self.now + LOOK_SOON)) };
        let due = due.into_iter().chain(self.pages.first_look(page, from)).min();
        self.queues.wait_until(page, host, due);
    }

    /// Queues a page that has been fetched again, for the beliefs and the price of now.
    pub(super) fn reschedule(&mut self, page: PageId) {
        let copy = self.pages.copy(page);
        let is_retried = copy.is_gone() || self.queues.place(page) == Place::UnderWay;
        if let Some(last) = copy.last().filter(|_| !is_retried) {
            self.schedule(page, last);
        }
    }

    /// Queues a page whose fetch failed. An interruption of ours is not among its `failures`.
    pub(super) fn retry(&mut self, page: PageId, why: Reason, at: Time) {
        let copy = self.pages.copy(page);
        let (failures, host) = (copy.failures(), copy.host());
        if copy.is_gone() {
            self.look_for(page, at);
        } else if copy.last().is_some() {
            self.schedule(page, at);
        } else if why == Reason::Redirect {
            let wait = MOVED_AGAIN.times(1 << failures).min(LONGEST_RETRY);
            self.queues.retry_at(page, host, Some(at + wait));
        } else if failures < ATTEMPTS {
            self.offer(page);
        } else {
            let wait = RETRY.times(1 << failures).min(LONGEST_RETRY);
            self.queues.retry_at(page, host, Some(at + wait));
        }
    }

    /// Queues a page that is gone. What was held, or is watched for links, may come back after a
    /// server's bad day. It is looked for when it would be due, though not within a week; the wait grows
    /// with every look that finds it still gone, and where pages seldom come back.
    pub(super) fn look_for(&mut self, page: PageId, at: Time) {
        let copy = self.pages.copy(page);
        let host = copy.host();
        let wait = match copy.last() {
            Some(_) => self.pages.value(page, self.now).wait(self.market.host_price(host)),
            None if copy.source().is_some() => 0.0,
            None => f64::INFINITY,
        };
        let wait = self.pages.wait_for_return(page, wait.max(GONE_AGAIN.seconds()));
        self.queues.retry_at(page, host, by_the_clock(at, wait));
    }
}
