//! Orders by links alone.

use std::collections::VecDeque;

use tidewatch_core::{Event, PageId};
use tidewatch_graph::walk::{ALPHA, Cash, Stop, pagerank_from};
use tidewatch_math::rng::{Draws, purpose};

use super::book::{Book, Known, Standing};
use super::ranked::Order;
use crate::explanation::Lever;

const SHUFFLE: u64 = purpose("frontier.shuffle");
/// Scores are recomputed when pages or links have grown by this factor, and by [`SOME`] at least.
const GROWTH: f64 = 1.2;
const SOME: u64 = 200;

/// The frontier in random order: the baseline of every comparison.
pub struct Shuffled(pub u64);

impl Order for Shuffled {
    fn learn(&mut self, _: &Event<'_>, _: &Book, _: &mut Vec<PageId>) {}

    fn rule(&self) -> &'static str {
        "pages are fetched in random order"
    }

    fn levers(&self) -> &'static [Lever] {
        &[]
    }

    fn score(&self, page: PageId, book: &Book) -> f64 {
        Draws::keyed(self.0, SHUFFLE, book[page].key.0).uniform()
    }
}

/// Breadth first: the frontier in the order of discovery.
pub struct Breadth;

impl Order for Breadth {
    fn learn(&mut self, _: &Event<'_>, _: &Book, _: &mut Vec<PageId>) {}

    fn rule(&self) -> &'static str {
        "pages are fetched in the order of discovery"
    }

    fn levers(&self) -> &'static [Lever] {
        &[]
    }

    fn score(&self, page: PageId, _: &Book) -> f64 {
        -f64::from(page.0)
    }
}

/// Most known in-links first.
pub struct InDegree;

impl Order for InDegree {
    fn learn(&mut self, _: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        risen.extend(book.added().iter().map(|&to| PageId(to)));
    }

    fn rule(&self) -> &'static str {
        "the page with the most links to it comes first"
    }

    fn score(&self, page: PageId, book: &Book) -> f64 {
        f64::from(book[page].in_links)
    }
}

/// Most known in-links from other hosts first. A site's own links, most of them from one template,
/// say which site was crawled, not what is important.
#[derive(Default)]
pub struct ForeignInDegree {
    in_links: Vec<u32>,
}

impl Order for ForeignInDegree {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        let (Event::Held(seen) | Event::Fetched(seen)) = event else { return };
        self.in_links.resize(book.pages().len(), 0);
        for to in book.added().iter().map(|&to| PageId(to)) {
            if book[to].host != book[seen.page].host {
                self.in_links[to.index()] += 1;
                risen.push(to);
            }
        }
    }

    fn rule(&self) -> &'static str {
        "the page with the most links to it from other hosts comes first"
    }

    fn score(&self, page: PageId, _: &Book) -> f64 {
        self.in_links.get(page.index()).copied().unwrap_or(0).into()
    }
}

/// Score of a seed before scores are computed, above that of any page found.
const SEED_SCORE: f64 = 1.0;

/// Growth of the known web since scores were computed.
#[derive(Default)]
pub(super) struct Growth {
    size: u64,
}

impl Growth {
    fn size_of(book: &Book) -> u64 {
        book.pages().len() as u64 + book.log().links()
    }

    pub(super) fn is_due(&self, book: &Book) -> bool {
        Self::size_of(book) > (self.size as f64 * GROWTH) as u64 + SOME
    }

    pub(super) fn renewed(&mut self, book: &Book) {
        self.size = Self::size_of(book);
    }
}

/// PageRank of the known links, recomputed from the last solution as the web grows; in between, a
/// fetch passes its page's score on along new links.
///
/// The walk begins at seeds. If it began at every known page alike ([`PageRankOrder::uniform`]),
/// each page found would bring score to the site it was found on, and a seed without in-links would
/// have the lowest score of all: the crawl stays on the site where it began, and finds less PageRank
/// than a random order (`lab run graph-real`).
#[derive(Default)]
pub struct PageRankOrder {
    is_uniform: bool,
    growth: Growth,
    /// Scores times the number of pages, so that 1 is the mean and growth does not shrink them.
    scores: Vec<f64>,
    /// Iterations of the last solution.
    steps: u32,
}

impl PageRankOrder {
    /// The walk begins at every known page with equal probability.
    pub fn uniform() -> Self {
        PageRankOrder { is_uniform: true, ..PageRankOrder::default() }
    }

    /// Score of a page, 1 on average; an unscored page has the score of new pages.
    pub fn of(&self, page: PageId) -> f64 {
        self.scores.get(page.index()).copied().unwrap_or(self.unscored())
    }

    fn unscored(&self) -> f64 {
        if self.is_uniform { 1.0 - ALPHA } else { 0.0 }
    }

    /// Iterations of the last solution.
    pub const fn steps(&self) -> u32 {
        self.steps
    }
}

