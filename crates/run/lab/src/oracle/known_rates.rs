//! Refresh policies that know each page's true change rate over the run.

use rustc_hash::FxHashMap;
use tidewatch_core::{PageKey, Time};
use tidewatch_policy::refresh::Refresher;
use tidewatch_science::allocate::Objective;

use crate::world::World;

/// A [`Refresher`] that knows every page's changes per second while it lives.
pub fn known_rates(world: &World, objective: Objective) -> Refresher {
    let mut rates: FxHashMap<PageKey, f64> = FxHashMap::default();
    let trace = world.trace();
    let end = Time::ZERO + trace.duration;
    for (page, row) in trace.pages.iter().enumerate() {
        let page = page as u32;
        let life = row.died.unwrap_or(end).since(row.born).seconds();
        let changes = world.changes_of(page);
        if changes > 0 && life > 0.0 {
            rates.insert(world.key(page), f64::from(changes) / life);
        }
    }
    Refresher::knowing(objective, rates)
}
