//! The price, and the price of every host that is slower than its pages deserve.
//!
//! The price is solved for every half hour, when the budget changes, and when a young crawl has
//! doubled. Between two solutions a [`Controller`] corrects it by how the budget is being spent.

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Span, Time};

use super::clearing::clear_to;
use super::control::{Controller, Load};
use super::demand::{Nearby, demand};
use super::hosts::{Crowded, Hosts};
use super::value::Value;
use crate::Gate;

/// Relative width to which the price is solved: beliefs move it by far more.
pub(super) const SOLVED: f64 = 1e-3;
/// The price in clicks if everything can be fetched, so that a fetch costs nothing.
pub(super) const LEAST: f64 = 1e-15;
/// The price before anything is known: a click.
const FIRST_PRICE: f64 = 1.0;
/// The market is solved again when twice as many copies are held as then, and so many more.
const OUTGROWN: usize = 8;
/// How often the demand of copies is sampled.
const COPIES_EVERY: Span = Span::DAY;
/// Samples of the demand of copies at other prices within one solution. Each moves the price by at most
/// a factor of 3.4; then it is solved from afar.
const SAMPLES: usize = 24;
/// All pages are swept once the price has fallen below this share of the price at the last sweep.
const SWEEP_BELOW: f64 = 0.8;
/// A slow host gets a little more demand than it allows, so that it is never idle for want of work.
const KEPT_BUSY: f64 = 1.1;
/// The time in which pages waiting for a first fetch are to be fetched, as the market reckons.
pub(super) const STOCK: Span = Span::HOUR;

/// Fetches per second that work off the pages worth `price` within `time`; `worths` ascend.
pub(super) fn worked_off(worths: &[f64], price: f64, time: Span) -> f64 {
    (worths.len() - worths.partition_point(|worth| *worth < price)) as f64 / time.seconds()
}

/// What a budget could be spent on.
pub(super) struct Wanted {
    /// Values of sources.
    sources: Vec<Value>,
    /// Values of copies, each of which stands for so many.
    copies: (Vec<Value>, f64),
    /// Worths of pages never fetched, ascending.
    stock: Vec<f64>,
}

impl Wanted {
    /// Sources and pages never fetched, `stock` ascending: the demand that moves fast.
    pub(super) fn new(sources: Vec<Value>, stock: Vec<f64>) -> Self {
        Wanted { sources, copies: (Vec::new(), 0.0), stock }
    }

    /// The same and copies, each of which stands for so many.
    pub(super) fn and_copies(self, copies: (Vec<Value>, f64)) -> Self {
        Wanted { copies, ..self }
    }

    fn at(&self, price: f64) -> f64 {
        let (copies, scale) = &self.copies;
        demand(&self.sources, price)
            + scale * demand(copies, price)
            + worked_off(&self.stock, price, STOCK)
    }
}

/// The price of fetches.
#[derive(Serialize, Deserialize)]
pub(super) struct Market {
    /// Fetches per second, and the share of them that probes take.
    budget: f64,
    probes: f64,
    solved: f64,
    /// The price at which due times were last found.
    swept_at: f64,
    next_solve: Option<Time>,
    /// Copies held when the market was last solved.
    solved_with: usize,
    /// Demand of copies around the price, and when it was sampled.
    copies: Option<(Time, Nearby)>,
    control: Controller,
    hosts: Hosts,
}

impl Market {
    /// A market without a budget, of which probes will take the share `probes`.
    pub(super) fn new(probes: f64) -> Self {
        Market {
            budget: 0.0,
            probes,
            solved: FIRST_PRICE,
            swept_at: FIRST_PRICE,
            next_solve: None,
            solved_with: 0,
            copies: None,
            control: Controller::default(),
            hosts: Hosts::default(),
        }
    }

    /// ω: clicks that the marginal fetch brings.
    pub(super) fn price(&self) -> f64 {
        self.solved * self.control.factor()
    }

    /// The price on a host.
    pub(super) fn host_price(&self, host: HostId) -> f64 {
        self.price() * self.hosts.factor(host)
    }

    /// Fetches per second.
    pub(super) fn budget(&self) -> f64 {
        self.budget
    }

    /// Sets the budget in fetches per second. The price is solved anew.
    pub(super) fn set_budget(&mut self, budget: f64) {
        self.budget = budget;
        self.control.reset();
        self.next_solve = None;
    }

    pub(super) fn add_host(&mut self, host: HostId) {
        self.hosts.add(host);
    }

    /// A fetch from a host begins.
    pub(super) fn took(&mut self, host: HostId, now: Time) {
        self.hosts.took(host, now);
    }

    /// A fetch from a host has ended.
    pub(super) fn ended(&mut self, host: HostId) {
        self.hosts.ended(host);
    }

    /// Learns from the gate how long hosts stay closed after a fetch.
    pub(super) fn look(&mut self, gate: &dyn Gate) {
        self.hosts.look(gate);
    }

    /// Nothing was worth the price.
    pub(super) fn note_slack(&mut self, now: Time) {
        self.control.note(now, Load::Slack);
    }

