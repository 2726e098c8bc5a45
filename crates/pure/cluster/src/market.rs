//! What is the price, and which node may spend how much?
//!
//! Once a minute every node reports the sum of its partitions' demand curves ([`Demand`]). The owner of
//! [`Seat::Price`](crate::Seat::Price) keeps the [`Till`]: it adds the curves, finds the price ω at which
//! they are worth the budget B, and grants node n
//!
//! > gₙ = B · xₙ(ω) / Σ x(ω),
//!
//! apart from [`EQUAL_SHARE`], which all get alike. The factor on the price that keeps the budget spent
//! (waiting against slack, an integral controller on the logarithm) lives only here. The [`Quote`] is a key
//! of the broker, written by compare-and-set: the last one holds, whatever messages are lost, and a deposed
//! owner cannot write.
//!
//! # Invariants
//!
//! - **Σ of the grants in force ≤ B, at every moment.** A node may not have heard of a lower grant yet. So
//!   the quote carries a *ceiling* for each node, the highest grant that may be in force there; it falls
//!   when the node's report names a quote that it acts under, or when the node is dead. Grants rise only
//!   into the room under B that the ceilings leave. Ceilings are part of the quote, so the next owner of
//!   the till starts with them. If the operator lowers B, grants in force fall as the nodes hear of it.
//! - A node without a grant in the newest quote that it has seen spends nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};
use tidewatch_policy::DemandCurve;

use crate::node::Answer;
use crate::{Epoch, NodeId};

/// Time between two reports of a node and two quotes.
pub const CLEAR_EVERY: Span = Span::MINUTE;
/// The same when grants are still to be moved from node to node.
pub const HURRY: Span = Span::SECOND.times(5);
/// The share of the budget that all nodes get alike: a demand curve knows nothing of pages still to be
/// found, and a node that starts knows few.
pub const EQUAL_SHARE: f64 = 0.02;
/// While everything waits, or nothing is due, the price changes e-fold in this time…
const PACE: Span = Span::HOUR.times(2);
/// …but at most by this share a quote, and by this much in all.
const MOST_STEP: f64 = 0.05;
const MOST_FACTOR: f64 = 1e4;
/// Grants that differ by less than this share of the mean are not worth a hurried quote.
const LEAST_CHANGE: f64 = 0.02;

/// A node's report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Who reports.
    pub node: NodeId,
    /// The revision of the quote that it acts under; 0 if none.
    pub under: u64,
    /// Fetches per second at each price; `None` if the policy has no price.
    pub curve: Option<DemandCurve>,
    /// Pages known, for policies without a price.
    pub pages: u64,
    /// Share of its choices that found something waiting.
    pub waiting: f32,
    /// Share of its choices that found nothing worth the price.
    pub slack: f32,
}

/// What a node is granted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The node.
    pub node: NodeId,
    /// Fetches per second.
    pub rate: f64,
    /// The highest rate that may be in force there.
    pub ceiling: f64,
}

/// The price and everybody's budget, as the broker keeps them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quote {
    /// The owner of the till that wrote it.
    pub epoch: Epoch,
    /// The price; 0 if the policies have none.
    pub price: f64,
    /// The logarithm of the controller's factor on it.
    pub log_factor: f64,
    /// The budget of all nodes, in fetches per second.
    pub budget: f64,
    /// By node, in ascending order.
    pub grants: Vec<Grant>,
}

impl Quote {
    fn rates(&self) -> BTreeMap<NodeId, f64> {
        self.grants.iter().map(|grant| (grant.node, grant.rate)).collect()
    }
}

#[derive(Clone, Debug)]
struct Account {
    demand: Demand,
    heard: Time,
}

