//! A partition among others: foreign links, its share of the budget, the gate of shared addresses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use tidewatch_cluster::place::owner;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, PageKey, Rate, Time};
use tidewatch_store::{Parcel, SentLink, StoreError};

use super::{CrawlError, Found, Partition};
use crate::exchange::{Delivery, Exchange, Receipt};
use crate::gate::AddressGate;
use crate::ledger::{Account, Ledger};
use crate::pages::Pages;
use crate::quiet::Quiet;

/// How often a partition reports and takes its share of the budget.
const REPORT_EVERY: Duration = Duration::from_secs(2);
/// Least time between reports, in durations of a report, which grow with the copies held.
const REPORT_SHARE: u32 = 50;
/// A share that differs by less is not worth an input on the tape.
const LEAST_CHANGE: f64 = 0.02;
/// Foreign URLs that are remembered as sent. Beyond that all are forgotten and may be sent again.
const MOST_SENT: usize = 1 << 20;

/// Name under which the store keeps the budget of all partitions.
const TOTAL: &str = "crawl-budget";

/// Name under which the store keeps how far the partition has read its parcels.
const MARK: &str = "links-mark";
/// Most bytes of the URLs in a parcel, and most links: a broker takes a message of a megabyte.
const MOST_PARCEL_BYTES: usize = 256 << 10;
const MOST_PARCEL_LINKS: usize = 2_000;

/// A partition's place among the others, and what it shares with them.
#[derive(Clone)]
pub struct Seat {
    /// The number of this partition.
    pub number: u32,
    /// How many partitions there are.
    pub count: u32,
    /// The number of the first parcel it will send. Where several processes may open the partition in
    /// turn, none of them may use a number that another has used, even after a return to an older state.
    /// `None` where only one process ever opens it.
    pub first_parcel: Option<u64>,
    /// Carries links.
    pub exchange: Arc<dyn Exchange>,
    /// Divides the budget.
    pub ledger: Arc<Ledger>,
    /// Keeps the gaps of addresses.
    pub gate: Arc<AddressGate>,
    /// Since when each partition has expected nothing from any page; `None` where other processes may
    /// expect something.
    pub stuck: Option<Arc<Quiet>>,
}

/// A partition among others.
pub(crate) struct Member {
    seat: Seat,
    /// Foreign links found since the last commit, by owner.
    found: BTreeMap<u32, Vec<SentLink>>,
    /// Foreign URLs that were sent.
    sent: FxHashSet<PageKey>,
    /// The page whose link was sent last, and its URL.
    last_via: Option<(PageId, String)>,
    /// Parcels to be delivered after the next sync.
    packed: Vec<(u64, Parcel)>,
    /// Parcels to be acknowledged after the next sync.
    taken: Vec<Receipt>,
    next_report: Instant,
}

impl Member {
    fn new(seat: Seat, packed: Vec<(u64, Parcel)>) -> Member {
        seat.ledger.enter(seat.number);
        Member {
            seat,
            found: BTreeMap::new(),
            sent: FxHashSet::default(),
            last_via: None,
            packed,
            taken: Vec::new(),
            next_report: Instant::now(),
        }
    }

    /// The gate that requests pass.
    pub(crate) fn gate(&self) -> &Arc<AddressGate> {
        &self.seat.gate
    }

    /// Tells the others whether this partition expects nothing, and returns whether none does.
    pub(super) fn are_all_stuck(&self, is_stuck: bool) -> bool {
        self.seat.stuck.as_ref().is_some_and(|stuck| {
            stuck.note(self.seat.number, is_stuck);
            stuck.is_over()
        })
    }

