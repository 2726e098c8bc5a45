//! Solving the market, and finding due times anew.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tidewatch_core::{HostId, PageId, Span, Time};

use super::clearing::clear_to;
use super::market::{Nearby, demand};
use super::news::NO_SOURCE;
use super::place::Place;
use super::policy::{FIRST_PRICE, Price};
use super::value::Value;
use crate::Agenda;

/// The price is solved for to this relative width: what is believed moves it by far more.
pub(super) const SOLVED: f64 = 1e-3;
/// The price where a fetch costs nothing, since everything can be fetched; in clicks.
pub(super) const LEAST: f64 = 1e-15;
/// The market is solved anew when twice as many copies are held as then, and so many more.
const OUTGROWN: usize = 8;
/// Copies that stand for all when the market is solved, and how often they are asked anew.
const SAMPLE: usize = 1 << 11;
const COPIES_EVERY: Span = Span::DAY;
/// Times that copies are asked about another price in one solution, each of which moves it by a factor of
/// 3.4, before all of the way is gone at once.
const ASKED: usize = 24;
/// A sweep is made when the price is below that of the last one by this share.
const SWEEP_BELOW: f64 = 0.8;
/// Outdated entries that a queue may have before a sweep clears them.
const CROWD: usize = 1 << 14;
/// On a slow host a little more is wanted than it allows, so that it is never idle for want of work.
const KEPT_BUSY: f64 = 1.1;
/// What waits to be fetched once is worked off in this time, when the market is solved.
pub(super) const STOCK: Span = Span::HOUR;

/// Fetches a second that work off what is worth the price in a time; worths are in order.
pub(super) fn worked_off(stock: &[f64], price: f64, time: Span) -> f64 {
    (stock.len() - stock.partition_point(|worth| *worth < price)) as f64 / time.seconds()
}

impl Price {
    /// Solves the market anew.
    pub(super) fn solve(&mut self, now: Time) {
        self.next_solve = Some(now + self.settings.solve_every);
        if self.is_outgrown() {
            self.copies_demand = None;
        }
        self.solved_with = self.held.len();
        let copies = &mut self.copies;
        self.news.let_go(now, |page, factor| copies.keep_factor(page, factor));
        self.copies.repool();
        let before = self.solved;
        let (sources, stock) =
            (self.source_values(), self.stock(|_| true, |page| self.once_worth(page)));
        if self.is_copies_demand_old(now) {
            self.ask_copies(now, self.price());
        }
        let budget = self.budget * (1.0 - self.settings.probes());
        let near = self.solve_nearby(now, &sources, &stock, budget);
        self.solved =
            near.unwrap_or_else(|| self.solve_from_afar(now, &sources, &stock, budget)).max(LEAST);
        self.control.solved(self.solved / before);
        self.price_hosts(now);
        if !self.sweep_if_late() {
            // What is put in the queue now waits for this price.
            self.swept_at = self.swept_at.max(self.price());
            let sources = self.sources.clone();
            sources.into_iter().for_each(|page| self.reschedule(page));
            self.promote();
        }
    }

    /// The price, near to where copies were last asked; where it is not, they are asked nearer to it a
    /// few times. `None` if it is still far.
    fn solve_nearby(
        &mut self,
        now: Time,
        sources: &[Value],
        stock: &[f64],
        budget: f64,
    ) -> Option<f64> {
        for _ in 0..ASKED {
            let of_copies = self.copies_demand.as_ref().map(|(_, nearby)| nearby);
            let wanted = |price: f64| {
                demand(sources, price)
                    + of_copies.map_or(0.0, |nearby| nearby.at(price))
                    + worked_off(stock, price, STOCK)
            };
            let price = clear_to(SOLVED, wanted, budget, self.solved);
            match of_copies.filter(|nearby| !nearby.covers(price.max(LEAST))) {
                Some(nearby) => self.ask_copies(now, nearby.nearest(price.max(LEAST))),
                None => return Some(price),
            }
        }
        None
    }

    /// The price, wherever it lies, by asking copies at every step: after a budget of zero it is as far
    /// away as it can be.
    fn solve_from_afar(&mut self, now: Time, sources: &[Value], stock: &[f64], budget: f64) -> f64 {
        let (copies, scale) = self.copy_values();
        let wanted = |price: f64| {
            demand(sources, price)
                + scale * demand(&copies, price)
                + worked_off(stock, price, STOCK)
        };
        let price = clear_to(SOLVED, wanted, budget, FIRST_PRICE);
        self.copies_demand = Some((now, Nearby::of(&copies, scale, price.max(LEAST))));
        price
    }

    /// Whether so much more is held than when the market was solved that it should be again: a young
    /// crawl knows twice as much after minutes.
    pub(super) fn is_outgrown(&self) -> bool {
        self.held.len() >= 2 * self.solved_with + OUTGROWN
    }