impl Order for PageRankOrder {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        if let Event::Discovered(found) = event
            && !self.is_uniform
            && found.via.is_none()
        {
            self.scores.resize(found.page.index(), 0.0);
            self.scores.push(SEED_SCORE);
        }
        let (Event::Held(seen) | Event::Fetched(seen)) = event else { return };
        if book.added().is_empty() {
            return;
        }
        let each = ALPHA * self.of(seen.page) / book.shown().len() as f64;
        self.scores.resize(book.pages().len(), self.unscored());
        for &to in book.added() {
            self.scores[to as usize] += each;
            risen.push(PageId(to));
        }
    }

    fn rule(&self) -> &'static str {
        "the highest PageRank of the links known comes first"
    }

    fn score(&self, page: PageId, _: &Book) -> f64 {
        self.of(page)
    }

    fn is_stale(&self, book: &Book) -> bool {
        self.growth.is_due(book)
    }

    fn renew(&mut self, book: &Book) {
        self.growth.renewed(book);
        let n = book.pages().len() as u32;
        let graph = book.log().graph(n);
        let is_seed = |page: &Known| f64::from(u8::from(page.via.is_none()));
        let trust: Vec<f64> = if self.is_uniform {
            Vec::new()
        } else {
            book.pages()
                .iter()
                .map(is_seed)
                .chain(std::iter::repeat(0.0))
                .take(graph.len())
                .collect()
        };
        if let Ok(found) = pagerank_from(&graph, &trust, ALPHA, Stop::ORDER, &self.scores) {
            self.steps = found.steps;
            self.scores = found.values.into_iter().map(|x| x * f64::from(n)).collect();
        }
    }
}

/// Most cash first `[APC03]`: each seed brings one unit, and a fetch distributes its page's cash
/// along its links.
pub struct Opic {
    cash: Cash,
    /// Whether pages are fetched again as cash flows back to them.
    again: bool,
}

impl Opic {
    /// First fetches only.
    pub fn once() -> Self {
        Opic { cash: Cash::new(ALPHA), again: false }
    }

    /// Every page again and again, in proportion to its importance.
    pub fn refreshing() -> Self {
        Opic { cash: Cash::new(ALPHA), again: true }
    }

    /// Cash of a page.
    pub fn of(&self, page: PageId) -> f64 {
        self.cash.of(page.0)
    }
}

impl Order for Opic {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        match event {
            Event::Discovered(found) => self.cash.admit(f64::from(u8::from(found.via.is_none()))),
            Event::Held(seen) | Event::Fetched(seen) => {
                self.cash.visit(seen.page.0, book.shown());
                risen.extend(book.shown().iter().map(|&to| PageId(to)));
            }
            _ => {}
        }
    }

    fn rule(&self) -> &'static str {
        "the page with the most cash comes first, which flows along links as they are seen"
    }

    fn score(&self, page: PageId, _: &Book) -> f64 {
        self.cash.standing(page.0)
    }

    fn takes_held_pages(&self) -> bool {
        self.again
    }
}

/// Most links that a fetch passes mass along; the rest waits for the next fetch.
const PUSHED_LINKS: usize = 4096;
/// Mass too small to be passed on again, in units of a seed's.
pub(super) const GRAIN: f64 = 1e-5;

/// RankMass `[CS07]`: first the page that adds most to a proven lower bound of the personalised
/// PageRank of the fetched pages.
///
/// Each seed is trusted with one unit. Mass on a fetched page is known to be on real paths: (1 − α)
/// of it stays for good, the rest moves along links through fetched pages until it reaches the
/// frontier. Fetching the page with most mass raises the bound most.
#[derive(Default)]
pub struct RankMass {
    mass: Vec<f64>,
    bound: f64,
    trusted: f64,
    /// Fetched pages with mass to pass on.
    pending: VecDeque<u32>,
}

impl RankMass {
    /// Proven share of all rank mass that is on fetched pages.
    pub fn bound(&self) -> f64 {
        if self.trusted > 0.0 { self.bound / self.trusted } else { 0.0 }
    }

    /// Mass on all pages, and the part that fetched pages are about to pass on.
    #[cfg(test)]
    pub(super) fn lying(&self) -> (f64, f64) {
        let pending: std::collections::BTreeSet<u32> = self.pending.iter().copied().collect();
        let moving = pending.iter().map(|&page| self.mass[page as usize]).sum();
        (self.mass.iter().sum(), moving)
    }

    fn pass_on(&mut self, page: u32, book: &Book, risen: &mut Vec<PageId>) -> usize {
        let mass = std::mem::take(&mut self.mass[page as usize]);
        self.bound += (1.0 - ALPHA) * mass;
        let degree = book.pages()[page as usize].out_links;
        let each = ALPHA * mass / f64::from(degree.max(1));
        for to in book.log().links_of(page) {
            let was = self.mass[to as usize];
            self.mass[to as usize] += each;
            match book.pages()[to as usize].standing {
                Standing::Held if was < GRAIN && was + each >= GRAIN => self.pending.push_back(to),
                Standing::Waiting => risen.push(PageId(to)),
                _ => {}
            }
        }
        degree as usize + 1
    }
}

impl Order for RankMass {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        match event {
            Event::Discovered(found) => {
                let trust = f64::from(u8::from(found.via.is_none()));
                self.mass.push(trust);
                self.trusted += trust;
            }
            Event::Held(seen) | Event::Fetched(seen)
                if book[seen.page].standing == Standing::Held =>
            {
                self.pending.push_front(seen.page.0);
                let mut touched = 0;
                while touched < PUSHED_LINKS
                    && let Some(page) = self.pending.pop_front()
                {
                    touched += self.pass_on(page, book, risen);
                }
            }
            _ => {}
        }
    }

    fn rule(&self) -> &'static str {
        "the page that adds most to a proven bound of PageRank covered comes first"
    }

    fn score(&self, page: PageId, _: &Book) -> f64 {
        self.mass[page.index()]
    }
}