    /// What the partitions share of the budget.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.seat.ledger
    }

    /// The number of this partition.
    pub(super) const fn number(&self) -> u32 {
        self.seat.number
    }

    /// The partition that owns a URL, if it is another one.
    fn other_owner(&self, url: &CanonicalUrl) -> Option<u32> {
        Some(owner(url, self.seat.count)).filter(|owner| *owner != self.seat.number)
    }

    /// Whether a foreign URL was not sent yet.
    fn is_unsent(&mut self, url: &CanonicalUrl) -> bool {
        if self.sent.len() >= MOST_SENT {
            self.sent.clear();
        }
        self.sent.insert(PageKey::of(url.as_str()))
    }

    /// The URL of a page whose link is sent; most come in a row.
    fn via(&mut self, page: PageId, pages: &Pages) -> Result<String, StoreError> {
        match &self.last_via {
            Some((last, url)) if *last == page => Ok(url.clone()),
            _ => {
                let url = pages.address(page)?.into_string();
                self.last_via = Some((page, url.clone()));
                Ok(url)
            }
        }
    }

    /// Puts the links found since the last commit into the outbox.
    pub(super) fn pack(&mut self, pages: &mut Pages) {
        for (to, links) in std::mem::take(&mut self.found) {
            for links in parcels(links) {
                let parcel = Parcel { to, links };
                self.packed.push((pages.put_parcel(parcel.clone()), parcel));
            }
        }
    }

    /// After a sync: sends the packed parcels and acknowledges those taken in.
    pub(super) fn synced(&mut self) {
        for (number, parcel) in self.packed.drain(..) {
            self.seat.exchange.send(Receipt { from: self.seat.number, number }, parcel);
        }
        self.taken.drain(..).for_each(|receipt| self.seat.exchange.acknowledge(receipt));
    }

    /// Parcels received, and numbers of our own that were acknowledged.
    fn receive(&self) -> (Vec<Delivery>, Vec<u64>) {
        let Seat { number, exchange, .. } = &self.seat;
        (exchange.receive(*number), exchange.acknowledged(*number))
    }

    /// Reports `fetches`, and says whether it is time to report the account.
    fn wants_report(&self, fetches: u64) -> bool {
        self.seat.ledger.count(self.seat.number, fetches);
        Instant::now() >= self.next_report
    }

    /// Reports the account, which took since `began`, and returns the share granted.
    fn report(&mut self, began: Instant, account: Account) -> Rate {
        let granted = self.seat.ledger.report(self.seat.number, account);
        self.next_report = began + REPORT_EVERY.max(REPORT_SHARE * began.elapsed());
        granted
    }
}

/// Divides links so that each part fits into a message.
fn parcels(links: Vec<SentLink>) -> Vec<Vec<SentLink>> {
    let (mut all, mut bytes) = (vec![Vec::new()], 0);
    for link in links {
        let size = link.url.len() + link.via.as_ref().map_or(0, String::len);
        bytes += size;
        let is_full =
            |last: &Vec<SentLink>| bytes > MOST_PARCEL_BYTES || last.len() >= MOST_PARCEL_LINKS;
        if all.last().is_some_and(|last| !last.is_empty() && is_full(last)) {
            all.push(Vec::new());
            bytes = size;
        }
        all.last_mut().into_iter().for_each(|last| last.push(link.clone()));
    }
    all
}

impl Partition {
    /// Joins the other partitions. Parcels that were never acknowledged are sent again.
    pub fn join(&mut self, seat: Seat) -> Result<(), CrawlError> {
        if let Some(first) = seat.first_parcel {
            self.pages.number_parcels_from(first);
        }
        seat.exchange.resume(seat.number, self.pages.meta(MARK)?);
        self.member = Some(Member::new(seat, self.pages.outbox()?));
        Ok(())
    }

    /// How far this partition has read its parcels, in the exchange's own encoding.
    pub fn links_mark(&self) -> Result<Option<Vec<u8>>, CrawlError> {
        Ok(self.pages.meta(MARK)?)
    }

    /// The number of the next parcel.
    pub fn next_parcel(&self) -> u64 {
        self.pages.next_parcel()
    }

    /// What is shared with other partitions.
    pub(crate) const fn member(&self) -> Option<&Member> {
        self.member.as_ref()
    }

