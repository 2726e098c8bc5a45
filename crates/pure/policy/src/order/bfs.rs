//! Breadth first: every source in a fixed random order, each followed by all
//! the new pages it revealed `[LOSS13, §5.2]`.

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Time};
use tidewatch_math::rng::Draws;

use crate::explanation::{Due, Explanation, Merit};
use crate::{Agenda, Choice, Gate, Policy};

/// The breadth-first baseline.
///
/// New pages wait in the order of discovery and come before everything else.
/// Otherwise the source whose last visit lies furthest back is next; the first
/// round visits sources in a random order, and fixed rounds keep that order.
/// Where a crawl has no sources, every page takes their place.
pub struct BreadthFirst {
    seed: u64,
    pages: Vec<Known>,
    new: Agenda<u64>,
    sources: Agenda<(u64, u64)>,
    others: Agenda<(u64, u64)>,
    turn: u64,
}

struct Known {
    host: HostId,
    is_source: bool,
    /// Whether it was fetched, and whether it is gone.
    is_fetched: bool,
    is_gone: bool,
    /// Place in the fixed random order.
    place: u64,
}

impl BreadthFirst {
    /// A policy whose order of sources follows from `seed`.
    pub fn new(seed: u64) -> Self {
        BreadthFirst {
            seed,
            pages: Vec::new(),
            new: Agenda::default(),
            sources: Agenda::default(),
            others: Agenda::default(),
            turn: 0,
        }
    }

    /// Puts a page that is in the collection at the end of its round.
    fn enqueue(&mut self, page: PageId, round: u64) {
        let known = &self.pages[page.index()];
        let ring = if known.is_source { &mut self.sources } else { &mut self.others };
        ring.push((round, known.place), known.host, page);
    }

    fn settle(&mut self, seen: &Observation<'_>, round: u64) {
        let known = &mut self.pages[seen.page.index()];
        (known.is_fetched, known.is_gone) = (true, seen.outcome == Outcome::Gone);
        if seen.outcome != Outcome::Gone {
            self.enqueue(seen.page, round);
        }
    }
}

impl Policy for BreadthFirst {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                let place = Draws::of(self.seed, "bfs.place", found.key.0).word();
                let (host, is_source) = (found.host, found.is_source);
                let (is_fetched, is_gone) = (found.is_held, false);
                self.pages.push(Known { host, is_source, is_fetched, is_gone, place });
                if !found.is_held {
                    self.new.push(u64::from(found.page.0), host, found.page);
                }
            }
            Event::Held(seen) => self.settle(seen, 0),
            Event::Fetched(seen) => {
                self.turn += 1;
                self.settle(seen, self.turn);
            }
            Event::Log(_) | Event::Asked(_) | Event::Hinted(_) | Event::Budget(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if let Some((_, page)) = self.new.pop(now, gate) {
            return Choice::Fetch(page);
        }
        let ring = if self.sources.is_empty() { &mut self.others } else { &mut self.sources };
        ring.pop(now, gate).map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        let known = self.pages.get(page.index())?;
        let rule = if known.is_source {
            "sources are visited in a fixed random order, each followed by its new pages"
        } else {
            "new pages are fetched in the order of discovery, before any source is visited again"
        };
        // Where there are sources, other pages are fetched once.
        let is_over = known.is_fetched && !known.is_source && !self.sources.is_empty();
        let due = if known.is_gone || is_over { Due::Never } else { Due::InTurn };
        let explanation = Explanation::new(page, rule, Merit::Turn, due);
        Some(Explanation { is_gone: known.is_gone, ..explanation })
    }
}
