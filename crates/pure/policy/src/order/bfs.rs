//! Breadth first: every source in a fixed random order, each followed by all
//! the new pages it revealed `[LOSS13, §5.2]`.

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Reason, Time};
use tidewatch_math::rng::Draws;

use crate::due::DueQueue;
use crate::explanation::{Due, Explanation, Merit};
use crate::{Choice, Gate, Policy};

/// The breadth-first baseline.
///
/// New pages wait in the order of discovery and come before everything else.
/// Otherwise the source whose last visit lies furthest back is next; the first
/// round visits sources in a random order, and fixed rounds keep that order.
/// Where a crawl has no sources, every page takes their place.
pub struct BreadthFirst {
    seed: u64,
    pages: Vec<Known>,
    new: DueQueue<u64>,
    sources: DueQueue<(u64, u64)>,
    others: DueQueue<(u64, u64)>,
    turn: u64,
}

struct Known {
    host: HostId,
    is_source: bool,
    state: State,
    /// Place in the fixed random order.
    place: u64,
}

/// How far a page has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Never fetched.
    New,
    /// Fetched, but no copy came.
    Tried,
    /// There is a copy.
    Held,
    Gone,
}

impl BreadthFirst {
    /// A policy whose order of sources follows from `seed`.
    pub fn new(seed: u64) -> Self {
        BreadthFirst {
            seed,
            pages: Vec::new(),
            new: DueQueue::default(),
            sources: DueQueue::default(),
            others: DueQueue::default(),
            turn: 0,
        }
    }

    /// Puts a page that is in the collection at the end of its round.
    fn enqueue(&mut self, page: PageId, round: u64) {
        let known = &self.pages[page.index()];
        let ring = if known.is_source { &mut self.sources } else { &mut self.others };
        ring.put((round, known.place), known.host, page);
    }

    fn settle(&mut self, seen: &Observation<'_>, round: u64) {
        let (page, known) = (seen.page, &mut self.pages[seen.page.index()]);
        known.state = match (seen.outcome, known.state) {
            (Outcome::Gone, _) => State::Gone,
            (Outcome::Fetched(_), _) | (Outcome::Failed(_), State::Held) => State::Held,
            // As if it had just been found.
            (Outcome::Failed(Reason::OwnStop), _) => State::New,
            (Outcome::Failed(_), _) => State::Tried,
        };
        match known.state {
            State::New => self.new.put(u64::from(page.0), known.host, page),
            State::Tried | State::Held => self.enqueue(page, round),
            State::Gone => {}
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
                let state = if found.is_held { State::Held } else { State::New };
                self.pages.push(Known { host, is_source, state, place });
                if !found.is_held {
                    self.new.put(u64::from(found.page.0), host, found.page);
                }
            }
            Event::Held(seen) => self.settle(seen, 0),
            Event::Fetched(seen) => {
                self.turn += 1;
                self.settle(seen, self.turn);
            }
            Event::Log(_)
            | Event::Asked(_)
            | Event::Hinted(_)
            | Event::Budget(_)
            | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let known = &self.pages;
        let ring = if self.sources.is_empty() { &mut self.others } else { &mut self.sources };
        let new = self.new.take_if(now, gate, |_| true).map(|(_, page)| page);
        let chosen = new.or_else(|| ring.take_if(now, gate, |_| true).map(|(_, page)| page));
        let Some(page) = chosen else { return Choice::Idle };
        // A page that failed once and was let in again waits in both.
        let ring = if known[page.index()].is_source { &mut self.sources } else { &mut self.others };
        ring.remove(page);
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        let known = self.pages.get(page.index())?;
        let rule = if known.is_source {
            "sources are visited in a fixed random order, each followed by its new pages"
        } else {
            "new pages are fetched in the order of discovery, before any source is visited again"
        };
        // Where there are sources, other pages are fetched once.
        let (is_gone, is_fetched) = (known.state == State::Gone, known.state != State::New);
        let is_over = is_fetched && !known.is_source && !self.sources.is_empty();
        let due = if is_gone || is_over { Due::Never } else { Due::InTurn };
        Some(Explanation { is_gone, ..Explanation::new(page, rule, Merit::Turn, due) })
    }
}
