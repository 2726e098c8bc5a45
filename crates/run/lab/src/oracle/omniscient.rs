//! Omniscient: knows every page from its birth, and its future.

use tidewatch_core::{Event, Observation, Outcome, Time};
use tidewatch_policy::{Agenda, Choice, Gate, Highest, Policy};

use super::met::{Met, Upcoming};
use crate::world::World;

/// Spends each fetch where it gains most, given the future.
///
/// A page never fetched is worth the clicks still to come (its weight, where
/// the trace has no clicks). A stale copy is worth weight × the seconds that a
/// new copy would stay fresh. Both only fall while time passes, except at a
/// change of the page, so a queue whose top is re-valued when it comes up is
/// exact. Fetching the best now is greedy, not optimal: a bound in practice,
/// not in theory.
pub struct Omniscient<'w> {
    world: &'w World,
    end: Time,
    met: Met,
    copied: Vec<Option<Time>>,
    is_gone: Vec<bool>,
    agenda: Agenda<Highest>,
    /// Changes of all pages.
    changes: Upcoming,
}

impl<'w> Omniscient<'w> {
    /// An oracle for `world`.
    pub fn new(world: &'w World) -> Self {
        let trace = world.trace();
        let rows = trace.changes.iter().flatten().map(|c| (c.at, c.page));
        let versions = trace.versions.iter().flat_map(|v| &v.rows).map(|v| (v.at, v.page));
        let deaths = trace.pages.iter().zip(0u32..).filter_map(|(p, page)| Some((p.died?, page)));
        let changes = Upcoming::new(rows.chain(versions).chain(deaths));
        Omniscient {
            world,
            end: Time::ZERO + trace.duration,
            met: Met::new(world),
            copied: vec![None; world.len()],
            is_gone: vec![false; world.len()],
            agenda: Agenda::default(),
            changes,
        }
    }

    fn worth(&self, page: u32, now: Time) -> f64 {
        let row = &self.world.trace().pages[page as usize];
        if self.is_gone[page as usize] || row.is_source {
            return 0.0;
        }
        let Some(copied) = self.copied[page as usize] else {
            let is_dead = row.died.is_some_and(|died| died <= now);
            let clicks = self.world.trace().clicks.is_some();
            let value = if clicks { self.world.clicks_after(page, now) } else { row.weight };
            return if is_dead { 0.0 } else { value };
        };
        if self.world.next_change(page, copied).is_none_or(|change| change > now) {
            return 0.0;
        }
        let lasts = self.world.next_change(page, now).unwrap_or(self.end).min(self.end);
        row.weight * lasts.since(now).seconds()
    }

    fn push(&mut self, page: u32, now: Time) {
        self.met.enter(page, self.worth(page, now), &mut self.agenda);
    }

    /// Puts copies that became stale up to `now` on the agenda.
    fn catch_up(&mut self, now: Time) {
        while let Some((_, page)) = self.changes.next_by(now) {
            if self.copied[page as usize].is_some() {
                self.push(page, now);
            }
        }
    }

    fn settle(&mut self, seen: &Observation<'_>) {
        let page = self.met.page(seen.page);
        match seen.outcome {
            Outcome::Gone => self.is_gone[page as usize] = true,
            Outcome::Fetched(_) => self.copied[page as usize] = Some(seen.at),
            Outcome::Failed(_) => self.push(page, seen.at),
        }
    }
}

impl Policy for Omniscient<'_> {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                let page = self.met.meet(self.world, found);
                if !found.is_held {
                    self.push(page, found.at);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen),
            Event::Log(_)
            | Event::Asked(_)
            | Event::Hinted(_)
            | Event::Budget(_)
            | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.catch_up(now);
        while let Some((Highest(was), id)) = self.agenda.pop(now, gate) {
            let page = self.met.page(id);
            if self.worth(page, now) >= was {
                return Choice::Fetch(id);
            }
            self.push(page, now);
        }
        Choice::Idle
    }
}
