//! Omniscient: knows every page from its birth and everything that will happen to it.

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Time};
use tidewatch_policy::{Agenda, Choice, Gate, Highest, Policy};

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
    /// The crawler's numbers to the trace's, and back.
    pages: Vec<u32>,
    ids: Vec<Option<(PageId, HostId)>>,
    copied: Vec<Option<Time>>,
    is_gone: Vec<bool>,
    agenda: Agenda<Highest>,
    /// Changes of all pages by time, from the end.
    changes: Vec<(Time, u32)>,
}

impl<'w> Omniscient<'w> {
    /// An oracle for `world`.
    pub fn new(world: &'w World) -> Self {
        let trace = world.trace();
        let rows = trace.changes.iter().flatten().map(|c| (c.at, c.page));
        let versions = trace.versions.iter().flat_map(|v| &v.rows).map(|v| (v.at, v.page));
        let deaths = trace.pages.iter().zip(0u32..).filter_map(|(p, page)| Some((p.died?, page)));
        let mut changes: Vec<_> = rows.chain(versions).chain(deaths).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        changes.dedup();
        Omniscient {
            world,
            end: Time::ZERO + trace.duration,
            pages: Vec::new(),
            ids: vec![None; world.len()],
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
        let value = self.worth(page, now);
        if let Some((id, host)) = self.ids[page as usize].filter(|_| value > 0.0) {
            self.agenda.push(Highest(value), host, id);
        }
    }

    /// Changes up to `now` make copies stale and thereby worth a fetch.
    fn catch_up(&mut self, now: Time) {
        while let Some(&(at, page)) = self.changes.last() {
            if at > now {
                return;
            }
            self.changes.pop();
            if self.copied[page as usize].is_some() {
                self.push(page, now);
            }
        }
    }

    fn settle(&mut self, seen: &Observation<'_>) {
        let page = self.pages[seen.page.index()];
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
                let page = self.world.page_of(found.key).expect("events name pages of the world");
                self.pages.push(page);
                self.ids[page as usize] = Some((found.page, found.host));
                if !found.is_held {
                    self.push(page, found.at);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen),
            Event::Log(_) | Event::Asked(_) | Event::Hinted(_) | Event::Budget(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.catch_up(now);
        while let Some((Highest(was), id)) = self.agenda.pop(now, gate) {
            let page = self.pages[id.index()];
            if self.worth(page, now) >= was {
                return Choice::Fetch(id);
            }
            self.push(page, now);
        }
        Choice::Idle
    }
}
