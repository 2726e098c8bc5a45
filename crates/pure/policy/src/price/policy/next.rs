//! The next page: queues are popped, and what comes up is judged again by the beliefs and the price of
//! now.

use tidewatch_core::{PageId, Time};

use super::Price;
use crate::Gate;
use crate::price::market::LEAST;
use crate::price::queues::Place;

/// A page is late, because it waited for the budget, if it is overdue by more than
/// `max(LATE · wait, LATE_ALLOWANCES / budget)`.
const LATE: f64 = 0.01;
const LATE_ALLOWANCES: f64 = 5.0;
/// A page worth less than this share of its worth when it was queued is put back.
const FADED: f64 = 0.9;
/// Pages of a queue that one choice judges at most; the next choice goes on.
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

    /// For a share of the choices, a page that only its doubt keeps from being fetched. Otherwise a wrong
    /// doubt would never be found out.
    pub(super) fn next_blind(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        let (market, queues) = (&self.market, &self.queues);
        let is_free = |page, host| queues.is_unfetched(page) && gate.is_open(host, page, now);
        self.pages.draw_blind(now, |host| market.host_price(host), is_free)
    }

    /// The dearest page never fetched that is worth the price.
    pub(super) fn next_unfetched(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        for _ in 0..LOOKS {
            let page = self.queues.pop_dear(now, gate)?;
            let price = self.market.host_price(self.pages.copy(page).host());
            if self.pages.offered_worth(page, now).is_some_and(|worth| worth >= price) {
                return Some(page);
            }
            self.queues.remove(page);
            self.offer(page);
        }
        None
    }

    /// The next failed or vanished page to retry. A page that was never fetched is offered once more, and
    /// fetched at once if it is worth the price.
    pub(super) fn next_retry(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        for _ in 0..LOOKS {
            let page = self.queues.pop_retry(now, gate)?;
            if self.pages.copy(page).is_gone() {
                return Some(page);
            }
            self.queues.remove(page);
            self.offer(page);
            if let Some(page) = self.next_unfetched(now, gate) {
                return Some(page);
            }
        }
        None
    }

    /// The copy or source that reached the price first, and whether it is late.
    pub(super) fn next_due(&mut self, now: Time, gate: &dyn Gate) -> Option<(PageId, bool)> {
        for _ in 0..LOOKS {
            let (_, page) = self.queues.pop_due(now, gate, now)?;
            let copy = self.pages.copy(page);
            let (host, last) = (copy.host(), copy.last().unwrap_or(now));
            let wait = self.pages.value(page, now).wait(self.market.host_price(host));
            let due = self.pages.due(page, last, wait).into_iter();
            let due = due.chain(self.pages.first_look(page, last)).min();
            if let Some(due) = due.filter(|due| *due <= now) {
                // A hint makes a copy older than the time that has passed: it waits since the hint.
                let due = due.max(self.pages.last_hint(page).unwrap_or(due));
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
            (Some((worth, page)), Some((other, wait))) => {
                let (taken, left) = if worth >= other { (page, wait) } else { (wait, page) };
                self.put_back(left, worth);
                Some(taken)
            }
            (Some((_, page)), None) | (None, Some((_, page))) => Some(page),
            (None, None) => None,
        }
    }

    /// Puts back a popped page: one never fetched with its worth, another at its due time.
    fn put_back(&mut self, page: PageId, worth: f64) {
        let host = self.pages.copy(page).host();
        match self.queues.place(page) {
            Place::Due(due) => self.queues.put_back(page, host, due),
            _ => self.queues.put_back_cheap(page, host, worth),
        }
    }

    /// The dearest page never fetched among those not worth the price. Worths have faded since pages
    /// were queued, some more than others. If many have, the dearest of those looked at.
    fn next_cheap(&mut self, now: Time, gate: &dyn Gate) -> Option<(f64, PageId)> {
        let mut best: Option<(f64, PageId)> = None;
        for _ in 0..LOOKS {
            let Some((worth, page)) = self.queues.pop_cheap(now, gate) else { break };
            match self.pages.offered_worth(page, now) {
                Some(today) if today >= FADED * worth => return Some((today, page)),
                Some(today) => {
                    self.put_back(page, today);
                    best = best.filter(|(worth, _)| *worth >= today).or(Some((today, page)));
                }
                None => self.queues.remove(page),
            }
        }
        best
    }

    /// The copy or source due next, with its worth. An entry that was only to be looked at is put back
    /// to when it is due. If too many of those come first, the first due of what was looked at. If none
    /// of it is ever due at this price, the one worth most.
    fn next_waiting(&mut self, now: Time, gate: &dyn Gate) -> Option<(f64, PageId)> {
        let mut first: Option<(Time, PageId)> = None;
        let mut never = Vec::new();
        for _ in 0..LOOKS {
            let Some((due, page)) = self.queues.pop_due(now, gate, Time::NEVER) else { break };
            let copy = self.pages.copy(page);
            let (host, last) = (copy.host(), copy.last().unwrap_or(now));
            let wait = self.pages.value(page, now).wait(self.market.host_price(host));
            match self.pages.due(page, last, wait) {
                Some(exact) if exact <= due => {
                    first = Some((due, page));
                    break;
                }
                Some(exact) => {
                    self.queues.wait_until(page, host, Some(exact));
                    first = first.filter(|first| *first <= (exact, page)).or(Some((exact, page)));
                }
                None => {
                    self.schedule(page, last);
                    never.push((self.worth_if_spare(page, now), page));
                }
            }
        }
        let never = never.into_iter().filter(|(worth, _)| *worth > 0.0);
        let spare = never.max_by(|a, b| a.0.total_cmp(&b.0));
        first.map(|(_, page)| (self.worth_now(page, now), page)).or(spare)
    }

    /// Clicks that fetching a copy or source brings now, at the price of the whole crawl.
    fn worth_now(&self, page: PageId, now: Time) -> f64 {
        let host_price = self.market.host_price(self.pages.copy(page).host());
        self.worth_at(page, now, host_price) * self.market.price() / host_price
    }

    /// The same for one that is never due at the price. A spare fetch costs nothing, so that of a source
    /// pages worth less than the price count as well.
    fn worth_if_spare(&self, page: PageId, now: Time) -> f64 {
        let worth = self.worth_now(page, now);
        if worth > 0.0 { worth } else { self.worth_at(page, now, LEAST) }
    }

    fn worth_at(&self, page: PageId, now: Time, price: f64) -> f64 {
        let waited = self.pages.waited(page, self.pages.copy(page).last().unwrap_or(now), now);
        self.pages.value(page, now).worth(waited, price)
    }
}

