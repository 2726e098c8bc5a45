//! Refresh policies of the classic theory, on line: they estimate how often
//! pages change while they crawl, and hand out the budget by what they believe.
//!
//! The life of a page here: fetched once as soon as it is known; then visited
//! at equal intervals 1/f, where f comes from [`allocate`](tidewatch_science::allocate)
//! with the change rates and weights believed at the time. Beliefs are
//! posteriors pooled by host and URL pattern ([`tidewatch_science::estimate`]). The budget
//! is allocated again after every round, that is, after as many fetches as
//! there are pages. In the first round all pages get the same.
//!
//! For freshness the optimum gives up pages that change too fast. A wrong estimate
//! that gives up a page would stand for ever, since the page is never seen again.
//! So a page visited v times keeps at least 1/(1 + v) of an even share of the
//! budget, a cost that vanishes as visits add up. (An oracle has no such floor.)

use std::io;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Event, Observation, PageId, PageKey, Span, Time};

use crate::explanation::{Due, Explanation, History, Lever, Merit};
use crate::observed::ObservedPages;
use crate::rounds::Rounds;
use crate::{Agenda, Choice, Gate, Policy, saved};
use tidewatch_science::allocate::{Objective, Pages, allocate};

/// Where the weights of pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weighing {
    /// The weight each page came with.
    Given,
    /// Clicks per second from the search log, shrunk towards the weight each
    /// page came with: the embarrassment `[WSY02]` of a stale copy, when every
    /// stale copy disappoints alike.
    Clicks,
}

/// What a refresher aims at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What the budget is to optimise.
    pub objective: Objective,
    /// The weights of pages.
    pub weighing: Weighing,
}

/// A policy that hands out refreshes by an [`Objective`].
#[derive(Serialize, Deserialize)]
pub struct Refresher {
    settings: Settings,
    budget: f64,
    pages: ObservedPages,
    /// Fetches per second allocated to each page; `None` before the first round ended.
    rates: Vec<Option<f64>>,
    /// Pages never fetched, in the order of discovery.
    new: Agenda<u32>,
    due: Agenda<(Time, u32)>,
    rounds: Rounds,
    now: Time,
    /// Change rates per second that are told instead of estimated.
    #[serde(skip)]
    told: Option<FxHashMap<PageKey, f64>>,
}

impl Refresher {
    /// A policy that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Refresher {
            settings,
            budget: 0.0,
            pages: ObservedPages::default(),
            rates: Vec::new(),
            new: Agenda::default(),
            due: Agenda::default(),
            rounds: Rounds::default(),
            now: Time::ZERO,
            told: None,
        }
    }

    /// The same, told the true change rates per second, to show what better estimates
    /// could gain. Pages not named never change.
    pub fn knowing(objective: Objective, rates: FxHashMap<PageKey, f64>) -> Self {
        let settings = Settings { objective, weighing: Weighing::Given };
        Refresher { told: Some(rates), ..Self::new(settings) }
    }

    /// When a page that was fetched is due again; `None` if never.
    fn due(&self, page: PageId) -> Option<Time> {
        let last = self.pages.of(page.index()).last_if_live()?;
        let Some(rate) = self.rates[page.index()] else { return Some(last) };
        let interval = Span::from_seconds(1.0 / rate).unwrap_or(Span::FOREVER);
        (interval != Span::FOREVER).then_some(last + interval)
    }

    fn enqueue(&mut self, page: PageId) {
        if let Some(due) = self.due(page) {
            self.due.push((due, page.0), self.pages.of(page.index()).host(), page);
        }
    }

    fn note(&mut self, seen: &Observation<'_>) {
        self.pages.fetched(seen);
        self.enqueue(seen.page);
    }

    /// Allocates the budget again, and queues every page again.
    fn start_round(&mut self) {
        let live = self.pages.live();
        let change_rate = self.believed_rates(&live);
        let weight: Vec<f64> = live.iter().map(|&p| self.weight(p)).collect();
        let floor: Vec<f64> = live.iter().map(|&p| self.floor(p, live.len())).collect();
        let columns = Pages { min: Some(&floor), ..Pages::new(&weight, &change_rate) };
        let Ok(allocation) = allocate(&columns, self.budget, self.settings.objective, None) else {
            // Nothing changes or nothing matters: go on as before.
            return;
        };
        for (&page, &rate) in live.iter().zip(&allocation.rates) {
            self.rates[page] = Some(rate);
        }
        self.due = Agenda::default();
        for &page in &live {
            self.enqueue(PageId(page as u32));
        }
    }

    /// Posterior mean change rates, pooled by host and URL pattern.
    fn believed_rates(&self, live: &[usize]) -> Vec<f64> {
        if let Some(told) = &self.told {
            let rate = |&page: &usize| told.get(&self.pages.of(page).key()).copied();
            return live.iter().map(|page| rate(page).unwrap_or(0.0)).collect();
        }
        self.pages.change_rates(live)
    }

    /// The lowest rate at which a page is visited, among `pages`.
    fn floor(&self, page: usize, pages: usize) -> f64 {
        if self.told.is_some() { 0.0 } else { self.pages.lowest_rate(page, self.budget, pages) }
    }

    fn weight(&self, page: usize) -> f64 {
        match self.settings.weighing {
            Weighing::Given => self.pages.of(page).weight(),
            Weighing::Clicks => self.pages.logged_click_rate(page, self.now),
        }
    }
}

