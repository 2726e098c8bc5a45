//! Solving the market, and finding due times anew.

use tidewatch_core::{PageId, Span, Time};

use super::market::{Nearby, clear_to, demand};
use super::news::NO_SOURCE;
use super::policy::{LEAST, OUTGROWN, Place, Price, SOLVED};
use super::value::Value;
use crate::Agenda;

/// Copies that stand for all when the market is solved, and how often they are asked anew.
const SAMPLE: usize = 1 << 11;
const COPIES_EVERY: Span = Span::DAY;
/// Times that copies are asked about another price in one solution; each moves it by a factor of 35.
const ASKED: usize = 12;
/// A sweep is made when the price is below that of the last one by this share.
const SWEEP_BELOW: f64 = 0.8;
/// Outdated entries that a queue may have before a sweep clears them.
const CROWD: usize = 1 << 14;
/// What waits to be fetched once is worked off in this time, when the market is solved.
const STOCK: Span = Span::HOUR;

impl Price {
    /// Solves the market anew.
    pub(super) fn solve(&mut self, now: Time) {
        self.next_solve = Some(now + self.settings.solve_every);
        if self.held.len() >= 2 * self.solved_with + OUTGROWN {
            self.copies_demand = None;
        }
        self.solved_with = self.held.len();
        self.copies.repool();
        let before = self.solved;
        let (sources, stock) = (self.source_values(), self.stock());
        if self.is_copies_demand_old(now) {
            self.ask_copies(now, self.price());
        }
        let probes = self.settings.probes.clamp(0.0, 0.5);
        let budget = self.budget * (1.0 - probes);
        // The price may lie far from where copies were last asked; so they are asked nearer to it.
        for _ in 0..ASKED {
            let of_copies = self.copies_demand.as_ref().map(|(_, nearby)| nearby);
            let wanted = |price: f64| {
                demand(&sources, price)
                    + of_copies.map_or(0.0, |nearby| nearby.at(price))
                    + stock.iter().filter(|worth| **worth >= price).count() as f64 / STOCK.seconds()
            };
            self.solved = clear_to(SOLVED, wanted, budget, before).max(LEAST);
            match of_copies {
                Some(nearby) if !nearby.covers(self.solved) => {
                    let near = nearby.nearest(self.solved);
                    self.ask_copies(now, near);
                }
                _ => break,
            }
        }
        self.control.solved(self.solved / before);
        let is_crowded = self.due.len() > 2 * self.held.len() + CROWD;
        if is_crowded || self.price() < SWEEP_BELOW * self.swept_at {
            self.sweep();
        } else {
            // What is put in the queue now waits for this price.
            self.swept_at = self.swept_at.max(self.price());
            let sources = self.sources.clone();
            sources.into_iter().for_each(|page| self.reschedule(page));
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
        let pages = self.sources.iter().map(|&page| self.copies.page(page));
        let live = pages.filter(|copy| !copy.is_gone() && copy.last().is_some());
        live.map(|copy| Value::Source(self.news.source(copy.source, self.now))).collect()
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
        let values: Vec<Value> = some.map(|&page| self.copies.value(page)).collect();
        let scale = all.len() as f64 / values.len().max(1) as f64;
        (values, scale)
    }

    /// What pages that wait to be fetched for the first time are worth.
    fn stock(&mut self) -> Vec<f64> {
        let waits = |place: &Place| matches!(place, Place::Once | Place::Cheap);
        let pages = (0..).map(PageId).zip(self.places.iter());
        let waiting: Vec<PageId> =
            pages.filter(|(_, place)| waits(place)).map(|(page, _)| page).collect();
        waiting.into_iter().filter_map(|page| self.once_worth(page)).collect()
    }

    /// Finds every due time anew.
    pub(super) fn sweep(&mut self) {
        self.swept_at = self.price();
        self.due = Agenda::default();
        for i in 0..self.held.len() {
            self.reschedule(self.held[i]);
        }
        self.cheap = Agenda::default();
        self.once = Agenda::default();
        for page in (0..self.places.len() as u32).map(PageId) {
            if matches!(self.places[page.index()], Place::Once | Place::Cheap) {
                self.offer(page);
            }
        }
    }

    pub(super) fn reschedule(&mut self, page: PageId) {
        if self.places[page.index()] != Place::UnderWay
            && let Some(last) = self.copies.page(page).last()
        {
            self.schedule(page, last);
        }
    }
}
