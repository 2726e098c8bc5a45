//! Uniform: every known page equally often `[CGM03]`.

use tidewatch_core::{Event, HostId, Outcome, PageId, PageKey, Time};
use tidewatch_math::rng::{Draws, purpose};

use crate::explanation::{Due, Explanation, Merit};
use crate::{Agenda, Choice, Gate, Policy};

const PLACE: u64 = purpose("uniform.place");

/// The round-robin baseline: every round visits every page once, and pages
/// just discovered come first.
///
/// In fixed order each round is like the last, so a page's visits are equally
/// spaced; in random order each round is shuffled anew, so they are not. The
/// difference is what `[CGM03]` measures between visiting orders.
pub struct Uniform {
    seed: u64,
    is_reshuffled: bool,
    pages: Vec<(HostId, PageKey)>,
    ring: Agenda<(u64, u64)>,
    round: u64,
}

impl Uniform {
    /// Every round in the same order, which follows from `seed`.
    pub fn fixed_order(seed: u64) -> Self {
        let (pages, ring) = (Vec::new(), Agenda::default());
        Uniform { seed, is_reshuffled: false, pages, ring, round: 0 }
    }

    /// Every round in an order of its own.
    pub fn random_order(seed: u64) -> Self {
        Uniform { is_reshuffled: true, ..Self::fixed_order(seed) }
    }

    fn enqueue(&mut self, page: PageId, round: u64) {
        let (host, key) = self.pages[page.index()];
        let draw = if self.is_reshuffled { round } else { 0 };
        let place = Draws::keyed(self.seed, PLACE, key.0).at(draw);
        self.ring.push((round, place), host, page);
    }
}

impl Policy for Uniform {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                self.pages.push((found.host, found.key));
                self.enqueue(found.page, u64::from(found.is_held));
            }
            Event::Fetched(seen) if seen.outcome != Outcome::Gone => {
                self.enqueue(seen.page, self.round + 1);
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let Some(((round, _), page)) = self.ring.pop(now, gate) else { return Choice::Idle };
        self.round = self.round.max(round);
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str = "every round visits every page once, new pages first";
        self.pages.get(page.index())?;
        Some(Explanation::new(page, RULE, Merit::Turn, Due::InTurn))
    }
}
