//! Galil and Megiddo's selection: weighted medians of the columns' medians.
//!
//! Each page keeps a range of units of which it is not yet known whether they are granted. The
//! units in the middle of the ranges, weighted by the ranges' lengths, have a weighted median; at
//! least a quarter of all open units are more urgent and a quarter less. Counting the units at
//! least as urgent as it (bisection in every range) decides one of the two quarters, so O(log R)
//! rounds of O(N log R) suffice.

use super::{Crawls, Gain, Unit};
use crate::allocate::AllocateError;

pub(super) fn solve<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    mut free: u64,
) -> Result<Vec<u32>, AllocateError> {
    let mut granted = problem.min.to_vec();
    let mut open: Vec<u32> = (0..granted.len()).map(|page| problem.reach(page, free)).collect();
    while free > 0 {
        let Some(pivot) = pivot(problem, &granted, &open)? else { break };
        let ends = granted.iter().zip(&open).enumerate();
        let ends: Result<Vec<u32>, AllocateError> =
            ends.map(|(page, (&from, &to))| end(problem, page, from..to, &pivot)).collect();
        let ends = ends?;
        let count: u64 = ends.iter().zip(&granted).map(|(to, from)| u64::from(to - from)).sum();
        if count <= free {
            granted = ends;
            free -= count;
        } else {
            open = ends;
            // The pivot is the last of more than `free` units, so it is not granted itself.
            open[pivot.page] = open[pivot.page].min(pivot.crawl);
        }
    }
    Ok(granted)
}

/// The weighted median of the middles of the ranges; `None` when all ranges are empty.
fn pivot<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    granted: &[u32],
    open: &[u32],
) -> Result<Option<Unit>, AllocateError> {
    let ranges = granted.iter().zip(open).enumerate().filter(|(_, (from, to))| from < to);
    let middles: Result<Vec<(Unit, u64)>, AllocateError> = ranges
        .map(|(page, (&from, &to))| {
            Ok((problem.unit(page, from + (to - from) / 2)?, u64::from(to - from)))
        })
        .collect();
    let mut middles = middles?;
    let half = middles.iter().map(|(_, weight)| weight).sum::<u64>().div_ceil(2);
    Ok(weighted_select(&mut middles, half))
}

/// The unit at which the weights of the most urgent units first reach `target`; linear.
pub(super) fn weighted_select(mut units: &mut [(Unit, u64)], mut target: u64) -> Option<Unit> {
    while units.len() > 1 {
        let middle = units.len() / 2;
        units.select_nth_unstable_by(middle, |a, b| b.0.cmp(&a.0));
        let (ahead, rest) = units.split_at_mut(middle);
        let weight: u64 = ahead.iter().map(|(_, weight)| weight).sum();
        if weight >= target {
            units = ahead;
            continue;
        }
        target -= weight;
        let (&mut (unit, own), after) = rest.split_first_mut()?;
        if own >= target || after.is_empty() {
            return Some(unit);
        }
        target -= own;
        units = after;
    }
    units.first().map(|(unit, _)| *unit)
}

/// The end of the units of a range that are at least as urgent as the pivot.
fn end<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    page: usize,
    range: std::ops::Range<u32>,
    pivot: &Unit,
) -> Result<u32, AllocateError> {
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from + (to - from) / 2;
        if problem.unit(page, middle)? >= *pivot {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    Ok(from)
}
