//! Answers: why a page is due or not, what another budget would bring, and the budget at each price.

use tidewatch_core::{FetchKind, HostId, PageId, Span, Time};

use super::Price;
use crate::DemandCurve;
use crate::explanation::{Belief, Due, Early, Explanation, History, Lever, Merit, WhatIf};
use crate::price::clearing::{WIDTH, clear};
use crate::price::demand::demand;
use crate::price::market::{LEAST, STOCK, worked_off};
use crate::price::queues::Place;
use crate::price::value::Value;

/// The time over which another budget is tried out.
const AHEAD: Span = Span::WEEK;

const RULE: &str = "a page is fetched when a fetch brings as many clicks as the price";

impl Price {
    /// What decides about `page` at `now`; `None` if it is unknown.
    pub(super) fn explain(&self, page: PageId, now: Time) -> Option<Explanation> {
        if !self.pages.is_known(page) {
            return None;
        }
        let copy = self.pages.copy(page);
        let host_price = self.market.host_price(copy.host());
        let (known, kind) = if let Some(last) = copy.last() {
            let is_source = copy.source().is_some();
            let kind = if is_source { FetchKind::Source } else { FetchKind::Refresh };
            (Some((self.pages.value(page, now), last)), kind)
        } else {
            let is_news = self.pages.is_news(page);
            let kind = if is_news { FetchKind::New } else { FetchKind::Frontier };
            (self.pages.first_value(page, now), kind)
        };
        let waited = known.as_ref().map_or(0.0, |(_, since)| self.pages.waited(page, *since, now));
        let worth = known.as_ref().map(|(value, _)| value.worth(waited, host_price));
        let reached = || {
            let (value, since) = known.as_ref()?;
            let due = self.pages.due(page, *since, value.wait(host_price)).into_iter();
            due.chain(self.pages.first_look(page, *since)).min()
        };
        let (due, early) = self.due_of(page, now, reached);
        let (changes, visits) = copy.history();
        let merit = Merit::Clicks { worth, price: self.price(), host_price };
        Some(Explanation {
            kind: Some(kind),
            since: known.as_ref().map(|(_, since)| *since),
            is_gone: copy.is_gone(),
            failures: copy.failures(),
            early,
            doubt: self.pages.doubt(page),
            is_outdated: self.is_plan_due(now),
            sooner: levers(kind),
            belief: known
                .as_ref()
                .map_or(Belief::Unstated, |(value, _)| self.belief(value, page, waited)),
            history: Some(History { changes: changes.into(), visits: visits.into() }),
            ..Explanation::new(page, RULE, merit, due)
        })
    }

    /// When the queues bring a page up whose worth reaches the price at `reached`, and whether it may
    /// come up before.
    fn due_of(&self, page: PageId, now: Time, reached: impl Fn() -> Option<Time>) -> (Due, Early) {
        let copy = self.pages.copy(page);
        let is_copy = copy.last().is_some() && !copy.is_gone();
        let probed = if is_copy && copy.source().is_none() { Early::Probe } else { Early::No };
        match self.queues.place(page) {
            Place::UnderWay => (Due::UnderWay, Early::No),
            // Its time comes, whatever it is worth.
            Place::Due(at) if !is_copy => (Due::At(at), Early::No),
            Place::Due(at) => match reached() {
                Some(reached) => (Due::At(reached.max(at)), Early::Spare),
                // Spare allowances go to what is never due as well.
                None => (Due::Never, Early::Spare),
            },
            place @ (Place::Dear | Place::Cheap) => {
                let price = self.market.host_price(copy.host());
                let is_dear = self.pages.offered_worth(page, now).is_some_and(|w| w >= price);
                match (is_dear, place) {
                    (true, Place::Dear) => (Due::At(now), Early::No),
                    // Worth the price since it was queued: it moves up when the price is next found.
                    (true, _) => (Due::InTurn, Early::Spare),
                    (false, _) => (Due::Never, Early::Spare),
                }
            }
            Place::Nowhere if self.pages.is_stray(page, now) => (Due::InTurn, Early::No),
            Place::Nowhere => (Due::Never, probed),
        }
    }