/// Clears the market. Belongs to one owner of the seat.
#[derive(Clone, Debug)]
pub struct Till {
    epoch: Epoch,
    budget: f64,
    accounts: BTreeMap<NodeId, Account>,
    /// Revision and value of the last quote; the value only after it was read.
    revision: u64,
    quote: Option<Quote>,
    /// The grants of the newest quotes by revision, without a gap between them.
    sent: BTreeMap<u64, BTreeMap<NodeId, f64>>,
    writing: Option<(WriteId, Quote)>,
    writes: u64,
    log_factor: f64,
    last: Option<Time>,
    is_urgent: bool,
}

/// Identifies a write of the quote until it is answered. An answer may come after its write was given up, and
/// after the till has moved away and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteId {
    epoch: Epoch,
    number: u64,
}

/// What the till wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// Read the quote and tell by [`Till::read`].
    Read,
    /// Write this if the quote has the expected revision, and tell by [`Till::written`].
    Write {
        /// To be answered.
        write: WriteId,
        /// The revision that it must have; 0 if there must be none.
        expected: u64,
        /// The new value.
        quote: Quote,
    },
    /// Another node keeps the till: drop this one.
    Deposed,
}

impl Till {
    /// The till of an owner that won the seat, for `budget` fetches per second.
    pub fn new(epoch: Epoch, budget: f64) -> Till {
        Till {
            epoch,
            budget,
            accounts: BTreeMap::new(),
            revision: 0,
            quote: None,
            sent: BTreeMap::new(),
            writing: None,
            writes: 0,
            log_factor: 0.0,
            last: None,
            is_urgent: true,
        }
    }

    /// Sets another budget, in fetches per second.
    pub fn set_budget(&mut self, budget: f64) {
        self.budget = if budget.is_finite() { budget.max(0.0) } else { self.budget };
        self.is_urgent = true;
    }

    /// A node reports. An older report than the last, which came late, is ignored.
    pub fn hear(&mut self, now: Time, demand: Demand) {
        let known = self.accounts.get(&demand.node);
        if known.is_some_and(|known| known.demand.under > demand.under) {
            return;
        }
        let has_news = known.is_none_or(|known| known.demand.under < demand.under);
        self.is_urgent |= has_news;
        self.accounts.insert(demand.node, Account { demand, heard: now });
    }

    /// The quote was read, with its revision; `None` if there is none.
    pub fn read(&mut self, read: Option<(u64, Quote)>) {
        let (revision, found) = read.unwrap_or_default();
        if self.quote.is_none() {
            self.log_factor = if found.log_factor.is_finite() { found.log_factor } else { 0.0 };
        }
        if revision >= self.revision {
            // An own write starts from the quote before it, so between two of one's own there is none. Between
            // the quotes of others there may be some that this till never sees: then only the ceilings tell.
            if found.epoch != self.epoch {
                self.sent.clear();
            }
            self.sent.insert(revision, found.rates());
            self.revision = revision;
            self.quote = Some(found);
        }
    }

    /// How a write of the quote ended. An answer to an earlier write is ignored.
    pub fn written(&mut self, now: Time, write: WriteId, answer: Answer) {
        let Some((_, quote)) = self.writing.take_if(|(writing, _)| *writing == write) else {
            return;
        };
        match answer {
            Answer::Done(revision) => {
                self.sent.insert(revision, quote.rates());
                (self.revision, self.log_factor) = (revision, quote.log_factor);
                (self.quote, self.last) = (Some(quote), Some(now));
            }
            // Read again what holds now.
            Answer::Refused | Answer::Unknown => self.quote = None,
        }
    }

    /// What to do now. `is_alive` tells whether a node may still act: `false` only if it is buried.
    pub fn want(&mut self, now: Time, is_alive: impl Fn(NodeId) -> bool) -> Option<Want> {
        if self.writing.is_some() {
            return None;
        }
        let Some(before) = &self.quote else { return Some(Want::Read) };
        if before.epoch > self.epoch {
            return Some(Want::Deposed);
        }
        let passed = self.last.map_or(Span::FOREVER, |last| now.since(last));
        let buried = before.grants.iter().any(|grant| !is_alive(grant.node));
        let is_time = passed >= CLEAR_EVERY || passed >= HURRY && (self.is_urgent || buried);
        if !is_time {
            return None;
        }
        self.accounts.retain(|node, _| is_alive(*node));
        let ceilings = self.ceilings(before, &is_alive);
        let quote = self.clear(now, &ceilings);
        self.forget_acknowledged();
        self.writes += 1;
        let write = WriteId { epoch: self.epoch, number: self.writes };
        self.writing = Some((write, quote.clone()));
        Some(Want::Write { write, expected: self.revision, quote })
    }

