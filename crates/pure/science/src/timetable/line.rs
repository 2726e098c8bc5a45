//! Least Σ |t − t\*| on one axis, by a sweep with regrets.
//!
//! Fetches and slots are met in order of time. A fetch takes the cheapest offer among the slots
//! behind it, or none and stays unplaced, which is dearer than anything. It leaves a *regret*: what
//! it would save by giving that up for a slot still to come. A slot takes the greatest regret, if
//! moving that fetch here saves anything, and otherwise becomes an offer; having taken one, it
//! leaves the offer of undoing that move. Each step is a cheapest augmentation of the flow so
//! far, so the flow is optimal after every step. Only the set of slots used is kept: on an axis the
//! k-th fetch then takes the k-th of them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{Fetch, Punctuality, Slot, TimetableError, of_kind};

/// Places all fetches of kind [`Punctuality::Near`] in slots that are still free.
pub(super) fn place(
    fetches: &[Fetch],
    slots: &[Slot],
    by_time: &[usize],
    placed: &mut [Option<usize>],
) -> Result<(), TimetableError> {
    let near = of_kind(fetches, Punctuality::Near);
    let free: Vec<usize> = by_time.iter().copied().filter(|&s| placed[s].is_none()).collect();
    if near.len() > free.len() {
        let (fetch, fetches, slots) = (near[free.len()], fetches.len(), slots.len());
        return Err(TimetableError::TooFewSlots { fetch, fetches, slots });
    }
    let ideals: Vec<f64> = near.iter().map(|&fetch| fetches[fetch].ideal_at).collect();
    let times: Vec<f64> = free.iter().map(|&slot| slots[slot].at).collect();
    let used = used_slots(&ideals, &times);
    let chosen = free.iter().zip(used).filter_map(|(&slot, used)| used.then_some(slot));
    for (slot, fetch) in chosen.zip(near) {
        placed[slot] = Some(fetch);
    }
    Ok(())
}

/// Which of the sorted `times` are used when every one of the sorted `ideals` gets one.
fn used_slots(ideals: &[f64], times: &[f64]) -> Vec<bool> {
    let mut sweep = Sweep { used: vec![false; times.len()], ..Sweep::default() };
    let mut next = 0;
    for (slot, &at) in times.iter().enumerate() {
        while next < ideals.len() && ideals[next] <= at {
            sweep.fetch(ideals[next]);
            next += 1;
        }
        sweep.slot(slot, at);
    }
    ideals[next..].iter().for_each(|&ideal| sweep.fetch(ideal));
    sweep.used
}

/// Fetches left unplaced, then time: nothing makes up for an unplaced fetch.
#[derive(Clone, Copy, Debug)]
struct Cost {
    unplaced: i32,
    time: f64,
}

/// A change to the flow on the side already swept, less the time to walk there.
#[derive(Clone, Copy, Debug)]
struct Change {
    cost: Cost,
    /// The slot that the change takes into use (an offer) or out of it (a regret); none when it
    /// leaves a fetch unplaced or places one.
    slot: Option<usize>,
}

#[derive(Default)]
struct Sweep {
    used: Vec<bool>,
    /// Ways to accommodate one more fetch, cheapest first; add its time.
    offers: BinaryHeap<Reverse<Change>>,
    /// Ways to use one more slot, cheapest first; add its time.
    regrets: BinaryHeap<Reverse<Change>>,
}

impl Sweep {
    fn fetch(&mut self, at: f64) {
        let stay = Change { cost: Cost { unplaced: 1, time: 0.0 }, slot: None };
        let offer = match self.offers.peek() {
            Some(&Reverse(best)) if best < stay => {
                self.offers.pop();
                best
            }
            _ => stay,
        };
        self.set(offer.slot, true);
        self.regrets.push(Reverse(offer.undone(at)));
    }

    fn slot(&mut self, slot: usize, at: f64) {
        let nothing = Cost { unplaced: 0, time: -at };
        match self.regrets.peek() {
            Some(&Reverse(regret)) if regret.cost < nothing => {
                self.regrets.pop();
                self.used[slot] = true;
                self.set(regret.slot, false);
                self.offers.push(Reverse(regret.undone(at)));
            }
            _ => self.offers.push(Reverse(Change { cost: nothing, slot: Some(slot) })),
        }
    }

    fn set(&mut self, slot: Option<usize>, used: bool) {
        if let Some(slot) = slot {
            self.used[slot] = used;
        }
    }
}

impl Change {
    /// The change that takes this one back after it was made from `at`: −(cost + at), and another
    /// −at because the next one walks away from `at` again.
    fn undone(self, at: f64) -> Self {
        let Cost { unplaced, time } = self.cost;
        Self { cost: Cost { unplaced: -unplaced, time: -time - 2.0 * at }, slot: self.slot }
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> Ordering {
        self.unplaced.cmp(&other.unplaced).then(self.time.total_cmp(&other.time))
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cost {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cost {}

impl Ord for Change {
    /// By cost; then by slot, so that equal costs are settled the same way every time.
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.cmp(&other.cost).then(self.slot.cmp(&other.slot))
    }
}

impl PartialOrd for Change {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Change {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Change {}
