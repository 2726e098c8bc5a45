//! Uniform: every known page equally often, in a fixed order `[CGM03]`.

use tidewatch_core::{Event, HostId, Outcome, PageId, Time};
use tidewatch_math::rng::Draws;

use crate::{Agenda, Choice, Gate, Policy};

/// The round-robin baseline: the page whose last visit lies furthest back is
/// next, pages never visited first.
pub struct Uniform {
    seed: u64,
    hosts: Vec<HostId>,
    ring: Agenda<(u64, u64)>,
    turn: u64,
}

impl Uniform {
    /// A policy whose first round is in an order that follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Uniform { seed, hosts: Vec::new(), ring: Agenda::default(), turn: 0 }
    }

    fn enqueue(&mut self, page: PageId, round: u64, place: u64) {
        self.ring.push((round, place), self.hosts[page.index()], page);
    }
}

impl Policy for Uniform {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.hosts.len());
                self.hosts.push(found.host);
                let place = Draws::of(self.seed, "uniform.place", found.key.0).word();
                self.enqueue(found.page, 0, place);
            }
            Event::Fetched(seen) if seen.outcome != Outcome::Gone => {
                self.turn += 1;
                self.enqueue(seen.page, self.turn, 0);
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.ring.pop(now, gate).map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }
}
