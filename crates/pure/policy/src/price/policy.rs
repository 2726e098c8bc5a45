//! The policy: everything that could be fetched, in the order in which it reaches the price.
//!
//! The life of a page: never fetched, it waits with its worth and is fetched if that is at least the
//! price. A copy or source waits until its worth will have reached the price; then it is looked at again,
//! because beliefs and price have moved, and is fetched or put back. If nothing is worth the price, the
//! best of the rest is fetched, because an allowance that lapses is worth nothing, and the price falls.
//!
//! Who owns what: [`Pages`] the beliefs, [`Queues`] the order, [`Market`] the price, [`Probes`] the random
//! sample. The files below this one make decisions across them.

mod next;
mod schedule;
mod sweep;
mod why;

use std::io;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{
    Discovery, Doubted, Event, Observation, Outcome, PageId, PageKey, Reason, Time,
};

use super::market::Market;
use super::pages::Pages;
use super::probes::Probes;
use super::queues::{Place, Queues};
use super::settings::Settings;
use super::value::Value;
use crate::{
    Choice, DemandCurve, Explanation, Gate, HintRecord, Policy, Return, Standing, WhatIf, saved,
};

/// A page never fetched is late after this many seconds: a source may show a dozen at once.
const LATE_UNFETCHED: f64 = 600.0;

/// One price for every fetch.
#[derive(Serialize, Deserialize)]
pub struct Price {
    settings: Settings,
    /// The time of the last event or choice.
    now: Time,
    pages: Pages,
    queues: Queues,
    market: Market,
    probes: Probes,
}

impl Price {
    /// A policy that knows nothing yet.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self::knowing(settings, seed, FxHashMap::default())
    }

    /// A policy that is told what further fetches of some pages are worth, and learns the rest: the
    /// choices if nothing had to be learnt.
    pub fn knowing(settings: Settings, seed: u64, truth: FxHashMap<PageKey, Value>) -> Self {
        Price {
            settings,
            now: Time::ZERO,
            pages: Pages::new(&settings, seed, truth),
            queues: Queues::default(),
            market: Market::new(settings.probes()),
            probes: Probes::new(settings.probes(), seed),
        }
    }

    /// ω: clicks that the marginal fetch brings.
    pub fn price(&self) -> f64 {
        self.market.price()
    }

    fn discover(&mut self, found: &Discovery<'_>) {
        let is_on_source = self.pages.discover(found);
        self.queues.add();
        self.market.add_host(found.host);
        if found.is_held {
            return;
        }
        // A page that a source shows is offered when all links of that visit are known; the target of a
        // redirect at once.
        let is_visited = found.via.is_some_and(|via| self.queues.place(via) == Place::UnderWay);
        if found.is_source || !is_on_source || !is_visited {
            self.offer(found.page);
        }
    }

    fn note(&mut self, seen: &Observation<'_>) {
        let page = seen.page;
        match seen.outcome {
            Outcome::Gone => {
                self.pages.gone(page);
                self.look_for(page, seen.at);
            }
            Outcome::Failed(why) => {
                if why == Reason::OwnStop {
                    self.pages.reopened(page);
                } else {
                    self.pages.failed(page);
                }
                self.queues.remove(page);
                self.retry(page, why, seen.at);
            }
            Outcome::Fetched(content) => {
                for changed in self.pages.fetched(page, seen.at, &content) {
                    self.offer(changed);
                }
                self.schedule(page, seen.at);
            }
        }
    }

    /// Takes in a doubt and queues the page anew. A page that is not queued yet is queued at the end of the
    /// visit that showed it.
    fn doubt(&mut self, said: &Doubted) {
        if !self.pages.is_known(said.page) || !self.pages.doubted(said.page, said.doubt) {
            return;
        }
        if self.queues.is_unfetched(said.page) {
            self.offer(said.page);
        } else {
            self.reschedule(said.page);
        }
    }

    fn take(&mut self, page: PageId) -> Choice {
        self.queues.take(page);
        self.market.took(self.pages.copy(page).host(), self.now);
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
                self.probes.count(seen, || self.pages.fresh_chance(seen.page, seen.at));
                self.market.ended(self.pages.copy(seen.page).host());
                self.note(seen);
            }
            Event::Log(rows) => self.pages.take_log(rows, self.now),
            Event::Budget(rate) => self.market.set_budget(rate.as_per_second()),
            Event::Hinted(hint) => {
                self.now = self.now.max(hint.at);
                self.pages.hinted(hint.page, hint.kind, hint.at);
                if self.pages.is_known(hint.page) {
                    self.reschedule(hint.page);
                }
            }
            Event::Asked(asked) => self.pages.asked(asked),
            Event::Doubted(said) => {
                self.now = self.now.max(said.at);
                self.doubt(said);
            }
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.now = now;
        self.market.look(gate);
        if self.market.is_stale(now, self.settings.solve_every, self.pages.held().len()) {
            self.solve(now);
        } else {
            self.sweep_if_due();
        }
        if let Some(page) = self.next_probe(now, gate) {
            return self.take(page);
        }
        if let Some(page) = self.next_blind(now, gate) {
            return self.take(page);
        }
        if let Some(page) = self.next_unfetched(now, gate) {
            let is_late = self.pages.waited_unfetched(page, now) > LATE_UNFETCHED;
            self.market.note_fetch(self.pages.copy(page).host(), is_late, now);
            return self.take(page);
        }
        if let Some(page) = self.next_retry(now, gate) {
            self.market.note_fetch(self.pages.copy(page).host(), false, now);
            return self.take(page);
        }
        if let Some((page, is_late)) = self.next_due(now, gate) {
            self.market.note_fetch(self.pages.copy(page).host(), is_late, now);
            return self.take(page);
        }
        self.market.note_slack(now);
        self.next_spare(now, gate).map_or(Choice::Idle, |page| self.take(page))
    }

    fn save(&self, to: &mut dyn io::Write) -> io::Result<bool> {
        if self.pages.is_told() { Ok(false) } else { saved::write(self, to) }
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

    fn doubt(&self, page: PageId) -> Option<f64> {
        self.pages.is_known(page).then(|| self.pages.doubt(page))
    }

    fn take_returns(&mut self) -> Vec<Return> {
        self.pages.take_returns()
    }

    fn hint_records(&self, most: usize) -> Vec<HintRecord> {
        self.pages.hint_records(most)
    }

    fn standing(&self) -> Option<Standing> {
        let believed = self.pages.believed_fresh(self.now);
        let freshness = believed.map(|believed| believed.corrected(self.probes.error()));
        Some(Standing { price: self.price(), freshness })
    }

    fn demand(&self) -> Option<DemandCurve> {
        Some(self.demand_curve())
    }
}