    /// A page worth the price was chosen, late or in time. One that waited for its crowded host says
    /// nothing about the budget.
    pub(super) fn note_fetch(&mut self, host: HostId, is_late: bool, now: Time) {
        let is_late = is_late && !self.hosts.is_crowded(host, now);
        self.control.note(now, if is_late { Load::Waiting } else { Load::InTime });
    }

    /// Whether the market should be solved before the next choice. A clock that went back by more than
    /// `every` counts too.
    pub(super) fn is_stale(&self, now: Time, every: Span, held: usize) -> bool {
        let is_old = |next: Time| now >= next || now + every < next;
        self.is_outgrown(held) || self.next_solve.is_none_or(is_old)
    }

    /// Whether `held` has grown so much that the market must be solved again: a young crawl doubles
    /// within minutes.
    fn is_outgrown(&self, held: usize) -> bool {
        held >= 2 * self.solved_with + OUTGROWN
    }

    /// Begins a solution for `held` copies; the next is `every` later.
    pub(super) fn begin(&mut self, now: Time, every: Span, held: usize) {
        self.next_solve = Some(now + every);
        if self.is_outgrown(held) {
            self.copies = None;
        }
        self.solved_with = held;
    }

    /// Solves for the price. `copies` gives values of copies, and how many copies each stands for.
    pub(super) fn solve(
        &mut self,
        now: Time,
        wanted: &Wanted,
        copies: impl Fn() -> (Vec<Value>, f64),
    ) {
        let before = self.solved;
        let is_old = self.copies.as_ref().is_none_or(|(at, nearby)| {
            now.since(*at) >= COPIES_EVERY || !nearby.covers(self.price())
        });
        if is_old {
            self.sample(now, self.price(), &copies);
        }
        let near = self.solve_nearby(now, wanted, &copies);
        let price = near.unwrap_or_else(|| self.solve_from_afar(now, wanted, &copies));
        self.solved = price.max(LEAST);
        self.control.solved(self.solved / before);
    }

    /// The price, if it is near the sample of copies. If it is not, samples are taken nearer to it a
    /// few times; `None` if it is still far.
    fn solve_nearby(
        &mut self,
        now: Time,
        wanted: &Wanted,
        copies: &impl Fn() -> (Vec<Value>, f64),
    ) -> Option<f64> {
        for _ in 0..SAMPLES {
            let nearby = self.copies.as_ref().map(|(_, nearby)| nearby);
            let all = |price: f64| wanted.at(price) + nearby.map_or(0.0, |nearby| nearby.at(price));
            let price = clear_to(SOLVED, all, self.budget * (1.0 - self.probes), self.solved);
            match nearby.filter(|nearby| !nearby.covers(price.max(LEAST))) {
                Some(nearby) => self.sample(now, nearby.nearest(price.max(LEAST)), copies),
                None => return Some(price),
            }
        }
        None
    }

    /// The price, wherever it lies, from the values of copies at every step. After a budget of zero it
    /// is as far away as it can be.
    fn solve_from_afar(
        &mut self,
        now: Time,
        wanted: &Wanted,
        copies: &impl Fn() -> (Vec<Value>, f64),
    ) -> f64 {
        let (copies, scale) = copies();
        let all = |price: f64| wanted.at(price) + scale * demand(&copies, price);
        let price = clear_to(SOLVED, all, self.budget * (1.0 - self.probes), FIRST_PRICE);
        self.copies = Some((now, Nearby::of(&copies, scale, price.max(LEAST))));
        price
    }

    /// Samples the demand of copies around a price.
    fn sample(&mut self, now: Time, about: f64, copies: &impl Fn() -> (Vec<Value>, f64)) {
        let (copies, scale) = copies();
        self.copies = (!copies.is_empty()).then(|| (now, Nearby::of(&copies, scale, about)));
    }

    /// Lists the crowded hosts, and forgets the prices of all.
    pub(super) fn crowded_hosts(&mut self, now: Time) -> Vec<Crowded> {
        self.hosts.crowded(now)
    }

    /// Finds the price of a crowded host. The search starts at its last price: the global one may be
    /// many looks away.
    pub(super) fn price_host(&mut self, crowded: Crowded, wanted: &Wanted) {
        let (price, allowed) = (self.price(), KEPT_BUSY * crowded.allowed);
        let own = clear_to(SOLVED, |price| wanted.at(price), allowed, crowded.price(price));
        self.hosts.set_factor(crowded.host, own / price);
    }

    /// Whether the price has fallen so far since the last sweep that what waits would come late.
    pub(super) fn is_sweep_due(&self) -> bool {
        self.price() < SWEEP_BELOW * self.swept_at
    }

    /// All due times were found anew at this price.
    pub(super) fn swept(&mut self) {
        self.swept_at = self.price();
    }

    /// Due times found from now on may be for a higher price than those of the last sweep.
    pub(super) fn rescheduled(&mut self) {
        self.swept_at = self.swept_at.max(self.price());
    }
}
