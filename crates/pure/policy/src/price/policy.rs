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
use tidewatch_core::{
    Discovery, Event, HostId, Observation, Outcome, PageId, PageKey, Reason, Time,
};
use tidewatch_math::Draws;

use super::control::{Controller, Load};
use super::copies::Copies;
use super::hosts::Hosts;
use super::market::Nearby;
use super::news::{NO_SOURCE, News, Shows};
use super::place::Place;
use super::probes::Probes;
use super::settings::Settings;
use super::value::Value;
use crate::agenda::Highest;
use crate::{Agenda, Choice, DemandCurve, Explanation, Gate, Policy, Standing, WhatIf, saved};

/// A page never fetched is late after this time: a source may show a dozen at once.
const LATE_ONCE: f64 = 600.0;
/// The price before anything is known: a click.
pub(super) const FIRST_PRICE: f64 = 1.0;

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
    /// What is known instead of learnt, by page key, and then by page.
    #[serde(skip)]
    truth: FxHashMap<PageKey, Value>,
    #[serde(skip)]
    pub(super) told: FxHashMap<PageId, Value>,
}

impl Price {
    /// A policy that knows nothing yet.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Price {
            settings,
            budget: 0.0,
            now: Time::ZERO,
            copies: Copies::new(settings.parts.rhythm, settings.logs_all),
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
        let source = via.map_or(NO_SOURCE, |via| self.copies.page(via).source);
        if !found.is_source {
            self.news.found(found.page, found.host, found.url, source, found.at);
        }
        // What a source shows is offered when all that it shows is known; where a page moved to, now.
        let is_shown = via.is_some_and(|via| self.places[via.index()] == Place::UnderWay);
        if found.is_source || source == NO_SOURCE || !is_shown {
            self.offer(found.page);
        }
    }

    fn note(&mut self, seen: &Observation<'_>) {
        let page = seen.page;
        let is_first = self.copies.page(page).last().is_none();
        match seen.outcome {
            Outcome::Gone => {
                self.copies.gone(page);
                self.look_for(page, seen.at);
            }
            Outcome::Failed(why) => {
                if why != Reason::Interrupted {
                    self.copies.failed(page);
                }
                self.places[page.index()] = Place::Nowhere;
                self.retry(page, is_first, why, seen.at);
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
                self.probes.count(seen);
                self.hosts.ended(self.copies.page(seen.page).host);
                self.note(seen);
            }
            Event::Log(rows) => {
                self.copies.take_log(rows, self.now);
                self.news.take_log(rows, self.now, self.copies.unit());
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
        if self.is_outgrown() || self.next_solve.is_none_or(is_old) {
            self.solve(now);
        } else {
            self.sweep_if_late();
        }
        if let Some(page) = self.probe(now, gate) {
            self.probes.send(page);
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

    fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        self.explain(page, now)
    }

    fn what_if(&self, budget: f64) -> Option<WhatIf> {
        Some(self.foresee(budget))
    }

    fn standing(&self) -> Option<Standing> {
        Some(Standing { price: self.price(), freshness: self.probes.freshness() })
    }

    fn demand(&self) -> Option<DemandCurve> {
        Some(self.demand_curve())
    }
}