impl Policy for Refresher {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                self.pages.discovered(found);
                self.rates.push(None);
                // The first round ends when every page was visited once;
                // whoever is told the rates need not wait.
                if self.told.is_none() {
                    self.rounds.wait_for(self.pages.len());
                }
                if !found.is_held {
                    self.new.push(found.page.0, found.host, found.page);
                }
            }
            Event::Held(seen) => self.note(seen),
            Event::Fetched(seen) => {
                self.rounds.count();
                self.note(seen);
            }
            Event::Log(rows) => self.pages.log(rows),
            Event::Budget(rate) => self.budget = rate.as_per_second(),
            Event::Asked(_) | Event::Hinted(_) | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.now = now;
        if self.rounds.begins(self.pages.len()) {
            self.start_round();
        }
        if let Some((_, page)) = self.new.pop(now, gate) {
            return Choice::Fetch(page);
        }
        self.due.pop(now, gate).map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }

    fn save(&self, to: &mut dyn io::Write) -> io::Result<bool> {
        if self.told.is_some() { Ok(false) } else { saved::write(self, to) }
    }

    fn load(&mut self, from: &mut dyn io::Read) -> bool {
        let Some(saved) = saved::read::<Refresher>(from) else { return false };
        let is_alike = saved.settings == self.settings;
        if is_alike {
            *self = saved;
        }
        is_alike
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str =
            "visits are at even intervals, which follow from change rates and weights";
        let known = self.pages.get(page.index())?;
        let interval = self.rates[page.index()].and_then(|rate| Span::from_seconds(1.0 / rate));
        let due = match known.last() {
            None => Due::InTurn,
            Some(_) => self.due(page).map_or(Due::Never, Due::At),
        };
        let merit = interval.map_or(Merit::Turn, Merit::Every);
        let explanation = Explanation::new(page, RULE, merit, due);
        let (changes, visits) = (known.counts().changes(), known.counts().visits());
        Some(Explanation {
            sooner: match self.settings.weighing {
                Weighing::Given => &[Lever::Weight, Lever::Budget],
                Weighing::Clicks => &[Lever::Clicks, Lever::Budget],
            },
            history: Some(History { changes, visits }),
            is_outdated: self.rounds.is_over(self.pages.len()),
            ..explanation.visited(known.last(), known.is_gone())
        })
    }
}
