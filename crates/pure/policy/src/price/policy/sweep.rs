//! Solving the market, and the *sweep*: finding every due time anew when the price has fallen so far
//! that what waits would come late.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tidewatch_core::{HostId, PageId, Time};

use super::Price;
use crate::price::market::Wanted;
use crate::price::queues::Place;

impl Price {
    /// Solves the market, and brings the queues up to date.
    pub(super) fn solve(&mut self, now: Time) {
        self.market.begin(now, self.settings.solve_every, self.pages.held().len());
        let risen = self.pages.learn(now);
        let stock = self.stock(|_| true, |page| self.pages.first_worth(page, now));
        let worths = stock.iter().map(|(worth, _)| *worth).collect();
        let wanted = Wanted::new(self.pages.source_values(now), worths);
        self.market.solve(now, &wanted, || self.pages.copy_values(now));
        self.price_hosts(now, &stock);
        if !self.sweep_if_due() {
            self.market.rescheduled();
            for at in 0..self.pages.sources().len() {
                self.reschedule(self.pages.sources()[at]);
            }
            self.promote();
            risen.into_iter().for_each(|page| self.offer(page));
        }
    }

    /// Worths and hosts of the pages that wait for a first fetch, worths ascending: of those that `of`
    /// selects.
    pub(super) fn stock(
        &self,
        of: impl Fn(PageId) -> bool + Sync,
        worth: impl Fn(PageId) -> Option<f64> + Sync + Send,
    ) -> Vec<(f64, HostId)> {
        let pages = self.pages.all().into_par_iter().map(PageId);
        let waiting = pages.filter(|page| self.queues.is_unfetched(*page) && of(*page));
        let offers = waiting.filter_map(|page| Some((worth(page)?, self.pages.copy(page).host())));
        let mut offers: Vec<(f64, HostId)> = offers.collect();
        offers.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        offers
    }

    /// Finds the prices of hosts that allow less than is worth a fetch there. `stock` is all that waits
    /// for a first fetch.
    fn price_hosts(&mut self, now: Time, stock: &[(f64, HostId)]) {
        let crowded = self.market.crowded_hosts(now);
        if crowded.is_empty() {
            return;
        }
        let nothing = || (Vec::new(), Vec::new());
        let mut items: FxHashMap<HostId, (Vec<PageId>, Vec<f64>)> =
            crowded.iter().map(|one| (one.host, nothing())).collect();
        for (worth, host) in stock {
            if let Some((_, worths)) = items.get_mut(host) {
                worths.push(*worth);
            }
        }
        for &page in self.pages.held() {
            let copy = self.pages.copy(page);
            if let Some((held, _)) = items.get_mut(&copy.host()).filter(|_| !copy.is_gone()) {
                held.push(page);
            }
        }
        for one in crowded {
            let Some((held, worths)) = items.remove(&one.host) else { continue };
            let (sources, copies) = self.pages.values_of(&held, now);
            let wanted = Wanted::new(sources, worths).and_copies(copies);
            self.market.price_host(one, &wanted);
        }
    }

    /// Whether the next choice finds prices or due times anew.
    pub(super) fn is_plan_due(&self, now: Time) -> bool {
        self.market.is_stale(now, self.settings.solve_every, self.pages.held().len())
            || self.is_sweep_due()
    }

    fn is_sweep_due(&self) -> bool {
        self.queues.is_crowded(self.pages.held().len()) || self.market.is_sweep_due()
    }

    /// Sweeps if the price has fallen far, or most entries of the queues are outdated. Returns whether
    /// it did.
    pub(super) fn sweep_if_due(&mut self) -> bool {
        let is_due = self.is_sweep_due();
        if is_due {
            self.sweep();
        }
        is_due
    }

    /// Finds every due time anew.
    fn sweep(&mut self) {
        self.market.swept();
        self.queues.clear_due();
        for at in 0..self.pages.held().len() {
            self.reschedule(self.pages.held()[at]);
        }
        self.queues.clear_unfetched();
        for page in self.pages.all().map(PageId) {
            match self.queues.place(page) {
                Place::Dear | Place::Cheap => self.offer(page),
                Place::Nowhere if self.pages.is_stray(page, self.now) => self.offer(page),
                _ => {}
            }
        }
    }

    /// Offers again the pages that have become worth the price, and the strays.
    fn promote(&mut self) {
        let is_dear = |page: PageId| {
            let price = self.market.host_price(self.pages.copy(page).host());
            self.pages.first_worth(page, self.now).is_some_and(|worth| worth >= price)
        };
        let pages = self.pages.all().into_par_iter().map(PageId);
        let moves = |page: &PageId| match self.queues.place(*page) {
            Place::Cheap => is_dear(*page),
            Place::Nowhere => self.pages.is_stray(*page, self.now),
            _ => false,
        };
        let moving: Vec<PageId> = pages.filter(moves).collect();
        moving.into_iter().for_each(|page| self.offer(page));
    }
}
