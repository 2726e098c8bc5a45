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

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Event, HostId, Interest, InterestKind, Observation, Outcome};
use tidewatch_core::{PageId, PageKey, Span, Time};

use crate::explanation::{Due, Early, Explanation, History, Lever, Merit};
use crate::rounds::Rounds;
use crate::{Agenda, Choice, Gate, Policy, saved};
use tidewatch_science::allocate::{Objective, Pages, allocate};
use tidewatch_science::estimate::{
    Counts, Gamma, Member, Pool, Visit, posterior_from_sums, url_pattern,
};
use tidewatch_science::weight::{PageInterest, WeightPrior};

/// Half-life of interest: clicks of last week count half.
const HALF_LIFE: Span = Span::WEEK;
/// A given weight counts as much as this long a log.
const PRIOR_LOG: Span = Span::WEEK;
/// Expected clicks after which a page's own record outweighs the prior.
const PRIOR_STRENGTH: f64 = 1.0;

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
    pages: Vec<Known>,
    /// Pages never fetched, in the order of discovery.
    new: Agenda<u32>,
    due: Agenda<(Time, u32)>,
    rounds: Rounds,
    now: Time,
    /// Change rates per second that are told instead of estimated.
    #[serde(skip)]
    told: Option<FxHashMap<PageKey, f64>>,
}

#[derive(Serialize, Deserialize)]
struct Known {
    host: HostId,
    key: PageKey,
    pattern: u64,
    weight: f64,
    counts: Counts,
    interest: PageInterest,
    last: Option<Time>,
    /// Fetches per second allocated; `None` before the first round ended.
    rate: Option<f64>,
    is_gone: bool,
}

impl Known {
    fn due(&self) -> Option<Time> {
        let last = self.last?;
        match self.rate {
            None => Some(last),
            Some(rate) => {
                let interval = Span::from_seconds(1.0 / rate).unwrap_or(Span::FOREVER);
                (interval != Span::FOREVER).then_some(last + interval)
            }
        }
    }
}

impl Refresher {
    /// A policy that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Refresher {
            settings,
            budget: 0.0,
            pages: Vec::new(),
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

    fn enqueue(&mut self, page: PageId) {
        let known = &self.pages[page.index()];
        if let Some(due) = known.due() {
            self.due.push((due, page.0), known.host, page);
        }
    }

    fn note(&mut self, seen: &Observation<'_>) {
        let known = &mut self.pages[seen.page.index()];
        match seen.outcome {
            Outcome::Gone => {
                known.is_gone = true;
                return;
            }
            // Tried, but nothing learned: due again after its interval.
            Outcome::Failed(_) => {}
            Outcome::Fetched(content) => {
                if let (Some(gap), Some(changed)) = (seen.gap(), content.changed) {
                    let dated = content.last_modified.filter(|_| changed);
                    let age = dated.map(|at| seen.at.since(at).seconds().min(gap.seconds()));
                    known.counts.add(&Visit { gap: gap.seconds(), changed, age });
                }
            }
        }
        known.last = Some(seen.at);
        self.enqueue(seen.page);
    }

    fn take_log(&mut self, rows: &[Interest]) {
        let half_life = HALF_LIFE.seconds();
        for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
            let interest = &mut self.pages[row.page.index()].interest;
            interest.click(row.at.seconds(), row.count, half_life);
        }
    }

    /// Allocates the budget again, and queues every page again.
    fn start_round(&mut self) {
        let live: Vec<usize> = (0..self.pages.len()).filter(|&p| !self.pages[p].is_gone).collect();
        let change_rate = self.believed_rates(&live);
        let weight: Vec<f64> = live.iter().map(|&p| self.weight(p)).collect();
        let floor: Vec<f64> = live.iter().map(|&p| self.floor(p, live.len())).collect();
        let columns = Pages { min: Some(&floor), ..Pages::new(&weight, &change_rate) };
        let Ok(allocation) = allocate(&columns, self.budget, self.settings.objective, None) else {
            // Nothing changes or nothing matters: go on as before.
            return;
        };
        for (&page, &rate) in live.iter().zip(&allocation.rates) {
            self.pages[page].rate = Some(rate);
        }
        self.due = Agenda::default();
        for &page in &live {
            self.enqueue(PageId(page as u32));
        }
    }

    /// Posterior mean change rates, pooled by host and URL pattern.
    fn believed_rates(&self, live: &[usize]) -> Vec<f64> {
        if let Some(told) = &self.told {
            let rate = |&page: &usize| told.get(&self.pages[page].key).copied().unwrap_or(0.0);
            return live.iter().map(rate).collect();
        }
        let member = |&page: &usize| {
            let known = &self.pages[page];
            let host = u64::from(known.host.0);
            Member { host, pattern: known.pattern, counts: known.counts }
        };
        let members: Vec<Member> = live.iter().map(member).collect();
        let Some(pool) = Pool::fit(&members) else { return vec![0.0; live.len()] };
        let rate = |member: &Member| {
            let prior: Gamma = pool.prior(member.host, member.pattern);
            posterior_from_sums(&member.counts, &prior).estimate.rate
        };
        members.par_iter().map(rate).collect()
    }

    /// The lowest rate at which a page is visited, among `pages`.
    fn floor(&self, page: usize, pages: usize) -> f64 {
        let even = self.budget / pages as f64;
        let visits = self.pages[page].counts.visits();
        if self.told.is_some() { 0.0 } else { even / (1.0 + visits as f64) }
    }

    fn weight(&self, page: usize) -> f64 {
        let known = &self.pages[page];
        if self.settings.weighing == Weighing::Given {
            return known.weight;
        }
        let prior = WeightPrior {
            rate: known.weight / PRIOR_LOG.seconds(),
            seconds: PRIOR_LOG.seconds(),
            strength: PRIOR_STRENGTH,
        };
        known.interest.click_rate(self.now.seconds(), HALF_LIFE.seconds(), &prior)
    }
}

impl Policy for Refresher {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                self.pages.push(Known {
                    host: found.host,
                    key: found.key,
                    pattern: PageKey::of(&url_pattern(found.url)).0,
                    weight: found.weight,
                    counts: Counts::default(),
                    interest: PageInterest::new(found.at.seconds()),
                    last: None,
                    rate: None,
                    is_gone: false,
                });
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
            Event::Log(rows) => self.take_log(rows),
            Event::Budget(rate) => self.budget = rate.as_per_second(),
            Event::Asked(_) | Event::Hinted(_) => {}
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
        let interval = known.rate.and_then(|rate| Span::from_seconds(1.0 / rate));
        let due = match known.last {
            _ if known.is_gone => Due::Never,
            None => Due::InTurn,
            Some(_) => known.due().map_or(Due::Never, Due::At),
        };
        let merit = interval.map_or(Merit::Turn, Merit::Every);
        Some(Explanation {
            since: known.last,
            is_gone: known.is_gone,
            early: if due.time().is_some() { Early::Spare } else { Early::No },
            sooner: match self.settings.weighing {
                Weighing::Given => &[Lever::Weight, Lever::Budget],
                Weighing::Clicks => &[Lever::Clicks, Lever::Budget],
            },
            history: Some(History {
                changes: known.counts.changes(),
                visits: known.counts.visits(),
            }),
            ..Explanation::new(page, RULE, merit, due)
        })
    }
}
