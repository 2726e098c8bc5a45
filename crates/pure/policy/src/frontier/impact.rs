//! RW and RW-EG as orders: clicks on fetched pages, propagated to the frontier `[TTKN15]`.

use tidewatch_core::{Event, PageId};
use tidewatch_graph::walk::{ALPHA, ImpactWalk, SMOOTHING, Stop};

use super::book::{Book, Standing};
use super::links::Growth;
use super::ranked::Order;
use crate::explanation::Lever;

/// Scores are recomputed when clicks have grown by this factor.
const MORE_CLICKS: f64 = 1.25;
/// Pages with more links make no virtual links: a page that links to everything says little about each.
const MOST_HUB_LINKS: u64 = 1000;

/// Which kind of interest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interesting {
    /// Clicks.
    Clicks,
    /// Views.
    Views,
}

impl Interesting {
    fn of(self, book: &Book, page: usize) -> f64 {
        let page = &book.pages()[page];
        match self {
            Interesting::Clicks => page.clicks,
            Interesting::Views => page.views,
        }
    }
}

/// The walk of [`ImpactWalk`] over the known links, recomputed as links or clicks grow.
pub struct ImpactOrder {
    /// Share of real links, ω.
    omega: f64,
    /// Exponent of the degree, β.
    beta: f64,
    interesting: Interesting,
    growth: Growth,
    clicks: f64,
    clicks_then: f64,
    top: f64,
    /// Scores times the number of pages.
    scores: Vec<f64>,
}

impl ImpactOrder {
    /// Real links only.
    pub fn rw() -> Self {
        Self::with(1.0, 0.0, Interesting::Clicks)
    }

    /// The enriched graph, with real and virtual links weighted alike.
    pub fn rw_eg() -> Self {
        Self::with(0.5, 0.0, Interesting::Clicks)
    }

    /// With given ω, β and kind of interest.
    pub fn with(omega: f64, beta: f64, interesting: Interesting) -> Self {
        let (clicks, clicks_then, top) = (0.0, 0.0, 0.0);
        let growth = Growth::default();
        ImpactOrder {
            omega,
            beta,
            interesting,
            growth,
            clicks,
            clicks_then,
            top,
            scores: Vec::new(),
        }
    }

    /// Score of a page.
    pub fn of(&self, page: PageId) -> f64 {
        self.scores.get(page.index()).copied().unwrap_or(1.0 - ALPHA)
    }
}

impl Order for ImpactOrder {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        match event {
            Event::Log(rows) => {
                self.clicks += rows.iter().map(|row| row.count).sum::<f64>();
            }
            // One step along new links; virtual links wait for the next solution.
            Event::Held(seen) | Event::Fetched(seen) if !book.added().is_empty() => {
                let impact = self.interesting.of(book, seen.page.index()) + SMOOTHING;
                let factor = impact / (self.top + SMOOTHING).max(impact);
                let each =
                    ALPHA * self.omega * factor * self.of(seen.page) / book.shown().len() as f64;
                self.scores.resize(book.pages().len(), 1.0 - ALPHA);
                for &to in book.added() {
                    self.scores[to as usize] += each;
                    risen.push(PageId(to));
                }
            }
            _ => {}
        }
    }

    fn rule(&self) -> &'static str {
        "clicks of fetched pages walk along links; the most expected clicks come first"
    }

    fn levers(&self) -> &'static [Lever] {
        &[Lever::InLinks, Lever::Clicks]
    }

    fn score(&self, page: PageId, _: &Book) -> f64 {
        self.of(page)
    }

    fn is_stale(&self, book: &Book) -> bool {
        self.growth.is_due(book) || self.clicks > MORE_CLICKS * self.clicks_then
    }

    fn renew(&mut self, book: &Book) {
        self.growth.renewed(book);
        self.clicks_then = self.clicks;
        let n = book.pages().len();
        let graph = book.log().graph(n as u32);
        let impact: Vec<f64> = (0..n).map(|page| self.interesting.of(book, page)).collect();
        self.top = impact.iter().copied().fold(0.0, f64::max);
        let held = |page: &super::Known| page.standing == Standing::Held;
        let is_frontier: Vec<bool> = book.pages().iter().map(|page| !held(page)).collect();
        let walk = ImpactWalk {
            omega: self.omega,
            beta: self.beta,
            is_frontier: &is_frontier,
            most_hub_links: MOST_HUB_LINKS,
            ..ImpactWalk::new(&graph, &impact)
        };
        let start: Vec<f64> = self.scores.iter().map(|x| x / n as f64).collect();
        if let Ok(found) = walk.solve(Stop::ORDER, &start) {
            self.scores = found.values.into_iter().map(|x| x * n as f64).collect();
        }
    }
}
