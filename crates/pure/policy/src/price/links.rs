//! What links say about a page that was never fetched.
//!
//! Readers follow links, so pages that clicked pages link to are clicked more `[TTKN15]`. Every page has
//! a weight by links,
//!
//! ρ_j = (1 − α)·g_j + α Σ_{i→j} w_i/d_i, over fetched pages i with d_i links,
//!
//! where g_j is the weight that a page came with if no link led to it, and 0 for others. (If every page
//! began with some, each page found would bring weight to the site it was found on, and a crawl would
//! stay there; see [`PageRankOrder`](crate::frontier::PageRankOrder).) The URLs that one host names, as in
//! its sitemap, bring it g = 1, 1/2, 1/3 …. That is their weight while they wait as well, so seeds come
//! before what they lead to. Links say nothing about the thousandth URL of a sitemap, so it counts as the
//! mean of pages found by links.
//!
//! A fetched page hands on w_i, the posterior mean of its clicks under a prior with mean ρ_i ([`super::clicks`]).
//! Without a log w = ρ, and ρ is PageRank of the links known. With a log of many clicks w_i is i's
//! share of them, and ρ is RW of `[TTKN15]` up to terms of second order in F_i ≪ 1.
//!
//! **On line.** A page hands on its weight when it is fetched, and again when the weight has moved by
//! [`MOVED`] since, which may move the pages it links to. So what a link hands on is off by at most that
//! share. One event touches at most [`WORK`] links and leaves the rest to the next.
//!
//! **Memory.** Twelve bytes a page, eight more for the place of its links, and about one and a half bytes a
//! link of a fetched page, of which the first [`MOST_LINKS`] count.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId};
use tidewatch_graph::log::LinkLog;
use tidewatch_graph::walk::ALPHA;

/// A page hands on its weight again when it has moved by this share.
const MOVED: f64 = 0.125;
/// Links that one event touches at most.
pub(super) const WORK: usize = 4096;
/// Links of a page that count.
const MOST_LINKS: usize = 1024;
/// A waiting page is queued anew when its weight has moved by this factor.
const REQUEUED: f64 = 1.25;
/// The least weight: logarithms stay finite.
const LEAST: f64 = 1e-30;

/// The links of fetched pages, and the weight that they hand on.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Links {
    log: LinkLog,
    /// (1 − α)·g, by page; 0 if a link led to it.
    trust: Vec<f32>,
    /// α Σ w_i/d_i.
    flow: Vec<f32>,
    /// w as handed on last; 0 before.
    handed: Vec<f32>,
    /// URLs known without a link, by host.
    named: Vec<u32>,
    /// Pages whose weight has moved.
    pending: VecDeque<PageId>,
    /// Mean ρ of copies, and of waiting pages to which a link led, as of the last solution of the market.
    copies: f64,
    waiting: f64,
}

impl Default for Links {
    fn default() -> Self {
        Links {
            log: LinkLog::default(),
            trust: Vec::new(),
            flow: Vec::new(),
            handed: Vec::new(),
            named: Vec::new(),
            pending: VecDeque::new(),
            copies: 1.0 - ALPHA,
            waiting: 1.0 - ALPHA,
        }
    }
}

impl Links {
    /// Adds the next page, to which a link led.
    pub(super) fn add(&mut self) {
        self.trust.push(0.0);
        self.flow.push(0.0);
        self.handed.push(0.0);
    }

    /// Adds the next page, to which no link led, with the weight it came with.
    pub(super) fn add_named(&mut self, host: HostId, weight: f64, is_held: bool) {
        self.add();
        let hosts = self.named.len().max(host.index() + 1);
        self.named.resize(hosts, 0);
        let named = &mut self.named[host.index()];
        *named += u32::from(!is_held);
        let part = if is_held { 1.0 } else { f64::from(*named).recip() };
        let weight = if weight > 0.0 { weight.min(1e6) } else { 0.0 };
        if let Some(trust) = self.trust.last_mut() {
            *trust = ((1.0 - ALPHA) * part * weight) as f32;
        }
    }

    /// Links known.
    pub(super) fn known(&self) -> usize {
        self.log.links() as usize
    }

    /// Whether the links of a page are known.
    pub(super) fn knows(&self, page: PageId) -> bool {
        self.log.knows(page.0)
    }

    /// A page's weight by links.
    pub(super) fn weight(&self, page: PageId) -> f64 {
        f64::from(self.trust[page.index()]) + f64::from(self.flow[page.index()])
    }

    /// Whether no link led to a page when it became known.
    fn is_named(&self, page: PageId) -> bool {
        self.trust[page.index()] > 0.0
    }

    /// Mean weight by links of copies.
    pub(super) fn mean_of_copies(&self) -> f64 {
        self.copies
    }

    /// ln of a waiting page's weight by links, relative to the mean of waiting pages.
    pub(super) fn level(&self, page: PageId) -> f64 {
        let (trust, flow) = (self.trust[page.index()], self.flow[page.index()]);
        let own = if self.is_named(page) { trust.max(self.waiting as f32) } else { 0.0 };
        ((f64::from(own) + f64::from(flow)).max(LEAST) / self.waiting).ln()
    }

