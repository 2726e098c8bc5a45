//! The shell of all orders: the frontier by score, and a share of fetches for sources.

use tidewatch_core::{Event, Outcome, PageId, Span, Time};
use tidewatch_math::rng::{Draws, purpose};

use super::book::{Book, Standing};
use super::calibrate::{Calibrator, Expected, ExpectsClicks};
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::{Agenda, Choice, Gate, Highest, Policy};

/// Share of fetches that go back to sources while the frontier is not empty: without it the crawler
/// would find no new pages of a growing web.
pub(super) const REVISITS: f64 = 0.1;
/// Entries per waiting page that the queue may hold before outdated ones are cleared out.
const ENTRIES_PER_PAGE: usize = 4;
const SMALL: usize = 1024;
const EXPLORE: u64 = purpose("frontier.explore");

/// The part in which orders differ.
pub trait Order: Send {
    /// Takes in an event that the book already has. Adds pages whose score has risen to `risen`;
    /// falling scores need not be reported.
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>);

    /// The current score of a page: finite; the highest is fetched first.
    fn score(&self, page: PageId, book: &Book) -> f64;

    /// Describes the score for explanations: a sentence without its full stop.
    fn rule(&self) -> &'static str;

    /// What raises the score.
    fn levers(&self) -> &'static [Lever] {
        &[Lever::InLinks]
    }

    /// Whether all scores should be recomputed before the next choice.
    fn is_stale(&self, _: &Book) -> bool {
        false
    }

    /// Recomputes all scores.
    fn renew(&mut self, _: &Book) {}

    /// Changes whenever scores can no longer be compared with earlier ones.
    fn meaning(&self) -> u32 {
        0
    }

    /// Whether pages in the collection compete with the frontier.
    fn takes_held_pages(&self) -> bool {
        false
    }

    /// Share of fetches that go to a random page of the frontier.
    fn exploration(&self) -> f64 {
        0.0
    }
}

/// A policy that fetches the frontier in the order of scores.
pub struct Ranked<O> {
    order: O,
    book: Book,
    queue: Agenda<Highest>,
    risen: Vec<PageId>,
    /// Sources by the time of their last visit.
    sources: Agenda<u64>,
    visits: u64,
    revisits: Turns,
    /// The frontier in random order, if the order explores.
    lots: Agenda<u64>,
    explorations: Turns,
    calibrator: Calibrator,
    seed: u64,
}

/// Spreads a share of the fetches evenly. Choices that lapse do not count; otherwise a crawler
/// waiting for its only host would spend every fetch on turns.
pub(super) struct Turns {
    share: f64,
    due: f64,
}

impl Turns {
    pub(super) const fn new(share: f64) -> Self {
        Turns { share, due: 0.0 }
    }

    pub(super) fn is_due(&self) -> bool {
        self.due + self.share >= 1.0
    }

    /// Takes from `in_turn` if its turn has come, or else from `between`, or else from `in_turn`.
    pub(super) fn take<T>(
        &mut self,
        mut in_turn: impl FnMut() -> Option<T>,
        between: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let due = if self.is_due() { in_turn() } else { None };
        let is_in_turn = due.is_some();
        let taken = due.or_else(between).or_else(in_turn)?;
        self.count(is_in_turn);
        Some(taken)
    }

    /// Counts a fetch, in turn or not. Missed turns do not pile up.
    pub(super) fn count(&mut self, in_turn: bool) {
        self.due = (self.due + self.share - f64::from(u8::from(in_turn))).min(1.0);
    }
}

impl<O: Order> Ranked<O> {
    /// A policy with this order; `seed` determines its random draws.
    pub fn new(order: O, seed: u64) -> Self {
        let explorations = Turns::new(order.exploration());
        Ranked {
            order,
            book: Book::default(),
            queue: Agenda::default(),
            risen: Vec::new(),
            sources: Agenda::default(),
            visits: 0,
            revisits: Turns::new(REVISITS),
            lots: Agenda::default(),
            explorations,
            calibrator: Calibrator::default(),
            seed,
        }
    }

    /// The pages and links known.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// The order itself.
    pub fn order(&self) -> &O {
        &self.order
    }

    fn is_candidate(&self, page: PageId) -> bool {
        match self.book[page].standing {
            Standing::Waiting => true,
            Standing::Held => self.order.takes_held_pages(),
            Standing::UnderWay | Standing::Gone => false,
        }
    }

    fn push(&mut self, page: PageId) {
        if self.is_candidate(page) {
            let score = self.order.score(page, &self.book);
            debug_assert!(score.is_finite());
            self.queue.push(Highest(score), self.book[page].host, page);
        }
    }

    /// Rebuilds the queue with one entry per page.
    fn rebuild(&mut self) {
        self.queue = Agenda::default();
        for page in 0..self.book.pages().len() as u32 {
            self.push(PageId(page));
        }
    }