    fn belief(&self, value: &Value, page: PageId, elapsed: f64) -> Belief {
        match value {
            Value::Refresh { weight, size, staling } => Belief::Copy {
                clicks_per_s: *weight,
                size: *size,
                stale: staling.stale(elapsed),
                changes: staling.changes(),
            },
            Value::Source(source) => Belief::Source {
                links_per_s: source.arrivals,
                clicks_per_link: source.profit,
                decay_per_s: source.decay,
            },
            Value::Once { clicks, decay } => Belief::Unfetched {
                clicks: *clicks,
                decay_per_s: *decay,
                shown_by: self.pages.shown_by(page),
            },
        }
    }

    /// The budget this crawl would spend at each price. Pages that wait for a first fetch are worked off
    /// in [`STOCK`], as when the market is solved, so that a shard with the budget it asks for at a
    /// price solves for that price. Sources never visited are wanted at any price.
    pub(super) fn demand_curve(&self) -> DemandCurve {
        let sources = self.pages.source_values(self.now);
        let (copies, scale) = self.pages.copy_values(self.now);
        let stock = worths(self.stock(|_| true, |page| self.pages.offered_worth(page, self.now)));
        let probes = self.settings.probes();
        DemandCurve::new(|price| {
            let wanted = demand(&sources, price)
                + scale * demand(&copies, price)
                + worked_off(&stock, price, STOCK);
            wanted / (1.0 - probes)
        })
    }

    /// What another budget would bring. If not all that is worth the price can be afforded, as of many
    /// prospects with the same expectation, a part of it is.
    pub(super) fn foresee(&self, budget: f64) -> WhatIf {
        let offers = self.offers();
        let probes = budget * self.settings.probes();
        let rest = budget - probes;
        let wanted = |price: f64| offers.wanted(price);
        let price = clear(wanted, rest, self.price()).max(LEAST);
        let below = price * (1.0 - 2.0 * WIDTH);
        let (all, more) = (wanted(price), wanted(below));
        let part = if more > all { ((rest - all) / (more - all)).clamp(0.0, 1.0) } else { 0.0 };
        let [some, most] = [price, below].map(|price| offers.at(price));
        let between = |a: f64, b: f64| a + part * (b - a);
        let mut fetches: [f64; 4] =
            std::array::from_fn(|kind| between(some.fetches[kind], most.fetches[kind]));
        fetches[0] += probes;
        let freshness = some.freshness.zip(most.freshness).map(|(a, b)| between(a, b));
        let (profit, weight) = (between(some.profit, most.profit), some.weight);
        WhatIf { budget, price, fetches, freshness, profit, weight }
    }

    /// All that a budget could be spent on.
    fn offers(&self) -> Offers {
        let stock = |is_news: bool| {
            let of = |page| self.pages.is_news(page) == is_news;
            worths(self.stock(of, |page| self.pages.first_worth(page, self.now)))
        };
        Offers {
            sources: self.pages.source_values(self.now),
            copies: self.pages.copy_values(self.now),
            stocks: [true, false].map(stock),
        }
    }
}

/// What would bring a fetch of each kind forward.
fn levers(kind: FetchKind) -> &'static [Lever] {
    match kind {
        FetchKind::Refresh => &[Lever::Clicks, Lever::Changes, Lever::Budget],
        FetchKind::Source => &[Lever::NewLinks, Lever::Clicks, Lever::Budget],
        FetchKind::New | FetchKind::Frontier => &[Lever::Clicks, Lever::Budget],
    }
}

/// Worths alone, in the same order.
fn worths(stock: Vec<(f64, HostId)>) -> Vec<f64> {
    stock.into_iter().map(|(worth, _)| worth).collect()
}

/// All that a budget could be spent on.
struct Offers {
    sources: Vec<Value>,
    /// Values of copies, and how many copies each stands for.
    copies: (Vec<Value>, f64),
    /// Ascending worths of pages never fetched: those that a source showed, and the others.
    stocks: [Vec<f64>; 2],
}

/// What a price brings.
struct Brought {
    fetches: [f64; 4],
    freshness: Option<f64>,
    profit: f64,
    weight: f64,
}

impl Offers {
    /// Fetches per second that are worth a price.
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
        let freshness = (weights > 0.0).then(|| fresh / weights);
        Brought { fetches, freshness, profit, weight: scale * weights }
    }
}
