//! Why this page now, or why not?

use tidewatch_core::{FetchKind, PageId, Span, Time};

use super::clearing::clear_to;
use super::market::demand;
use super::news::NO_SOURCE;
use super::place::Place;
use super::plan::{LEAST, SOLVED, worked_off};
use super::policy::Price;
use super::value::Value;

/// For so long another budget is tried out.
const AHEAD: Span = Span::WEEK;

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

/// What another budget would bring in the coming [`AHEAD`], for the same beliefs. Of prospects it knows
/// those that wait today, not those that will be found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhatIf {
    /// Fetches a second.
    pub budget: f64,
    /// The price.
    pub price: f64,
    /// Fetches a second that would be worth it, by kind in the order of [`FetchKind::ALL`], probes
    /// being refreshes.
    pub fetches: [f64; 4],
    /// Share of the copies that would be fresh, each weighted by its clicks.
    pub freshness: Option<f64>,
    /// Clicks a second that pages never fetched before would bring.
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

    /// What another budget would bring. Where all that is worth the price cannot be afforded, as of
    /// many prospects of which the same is expected, a part of it is.
    pub(super) fn foresee(&self, budget: f64) -> WhatIf {
        let market = Market::of(self);
        let probes = budget * self.settings.probes();
        let rest = budget - probes;
        let wanted = |price: f64| market.wanted(price);
        let price = clear_to(SOLVED, wanted, rest, self.price()).max(LEAST);
        let below = price * (1.0 - 2.0 * SOLVED);
        let (all, more) = (wanted(price), wanted(below));
        let part = if more > all { ((rest - all) / (more - all)).clamp(0.0, 1.0) } else { 0.0 };
        let [some, most] = [price, below].map(|price| market.at(price));
        let between = |a: f64, b: f64| a + part * (b - a);
        let mut fetches: [f64; 4] =
            std::array::from_fn(|kind| between(some.fetches[kind], most.fetches[kind]));
        fetches[0] += probes;
        let freshness = some.freshness.zip(most.freshness).map(|(a, b)| between(a, b));
        WhatIf { budget, price, fetches, freshness, profit: between(some.profit, most.profit) }
    }

    /// How things stand.
    pub(super) fn report(&self) -> Standing {
        Standing { price: self.price(), freshness: self.probes.freshness() }
    }
}

/// All that a budget could be spent on.
struct Market {
    sources: Vec<Value>,
    /// Copies, each of which stands for so many.
    copies: (Vec<Value>, f64),
    /// Worths of pages never fetched, in order: those that a source showed, and the others.
    stocks: [Vec<f64>; 2],
}

/// What a price brings.
struct Brought {
    fetches: [f64; 4],
    freshness: Option<f64>,
    profit: f64,
}

impl Market {
    fn of(price: &Price) -> Self {
        let stock = |is_news: bool| price.stock(|page| price.news.is_on_source(page) == is_news);
        Market {
            sources: price.source_values(),
            copies: price.copy_values(),
            stocks: [true, false].map(stock),
        }
    }

    /// Fetches a second that are worth a price.
    fn wanted(&self, price: f64) -> f64 {
        let (copies, scale) = &self.copies;
        let stocks = self.stocks.iter().map(|stock| worked_off(stock, price, AHEAD));
        demand(&self.sources, price) + scale * demand(copies, price) + stocks.sum::<f64>()
    }

    fn at(&self, price: f64) -> Brought {
        let (mut fetches, mut profit) = ([0.0; 4], 0.0);
        for item in &self.sources {
            if let Value::Source(source) = item {
                let wait = source.wait(price);
                fetches[1] += wait.recip();
                fetches[2] += source.pages(wait, price);
                profit += source.brings(wait, price);
            }
        }
        for (stock, fetches) in self.stocks.iter().zip(&mut fetches[2..]) {
            *fetches += worked_off(stock, price, AHEAD);
            let worths = stock.iter().rev().take_while(|worth| **worth >= price);
            profit += worths.sum::<f64>() / AHEAD.seconds();
        }
        let (copies, scale) = &self.copies;
        let (mut fresh, mut weights) = (0.0, 0.0);
        for item in copies {
            if let Value::Refresh { weight, size, staling } = item {
                fetches[0] += scale * item.demand(price);
                fresh += weight * (1.0 - size * staling.stale_mean_at(price / (weight * size)));
                weights += weight;
            }
        }
        Brought { fetches, freshness: (weights > 0.0).then(|| fresh / weights), profit }
    }
}
