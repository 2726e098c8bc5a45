//! How many times is each page crawled in a window? \[WSY02\]
//!
//! min Σ wᵢAᵢ(xᵢ) with Σ xᵢ = R and mᵢ ≤ xᵢ ≤ Mᵢ, xᵢ whole. Each Aᵢ is convex, so what one more
//! crawl saves, gain(i, x) = wᵢ(Aᵢ(x) − Aᵢ(x+1)), never rises with x, and the optimum is simply the
//! R − Σm largest gains of all pages: a selection in N sorted columns. Call a crawl number of a page
//! a *unit*. Units are ordered by gain, largest first, then by page, lowest first; in that order
//! the optimum is unique, and every solver returns the same numbers. (The dynamic program compares
//! sums instead of gains, so with gains that are not exact it may differ where sums round alike.)
//!
//! | solver | cost in gains looked at | for |
//! |---|---|---|
//! | [`Solver::Dp`] | O(N R²) | oracle |
//! | [`Solver::Fox`] | O(N + R log N) | small R |
//! | [`Solver::GalilMegiddo`] | O(N (log R)²) | check |
//! | [`Solver::FredericksonJohnson`] | O(max{N, N log(R/N)}) | one thread |
//! | [`Solver::Relax`] | O(N · passes), parallel | everything large |
//!
//! ```
//! use tidewatch_science::allocate::crawls::{Crawls, PageLaws, Solver, solve};
//! use tidewatch_science::law::Poisson;
//! // Seven fetches in a week for three pages.
//! let law = [Poisson::new(1.0)?, Poisson::new(1.0)?, Poisson::new(0.01)?];
//! let gain = PageLaws { weight: &[3.0, 1.0, 1.0], law: &law, window: 7.0 };
//! let problem = Crawls { gain: &gain, min: &[0; 3], max: &[7; 3], total: 7 };
//! assert_eq!(solve(&problem, Solver::Relax)?, [6, 1, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dp;
mod fox;
mod frederickson_johnson;
mod galil_megiddo;
mod laws;
mod relax;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use laws::PageLaws;

use super::AllocateError;

/// What one more crawl of a page saves.
pub trait Gain: Sync {
    /// wᵢ(Aᵢ(x) − Aᵢ(x+1)) for page i already crawled `crawls` = x times: finite, not negative,
    /// and never rising with `crawls`. If it rises (by a rounding, say) the answer is feasible and
    /// optimal up to that rise.
    fn gain(&self, page: usize, crawls: u32) -> f64;

    /// About how many crawls of the page have a gain of at least `price` > 0. Only speed depends
    /// on it; without it the number is found by bisection.
    fn crawls_at(&self, page: usize, price: f64) -> Option<u32> {
        let _ = (page, price);
        None
    }
}

/// A problem: pages are numbered by the columns `min` and `max`.
#[derive(Debug)]
pub struct Crawls<'a, G: ?Sized> {
    /// What crawls save.
    pub gain: &'a G,
    /// mᵢ: least crawls of each page.
    pub min: &'a [u32],
    /// Mᵢ: greatest number of crawls of each page.
    pub max: &'a [u32],
    /// R: crawls to hand out in all.
    pub total: u64,
}

impl<G: ?Sized> Clone for Crawls<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: ?Sized> Copy for Crawls<'_, G> {}

/// A method of solution; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Solver {
    /// Dynamic program over pages and crawls.
    Dp,
    /// Fox's greedy method with a heap.
    Fox,
    /// Weighted medians of the columns' medians.
    GalilMegiddo,
    /// Selection at halving resolution.
    FredericksonJohnson,
    /// Search for the price of a crawl, then exact rounding.
    Relax,
}

impl Solver {
    /// All solvers.
    pub const ALL: [Self; 5] =
        [Self::Relax, Self::Fox, Self::GalilMegiddo, Self::FredericksonJohnson, Self::Dp];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dp => "dp",
            Self::Fox => "fox",
            Self::GalilMegiddo => "galil-megiddo",
            Self::FredericksonJohnson => "frederickson-johnson",
            Self::Relax => "relax",
        }
    }
}

/// The optimal number of crawls of each page.
pub fn solve<G: Gain + ?Sized>(
    problem: &Crawls<'_, G>,
    solver: Solver,
) -> Result<Vec<u32>, AllocateError> {
    let free = problem.check()?;
    match solver {
        Solver::Dp => dp::solve(problem, free),
        Solver::Fox => fox::solve(problem, free),
        Solver::GalilMegiddo => galil_megiddo::solve(problem, free),
        Solver::FredericksonJohnson => frederickson_johnson::solve(problem, free),
        Solver::Relax => relax::solve(problem, free),
    }
}

impl<G: Gain + ?Sized> Crawls<'_, G> {
    /// Checks the bounds; gives the crawls left to hand out above the minima.
    fn check(&self) -> Result<u64, AllocateError> {
        let pages = self.min.len();
        if self.max.len() != pages {
            let found = self.max.len();
            return Err(AllocateError::Length { column: "max", found, expected: pages });
        }
        let bounds = self.min.iter().zip(self.max);
        if let Some((page, (&min, &max))) = bounds.enumerate().find(|(_, (min, max))| min > max) {
            return Err(AllocateError::Bounds { page, min: min.into(), max: max.into() });
        }
        let minimum: u64 = self.min.iter().map(|&min| u64::from(min)).sum();
        let maximum: u64 = self.max.iter().map(|&max| u64::from(max)).sum();
        if minimum > self.total {
            let (minimum, budget) = (minimum as f64, self.total as f64);
            return Err(AllocateError::BelowMinimum { minimum, budget });
        }
        if maximum < self.total {
            return Err(AllocateError::AboveMaximum { total: self.total, maximum });
        }
        Ok(self.total - minimum)
    }

    /// The most crawls that a page can end with when `free` are handed out.
    fn reach(&self, page: usize, free: u64) -> u32 {
        let most = u64::from(self.min[page]).saturating_add(free);
        self.max[page].min(u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// The gain of a unit, if it is a number that a gain can be.
    fn value(&self, page: usize, crawl: u32) -> Result<f64, AllocateError> {
        let gain = self.gain.gain(page, crawl);
        if (0.0..f64::INFINITY).contains(&gain) {
            Ok(gain)
        } else {
            Err(AllocateError::Gain { page, crawl, gain })
        }
    }

    fn unit(&self, page: usize, crawl: u32) -> Result<Unit, AllocateError> {
        Ok(Unit { gain: self.value(page, crawl)?, page, crawl })
    }
}

/// One crawl of one page. Units compare by urgency: the greatest is crawled first.
#[derive(Clone, Copy, Debug)]
struct Unit {
    gain: f64,
    page: usize,
    /// Crawls of the page before this one.
    crawl: u32,
}

impl Ord for Unit {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gain = self.gain.total_cmp(&other.gain);
        by_gain.then(other.page.cmp(&self.page)).then(other.crawl.cmp(&self.crawl))
    }
}

impl PartialOrd for Unit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Unit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Unit {}

/// Moves the `count` most urgent units to the front, in no order; linear.
fn front(units: &mut [Unit], count: usize) -> &mut [Unit] {
    if count > 0 && count < units.len() {
        units.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
    }
    let count = count.min(units.len());
    &mut units[..count]
}
