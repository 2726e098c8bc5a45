//! The policy: everything that could be fetched, in the order in which it reaches the price.
//!
//! The life of an item: a page never fetched waits with its worth, and is fetched if that is at least
//! the price; a copy or a source waits until its worth will have reached the price, is looked at anew
//! then (beliefs and price have moved meanwhile), and is fetched or put back. Where nothing is worth the
//! price the best of the rest is taken, since an allowance that lapses is worth nothing, and the price
//! falls ([`Controller`]).
//!
//! Prices are solved for every half hour and whenever the budget changes; with many copies a sample
//! of them stands for all, which moves the price by less than a per cent. Due times are found anew in a
//! *sweep*, when the price has fallen so far that what waits would come late.

use tidewatch_core::{
    Discovery, Event, FetchKind, HostId, Observation, Outcome, PageId, Span, Time,
};
use tidewatch_math::Draws;

use super::control::{Controller, Load};
use super::copies::Copies;
use super::market::{Nearby, clear_to, demand};
use super::news::{NO_SOURCE, News, Parts};
use super::value::Value;
use super::why::{Standing, WhatIf, Why};
use crate::agenda::Highest;
use crate::{Agenda, Choice, Gate, Policy};

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What takes part in the learning.
    pub parts: Parts,
    /// Whether the log tells the clicks of pages that were never fetched too.
    pub logs_all: bool,
    /// Share of the budget for copies drawn at random, whatever they are worth: they tell how fresh
    /// the collection is without favour.
    pub probes: f64,
    /// Time between two solutions of the market.
    pub solve_every: Span,
}

impl Default for Settings {
    fn default() -> Self {
        let solve_every = Span::MINUTE.times(30);
        Settings { parts: Parts::ALL, logs_all: false, probes: 0.01, solve_every }
    }
}

/// Copies that stand for all when the market is solved, and how often they are asked anew.
const SAMPLE: usize = 1 << 11;
const COPIES_EVERY: Span = Span::DAY;
/// A page that is not due for so long is looked at again then, and ever less often.
const LOOK_AGAIN: Span = Span::DAY;
const LOOK_LATER: f64 = 1.25;
/// Times are kept in microseconds: what is worth the price but for this rounding is worth it.
const ROUNDING: f64 = 1.0 - 1e-6;
/// Times that copies are asked about another price in one solution; each moves it by a factor of 35.
const ASKED: usize = 12;
/// The price is solved for to this relative width: what is believed moves it by far more.
const SOLVED: f64 = 1e-3;
/// A sweep is made when the price is below that of the last one by this share.
const SWEEP_BELOW: f64 = 0.8;
/// Outdated entries that a queue may have before a sweep clears them.
const CROWD: usize = 1 << 14;
/// What was due so long ago, as a share of its wait, had to wait for the budget; so did what was due
/// before so many allowances.
const LATE: f64 = 0.05;
const LATE_ALLOWANCES: f64 = 5.0;
/// A page never fetched is late after this time: a source may show a dozen at once.
const LATE_ONCE: f64 = 600.0;
/// Times that a page is tried before it is left alone for long.
const ATTEMPTS: u8 = 3;
/// What waits to be fetched once is worked off in this time, when the market is solved.
const STOCK: Span = Span::HOUR;
/// The market is solved anew when twice as many copies are held as then, and so many more.
const OUTGROWN: usize = 8;
/// The price where a fetch costs nothing, since everything can be fetched; in clicks.
const LEAST: f64 = 1e-15;
/// The price before anything is known: a click.
const FIRST_PRICE: f64 = 1.0;
/// Due times that are looked at anew in one choice at most; the rest follow with the next.
const LOOKS: usize = 64;
/// Quantile of the standard normal law for an interval of 95%.
const Z_95: f64 = 1.959_963_984_540_054;
/// What a probe counts after the next: the last thousand decide.
const PROBE_FADE: f64 = 0.999;
/// A host that is too slow for what is worth fetching raises its price by this, and lowers it again.
const HOST_STEP: f32 = 0.02;

/// One price for every fetch.
pub struct Price {
    settings: Settings,
    budget: f64,
    now: Time,
    copies: Copies,
    news: News,
    /// Pages of sources, by number.
    sources: Vec<PageId>,
    /// Pages never fetched, by what they are worth.
    once: Agenda<Highest>,
    /// The same, for those not worth the price when they were looked at.
    cheap: Agenda<Highest>,
    /// Copies and sources by due time.
    due: Agenda<(Time, u32)>,
    /// What decides about an entry of a queue: only the latest of a page counts.
    places: Vec<Place>,
    /// What copies want about the price, and since when.
    copies_demand: Option<(Time, Nearby)>,
    solved: f64,
    swept_at: f64,
    next_solve: Option<Time>,
    /// Copies held then.
    solved_with: usize,
    control: Controller,
    /// ln of what prices of hosts are multiplied with.
    host_factors: Vec<f32>,
    draws: Draws,
    held: Vec<PageId>,
    probes: Probes,
    /// Probes under way.
    probing: Vec<PageId>,
}

