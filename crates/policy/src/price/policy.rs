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

use std::io;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Discovery, Event, HostId, Observation, Outcome, PageId, PageKey, Span, Time};
use tidewatch_math::Draws;

use super::control::{Controller, Load};
use super::copies::Copies;
use super::hosts::Hosts;
use super::market::Nearby;
use super::news::{NO_SOURCE, News, Parts, Shows};
use super::value::Value;
use super::why::{Standing, WhatIf, Why};
use crate::agenda::Highest;
use crate::{Agenda, Choice, Gate, Policy, saved};

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

impl Settings {
    /// What is used where nothing else is asked for.
    pub const DEFAULT: Settings = Settings {
        parts: Parts::DEFAULT,
        logs_all: false,
        probes: 0.01,
        solve_every: Span::MINUTE.times(30),
    };
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A page that is not due for so long is looked at again then, and ever less often.
const LOOK_AGAIN: Span = Span::DAY;
const LOOK_LATER: f64 = 1.25;
/// Times are kept in microseconds: what is worth the price but for this rounding is worth it.
pub(super) const ROUNDING: f64 = 1.0 - 1e-6;
/// The price is solved for to this relative width: what is believed moves it by far more.
pub(super) const SOLVED: f64 = 1e-3;
/// What was due so long ago, as a share of its wait, had to wait for the budget; so did what was due
/// before so many allowances.
pub(super) const LATE: f64 = 0.01;
pub(super) const LATE_ALLOWANCES: f64 = 5.0;
/// A page never fetched is late after this time: a source may show a dozen at once.
const LATE_ONCE: f64 = 600.0;
/// Times that a page is tried before it is left alone for long: after so many failures, this much
/// after it was found, doubled by each.
pub(super) const ATTEMPTS: u8 = 3;
const RETRY: Span = Span::MINUTE.times(10);
/// The market is solved anew when twice as many copies are held as then, and so many more.
pub(super) const OUTGROWN: usize = 8;
/// The price where a fetch costs nothing, since everything can be fetched; in clicks.
pub(super) const LEAST: f64 = 1e-15;
/// The price before anything is known: a click.
const FIRST_PRICE: f64 = 1.0;
/// Due times that are looked at anew in one choice at most; the rest follow with the next.
pub(super) const LOOKS: usize = 64;
/// What a probe counts after the next: the last thousand decide.
const PROBE_FADE: f64 = 0.999;
/// One price for every fetch.
#[derive(Serialize, Deserialize)]
pub struct Price {
    pub(super) settings: Settings,
    pub(super) budget: f64,
    pub(super) now: Time,
    pub(super) copies: Copies,
    pub(super) news: News,
    /// Pages of sources, by number.
    pub(super) sources: Vec<PageId>,
    /// Pages never fetched, by what they are worth.
    pub(super) once: Agenda<Highest>,
    /// The same, for those not worth the price when they were looked at.
    pub(super) cheap: Agenda<Highest>,
    /// Copies and sources by due time.
    pub(super) due: Agenda<(Time, u32)>,
    /// What decides about an entry of a queue: only the latest of a page counts.
    pub(super) places: Vec<Place>,
    /// What copies want about the price, and since when.
    pub(super) copies_demand: Option<(Time, Nearby)>,
    pub(super) solved: f64,
    pub(super) swept_at: f64,
    pub(super) next_solve: Option<Time>,
    /// Copies held then.
    pub(super) solved_with: usize,
    pub(super) control: Controller,
    pub(super) hosts: Hosts,
    pub(super) draws: Draws,
    pub(super) held: Vec<PageId>,
    pub(super) probes: Probes,
    /// Probes under way.
    pub(super) probing: Vec<PageId>,
    /// What is known instead of learnt, by page key, and then by page.
    #[serde(skip)]
    truth: FxHashMap<PageKey, Value>,
    #[serde(skip)]
    told: FxHashMap<PageId, Value>,
}

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

/// What random probes have found, lately first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Probes {
    pub(super) fresh: f64,
    pub(super) all: f64,
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
            hosts: Hosts::default(),
            draws: Draws::of(seed, "price.probes", 0),
            held: Vec::new(),
            probes: Probes::default(),
            probing: Vec::new(),
            truth: FxHashMap::default(),
            told: FxHashMap::default(),
        }
    }

    /// A policy that is told what further fetches of some pages are worth, and learns the rest: what
    /// would be chosen if nothing had to be learnt.
    pub fn knowing(settings: Settings, seed: u64, truth: FxHashMap<PageKey, Value>) -> Self {
        Price { truth, ..Self::new(settings, seed) }
    }

    /// ω: what the marginal fetch brings, clicks.
    pub fn price(&self) -> f64 {
        self.solved * self.control.factor()
    }

    pub(super) fn host_price(&self, host: HostId) -> f64 {
        self.price() * self.hosts.factor(host)
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
        self.told.extend(self.truth.get(&found.key).map(|value| (found.page, *value)));
        self.hosts.add(found.host);
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
    pub(super) fn offer(&mut self, page: PageId) {
        let (place, copy) = (self.places[page.index()], self.copies.page(page));
        let is_settled = copy.last().is_some() || copy.is_gone();
        if place == Place::UnderWay || is_settled || self.is_left_alone(page) {
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

    /// Whether a page that was never there has failed too often to be tried now, however many pages
    /// name it: each further failure doubles its time.
    fn is_left_alone(&self, page: PageId) -> bool {
        let failures = self.copies.page(page).failures();
        failures >= ATTEMPTS
            && self.news.waited(page, self.now) < RETRY.seconds() * f64::from(1u32 << failures)
    }

    /// What a page never fetched is worth, and since when it loses that.
    pub(super) fn once_value(&self, page: PageId) -> Option<(Value, Time)> {
        self.news.value(page).or_else(|| {
            let factor = self.copies.kept_factor(page)?;
            let clicks = factor * self.news.prospect(self.copies.page(page).host);
            Some((Value::Once { clicks, decay: 0.0 }, self.now))
        })
    }

    /// What a page never fetched is worth now.
    pub(super) fn once_worth(&mut self, page: PageId) -> Option<f64> {
        self.news.judge(page);
        let (value, since) = self.once_value(page)?;
        Some(value.worth(self.now.since(since).seconds(), 0.0))
    }

    /// What further fetches of a page are worth.
    pub(super) fn value(&self, page: PageId) -> Value {
        if let Some(told) = self.told.get(&page) {
            return *told;
        }
        match self.copies.page(page).source {
            NO_SOURCE => self.copies.value(page),
            source => Value::Source(self.news.source(source, self.now)),
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
        let (value, price) = (self.value(page), self.host_price(host));
        let elapsed = self.copies.elapsed(page, from, self.now);
        let wait = match value.not_before(price) {
            // Nearly all copies are not due for long: when exactly need not be known yet.
            soonest if soonest > elapsed + LOOK_AGAIN.seconds() => soonest,
            _ => match LOOK_LATER * elapsed + LOOK_AGAIN.seconds() {
                later if value.worth(later, price) < price => later,
                _ => value.wait(price),
            },
        };
        let due = self.due_time(page, from, wait);
        self.wait_until(page, host, due);
    }

    /// When a page is due that waits so long after a fetch; `None` if never. After failures it is asked
    /// for less and less often.
    pub(super) fn due_time(&self, page: PageId, from: Time, wait: f64) -> Option<Time> {
        let wait = wait * f64::from(1u32 << self.copies.page(page).failures());
        self.copies.due(page, from, wait)
    }

    pub(super) fn wait_until(&mut self, page: PageId, host: HostId, due: Option<Time>) {
        self.places[page.index()] = due.map_or(Place::Nowhere, Place::Due);
        if let Some(due) = due {
            self.due.push((due, page.0), host, page);
        }
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
                let shows = Shows { source, clicks: self.copies.weight(page), is_first };
                self.news.showed(shows, seen.at, Some(content.links), anchors, |page| {
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
        } else {
            self.places[page.index()] = Place::Nowhere;
        }
    }

    /// Tells the controller whether a page had to wait; not where it waited for its host.
    fn note_load(&mut self, page: PageId, is_late: bool) {
        let is_late = is_late && !self.hosts.is_crowded(self.copies.page(page).host, self.now);
        self.control.note(self.now, if is_late { Load::Waiting } else { Load::InTime });
    }

    fn take(&mut self, page: PageId) -> Choice {
        self.places[page.index()] = Place::UnderWay;
        self.hosts.took(self.copies.page(page).host, self.now);
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
                self.hosts.ended(self.copies.page(seen.page).host);
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
            Event::Hinted(hint) => {
                self.now = self.now.max(hint.at);
                self.copies.hinted(hint.page, hint.kind);
                if hint.page.index() < self.copies.len() {
                    self.reschedule(hint.page);
                }
            }
            Event::Asked(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.now = now;
        self.hosts.look(gate);
        let is_old = |next: Time| now >= next || now + self.settings.solve_every < next;
        // A young crawl knows twice as much after minutes.
        let is_outgrown = self.held.len() >= 2 * self.solved_with + OUTGROWN;
        if is_outgrown || self.next_solve.is_none_or(is_old) {
            self.solve(now);
        } else {
            self.sweep_if_late();
        }
        if let Some(page) = self.probe(now, gate) {
            self.probing.push(page);
            return self.take(page);
        }
        if let Some(page) = self.next_once(now, gate) {
            let is_late = self.news.waited(page, now) > LATE_ONCE;
            self.note_load(page, is_late);
            return self.take(page);
        }
        if let Some((page, is_late)) = self.next_due(now, gate) {
            self.note_load(page, is_late);
            return self.take(page);
        }
        self.control.note(now, Load::Slack);
        self.next_spare(now, gate).map_or(Choice::Idle, |page| self.take(page))
    }

    fn save(&self, to: &mut dyn io::Write) -> io::Result<bool> {
        if self.truth.is_empty() { saved::write(self, to) } else { Ok(false) }
    }

    fn load(&mut self, from: &mut dyn io::Read) -> bool {
        let Some(saved) = saved::read::<Price>(from) else { return false };
        let is_alike = saved.settings == self.settings;
        if is_alike {
            *self = saved;
        }
        is_alike
    }

    fn why(&mut self, page: PageId, now: Time) -> Option<Why> {
        // Asking must not change what is decided: a replay does not know who asked.
        let before = self.now;
        let why = self.explain(page, now);
        self.now = before;
        why
    }

    fn what_if(&self, budget: f64) -> Option<WhatIf> {
        Some(self.foresee(budget))
    }

    fn standing(&self) -> Option<Standing> {
        Some(self.report())
    }
}