    /// The highest grant that may be in force at each living node.
    fn ceilings(
        &self,
        before: &Quote,
        is_alive: &impl Fn(NodeId) -> bool,
    ) -> BTreeMap<NodeId, f64> {
        let alive = before.grants.iter().filter(|grant| is_alive(grant.node));
        let mut ceilings: BTreeMap<NodeId, f64> = BTreeMap::new();
        for grant in alive {
            let under = self.accounts.get(&grant.node).map_or(0, |account| account.demand.under);
            // A node acts under the quote that it named, or under a later one.
            let since = self.sent.range(under..).filter_map(|(_, rates)| rates.get(&grant.node));
            let is_known = self.sent.contains_key(&under);
            let most = since.fold(0.0, |most: f64, rate| most.max(*rate)).max(grant.rate);
            let ceiling = if is_known { most } else { grant.ceiling.max(most) };
            ceilings.insert(grant.node, if ceiling.is_finite() { ceiling.max(0.0) } else { 0.0 });
        }
        ceilings
    }

    /// Quotes that every node has left behind need not be remembered.
    fn forget_acknowledged(&mut self) {
        let under = self.accounts.values().map(|account| account.demand.under).min().unwrap_or(0);
        self.sent.retain(|revision, _| *revision >= under);
        while self.sent.len() > 1000 {
            self.sent.pop_first();
        }
    }

    fn clear(&mut self, now: Time, ceilings: &BTreeMap<NodeId, f64>) -> Quote {
        let log_factor = self.controlled(now);
        let (price, shares) = self.shares(log_factor);
        let count = self.accounts.len().max(1) as f64;
        let target = |share: f64| self.budget * (EQUAL_SHARE / count + (1.0 - EQUAL_SHARE) * share);
        let ceiling = |node: &NodeId| ceilings.get(node).copied().unwrap_or(0.0);
        let targets: BTreeMap<NodeId, f64> =
            self.accounts.keys().copied().zip(shares.into_iter().map(target)).collect();
        let rise = |(node, target): (&NodeId, &f64)| (target - ceiling(node)).max(0.0);
        let wanted: f64 = targets.iter().map(rise).sum();
        let room = (self.budget - ceilings.values().sum::<f64>()).max(0.0);
        let part = if wanted > room { room / wanted } else { 1.0 };
        let mut grants: BTreeMap<NodeId, Grant> = BTreeMap::new();
        for (node, target) in &targets {
            let ceiling = ceiling(node);
            let rate =
                if *target > ceiling { ceiling + part * (target - ceiling) } else { *target };
            grants.insert(*node, Grant { node: *node, rate, ceiling: ceiling.max(rate) });
        }
        // A node that never reported to this owner keeps what it has.
        for (node, ceiling) in ceilings {
            let silent = Grant { node: *node, rate: *ceiling, ceiling: *ceiling };
            grants.entry(*node).or_insert(silent);
        }
        let lacks = |grant: &Grant| {
            targets.get(&grant.node).is_some_and(|target| {
                (target - grant.rate).abs() > LEAST_CHANGE * self.budget / count
            })
        };
        self.is_urgent = grants.values().any(lacks);
        let (epoch, budget, grants) = (self.epoch, self.budget, grants.into_values().collect());
        Quote { epoch, price, log_factor, budget, grants }
    }