#[cfg(test)]
mod tests {
    use tidewatch_core::{
        Content, Discovery, Event, FetchKind, HostId, Observation, Outcome, PageKey, Rate, Signal,
        Span,
    };

    use super::*;
    use crate::price::Settings;
    use crate::{AlwaysOpen, Policy};

    /// A hint makes a copy older than the time that has passed, and due in the past. That does not mean
    /// that the budget kept it waiting.
    #[test]
    fn a_copy_waits_since_its_hint() {
        let (page, url) = (PageId(0), "http://a.test/x");
        let mut price = Price::new(Settings::DEFAULT, 1);
        price.learn(&Event::Budget(Rate::per_second(1.0).unwrap()));
        price.learn(&Event::Discovered(Discovery {
            page,
            host: HostId(0),
            key: PageKey::of(url),
            url,
            at: Time::ZERO,
            via: None,
            is_source: false,
            is_held: true,
            weight: 1.05,
        }));
        let (kind, outcome) = (FetchKind::Refresh, Outcome::Fetched(Content::default()));
        let (at, previous) = (Time::ZERO, None);
        price.learn(&Event::Held(Observation { page, at, kind, previous, outcome }));
        let now = Time::ZERO + Span::WEEK.times(6);
        assert_eq!(price.next_due(now, &AlwaysOpen), None);
        price.learn(&Event::Hinted(Signal { page, at: now, kind: "feed" }));
        assert_eq!(price.next_due(now, &AlwaysOpen), Some((page, false)));
    }
}
