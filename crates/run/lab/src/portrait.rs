//! The portrait of a page: one stripe per fragment, in order of first appearance, from its appearance
//! to its removal `[OP08, fig. 1]`. Static content is a block at the top, churn a staircase of short
//! stripes, scroll a staircase of long stripes.

use rustc_hash::FxHashMap;
use tidewatch_core::{Span, Time};
use tidewatch_report::{Axis, Stripe, Stripes};

use crate::world::World;

/// Most stripes of a portrait; more are thinned evenly.
const MOST_STRIPES: usize = 240;
/// Tones of fragments present all the time and of others.
const TONES: [&str; 2] = ["always present", "added or removed"];

/// Draws a page of a world from its versions.
pub fn portrait(world: &World, page: u32, title: impl Into<String>) -> Stripes {
    let end = Time::ZERO + world.trace().duration;
    let lives = lives(world, page, end);
    let day = |at: Time| at.seconds() / Span::DAY.seconds();
    let mut stripes = Stripes::new(title, Axis::new("time").unit("days")).tones(TONES);
    let step = lives.len().div_ceil(MOST_STRIPES).max(1);
    for (i, stood) in lives.iter().enumerate().step_by(step) {
        let whole = stood.len() == 1 && stood[0] == (Time::ZERO, end);
        let spans = stood.iter().map(|&(from, to)| Stripe {
            from: day(from),
            to: day(to),
            tone: usize::from(!whole),
        });
        stripes.push(format!("fragment {}", i + 1), spans);
    }
    stripes
}

/// Presence of each fragment, by first appearance.
fn lives(world: &World, page: u32, end: Time) -> Vec<Vec<(Time, Time)>> {
    let Some(versions) = world.trace().versions.as_ref() else { return Vec::new() };
    let mut numbers: FxHashMap<u64, usize> = FxHashMap::default();
    let mut lives: Vec<Vec<(Time, Time)>> = Vec::new();
    for row in world.versions_of(page) {
        for fragment in versions.removed(row) {
            if let Some(last) = numbers.get(fragment).and_then(|&n| lives[n].last_mut()) {
                last.1 = row.at.min(end);
            }
        }
        for &fragment in versions.added(row) {
            let number = *numbers.entry(fragment).or_insert(lives.len());
            if number == lives.len() {
                lives.push(Vec::new());
            }
            lives[number].push((row.at.min(end), end));
        }
    }
    lives
}
