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
    pages: Vec<Known>,
    ring: Agenda<(u64, u64)>,
    round: u64,
}

struct Known {
    host: HostId,
    key: PageKey,
    /// Whether it waits in the ring: a page that was under way when another policy failed may be told
    /// of twice.
    is_waiting: bool,
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
        let known = &mut self.pages[page.index()];
        if std::mem::replace(&mut known.is_waiting, true) {
            return;
        }
        let draw = if self.is_reshuffled { round } else { 0 };
        let place = Draws::keyed(self.seed, PLACE, known.key.0).at(draw);
        self.ring.push((round, place), known.host, page);
    }
}

impl Policy for Uniform {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                let (host, key) = (found.host, found.key);
                self.pages.push(Known { host, key, is_waiting: false });
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
        self.pages[page.index()].is_waiting = false;
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str = "every round visits every page once, new pages first";
        // Every page waits until it is gone; one under way is the frontier's to tell.
        let is_gone = !self.pages.get(page.index())?.is_waiting;
        let due = if is_gone { Due::Never } else { Due::InTurn };
        Some(Explanation { is_gone, ..Explanation::new(page, RULE, Merit::Turn, due) })
    }
}
