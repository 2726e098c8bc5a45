//! The web of two pages: why neither uniform nor proportional visits are best \[CGM03\].
//!
//! One page changes nine times a day, the other once. Time is cut into the pages' change
//! intervals, one change at an unknown time in each. k visits inside an interval of length 1/λ
//! stand at j/(k + 1) of it; a visit finds a change since the visit before with chance 1/(k + 1)
//! and keeps the copy fresh for the rest of the interval, so the expected benefit of an interval is
//! (1/λ)·Σⱼ (1/(k + 1))·(1 − j/(k + 1)) = (1/λ)·k/(2(k + 1)) days. f visits a day are spread over
//! the λ intervals as evenly as whole numbers allow. The benefit is concave in f, so the best split
//! of a budget is an integer allocation.

use super::AllocateError;
use super::crawls::{self, Crawls, Gain, Solver};

/// Changes per day of the two pages.
pub const CHANGES_PER_DAY: [u32; 2] = [9, 1];

/// A split of the visits of a day between the two pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Visits per day to the fast and to the slow page.
    pub visits: [u32; 2],
    /// Expected benefit in days of freshness per day.
    pub benefit: f64,
}

/// The rows of the published table, (a) to (j): visits to the fast and to the slow page.
pub const ROWS: [(char, [u32; 2]); 10] = [
    ('a', [1, 0]),
    ('b', [0, 1]),
    ('c', [2, 0]),
    ('d', [1, 1]),
    ('e', [0, 2]),
    ('f', [3, 2]),
    ('g', [2, 3]),
    ('h', [9, 1]),
    ('i', [7, 3]),
    ('j', [5, 5]),
];

/// Expected benefit of `visits` a day to a page with `changes` a day, in days per day.
fn page_benefit(changes: u32, visits: u32) -> f64 {
    if changes == 0 {
        return 0.0;
    }
    let (each, extra) = (visits / changes, visits % changes);
    let interval = |k: u32| f64::from(k) / (2.0 * (f64::from(k) + 1.0));
    let (short, long) = (f64::from(changes - extra), f64::from(extra));
    (short * interval(each) + long * interval(each + 1)) / f64::from(changes)
}

/// Expected benefit of a split.
pub fn split(visits: [u32; 2]) -> Split {
    let benefit = |page: usize| page_benefit(CHANGES_PER_DAY[page], visits[page]);
    Split { visits, benefit: benefit(0) + benefit(1) }
}

/// The best split of `total` visits a day.
pub fn best(total: u32) -> Result<Split, AllocateError> {
    let max = [total; 2];
    let problem = Crawls { gain: &Benefit, min: &[0, 0], max: &max, total: u64::from(total) };
    let crawls = crawls::solve(&problem, Solver::Fox)?;
    Ok(split([crawls[0], crawls[1]]))
}

/// What one more visit adds.
struct Benefit;

impl Gain for Benefit {
    fn gain(&self, page: usize, crawls: u32) -> f64 {
        let (changes, each) = (f64::from(CHANGES_PER_DAY[page]), crawls / CHANGES_PER_DAY[page]);
        // k/(2(k+1)) rises by 1/(2(k+1)(k+2)) when one interval goes from k to k + 1 visits.
        0.5 / (changes * (f64::from(each) + 1.0) * (f64::from(each) + 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few roundings of numbers below one.
    const ROUNDING: f64 = 1e-15;

    #[test]
    fn rows_have_the_published_benefits() {
        // In 720ths of a day.
        let published = [20, 180, 40, 200, 240, 300, 310, 360, 410, 400];
        for ((row, visits), expected) in ROWS.into_iter().zip(published) {
            let benefit = split(visits).benefit * 720.0;
            assert!(
                (benefit - f64::from(expected)).abs() < 720.0 * ROUNDING,
                "row {row}: {benefit}"
            );
        }
    }

    #[test]
    fn best_splits_are_the_published_ones_and_beat_every_other() {
        for (total, visits) in [(1, [0, 1]), (2, [0, 2]), (5, [2, 3]), (10, [7, 3])] {
            assert_eq!(best(total).unwrap().visits, visits);
        }
        for total in 0..60 {
            let best = best(total).unwrap();
            let most = (0..=total).map(|fast| split([fast, total - fast]).benefit);
            assert!(
                (best.benefit - most.fold(0.0, f64::max)).abs() < ROUNDING,
                "{total}: {best:?}"
            );
        }
    }

    #[test]
    fn gains_are_differences_of_benefits() {
        for (page, &changes) in CHANGES_PER_DAY.iter().enumerate() {
            for k in 0..40 {
                let by_table = page_benefit(changes, k + 1) - page_benefit(changes, k);
                assert!((Benefit.gain(page, k) - by_table).abs() < ROUNDING);
            }
        }
    }
}