    /// Sets the mean weights from samples of copies and of waiting pages.
    pub(super) fn compare_with(
        &mut self,
        copies: impl Iterator<Item = PageId>,
        waiting: impl Iterator<Item = PageId>,
    ) {
        let mean = |pages: &mut dyn Iterator<Item = PageId>| {
            let sum = |(sum, n): (f64, f64), page| (sum + self.weight(page), n + 1.0);
            let (sum, n) = pages.fold((0.0, 0.0), sum);
            (sum > 0.0).then(|| (sum / n).max(LEAST))
        };
        let (mut copies, waiting) = (copies, waiting.filter(|page| !self.is_named(*page)));
        let (copies, waiting) = (mean(&mut copies), mean(&mut { waiting }));
        self.copies = copies.unwrap_or(self.copies);
        self.waiting = waiting.unwrap_or(self.waiting);
    }

    /// A fetched page shows these links now.
    pub(super) fn show(&mut self, page: PageId, targets: impl Iterator<Item = PageId>) {
        let known = self.flow.len();
        let targets = targets.filter(|to| to.index() < known && *to != page);
        let mut shown: Vec<u32> = targets.take(MOST_LINKS).map(|to| to.0).collect();
        shown.sort_unstable();
        shown.dedup();
        if self.knows(page) && self.log.links_of(page.0).eq(shown.iter().copied()) {
            return;
        }
        self.take_back(page);
        self.log.append(page.0, shown);
        self.pending.push_back(page);
    }

    /// Takes back all that a page has handed on.
    pub(super) fn take_back(&mut self, page: PageId) {
        let handed = f64::from(std::mem::take(&mut self.handed[page.index()]));
        if handed > 0.0 {
            let links = self.log.links_of(page.0).count().max(1) as f64;
            for to in self.log.links_of(page.0) {
                let flow = &mut self.flow[to as usize];
                *flow = (f64::from(*flow) - ALPHA * handed / links).max(0.0) as f32;
            }
        }
    }

    /// Whether a page that should hand on `weight` hands on another.
    pub(super) fn has_moved(&self, page: PageId, weight: f64) -> bool {
        let handed = f64::from(self.handed[page.index()]);
        (weight - handed).abs() > MOVED * handed && self.knows(page)
    }

    /// What a page should hand on may have moved.
    pub(super) fn note(&mut self, page: PageId) {
        self.pending.push_back(page);
    }

    /// Hands on what has moved, along `work` links or one page more. `weigh` says what a fetched page with a
    /// given weight by links hands on, and `None` for other pages; those among them whose weight
    /// moves notably are added to `risen`.
    pub(super) fn settle(
        &mut self,
        mut work: usize,
        weigh: impl Fn(PageId, f64) -> Option<f64>,
        risen: &mut Vec<PageId>,
    ) {
        let mut targets = Vec::new();
        while work > 0
            && let Some(page) = self.pending.pop_front()
        {
            let weight = weigh(page, self.weight(page));
            let Some(weight) = weight.filter(|weight| self.has_moved(page, *weight)) else {
                work -= 1;
                continue;
            };
            targets.clear();
            targets.extend(self.log.links_of(page.0).map(PageId));
            work = work.saturating_sub(targets.len() + 1);
            let handed = std::mem::replace(&mut self.handed[page.index()], weight as f32);
            let each = ALPHA * (weight - f64::from(handed)) / targets.len().max(1) as f64;
            for &to in &targets {
                let before = self.weight(to);
                let flow = &mut self.flow[to.index()];
                *flow = (f64::from(*flow) + each).max(0.0) as f32;
                let after = self.weight(to);
                let moves = |own| weigh(to, own).map(|weight| self.has_moved(to, weight));
                match (moves(before), moves(after)) {
                    (Some(false), Some(true)) => self.pending.push_back(to),
                    (None, _) if step(before) != step(after) => risen.push(to),
                    _ => {}
                }
            }
        }
    }
}