    /// The number of this partition; 0 if it is the only one.
    pub fn number(&self) -> u32 {
        self.member.as_ref().map_or(0, Member::number)
    }

    /// Whether this partition owns a URL's host.
    pub fn owns(&self, url: &CanonicalUrl) -> bool {
        self.member.as_ref().is_none_or(|member| member.other_owner(url).is_none())
    }

    /// Adds a seed if this partition owns it; otherwise only counts its host among those of the seeds.
    /// Every partition is told every seed.
    pub fn seed_or_allow(&mut self, url: &CanonicalUrl, now: Time) -> Result<(), CrawlError> {
        self.allow_host(url);
        if self.owns(url) { self.seed(url, now) } else { Ok(()) }
    }

    /// Keeps a link for the partition that owns its host; `false` if that is this one.
    pub(super) fn post(&mut self, url: &CanonicalUrl, found: Found) -> Result<bool, StoreError> {
        let Some(member) = &mut self.member else { return Ok(false) };
        let Some(to) = member.other_owner(url) else { return Ok(false) };
        if member.is_unsent(url) {
            let Found { via, depth, hops, is_source, .. } = found;
            let via = via.map(|via| member.via(via, &self.pages)).transpose()?;
            let link = SentLink { url: url.as_str().to_owned(), depth, hops, is_source, via };
            member.found.entry(to).or_default().push(link);
        }
        Ok(true)
    }

    /// Reports the demand of this partition, if the others cannot know it yet. [`Partition::what_if`]
    /// divides a budget by what all have reported.
    pub fn declare_demand(&self) {
        if let Some(member) = &self.member
            && !member.ledger().has_reported(member.number())
        {
            member.ledger().report(member.number(), self.account());
        }
    }

    /// Keeps the budget of the whole crawl for [`Partitions::look`](crate::Partitions::look). It joins
    /// the next commit.
    pub(crate) fn keep_total(&mut self, total: Rate) {
        self.pages.put_meta(TOTAL, total.as_per_second().to_le_bytes().to_vec());
    }

    /// The budget of the whole crawl when it was set last, in fetches per second; `None` if there is
    /// only this partition.
    pub(crate) fn kept_total(&self) -> Result<Option<f64>, StoreError> {
        let bytes = self.pages.meta(TOTAL)?.and_then(|bytes| bytes.try_into().ok());
        Ok(bytes.map(f64::from_le_bytes).filter(|total| total.is_finite() && *total >= 0.0))
    }

    /// This partition's report to the ledger that divides the budget.
    pub fn account(&self) -> Account {
        Account { pages: self.pages.store().pages(), demand: self.taped.demand() }
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
        let fetches = self.tally.all_fetches();
        let is_time = self.member.as_ref().is_some_and(|member| member.wants_report(fetches));
        let granted = is_time.then(|| {
            let (began, account) = (Instant::now(), self.account());
            self.member.as_mut().map(|member| member.report(began, account))
        });
        let granted = granted.flatten();
        let is_other =
            |granted: &Rate| (granted.as_per_second() - current).abs() > LEAST_CHANGE * current;
        granted.filter(is_other).map_or(Ok(()), |granted| self.grant(granted, now))
    }

    fn take_parcel(&mut self, delivery: Delivery, now: Time) -> Result<(), CrawlError> {
        for SentLink { url, depth, hops, is_source, via } in delivery.links {
            // A partition sends canonical URLs only.
            let Ok(url) = CanonicalUrl::parse(&url) else { continue };
            let found = Found { depth, hops, ..Found::named(is_source) };
            let link = self.link(&url, found, now)?.filter(|link| link.is_new);
            if let Some((link, via)) = link.zip(via) {
                self.pages.put_foreign_via(link.page, via);
            }
        }
        if let Some(mark) = delivery.mark {
            self.pages.put_meta(MARK, mark);
        }
        if let Some(member) = &mut self.member {
            member.taken.push(delivery.receipt);
        }
        Ok(())
    }
}
