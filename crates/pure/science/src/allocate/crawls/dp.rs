//! The dynamic program: best(i, r) over pages i.. with r crawls left. It assumes nothing about
//! the gains, not even convexity, which is why it is the oracle.

use super::{Crawls, Gain};
use crate::allocate::AllocateError;

/// Cells of the table of choices, four bytes each.
const CELLS: u128 = 1 << 26;

pub(super) fn solve<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    free: u64,
) -> Result<Vec<u32>, AllocateError> {
    let pages = problem.min.len();
    let cells = pages as u128 * (u128::from(free) + 1);
    if cells > CELLS {
        return Err(AllocateError::TooLarge { cells, limit: CELLS });
    }
    let width = free as usize + 1;
    let mut choices = vec![0_u32; pages * width];
    let mut best = vec![f64::NEG_INFINITY; width];
    best[0] = 0.0;
    for page in (0..pages).rev() {
        let worth = cumulative(problem, page, free)?;
        let row = &mut choices[page * width..(page + 1) * width];
        best = (0..width).map(|left| choose(&worth, &best, left, &mut row[left])).collect();
    }
    let mut left = free as usize;
    let crawls = (0..pages).map(|page| {
        let extra = choices[page * width + left];
        left -= extra as usize;
        problem.min[page] + extra
    });
    Ok(crawls.collect())
}

/// Gain of 0, 1, 2, … crawls above the minimum together.
fn cumulative<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    page: usize,
    free: u64,
) -> Result<Vec<f64>, AllocateError> {
    let mut worth = vec![0.0];
    let mut total = 0.0;
    for crawl in problem.min[page]..problem.reach(page, free) {
        total += problem.value(page, crawl)?;
        worth.push(total);
    }
    Ok(worth)
}

/// The best of giving this page 0, 1, 2, … of `left` crawls; the most crawls among equals, so
/// that lower pages come first.
fn choose(worth: &[f64], rest: &[f64], left: usize, choice: &mut u32) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for (extra, worth) in worth.iter().enumerate().take(left + 1) {
        let value = worth + rest[left - extra];
        if value >= best {
            (best, *choice) = (value, extra as u32);
        }
    }
    best
}