/// The number of factors [`REQUEUED`] in a weight.
fn step(weight: f64) -> i64 {
    (weight.max(LEAST).ln() / REQUEUED.ln()).floor() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::{Draws, stats};

    const PAGES: u32 = 80;

    /// Every page was fetched and nobody clicks: it hands on its weight by links.
    fn settle(links: &mut Links) {
        links.settle(WORK, |_, weight| Some(weight), &mut Vec::new());
    }

    /// A random web of which the first three pages are seeds; older pages have more links.
    fn web() -> (Links, Vec<Vec<u32>>) {
        let mut draws = Draws::of(1, "price.links", 0);
        let mut links = Links::default();
        let shown: Vec<Vec<u32>> = (0..PAGES)
            .map(|page| {
                let count = 1 + draws.below(6);
                let mut draw = || {
                    let most = draws.below(u64::from(PAGES));
                    draws.below(1 + most) as u32
                };
                let mut to: Vec<u32> = (0..count).map(|_| draw()).collect();
                to.retain(|&to| to != page);
                to.sort_unstable();
                to.dedup();
                to
            })
            .collect();
        for page in 0..PAGES {
            if page < 3 { links.add_named(HostId(page), 1.0, false) } else { links.add() }
        }
        for (page, to) in (0..).zip(&shown) {
            links.show(PageId(page), to.iter().copied().map(PageId));
            settle(&mut links);
        }
        (links, shown)
    }

    /// The literal form: x = (1 − α)g + αMᵀx, iterated.
    fn literal(shown: &[Vec<u32>]) -> Vec<f64> {
        let seeds = (0..shown.len()).map(|page| if page < 3 { 1.0 - ALPHA } else { 0.0 });
        let base: Vec<f64> = seeds.collect();
        let mut x = base.clone();
        for _ in 0..300 {
            let mut next = base.clone();
            for (own, targets) in x.iter().zip(shown) {
                let each = ALPHA * own / targets.len().max(1) as f64;
                targets.iter().for_each(|&to| next[to as usize] += each);
            }
            x = next;
        }
        x
    }

    /// What pages hand on is off by at most `MOVED`, so that for e the error ‖e‖ ≤ α(‖e‖ + MOVED·‖w‖).
    #[test]
    fn without_a_log_weights_are_pagerank_from_the_seeds() {
        let (links, shown) = web();
        let ours: Vec<f64> = (0..PAGES).map(|page| links.weight(PageId(page))).collect();
        let exact = literal(&shown);
        let apart: f64 = ours.iter().zip(&exact).map(|(a, b)| (a - b).abs()).sum();
        let bound = ALPHA / (1.0 - ALPHA) * MOVED * ours.iter().sum::<f64>();
        assert!(apart <= bound, "{apart} {bound}");
        assert!(stats::spearman(&ours, &exact) > 0.95);
    }

    /// Two seeds, a sitemap of a thousand URLs, and ten pages to which the first seed links.
    #[test]
    fn seeds_come_before_what_they_lead_to() {
        let mut links = Links::default();
        for host in 0..2 {
            links.add_named(HostId(host), 1.0, false);
        }
        (0..1000).for_each(|_| links.add_named(HostId(2), 1.0, false));
        (0..10).for_each(|_| links.add());
        let found: Vec<PageId> = (1002..1012).map(PageId).collect();
        links.show(PageId(0), found.iter().copied());
        settle(&mut links);
        links.compare_with([PageId(0)].into_iter(), found.iter().copied());
        let [seed, early, late, linked] = [1, 2, 1001, 1002].map(|page| links.level(PageId(page)));
        assert!(seed > linked && early > linked, "{seed} {early} {linked}");
        assert!(late.abs() < 1e-9 && linked.abs() < 1e-6, "{late} {linked}");
    }

    #[test]
    fn what_was_handed_on_is_taken_back_and_replaced() {
        // Weights are added and taken away in single precision.
        const ROUNDED: f64 = 1e-6;
        let mut links = Links::default();
        links.add_named(HostId(0), 1.0, false);
        (0..3).for_each(|_| links.add());
        let weights = |links: &Links| [1, 2, 3].map(|page| links.weight(PageId(page)));

        links.show(PageId(0), [1, 2].map(PageId).into_iter());
        settle(&mut links);
        let each = ALPHA * (1.0 - ALPHA) / 2.0;
        let close = |found: [f64; 3], wanted: [f64; 3]| {
            let apart = found.iter().zip(wanted).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < ROUNDED, "{found:?} {wanted:?}");
        };
        close(weights(&links), [each, each, 0.0]);
        links.show(PageId(0), [3].map(PageId).into_iter());
        settle(&mut links);
        close(weights(&links), [0.0, 0.0, 2.0 * each]);
        links.take_back(PageId(0));
        close(weights(&links), [0.0; 3]);
    }

    /// A host that names very many URLs has little more weight than one that names a few.
    #[test]
    fn a_long_sitemap_brings_a_host_little_weight() {
        let total = |named: u32| {
            let mut links = Links::default();
            (0..named).for_each(|_| links.add_named(HostId(0), 1.0, false));
            (0..named).map(|page| links.weight(PageId(page))).sum::<f64>()
        };
        assert!(total(10_000) < 4.0 * total(10), "{} {}", total(10_000), total(10));
    }

    /// One event does bounded work, however much there is to do.
    #[test]
    fn work_is_left_for_later() {
        let mut links = Links::default();
        links.add_named(HostId(0), 1.0, false);
        (0..500).for_each(|_| links.add());
        for page in 0..400 {
            links.show(PageId(page), (0..100).map(|to| PageId(page + 1 + to)));
        }
        let mut events = 0;
        while !links.pending.is_empty() {
            settle(&mut links);
            events += 1;
            assert!(events < 1000, "{} pages pending", links.pending.len());
        }
        assert!(events > 5, "{events}");
    }

    #[test]
    fn odd_weights_leave_numbers() {
        let mut links = Links::default();
        for weight in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            links.add_named(HostId(0), weight, false);
        }
        for page in 0..5 {
            links.show(PageId(page), (0..5).map(PageId));
            settle(&mut links);
        }
        for page in (0..5).map(PageId) {
            assert!(links.weight(page).is_finite() && links.level(page).is_finite(), "{page:?}");
        }
    }
}
