//! What comes next: the queues, looked at anew as pages come up.

use tidewatch_core::{PageId, Time};

use super::news::NO_SOURCE;
use super::place::Place;
use super::policy::Price;
use crate::Gate;
use crate::agenda::Highest;

/// What was due so long ago, as a share of its wait, had to wait for the budget; so did what was due
/// before so many allowances.
const LATE: f64 = 0.01;
const LATE_ALLOWANCES: f64 = 5.0;
/// A page worth less than this share of what it was when it was put in its place is put back.
const FADED: f64 = 0.9;
/// Due times that are looked at anew in one choice at most; the rest follow with the next.
const LOOKS: usize = 64;

impl Price {
    /// A copy at random, now and then.
    pub(super) fn probe(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        if self.held.is_empty() || self.draws.uniform() >= self.settings.probes() {
            return None;
        }
        let page = self.held[(self.draws.uniform() * self.held.len() as f64) as usize];
        let copy = self.copies.page(page);
        let is_copy = copy.source == NO_SOURCE && !copy.is_gone();
        let is_free = self.places[page.index()] != Place::UnderWay && is_copy;
        (is_free && gate.opens_at(copy.host) <= now).then_some(page)
    }

    /// The dearest page never fetched that is worth the price.
    pub(super) fn next_once(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        for _ in 0..LOOKS {
            let (_, page) = self.once.pop(now, gate)?;
            if self.places[page.index()] != Place::Once {
                continue;
            }
            let worth = self.offered_worth(page);
            if worth.is_some_and(|worth| worth >= self.host_price(self.copies.page(page).host)) {
                return Some(page);
            }
            self.places[page.index()] = Place::Nowhere;
            self.offer(page);
        }
        None
    }

    /// The copy or source that reached the price first, and whether it had to wait.
    pub(super) fn next_due(&mut self, now: Time, gate: &dyn Gate) -> Option<(PageId, bool)> {
        for _ in 0..LOOKS {
            let ((due, _), page) = self.due.pop_if(now, gate, |(due, _)| due <= now)?;
            if self.places[page.index()] != Place::Due(due) {
                continue;
            }
            let copy = self.copies.page(page);
            if copy.is_gone() {
                return Some((page, false));
            }
            let host = copy.host;
            let Some(last) = copy.last() else {
                self.places[page.index()] = Place::Nowhere;
                self.offer(page);
                continue;
            };
            let (value, price) = (self.value(page, now), self.host_price(host));
            let wait = value.wait(price);
            if let Some(due) = self.due_time(page, last, wait).filter(|due| *due <= now) {
                let late = now.since(due).seconds();
                return Some((page, late > (LATE * wait).max(LATE_ALLOWANCES / self.budget)));
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
                self.due.push((due, wait.0), self.copies.page(wait).host, wait);
                Some(page)
            }
            (Some((worth, page)), Some((.., wait))) => {
                self.cheap.push(Highest(worth), self.copies.page(page).host, page);
                Some(wait)
            }
            (Some((_, page)), None) | (None, Some((.., page))) => Some(page),
            (None, None) => None,
        }
    }

    /// The dearest page never fetched among those not worth the price. What it was worth when it was
    /// put there has faded since, of some more than of others.
    fn next_cheap(&mut self, now: Time, gate: &dyn Gate) -> Option<(f64, PageId)> {
        for _ in 0..LOOKS {
            let (worth, page) = self.cheap.pop(now, gate)?;
            if self.places[page.index()] != Place::Cheap {
                continue;
            }
            match self.offered_worth(page) {
                Some(today) if today >= FADED * worth.0 => return Some((today, page)),
                Some(today) => {
                    self.cheap.push(Highest(today), self.copies.page(page).host, page);
                }
                None => self.places[page.index()] = Place::Nowhere,
            }
        }
        None
    }

    /// The copy or source due next, with what it is worth. What was only to be looked at is put back to
    /// when it is due; where too much of that comes before it, the first due of what was looked at.
    fn next_waiting(&mut self, now: Time, gate: &dyn Gate) -> Option<(f64, Time, PageId)> {
        let mut first: Option<(Time, PageId)> = None;
        let mut later = Vec::new();
        for _ in 0..LOOKS {
            let Some(((due, _), page)) = self.due.pop(now, gate) else { break };
            if self.places[page.index()] != Place::Due(due) {
                continue;
            }
            let copy = self.copies.page(page);
            let host = copy.host;
            // What is gone or never came waits for its time, whatever else there is to fetch.
            let Some(last) = copy.last().filter(|_| !copy.is_gone()) else {
                later.push((due, host, page));
                continue;
            };
            let exact =
                self.due_time(page, last, self.value(page, now).wait(self.host_price(host)));
            if exact.is_some_and(|exact| exact <= due) {
                first = Some((due, page));
                break;
            }
            self.wait_until(page, host, exact);
            first = exact.map(|exact| (exact, page)).into_iter().chain(first).min();
        }
        for (due, host, page) in later {
            self.due.push((due, page.0), host, page);
        }
        first.map(|(due, page)| (self.worth_now(page, now), due, page))
    }

    /// What fetching a copy or source brings now, at the price of all.
    fn worth_now(&self, page: PageId, now: Time) -> f64 {
        let copy = self.copies.page(page);
        let price = self.host_price(copy.host);
        let waited = self.copies.waited(page, copy.last().unwrap_or(now), now);
        self.value(page, now).worth(waited, price) * self.price() / price
    }
}