    /// The price, and each reporting node's share of the demand at it.
    fn shares(&self, log_factor: f64) -> (f64, Vec<f64>) {
        let curves = self.accounts.values().map(|account| account.demand.curve.as_ref());
        let (price, wants) = if let Some(curves) = curves.collect::<Option<Vec<&DemandCurve>>>() {
            let price = clearing(&curves, self.budget) * log_factor.exp();
            (price, curves.iter().map(|curve| curve.at(price)).collect::<Vec<f64>>())
        } else {
            let pages = self.accounts.values().map(|account| account.demand.pages);
            (0.0, pages.map(|pages| pages as f64 + 1.0).collect())
        };
        let (sum, count) = (wants.iter().sum::<f64>(), wants.len() as f64);
        let share = |want: f64| if sum > 0.0 { want / sum } else { count.recip() };
        (price, wants.into_iter().map(share).collect())
    }

    /// The controller after the reports since the last quote, weighed by what the nodes were granted.
    fn controlled(&self, now: Time) -> f64 {
        let passed = self.last.map_or(Span::ZERO, |last| now.since(last));
        let fresh = self
            .accounts
            .values()
            .filter(|account| self.last.is_none_or(|last| account.heard >= last));
        let (mut sum, mut count) = (0.0, 0.0);
        for account in fresh {
            let load = f64::from(account.demand.waiting) - f64::from(account.demand.slack);
            if load.is_finite() {
                (sum, count) = (sum + load.clamp(-1.0, 1.0), count + 1.0);
            }
        }
        let load = if count > 0.0 { sum / count } else { 0.0 };
        let step = (passed.seconds() / PACE.seconds()).min(MOST_STEP);
        let most = MOST_FACTOR.ln();
        (self.log_factor + load * step).clamp(-most, most)
    }
}

/// The price at which the sum of the curves is `budget`; 0 if it never is that much.
pub fn clearing(curves: &[&DemandCurve], budget: f64) -> f64 {
    let Some((first, rest)) = curves.split_first() else { return 0.0 };
    let mut sum = (*first).clone();
    rest.iter().for_each(|curve| sum.add(curve));
    sum.clearing_price(budget)
}

/// What a node may spend.
#[derive(Clone, Debug)]
pub struct Purse {
    under: u64,
    rate: f64,
    price: f64,
    next_report: Time,
}

impl Purse {
    /// A node that has heard of no quote: it may spend nothing. It reports at once.
    pub const fn new(now: Time) -> Purse {
        Purse { under: 0, rate: 0.0, price: 0.0, next_report: now }
    }

    /// A quote was seen under this revision. Returns the grant if the quote is newer than the last.
    pub fn hear(&mut self, now: Time, me: NodeId, revision: u64, quote: &Quote) -> Option<f64> {
        if revision <= self.under {
            return None;
        }
        let grant = quote.grants.iter().find(|grant| grant.node == me);
        let rate = grant.map_or(0.0, |grant| grant.rate);
        let rate = if rate.is_finite() { rate.max(0.0) } else { 0.0 };
        // What was given up is needed elsewhere; what a ceiling hides is free once confirmed.
        if grant.is_none_or(|grant| rate < self.rate || grant.ceiling > rate) {
            self.next_report = self.next_report.min(now);
        }
        (self.under, self.rate, self.price) = (revision, rate, quote.price);
        Some(rate)
    }

    /// The till has another owner, or this node has more or less to fetch: reports soon.
    pub fn hurry(&mut self, now: Time) {
        self.next_report = self.next_report.min(now);
    }

    /// When the next report is due.
    pub const fn next_report(&self) -> Time {
        self.next_report
    }

    /// The report to send now.
    pub fn report(
        &mut self,
        now: Time,
        node: NodeId,
        curve: Option<DemandCurve>,
        pages: u64,
        [waiting, slack]: [f32; 2],
    ) -> Demand {
        self.next_report = now + CLEAR_EVERY;
        Demand { node, under: self.under, curve, pages, waiting, slack }
    }

    /// Fetches per second that the node may spend.
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// The last price.
    pub const fn price(&self) -> f64 {
        self.price
    }
}

#[cfg(test)]
mod tests;