    fn keep_up(&mut self) {
        if self.order.is_stale(&self.book) {
            self.order.renew(&self.book);
            self.rebuild();
        }
        let candidates = if self.order.takes_held_pages() {
            self.book.pages().len()
        } else {
            self.book.waiting()
        };
        if self.queue.len() > ENTRIES_PER_PAGE * candidates + SMALL {
            self.rebuild();
        }
    }

    fn best(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        while let Some((Highest(was), page)) = self.queue.pop(now, gate) {
            if !self.is_candidate(page) {
                continue;
            }
            let score = self.order.score(page, &self.book);
            if score >= was {
                return Some(page);
            }
            // Its score fell while it waited; the next page may be better now.
            self.queue.push(Highest(score), self.book[page].host, page);
        }
        None
    }

    fn revisit(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        while let Some((_, page)) = self.sources.pop(now, gate) {
            if self.book[page].standing == Standing::Held {
                return Some(page);
            }
        }
        None
    }

    fn explore(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        while let Some((_, page)) = self.lots.pop(now, gate) {
            if self.book[page].standing == Standing::Waiting {
                return Some(page);
            }
        }
        None
    }

    fn pick(&mut self, now: Time, gate: &dyn Gate) -> Option<PageId> {
        let explored = if self.explorations.is_due() { self.explore(now, gate) } else { None };
        let is_turn = explored.is_none() && self.revisits.is_due();
        let in_turn = if is_turn { self.revisit(now, gate) } else { None };
        let page = explored
            .or(in_turn)
            .or_else(|| self.best(now, gate))
            .or_else(|| self.revisit(now, gate))?;
        self.explorations.count(explored.is_some());
        self.revisits.count(in_turn.is_some());
        Some(page)
    }
}

impl<O: Order> Policy for Ranked<O> {
    fn learn(&mut self, event: &Event<'_>) {
        // The score before the fetch: the page's own links are not known yet.
        let (order, book) = (&self.order, &self.book);
        self.calibrator.learn(event, order.meaning(), |page| order.score(page, book));
        self.book.learn(event);
        self.risen.clear();
        self.order.learn(event, &self.book, &mut self.risen);
        match event {
            Event::Discovered(found) if !found.is_held => {
                self.push(found.page);
                if self.order.exploration() > 0.0 {
                    let lot = Draws::keyed(self.seed, EXPLORE, found.key.0).word();
                    self.lots.push(lot, found.host, found.page);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                self.visits += 1;
                if self.book[seen.page].is_source && seen.outcome != Outcome::Gone {
                    self.sources.push(self.visits, self.book[seen.page].host, seen.page);
                }
                self.push(seen.page);
            }
            _ => {}
        }
        let risen = std::mem::take(&mut self.risen);
        risen.iter().for_each(|&page| self.push(page));
        self.risen = risen;
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.keep_up();
        let Some(page) = self.pick(now, gate) else { return Choice::Idle };
        self.book.choose(page);
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const REVISITED: &str = "a tenth of the fetches visits sources again, in turn";
        let known = self.book.pages().get(page.index())?;
        let revisited = !self.order.takes_held_pages() && known.standing == Standing::Held;
        let (rule, merit) = if revisited {
            (REVISITED, Merit::Turn)
        } else {
            (self.order.rule(), Merit::Score(self.order.score(page, &self.book)))
        };
        let due = match known.standing {
            Standing::Waiting => Due::InTurn,
            Standing::UnderWay => Due::UnderWay,
            Standing::Held if known.is_source || !revisited => Due::InTurn,
            Standing::Held | Standing::Gone => Due::Never,
        };
        Some(Explanation {
            kind: Some(known.kind()),
            since: known.held_since,
            is_gone: known.standing == Standing::Gone,
            sooner: if revisited { &[] } else { self.order.levers() },
            ..Explanation::new(page, rule, merit, due)
        })
    }
}

impl<O: Order> ExpectsClicks for Ranked<O> {
    fn expected_clicks(&self, page: PageId) -> Option<Expected> {
        self.calibrator.expect(self.order.meaning(), self.order.score(page, &self.book))
    }

    fn horizon(&self) -> Span {
        self.calibrator.horizon()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_as_often_as_their_share_and_do_not_pile_up() {
        for share in [0.1, 0.3, 0.7] {
            let mut turns = Turns::new(share);
            let taken = (0..1000).filter(|_| {
                let in_turn = turns.is_due();
                turns.count(in_turn);
                in_turn
            });
            // Rounding may delay the last turn.
            assert!((taken.count() as f64 - 1000.0 * share).abs() <= 1.0, "{share}");
        }
        let mut turns = Turns::new(0.3);
        (0..100).for_each(|_| turns.count(false));
        turns.count(true);
        turns.count(true);
        assert!(!turns.is_due(), "one turn was owed, not thirty");
    }
}
