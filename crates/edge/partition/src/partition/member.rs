//! A partition among others: foreign links, its share of the budget, the gate of shared addresses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageKey, Rate, Time};
use tidewatch_store::{Parcel, SentLink, StoreError};

use super::{CrawlError, Found, Partition};
use crate::exchange::{Delivery, Exchange, Receipt, owner};
use crate::gate::AddressGate;
use crate::ledger::{Account, Ledger};
use crate::pages::Pages;

/// How often a partition reports and takes its share of the budget.
const REPORT_EVERY: Duration = Duration::from_secs(2);
/// Least time between reports, in durations of a report, which grow with the copies held.
const REPORT_SHARE: u32 = 50;
/// A share that differs by less is not worth an input on the tape.
const LEAST_CHANGE: f64 = 0.02;
/// Foreign URLs that are remembered as sent. Beyond that all are forgotten and may be sent again.
const MOST_SENT: usize = 1 << 20;

/// What a partition shares with the others.
pub(crate) struct Member {
    number: u32,
    count: u32,
    exchange: Arc<dyn Exchange>,
    ledger: Arc<Ledger>,
    gate: Arc<AddressGate>,
    /// Foreign links found since the last commit, by owner.
    found: BTreeMap<u32, Vec<SentLink>>,
    /// Foreign URLs that were sent.
    sent: FxHashSet<PageKey>,
    /// Parcels to be delivered after the next sync.
    packed: Vec<(u64, Parcel)>,
    /// Parcels to be acknowledged after the next sync.
    taken: Vec<Receipt>,
    next_report: Instant,
}

impl Member {
    /// Partition `number` of `count`.
    pub(crate) fn new(
        number: u32,
        count: u32,
        exchange: Arc<dyn Exchange>,
        ledger: Arc<Ledger>,
        gate: Arc<AddressGate>,
    ) -> Member {
        Member {
            number,
            count,
            exchange,
            ledger,
            gate,
            found: BTreeMap::new(),
            sent: FxHashSet::default(),
            packed: Vec::new(),
            taken: Vec::new(),
            next_report: Instant::now(),
        }
    }

    /// The gate that requests pass.
    pub(crate) fn gate(&self) -> &Arc<AddressGate> {
        &self.gate
    }

    /// Sets the budget of all partitions.
    pub(super) fn set_total(&self, budget: Rate) {
        self.ledger.set_total(budget);
    }

    /// Keeps a link for its owner; `false` if that is this partition.
    fn post(&mut self, url: &CanonicalUrl, found: Found) -> bool {
        let to = owner(url, self.count);
        if to == self.number {
            return false;
        }
        if self.sent.len() >= MOST_SENT {
            self.sent.clear();
        }
        if self.sent.insert(PageKey::of(url.as_str())) {
            let Found { depth, hops, is_source, .. } = found;
            let link = SentLink { url: url.as_str().to_owned(), depth, hops, is_source };
            self.found.entry(to).or_default().push(link);
        }
        true
    }

    /// Puts the links found since the last commit into the outbox.
    pub(super) fn pack(&mut self, pages: &mut Pages) {
        for (to, links) in std::mem::take(&mut self.found) {
            let parcel = Parcel { to, links };
            self.packed.push((pages.put_parcel(parcel.clone()), parcel));
        }
    }

    /// After a sync: sends the packed parcels and acknowledges those taken in.
    pub(super) fn synced(&mut self) {
        for (number, parcel) in self.packed.drain(..) {
            self.exchange.send(Receipt { from: self.number, number }, parcel);
        }
        self.taken.drain(..).for_each(|receipt| self.exchange.acknowledge(receipt));
    }

    /// Parcels received, and numbers of our own that were acknowledged.
    fn receive(&self) -> (Vec<Delivery>, Vec<u64>) {
        (self.exchange.receive(self.number), self.exchange.acknowledged(self.number))
    }

    /// Reports `fetches` and, if it is time, the account; returns the share then granted.
    fn report(&mut self, fetches: u64, account: impl FnOnce() -> Account) -> Option<Rate> {
        self.ledger.count(self.number, fetches);
        let began = Instant::now();
        if began < self.next_report {
            return None;
        }
        let granted = self.ledger.report(self.number, account());
        let took = began.elapsed();
        self.next_report = began + REPORT_EVERY.max(REPORT_SHARE * took);
        Some(granted)
    }
}

impl Partition {
    /// Joins the other partitions. Parcels that were never acknowledged are sent again.
    pub(crate) fn join(&mut self, mut member: Member) -> Result<(), StoreError> {
        member.packed = self.pages.outbox()?;
        self.member = Some(member);
        Ok(())
    }

    /// What is shared with other partitions.
    pub(crate) const fn member(&self) -> Option<&Member> {
        self.member.as_ref()
    }

    /// Keeps a link for the partition that owns its host; `false` if that is this one.
    pub(super) fn post(&mut self, url: &CanonicalUrl, found: Found) -> bool {
        self.member.as_mut().is_some_and(|member| member.post(url, found))
    }

    /// Takes in what the other partitions sent, and this one's share of the budget. The loop calls it
    /// every turn.
    pub fn meet(&mut self, now: Time) -> Result<(), CrawlError> {
        let Some(member) = &self.member else { return Ok(()) };
        let (deliveries, arrived) = member.receive();
        arrived.into_iter().for_each(|number| self.pages.acknowledge(number));
        for delivery in deliveries {
            self.take_parcel(delivery, now)?;
        }
        let current = self.budget().as_per_second();
        let (fetches, pages) = (self.tally.all_fetches(), self.pages.store().pages());
        let account = || Account { pages, demand: self.taped.demand() };
        let granted = self.member.as_mut().and_then(|member| member.report(fetches, account));
        let is_other =
            |granted: &Rate| (granted.as_per_second() - current).abs() > LEAST_CHANGE * current;
        granted.filter(is_other).map_or(Ok(()), |granted| self.grant(granted, now))
    }

    fn take_parcel(&mut self, delivery: Delivery, now: Time) -> Result<(), CrawlError> {
        for SentLink { url, depth, hops, is_source } in delivery.links {
            // A partition sends canonical URLs only.
            let Ok(url) = CanonicalUrl::parse(&url) else { continue };
            self.link(&url, Found { depth, hops, ..Found::named(is_source) }, now)?;
        }
        if let Some(member) = &mut self.member {
            member.taken.push(delivery.receipt);
        }
        Ok(())
    }
}
