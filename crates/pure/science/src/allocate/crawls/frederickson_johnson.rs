//! Frederickson and Johnson's selection in sorted columns, at halving resolution.
//!
//! Two parts. [`Selection::cut`] shortens the columns to O(R) units in all, looking at O(N) of
//! them: units at distance s, 2s, 4s, … down each column, s ≈ R/N, where ever fewer columns can
//! still matter. [`Selection::refine`] then looks at every s-th open unit of each column; each
//! stands for a block of s units that it ends. If the q most urgent blocks hold at most as many
//! units as are to be granted, however the blocks that follow them turn out, they are granted
//! whole; a block that comes after more than R granted units is out. What stays open is O(N)
//! blocks; s is halved; at s = 1 all is decided. log(R/N) rounds of O(N).

use super::galil_megiddo::weighted_select;
use super::{Crawls, Gain, Unit, front};
use crate::allocate::AllocateError;

pub(super) fn solve<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    free: u64,
) -> Result<Vec<u32>, AllocateError> {
    let granted = problem.min.to_vec();
    let open = (0..granted.len()).map(|page| problem.reach(page, free)).collect();
    let mut selection = Selection { problem, granted, open, free };
    if free > 0 {
        let share = free / problem.min.len().max(1) as u64;
        let step = u32::try_from(share.max(1)).unwrap_or(u32::MAX);
        let step = 1 << step.ilog2();
        selection.cut(step)?;
        selection.refine(step)?;
    }
    Ok(selection.granted)
}

struct Selection<'a, 'b, G: ?Sized> {
    problem: &'a Crawls<'b, G>,
    /// Crawls of each page that are certain.
    granted: Vec<u32>,
    /// From here on a page's crawls are certainly not granted.
    open: Vec<u32>,
    /// Crawls still to be granted.
    free: u64,
}

impl<G: Gain + ?Sized> Selection<'_, '_, G> {
    /// Shortens the columns to O(free) units in all.
    fn cut(&mut self, first: u32) -> Result<(), AllocateError> {
        let mut active: Vec<usize> = (0..self.open.len()).collect();
        let mut looked: Vec<(Unit, u64)> = Vec::new();
        let mut step = first;
        while !active.is_empty() {
            active.retain(|&page| self.open[page] - self.granted[page] >= step);
            let block = u64::from(if step == first { step } else { step / 2 });
            let kept = self.keep(&active, step)?;
            looked.extend(kept.iter().map(|unit| (*unit, block)));
            active = kept.iter().map(|unit| unit.page).collect();
            match step.checked_mul(2) {
                Some(next) => step = next,
                None => break,
            }
        }
        let total: u64 = looked.iter().map(|(_, block)| block).sum();
        if total >= self.free {
            let mut selectable = looked.clone();
            if let Some(last) = weighted_select(&mut selectable, self.free) {
                for (unit, _) in looked.iter().filter(|(unit, _)| *unit < last) {
                    self.open[unit.page] = self.open[unit.page].min(unit.crawl);
                }
            }
        }
        Ok(())
    }

    /// The active columns whose unit number `step` may be granted: a granted one brings `step`
    /// units of its column with it, so at most free/step. The others are cut before that unit.
    fn keep(&mut self, active: &[usize], step: u32) -> Result<Vec<Unit>, AllocateError> {
        let units: Result<Vec<Unit>, _> = active
            .iter()
            .map(|&page| self.problem.unit(page, self.granted[page] + (step - 1)))
            .collect();
        let mut units = units?;
        let most = usize::try_from(self.free / u64::from(step)).unwrap_or(usize::MAX);
        let kept = front(&mut units, most).len();
        for unit in units.drain(kept..) {
            self.open[unit.page] = self.open[unit.page].min(unit.crawl);
        }
        Ok(units)
    }

    fn refine(&mut self, first: u32) -> Result<(), AllocateError> {
        let mut step = first;
        loop {
            let mut ends = self.block_ends(step)?;
            self.reject(&mut ends, step);
            self.grant(&mut ends, step);
            if step == 1 || self.free == 0 {
                return Ok(());
            }
            step /= 2;
        }
    }

    /// The last unit of every whole block of `step` open units.
    fn block_ends(&self, step: u32) -> Result<Vec<Unit>, AllocateError> {
        let mut ends = Vec::new();
        for page in 0..self.open.len() {
            let blocks = (self.open[page] - self.granted[page]) / step;
            for block in 1..=blocks {
                ends.push(self.problem.unit(page, self.granted[page] + (block * step - 1))?);
            }
        }
        Ok(ends)
    }

    /// Block end number q has q·step units at least as urgent; beyond `free` it is out.
    fn reject(&mut self, ends: &mut Vec<Unit>, step: u32) {
        let possible = usize::try_from(self.free / u64::from(step)).unwrap_or(usize::MAX);
        let possible = front(ends, possible).len();
        for unit in ends.drain(possible..) {
            self.open[unit.page] = self.open[unit.page].min(unit.crawl);
        }
    }

    /// Up to the q-th block end there are at most q·step units, and step − 1 more in each column
    /// before its next block end; if all these fit, the q blocks are granted.
    fn grant(&mut self, ends: &mut [Unit], step: u32) {
        let columns = self.open.iter().zip(&self.granted).filter(|(open, granted)| open > granted);
        let spare = columns.count() as u64 * u64::from(step - 1);
        let certain = self.free.saturating_sub(spare) / u64::from(step);
        let certain = front(ends, usize::try_from(certain).unwrap_or(usize::MAX));
        for unit in certain.iter() {
            self.granted[unit.page] += step;
        }
        self.free -= certain.len() as u64 * u64::from(step);
    }
}
