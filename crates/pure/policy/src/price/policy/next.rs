//! The next page: queues are popped, and what comes up is judged again by the beliefs and the price of
//! now.

use tidewatch_core::{PageId, Time};

use super::Price;
use crate::Gate;
use crate::price::queues::Place;

/// A page is late, because it waited for the budget, if it is overdue by more than
/// `max(LATE · wait, LATE_ALLOWANCES / budget)`.
const LATE: f64 = 0.01;
const LATE_ALLOWANCES: f64 = 5.0;
/// A page worth less than this share of its worth when it was queued is put back.
const FADED: f64 = 0.9;
/// Entries of a queue that one choice judges at most; the next choice goes on.
const LOOKS: usize = 64;

impl Price {
    /// A random copy, for a share of the choices.
    pub(super) fn next_probe(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        let page = self.probes.draw(self.pages.held())?;
        let copy = self.pages.copy(page);
        let is_copy = copy.source().is_none() && !copy.is_gone();
        let is_free = self.queues.place(page) != Place::UnderWay && is_copy;
        let is_probe = is_free && gate.is_open(copy.host(), page, now);
        is_probe.then(|| self.probes.send(page))
    }

    /// The dearest page never fetched that is worth the price.
    pub(super) fn next_unfetched(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        let mut looks = LOOKS;
        while let Some(page) = self.queues.pop_dear(now, gate, &mut looks) {
            let price = self.market.host_price(self.pages.copy(page).host());
            if self.pages.offered_worth(page, now).is_some_and(|worth| worth >= price) {
                return Some(page);
            }
            self.queues.remove(page);
            self.offer(page);
        }
        None
    }

    /// The copy or source that reached the price first, and whether it is late.
    pub(super) fn next_due(&mut self, now: Time, gate: &dyn Gate) -> Option<(PageId, bool)> {
        let mut looks = LOOKS;
        while let Some((_, page)) = self.queues.pop_due(now, gate, now, &mut looks) {
            let copy = self.pages.copy(page);
            if copy.is_gone() {
                return Some((page, false));
            }
            let host = copy.host();
            let Some(last) = copy.last() else {
                self.queues.remove(page);
                self.offer(page);
                continue;
            };
            let wait = self.pages.value(page, now).wait(self.market.host_price(host));
            if let Some(due) = self.pages.due(page, last, wait).filter(|due| *due <= now) {
                let allowed = (LATE * wait).max(LATE_ALLOWANCES / self.market.budget());
                return Some((page, now.since(due).seconds() > allowed));
            }
            self.schedule(page, last);
        }
        None
    }

    /// The best of what is not worth the price: the dearest page never fetched, or the copy or source
    /// that is due next.
    pub(super) fn next_spare(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        match (self.next_cheap(now, gate), self.next_waiting(now, gate)) {
            (Some((worth, page)), Some((other, due, wait))) if worth >= other => {
                self.queues.put_back(wait, self.pages.copy(wait).host(), due);
                Some(page)
            }
            (Some((worth, page)), Some((.., wait))) => {
                self.queues.put_back_cheap(page, self.pages.copy(page).host(), worth);
                Some(wait)
            }
            (Some((_, page)), None) | (None, Some((.., page))) => Some(page),
            (None, None) => None,
        }
    }

    /// The dearest page never fetched among those not worth the price. Worths have faded since pages
    /// were queued, some more than others.
    fn next_cheap(&mut self, now: Time, gate: &dyn Gate) -> Option<(f64, PageId)> {
        let mut looks = LOOKS;
        while let Some((worth, page)) = self.queues.pop_cheap(now, gate, &mut looks) {
            match self.pages.offered_worth(page, now) {
                Some(today) if today >= FADED * worth => return Some((today, page)),
                Some(today) => {
                    self.queues.put_back_cheap(page, self.pages.copy(page).host(), today);
                }
                None => self.queues.remove(page),
            }
        }
        None
    }

    /// The copy or source due next, with its worth. An entry that was only to be looked at is put back
    /// to when it is due. If too many of those come first, the first due of what was looked at.
    fn next_waiting(&mut self, now: Time, gate: &dyn Gate) -> Option<(f64, Time, PageId)> {
        let mut first: Option<(Time, PageId)> = None;
        let (mut later, mut looks) = (Vec::new(), LOOKS);
        while let Some((due, page)) = self.queues.pop_due(now, gate, Time::NEVER, &mut looks) {
            let copy = self.pages.copy(page);
            let host = copy.host();
            // What is gone or never came waits for its time, whatever else there is to fetch.
            let Some(last) = copy.last().filter(|_| !copy.is_gone()) else {
                later.push((page, host, due));
                continue;
            };
            let wait = self.pages.value(page, now).wait(self.market.host_price(host));
            let exact = self.pages.due(page, last, wait);
            if exact.is_some_and(|exact| exact <= due) {
                first = Some((due, page));
                break;
            }
            self.queues.wait_until(page, host, exact);
            first = exact.map(|exact| (exact, page)).into_iter().chain(first).min();
        }
        for (page, host, due) in later {
            self.queues.put_back(page, host, due);
        }
        first.map(|(due, page)| (self.worth_now(page, now), due, page))
    }

    /// Clicks that fetching a copy or source brings now, at the price of the whole crawl.
    fn worth_now(&self, page: PageId, now: Time) -> f64 {
        let copy = self.pages.copy(page);
        let price = self.market.host_price(copy.host());
        let waited = self.pages.waited(page, copy.last().unwrap_or(now), now);
        self.pages.value(page, now).worth(waited, price) * self.market.price() / price
    }
}