    /// Sweeps where the price has fallen so far that what waits would come late, or most of what
    /// waits is outdated.
    pub(super) fn sweep_if_late(&mut self) -> bool {
        let waiting = self.once.len() + self.cheap.len();
        let is_crowded =
            self.due.len() > 2 * self.held.len() + CROWD || waiting > 2 * self.places.len() + CROWD;
        let is_late = is_crowded || self.price() < SWEEP_BELOW * self.swept_at;
        if is_late {
            self.sweep();
        }
        is_late
    }

    /// Finds the prices of hosts that allow less than is worth a fetch there.
    fn price_hosts(&mut self, now: Time) {
        let crowded = self.hosts.crowded(now);
        if crowded.is_empty() {
            return;
        }
        let mut items: FxHashMap<HostId, (Vec<Value>, Vec<f64>)> =
            crowded.iter().map(|(host, _)| (*host, Default::default())).collect();
        for page in (0..self.places.len() as u32).map(PageId) {
            let copy = self.copies.page(page);
            let Some((values, stock)) = items.get_mut(&copy.host).filter(|_| !copy.is_gone())
            else {
                continue;
            };
            if copy.last().is_some() {
                values.push(self.value(page, now));
            } else if matches!(self.places[page.index()], Place::Once | Place::Cheap) {
                stock.extend(self.once_worth(page));
            }
        }
        let price = self.price();
        for (host, allowed) in crowded {
            let Some((values, stock)) = items.get_mut(&host) else { continue };
            stock.sort_unstable_by(f64::total_cmp);
            let wanted = |price: f64| demand(values, price) + worked_off(stock, price, STOCK);
            let own = clear_to(SOLVED, wanted, KEPT_BUSY * allowed, price);
            self.hosts.set_factor(host, own / price);
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
    pub(super) fn source_values(&self) -> Vec<Value> {
        let is_live = |page: &&PageId| {
            let copy = self.copies.page(**page);
            !copy.is_gone() && copy.last().is_some()
        };
        self.sources.iter().filter(is_live).map(|&page| self.value(page, self.now)).collect()
    }

    /// What copies are worth, or some of them of which each stands for so many.
    pub(super) fn copy_values(&self) -> (Vec<Value>, f64) {
        let is_copy = |page: &&PageId| {
            let copy = self.copies.page(**page);
            copy.source == NO_SOURCE && !copy.is_gone()
        };
        let all: Vec<PageId> = self.held.iter().filter(is_copy).copied().collect();
        let step = all.len().div_ceil(SAMPLE).max(1);
        // Another part of them each time.
        let some = all.iter().skip(self.now.seconds() as usize % step).step_by(step);
        let values: Vec<Value> = some.map(|&page| self.value(page, self.now)).collect();
        let scale = all.len() as f64 / values.len().max(1) as f64;
        (values, scale)
    }

    /// What some of the pages that wait to be fetched for the first time are worth, in order.
    pub(super) fn stock(
        &self,
        of: impl Fn(PageId) -> bool + Sync,
        worth: impl Fn(PageId) -> Option<f64> + Sync + Send,
    ) -> Vec<f64> {
        let waits = |page: &PageId| {
            matches!(self.places[page.index()], Place::Once | Place::Cheap) && of(*page)
        };
        let pages = (0..self.places.len() as u32).into_par_iter().map(PageId);
        let mut worths: Vec<f64> = pages.filter(waits).filter_map(worth).collect();
        worths.par_sort_unstable_by(f64::total_cmp);
        worths
    }

    /// Moves up what was not worth the price when it was looked at, and is now, and takes in strays.
    fn promote(&mut self) {
        let is_dear = |page: PageId| {
            let price = self.host_price(self.copies.page(page).host);
            self.once_worth(page).is_some_and(|worth| worth >= price)
        };
        let pages = (0..self.places.len() as u32).into_par_iter().map(PageId);
        let moves = |page: &PageId| match self.places[page.index()] {
            Place::Cheap => is_dear(*page),
            Place::Nowhere => self.is_stray(*page),
            _ => false,
        };
        let moving: Vec<PageId> = pages.filter(moves).collect();
        moving.into_iter().for_each(|page| self.offer(page));
    }

    /// Whether a page that waits nowhere should: where a page has moved to while its source was being
    /// visited, which did not show it.
    fn is_stray(&self, page: PageId) -> bool {
        let copy = self.copies.page(page);
        copy.last().is_none() && !copy.is_gone() && self.once_worth(page).is_some()
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
            let copy = self.copies.page(page);
            match self.places[page.index()] {
                Place::Once | Place::Cheap => self.offer(page),
                Place::Nowhere if self.is_stray(page) => self.offer(page),
                Place::Due(at) if copy.last().is_none() => {
                    self.due.push((at, page.0), copy.host, page);
                }
                _ => {}
            }
        }
    }

    pub(super) fn reschedule(&mut self, page: PageId) {
        let copy = self.copies.page(page);
        let host = copy.host;
        match (self.places[page.index()], copy.last()) {
            (Place::UnderWay, _) | (_, None) => {}
            (Place::Due(at), _) if copy.is_gone() => self.wait_until(page, host, Some(at)),
            (_, Some(last)) => self.schedule(page, last),
        }
    }
}
