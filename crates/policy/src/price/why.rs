//! Why this page now, or why not?

use tidewatch_core::{FetchKind, PageId, Time};

use super::clearing::clear_to;
use super::market::demand;
use super::news::NO_SOURCE;
use super::place::Place;
use super::plan::{LEAST, SOLVED};
use super::policy::Price;
use super::value::Value;

/// All that decided about a page at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Why {
    /// The page.
    pub page: PageId,
    /// What a fetch of it would be for.
    pub kind: FetchKind,
    /// What fetches of it are worth.
    pub value: Value,
    /// Last good fetch; birth where there was none.
    pub since: Time,
    /// Clicks that a fetch would bring now.
    pub worth: f64,
    /// The price of a fetch, and that on its host.
    pub price: f64,
    /// The price on its host, which is higher where politeness allows less than would be worth it.
    pub host_price: f64,
    /// When its worth reaches the price; [`Time::NEVER`] if it does not.
    pub due: Time,
    /// Changes seen, and visits that could have seen one.
    pub history: (u32, u32),
    /// Pages that show a link to it, where it waits to be fetched for the first time.
    pub shown: Option<u16>,
    /// Whether it is known to be gone.
    pub is_gone: bool,
    /// Fetches in a row that failed.
    pub failures: u8,
}

/// What another budget would bring, for the same beliefs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhatIf {
    /// Fetches a second.
    pub budget: f64,
    /// The price.
    pub price: f64,
    /// Fetches a second that would be worth it, by kind: refresh, source, new.
    pub fetches: [f64; 3],
    /// Share of the copies that would be fresh, each weighted by its clicks.
    pub freshness: Option<f64>,
    /// Clicks a second that new pages would bring.
    pub profit: f64,
}

/// How a crawl stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// ω: clicks that the marginal fetch brings.
    pub price: f64,
    /// Share of the copies that are fresh, from probes at random, with the half-width of its 95%
    /// interval; `None` before the first probe.
    pub freshness: Option<(f64, f64)>,
}

impl Price {
    /// All that decides about a page at `now`; `None` if nobody has told of it.
    pub(super) fn explain(&mut self, page: PageId, now: Time) -> Option<Why> {
        if page.index() >= self.copies.len() {
            return None;
        }
        self.now = now;
        let copy = *self.copies.page(page);
        let (value, since, kind) = match (copy.last(), copy.source) {
            (Some(last), NO_SOURCE) => (self.copies.value(page), last, FetchKind::Refresh),
            (Some(last), _) => (self.value(page), last, FetchKind::Source),
            (None, _) => {
                let (value, since) =
                    self.once_value(page).unwrap_or((Value::Once { clicks: 0.0, decay: 0.0 }, now));
                let kind = match value {
                    Value::Once { .. } if self.news.is_on_source(page) => FetchKind::New,
                    _ => FetchKind::Frontier,
                };
                (value, since, kind)
            }
        };
        let host_price = self.host_price(copy.host);
        let due = match self.places[page.index()] {
            Place::Due(at) if copy.last().is_none() || copy.is_gone() => Some(at),
            _ if copy.is_gone() => None,
            _ => self.due_time(page, since, value.wait(host_price)),
        };
        Some(Why {
            page,
            kind,
            value,
            since,
            worth: value.worth(self.copies.waited(page, since, now), host_price),
            price: self.price(),
            host_price,
            due: due.unwrap_or(Time::NEVER),
            history: self.copies.page(page).history(),
            shown: self.news.shown_by(page),
            is_gone: copy.is_gone(),
            failures: copy.failures(),
        })
    }

    /// What another budget would bring.
    pub(super) fn foresee(&self, budget: f64) -> WhatIf {
        let (sources, (copies, scale)) = (self.source_values(), self.copy_values());
        let wanted = |price: f64| demand(&sources, price) + scale * demand(&copies, price);
        let price = clear_to(SOLVED, wanted, budget, self.price()).max(LEAST);
        let (mut fetches, mut profit) = ([0.0; 3], 0.0);
        for item in &sources {
            if let Value::Source(source) = item {
                let wait = source.wait(price);
                fetches[1] += wait.recip();
                fetches[2] += source.pages(wait, price);
                profit += source.brings(wait, price);
            }
        }
        let (mut fresh, mut weights) = (0.0, 0.0);
        for item in &copies {
            if let Value::Refresh { weight, size, staling } = item {
                fetches[0] += scale * item.demand(price);
                fresh += weight * (1.0 - size * staling.stale_mean_at(price / (weight * size)));
                weights += weight;
            }
        }
        let freshness = (weights > 0.0).then(|| fresh / weights);
        WhatIf { budget, price, fetches, freshness, profit }
    }

    /// How things stand.
    pub(super) fn report(&self) -> Standing {
        Standing { price: self.price(), freshness: self.probes.freshness() }
    }
}