/// Where a page waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Once,
    Cheap,
    Due(Time),
    UnderWay,
}

/// What random probes have found, lately first.
#[derive(Clone, Copy, Debug, Default)]
struct Probes {
    fresh: f64,
    all: f64,
}

impl Price {
    /// A policy that knows nothing yet.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Price {
            settings,
            budget: 0.0,
            now: Time::ZERO,
            copies: Copies::default(),
            news: News::new(settings.parts, settings.logs_all),
            sources: Vec::new(),
            once: Agenda::default(),
            cheap: Agenda::default(),
            due: Agenda::default(),
            places: Vec::new(),
            copies_demand: None,
            solved: FIRST_PRICE,
            swept_at: FIRST_PRICE,
            next_solve: None,
            solved_with: 0,
            control: Controller::default(),
            host_factors: Vec::new(),
            draws: Draws::of(seed, "price.probes", 0),
            held: Vec::new(),
            probes: Probes::default(),
            probing: Vec::new(),
        }
    }

    /// ω: what the marginal fetch brings, clicks.
    pub fn price(&self) -> f64 {
        self.solved * self.control.factor()
    }

    fn host_price(&self, host: HostId) -> f64 {
        let factor = self.host_factors.get(host.index()).copied().unwrap_or(0.0);
        self.price() * f64::from(factor).exp()
    }

    fn discover(&mut self, found: &Discovery<'_>) {
        debug_assert_eq!(found.page.index(), self.copies.len());
        let source = if found.is_source {
            self.sources.push(found.page);
            self.news.add_source(found.host)
        } else {
            NO_SOURCE
        };
        self.copies.add(found.host, found.url, found.weight, source, found.at);
        self.places.push(Place::Nowhere);
        let hosts = self.host_factors.len().max(found.host.index() + 1);
        self.host_factors.resize(hosts, 0.0);
        if found.is_held {
            return;
        }
        let via = found.via.filter(|via| via.index() < self.copies.len());
        let via = via.map_or(NO_SOURCE, |via| self.copies.page(via).source);
        if !found.is_source {
            self.news.found(found.page, found.host, found.url, via, found.at);
        }
        if found.is_source || via == NO_SOURCE {
            self.offer(found.page);
        }
    }

    /// Puts a page that was never fetched where its worth says. Sources are fetched at once: nothing
    /// is known of them before.
    fn offer(&mut self, page: PageId) {
        let place = self.places[page.index()];
        if place == Place::UnderWay || self.copies.page(page).last().is_some() {
            return;
        }
        let worth = match self.once_worth(page) {
            Some(worth) => worth,
            None if self.copies.page(page).source != NO_SOURCE => f64::MAX,
            None => return,
        };
        let host = self.copies.page(page).host;
        let is_dear = worth >= self.host_price(host);
        let (queue, place) =
            if is_dear { (&mut self.once, Place::Once) } else { (&mut self.cheap, Place::Cheap) };
        queue.push(Highest(worth), host, page);
        self.places[page.index()] = place;
    }

    /// What a page never fetched is worth now.
    fn once_worth(&mut self, page: PageId) -> Option<f64> {
        let (value, since) = self.news.value(page)?;
        Some(value.worth(self.now.since(since).seconds(), 0.0))
    }

    /// What further fetches of a page are worth.
    fn value(&self, page: PageId) -> Value {
        match self.copies.page(page).source {
            NO_SOURCE => self.copies.value(page),
            source => Value::Source(self.news.source(source, self.now)),
        }
    }

    /// Puts a page that has been fetched where its worth will have reached the price.
    fn schedule(&mut self, page: PageId, from: Time) {
        let copy = self.copies.page(page);
        if copy.is_gone() {
            self.places[page.index()] = Place::Nowhere;
            return;
        }
        let host = copy.host;
        let (value, price) = (self.value(page), self.host_price(host));
        let elapsed = self.now.since(from).seconds();
        let wait = match value.not_before(price) {
            // Nearly all copies are not due for long: when exactly need not be known yet.
            soonest if soonest > elapsed + LOOK_AGAIN.seconds() => soonest,
            _ => match LOOK_LATER * elapsed + LOOK_AGAIN.seconds() {
                later if value.worth(later, price) < price => later,
                _ => value.wait(price),
            },
        };
        // After failures a page is asked for less and less often.
        let wait = wait * f64::from(1u32 << self.copies.page(page).failures());
        let Some(wait) = Span::from_seconds(wait).filter(|wait| *wait != Span::FOREVER) else {
            self.places[page.index()] = Place::Nowhere;
            return;
        };
        let due = from + wait;
        self.places[page.index()] = Place::Due(due);
        self.due.push((due, page.0), host, page);
    }

    fn note(&mut self, seen: &Observation<'_>) {
        let page = seen.page;
        let is_first = self.copies.page(page).last().is_none();
        match seen.outcome {
            Outcome::Gone => {
                self.copies.gone(page);
                self.places[page.index()] = Place::Nowhere;
            }
            Outcome::Failed(_) => {
                self.copies.failed(page);
                self.places[page.index()] = Place::Nowhere;
                self.retry(page, is_first, seen.at);
            }
            Outcome::Fetched(content) => {
                self.copies.fetched(page, seen.at, &content);
                if is_first {
                    self.held.push(page);
                    self.news.fetched(page, seen.at);
                }
                let source = self.copies.page(page).source;
                let mut changed = Vec::new();
                let anchors = content.anchors;
                self.news.showed(source, seen.at, Some(content.links), anchors, |page| {
                    changed.push(page);
                });
                changed.into_iter().for_each(|page| self.offer(page));
                self.schedule(page, seen.at);
            }
        }
    }

    fn retry(&mut self, page: PageId, is_first: bool, at: Time) {
        let copy = self.copies.page(page);
        if !is_first {
            self.schedule(page, at);
        } else if copy.failures() < ATTEMPTS {
            self.offer(page);
        }
    }

    /// Solves the market anew.
    fn solve(&mut self, now: Time) {
        self.next_solve = Some(now + self.settings.solve_every);
        if self.held.len() >= 2 * self.solved_with + OUTGROWN {
            self.copies_demand = None;
        }
        self.solved_with = self.held.len();
        self.copies.repool();
        let before = self.solved;
        let (sources, stock) = (self.source_values(), self.stock());
        if self.is_copies_demand_old(now) {
            self.ask_copies(now, self.price());
        }
        let probes = self.settings.probes.clamp(0.0, 0.5);
        let budget = self.budget * (1.0 - probes);
        // The price may lie far from where copies were last asked; so they are asked nearer to it.
        for _ in 0..ASKED {
            let of_copies = self.copies_demand.as_ref().map(|(_, nearby)| nearby);
            let wanted = |price: f64| {
                demand(&sources, price)
                    + of_copies.map_or(0.0, |nearby| nearby.at(price))
                    + stock.iter().filter(|worth| **worth >= price).count() as f64 / STOCK.seconds()
            };
            self.solved = clear_to(SOLVED, wanted, budget, before).max(LEAST);
            match of_copies {
                Some(nearby) if !nearby.covers(self.solved) => {
                    let near = nearby.nearest(self.solved);
                    self.ask_copies(now, near);
                }
                _ => break,
            }
        }
        self.control.solved(self.solved / before);
        let is_crowded = self.due.len() > 2 * self.held.len() + CROWD;
        if is_crowded || self.price() < SWEEP_BELOW * self.swept_at {
            self.sweep();
        } else {
            let sources = self.sources.clone();
            sources.into_iter().for_each(|page| self.reschedule(page));
        }
    }

    /// What copies want about a price.
    fn ask_copies(&mut self, now: Time, about: f64) {
        let (copies, scale) = self.copy_values();
        self.copies_demand = (!copies.is_empty()).then(|| (now, Nearby::of(&copies, scale, about)));
    }

    fn is_copies_demand_old(&self, now: Time) -> bool {
        self.copies_demand.as_ref().is_none_or(|(at, nearby)| {
            now.since(*at) >= COPIES_EVERY || !nearby.covers(self.price())
        })
    }

    /// What sources are worth that can be visited.
    fn source_values(&self) -> Vec<Value> {
        let pages = self.sources.iter().map(|&page| self.copies.page(page));
        let live = pages.filter(|copy| !copy.is_gone() && copy.last().is_some());
        live.map(|copy| Value::Source(self.news.source(copy.source, self.now))).collect()
    }

    /// What copies are worth, or some of them of which each stands for so many.
    fn copy_values(&self) -> (Vec<Value>, f64) {
        let is_copy = |page: &&PageId| {
            let copy = self.copies.page(**page);
            copy.source == NO_SOURCE && !copy.is_gone()
        };
        let all: Vec<PageId> = self.held.iter().filter(is_copy).copied().collect();
        let step = all.len().div_ceil(SAMPLE).max(1);
        // Another part of them each time.
        let some = all.iter().skip(self.now.seconds() as usize % step).step_by(step);
        let values: Vec<Value> = some.map(|&page| self.copies.value(page)).collect();
        let scale = all.len() as f64 / values.len().max(1) as f64;
        (values, scale)
    }

    /// What pages that wait to be fetched for the first time are worth.
    fn stock(&mut self) -> Vec<f64> {
        let waits = |place: &Place| matches!(place, Place::Once | Place::Cheap);
        let pages = (0..).map(PageId).zip(self.places.iter());
        let waiting: Vec<PageId> =
            pages.filter(|(_, place)| waits(place)).map(|(page, _)| page).collect();
        waiting.into_iter().filter_map(|page| self.once_worth(page)).collect()
    }

    /// Finds every due time anew.
    fn sweep(&mut self) {
        self.swept_at = self.price();
        self.due = Agenda::default();
        for i in 0..self.held.len() {
            self.reschedule(self.held[i]);
        }
        self.cheap = Agenda::default();
        self.once = Agenda::default();
        for page in (0..self.places.len() as u32).map(PageId) {
            if matches!(self.places[page.index()], Place::Once | Place::Cheap) {
                self.offer(page);
            }
        }
    }

    fn reschedule(&mut self, page: PageId) {
        if self.places[page.index()] != Place::UnderWay
            && let Some(last) = self.copies.page(page).last()
        {
            self.schedule(page, last);
        }
    }

    fn take(&mut self, page: PageId) -> Choice {
        self.places[page.index()] = Place::UnderWay;
        Choice::Fetch(page)
    }

    /// A copy at random, now and then.
    fn probe(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        if self.held.is_empty() || self.draws.uniform() >= self.settings.probes {
            return None;
        }
        let page = self.held[(self.draws.uniform() * self.held.len() as f64) as usize];
        let copy = self.copies.page(page);
        let is_copy = copy.source == NO_SOURCE && !copy.is_gone();
        let is_free = self.places[page.index()] != Place::UnderWay && is_copy;
        (is_free && gate.opens_at(copy.host) <= now).then_some(page)
    }

    /// Counts what a probe found.
    fn count_probe(&mut self, seen: &Observation<'_>) {
        let Some(at) = self.probing.iter().position(|page| *page == seen.page) else { return };
        self.probing.swap_remove(at);
        if let Outcome::Fetched(content) = seen.outcome
            && let Some(changed) = content.changed
        {
            // Old probes fade, so that the figure is of late.
            self.probes.fresh = PROBE_FADE * self.probes.fresh + f64::from(u8::from(!changed));
            self.probes.all = PROBE_FADE * self.probes.all + 1.0;
        }
    }

    /// The dearest page never fetched that is worth the price.
    fn next_once(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        for _ in 0..LOOKS {
            let (_, page) = self.once.pop(now, gate)?;
            if self.places[page.index()] != Place::Once {
                continue;
            }
            let worth = self.once_worth(page).unwrap_or(f64::MAX);
            if worth >= self.host_price(self.copies.page(page).host) {
                return Some(page);
            }
            self.places[page.index()] = Place::Nowhere;
            self.offer(page);
        }
        None
    }

    /// The copy or source that reached the price first, and whether it had to wait.
    fn next_due(&mut self, now: Time, gate: &dyn Gate) -> Option<(PageId, bool)> {
        for _ in 0..LOOKS {
            let ((due, _), page) = self.due.pop_if(now, gate, |(due, _)| due <= now)?;
            if self.places[page.index()] != Place::Due(due) {
                continue;
            }
            let copy = self.copies.page(page);
            let (last, host) = (copy.last()?, copy.host);
            let (value, price) = (self.value(page), self.host_price(host));
            let elapsed = now.since(last).seconds();
            if value.worth(elapsed, price) >= price * ROUNDING {
                let late = elapsed - value.wait(price);
                let wait = elapsed - late;
                return Some((page, late > (LATE * wait).max(LATE_ALLOWANCES / self.budget)));
            }
            self.schedule(page, last);
        }
        None
    }

    /// The best of what is not worth the price.
    fn next_spare(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        let cheap = loop {
            match self.cheap.pop(now, gate) {
                Some((worth, page)) if self.places[page.index()] == Place::Cheap => {
                    break Some((worth.0, page));
                }
                Some(_) => {}
                None => break None,
            }
        };
        let due = loop {
            match self.due.pop(now, gate) {
                Some(((due, _), page)) if self.places[page.index()] == Place::Due(due) => {
                    break Some((due, page));
                }
                Some(_) => {}
                None => break None,
            }
        };
        let price = self.price();
        let due = due.map(|(due, page)| {
            let last = self.copies.page(page).last().unwrap_or(now);
            (self.value(page).worth(now.since(last).seconds(), price), due, page)
        });
        match (cheap, due) {
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

    /// Raises the price of a host whose pages have to wait for it while others do not.
    fn press(&mut self, host: HostId, is_late: bool) {
        let factor = &mut self.host_factors[host.index()];
        *factor = if is_late { *factor + HOST_STEP } else { (*factor - HOST_STEP).max(0.0) };
    }
}

impl Policy for Price {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                self.now = self.now.max(found.at);
                self.discover(found);
            }
            Event::Held(seen) => self.note(seen),
            Event::Fetched(seen) => {
                self.now = seen.at;
                self.count_probe(seen);
                self.note(seen);
            }
            Event::Log(rows) => {
                self.copies.take_log(rows, self.now);
                self.news.take_log(rows, self.now);
            }
            Event::Budget(rate) => {
                self.budget = rate.as_per_second();
                self.control.reset();
                self.next_solve = None;
            }
            Event::Asked(_) | Event::Hinted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.now = now;
        let is_old = |next: Time| now >= next || now + self.settings.solve_every < next;
        // A young crawl knows twice as much after minutes.
        let is_outgrown = self.held.len() >= 2 * self.solved_with + OUTGROWN;
        if is_outgrown || self.next_solve.is_none_or(is_old) {
            self.solve(now);
        }
        if let Some(page) = self.probe(now, gate) {
            self.probing.push(page);
            return self.take(page);
        }
        if let Some(page) = self.next_once(now, gate) {
            let waited = self.news.waited(page, now);
            let load = if waited > LATE_ONCE { Load::Waiting } else { Load::InTime };
            self.control.note(now, load);
            return self.take(page);
        }
        if let Some((page, is_late)) = self.next_due(now, gate) {
            // Where others wait as well it is not the host's fault.
            self.press(self.copies.page(page).host, is_late && !self.control.is_pressed());
            self.control.note(now, if is_late { Load::Waiting } else { Load::InTime });
            return self.take(page);
        }
        self.control.note(now, Load::Slack);
        self.next_spare(now, gate).map_or(Choice::Idle, |page| self.take(page))
    }

    fn why(&mut self, page: PageId, now: Time) -> Option<Why> {
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
                    self.news.value(page).unwrap_or((Value::Once { clicks: 0.0, decay: 0.0 }, now));
                let kind = match value {
                    Value::Once { .. } if self.news.is_on_source(page) => FetchKind::New,
                    _ => FetchKind::Frontier,
                };
                (value, since, kind)
            }
        };
        let host_price = self.host_price(copy.host);
        let wait = Span::from_seconds(value.wait(host_price)).unwrap_or(Span::FOREVER);
        let due = if wait == Span::FOREVER { Time::NEVER } else { since + wait };
        Some(Why {
            page,
            kind,
            value,
            since,
            worth: value.worth(now.since(since).seconds(), host_price),
            price: self.price(),
            host_price,
            due,
            history: self.copies.history(page),
            shown: self.news.shown_by(page),
            is_gone: copy.is_gone(),
        })
    }

    fn what_if(&self, budget: f64) -> Option<WhatIf> {
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
            if let Value::Refresh { weight, staling } = item {
                let wait = item.wait(price);
                fetches[0] += scale * wait.recip();
                fresh += weight * (1.0 - staling.stale_mean(wait));
                weights += weight;
            }
        }
        let freshness = (weights > 0.0).then(|| fresh / weights);
        Some(WhatIf { budget, price, fetches, freshness, profit })
    }

    fn standing(&self) -> Option<Standing> {
        let freshness = (self.probes.all > 0.0).then(|| {
            let (share, n) = (self.probes.fresh / self.probes.all, self.probes.all);
            // Wilson's half-width, which is sound for shares near one and for few probes.
            let z2 = Z_95 * Z_95;
            let spread = share * (1.0 - share) / n + z2 / (4.0 * n * n);
            (share, Z_95 * spread.sqrt() / (1.0 + z2 / n))
        });
        Some(Standing { price: self.price(), freshness })
    }
}
