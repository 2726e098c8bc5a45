//! The transportation problem as such: shortest augmenting paths with potentials.
//!
//! Fetches are added one by one; each time a shortest path in reduced costs from the new fetch to
//! a free slot is found (Dijkstra on the dense bipartite graph) and the assignment changed along
//! it. O(n²m) time, O(n + m) memory: costs are computed, not stored. It knows nothing of time or
//! order, so the tests check the faster method with it.

use super::{Fetch, Slot, Timetable, total_cost};

/// The timetable of least cost by the general method; `None` if there is no timetable.
pub(super) fn transport(fetches: &[Fetch], slots: &[Slot]) -> Option<Timetable> {
    let mut flow = Flow::new((fetches.len(), slots.len()));
    let cost = |fetch: usize, slot: usize| fetches[fetch].cost(slots[slot].at);
    for fetch in 0..fetches.len() {
        flow.add(fetch, cost)?;
    }
    let mut chosen = vec![0; fetches.len()];
    for (slot, owner) in flow.owner.iter().enumerate() {
        if let Some(fetch) = owner {
            chosen[*fetch] = slot;
        }
    }
    let cost = total_cost(fetches, slots, &chosen);
    Some(Timetable { slots: chosen, cost, lower_bound: flow.bound() })
}

/// An assignment of some fetches, optimal for them, with the potentials that prove it.
struct Flow {
    /// The fetch in each slot.
    owner: Vec<Option<usize>>,
    /// u and v with uᵢ + vₛ ≤ cᵢₛ, equal where fetch i has slot s; v ≤ 0, zero where s is free.
    fetch_potential: Vec<f64>,
    slot_potential: Vec<f64>,
}

impl Flow {
    fn new((fetches, slots): (usize, usize)) -> Self {
        Self {
            owner: vec![None; slots],
            fetch_potential: vec![0.0; fetches],
            slot_potential: vec![0.0; slots],
        }
    }

    /// Σ u + Σ v, the dual objective.
    fn bound(&self) -> f64 {
        let both = self.fetch_potential.iter().chain(&self.slot_potential);
        tidewatch_math::sum::sum(both.copied())
    }

    /// Adds a fetch; `None` when no augmenting path of finite cost exists.
    fn add(&mut self, fetch: usize, cost: impl Fn(usize, usize) -> f64) -> Option<()> {
        let mut tree = Tree::new(self.owner.len());
        let mut at = fetch;
        let end = loop {
            tree.relax(self, at, &cost);
            let slot = tree.settle()?;
            match self.owner[slot] {
                None => break slot,
                Some(next) => at = next,
            }
        };
        tree.update_potentials(self, fetch, end);
        let mut slot = end;
        loop {
            let from = tree.reached_from[slot];
            self.owner[slot] = Some(from);
            if from == fetch {
                return Some(());
            }
            slot = tree.slot_of[&from];
        }
    }
}

/// A shortest-path tree over slots.
struct Tree {
    distance: Vec<f64>,
    /// The fetch from which each slot was reached.
    reached_from: Vec<usize>,
    settled: Vec<bool>,
    /// Slot through which each fetch in the tree was entered.
    slot_of: rustc_hash::FxHashMap<usize, usize>,
    /// Length of the path to the slot settled last.
    length: f64,
    last: Option<usize>,
}

impl Tree {
    fn new(slots: usize) -> Self {
        Self {
            distance: vec![f64::INFINITY; slots],
            reached_from: vec![usize::MAX; slots],
            settled: vec![false; slots],
            slot_of: rustc_hash::FxHashMap::default(),
            length: 0.0,
            last: None,
        }
    }

    /// Offers the paths through `fetch` to all slots.
    fn relax(&mut self, flow: &Flow, fetch: usize, cost: &impl Fn(usize, usize) -> f64) {
        if let Some(slot) = self.last {
            self.slot_of.insert(fetch, slot);
        }
        for slot in 0..self.distance.len() {
            if self.settled[slot] {
                continue;
            }
            let reduced =
                cost(fetch, slot) - flow.fetch_potential[fetch] - flow.slot_potential[slot];
            let length = self.length + reduced.max(0.0);
            if length < self.distance[slot] {
                (self.distance[slot], self.reached_from[slot]) = (length, fetch);
            }
        }
    }

    /// Settles the nearest slot; `None` when all that are left are out of reach.
    fn settle(&mut self) -> Option<usize> {
        let open = (0..self.distance.len()).filter(|&slot| !self.settled[slot]);
        let slot = open.min_by(|&a, &b| self.distance[a].total_cmp(&self.distance[b]))?;
        if self.distance[slot] == f64::INFINITY {
            return None;
        }
        (self.settled[slot], self.length, self.last) = (true, self.distance[slot], Some(slot));
        Some(slot)
    }

    /// Keeps reduced costs from being negative after the path to `end` is used.
    fn update_potentials(&self, flow: &mut Flow, root: usize, end: usize) {
        let total = self.distance[end];
        flow.fetch_potential[root] += total;
        for (&fetch, &slot) in &self.slot_of {
            let slack = total - self.distance[slot];
            flow.fetch_potential[fetch] += slack;
            flow.slot_potential[slot] -= slack;
        }
    }
}
