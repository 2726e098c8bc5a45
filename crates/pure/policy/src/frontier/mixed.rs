//! All scores as features of one learned order `[TTKN15, §6]`.

use tidewatch_core::{Event, PageId};

use super::book::Book;
use super::impact::ImpactOrder;
use super::learn::{Examples, OnLine, Tree, TreeSettings};
use super::links::{Opic, PageRankOrder};
use super::outcomes::{HORIZON, Outcomes};
use super::queries::QueryOrder;
use super::ranked::Order;
use crate::explanation::Lever;

/// In-degree, PageRank, cash, RW, RW-EG, overlap with needy queries, depth, the host's clicks.
const WIDTH: usize = 8;
/// Most examples kept for the tree; beyond that the oldest half is dropped.
const MOST_EXAMPLES: usize = 20_000;
/// The tree is refitted when the examples have grown by this factor.
const MORE_EXAMPLES: f64 = 1.25;
const FIRST_EXAMPLES: usize = 100;
/// Prior pages of a host, at the mean clicks of all.
const HOST_PRIOR: f64 = 5.0;

/// The learning method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learner {
    /// A regression tree, refitted as examples come in.
    Tree,
    /// Gradient descent, example by example.
    OnLine,
}

/// An order learned from the clicks of fetched pages.
///
/// A page's features are recorded when it is fetched, and its clicks counted for two days: that
/// makes an example. Until there are a hundred, RW-EG decides.
pub struct Learned {
    learner: Learner,
    rank: PageRankOrder,
    cash: Opic,
    walk: ImpactOrder,
    enriched: ImpactOrder,
    queries: QueryOrder,
    tree: Tree,
    grown_from: usize,
    on_line: OnLine<WIDTH>,
    examples: Examples,
    seen: usize,
    outcomes: Outcomes<[f64; WIDTH]>,
    /// Clicks and fetched pages of hosts, and of all.
    hosts: Vec<(f64, f64)>,
    all: (f64, f64),
}

impl Learned {
    /// An order without examples.
    pub fn new(learner: Learner) -> Self {
        Learned {
            learner,
            rank: PageRankOrder::default(),
            cash: Opic::once(),
            walk: ImpactOrder::rw(),
            enriched: ImpactOrder::rw_eg(),
            queries: QueryOrder::overlap(),
            tree: Tree::default(),
            grown_from: 0,
            on_line: OnLine::default(),
            examples: Examples::new(WIDTH),
            seen: 0,
            outcomes: Outcomes::new(HORIZON),
            hosts: Vec::new(),
            all: (0.0, 0.0),
        }
    }

    fn features(&self, page: PageId, book: &Book) -> [f64; WIDTH] {
        let known = &book[page];
        let (clicks, pages) = self.hosts.get(known.host.index()).copied().unwrap_or_default();
        let mean = self.all.0 / self.all.1.max(1.0);
        [
            f64::from(known.in_links).ln_1p(),
            self.rank.of(page).max(1e-9).ln(),
            self.cash.of(page).max(1e-12).ln(),
            self.walk.of(page).max(1e-9).ln(),
            self.enriched.of(page).max(1e-9).ln(),
            self.queries.need(page).ln_1p(),
            f64::from(known.depth),
            ((clicks + HOST_PRIOR * mean) / (pages + HOST_PRIOR)).ln_1p(),
        ]
    }

    /// Turns pages whose clicks are known into examples.
    fn mature(&mut self) {
        while let Some((features, clicks)) = self.outcomes.next() {
            self.on_line.learn(&features, clicks);
            self.seen += 1;
            self.examples.push(&features, clicks);
            if self.examples.len() > MOST_EXAMPLES {
                let mut kept = Examples::new(WIDTH);
                for i in self.examples.len() / 2..self.examples.len() {
                    kept.push(self.examples.row(i), self.examples.target(i));
                }
                self.examples = kept;
            }
        }
    }

    fn has_learned(&self) -> bool {
        match self.learner {
            Learner::Tree => self.grown_from > 0,
            Learner::OnLine => self.seen >= FIRST_EXAMPLES,
        }
    }

    fn parts(&mut self) -> [&mut dyn Order; 5] {
        [&mut self.rank, &mut self.cash, &mut self.walk, &mut self.enriched, &mut self.queries]
    }

    fn wants_a_tree(&self) -> bool {
        let due = (self.grown_from as f64 * MORE_EXAMPLES).max(FIRST_EXAMPLES as f64);
        self.seen as f64 >= due
    }
}

impl Order for Learned {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        // Features before the fetch: the page's own links are not known yet.
        if let Event::Held(seen) | Event::Fetched(seen) = event {
            let features = self.features(seen.page, book);
            self.outcomes.learn(event, |_| features);
            if seen.previous.is_none() {
                let host = book[seen.page].host.index();
                if self.hosts.len() <= host {
                    self.hosts.resize(host + 1, (0.0, 0.0));
                }
                self.hosts[host].1 += 1.0;
                self.all.1 += 1.0;
            }
        }
        if let Event::Log(rows) = event {
            for row in rows.iter().filter(|row| row.kind == tidewatch_core::InterestKind::Click) {
                if let Some(host) = self.hosts.get_mut(book[row.page].host.index()) {
                    host.0 += row.count;
                    self.all.0 += row.count;
                }
            }
            self.outcomes.learn(event, |_| [0.0; WIDTH]);
            self.mature();
        }
        for part in self.parts() {
            part.learn(event, book, risen);
        }
        risen.sort_unstable();
        risen.dedup();
    }

    fn rule(&self) -> &'static str {
        "a model learned from all scores expects clicks; the most come first"
    }

    fn levers(&self) -> &'static [Lever] {
        &[Lever::InLinks, Lever::Clicks]
    }

    fn score(&self, page: PageId, book: &Book) -> f64 {
        if !self.has_learned() {
            return self.enriched.of(page);
        }
        let features = self.features(page, book);
        match self.learner {
            // Leaves hold many pages; within one, RW-EG decides.
            Learner::Tree => self.tree.predict(&features) + 1e-9 * self.enriched.of(page),
            Learner::OnLine => self.on_line.predict(&features),
        }
    }

    /// Expected clicks once it has learned; before that, a walk's score.
    fn meaning(&self) -> u32 {
        u32::from(self.has_learned())
    }

    fn is_stale(&self, book: &Book) -> bool {
        let parts: [&dyn Order; 4] = [&self.rank, &self.walk, &self.enriched, &self.queries];
        self.wants_a_tree() || parts.iter().any(|part| part.is_stale(book))
    }

    fn renew(&mut self, book: &Book) {
        for part in self.parts() {
            if part.is_stale(book) {
                part.renew(book);
            }
        }
        if self.wants_a_tree() {
            self.grown_from = self.seen;
            if self.learner == Learner::Tree {
                self.tree = Tree::fit(&self.examples, TreeSettings::default());
            }
        }
    }
}
