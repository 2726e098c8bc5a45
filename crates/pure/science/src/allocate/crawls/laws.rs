//! Gains from laws of change: any mixture of pages in one problem.

use super::Gain;
use crate::law::Staleness;

/// Pages with a weight and a law each, over one window.
#[derive(Debug)]
pub struct PageLaws<'a, L> {
    /// Embarrassment weight of each page, ≥ 0.
    pub weight: &'a [f64],
    /// How each page goes stale.
    pub law: &'a [L],
    /// T, in the laws' unit of time.
    pub window: f64,
}

impl<L: Staleness> PageLaws<'_, L> {
    /// A(x): average staleness of a page crawled so many times.
    pub fn staleness(&self, page: usize, crawls: u32) -> f64 {
        self.law[page].average(self.window, f64::from(crawls))
    }

    /// Σ wᵢAᵢ(xᵢ), the objective.
    pub fn total(&self, crawls: &[u32]) -> f64 {
        let pages = crawls.iter().enumerate();
        tidewatch_math::sum::sum(
            pages.map(|(page, &x)| self.weight[page] * self.staleness(page, x)),
        )
    }
}

impl<L: Staleness + Sync> Gain for PageLaws<'_, L> {
    fn gain(&self, page: usize, crawls: u32) -> f64 {
        self.weight[page] * self.law[page].gain(self.window, crawls.into())
    }

    /// The relaxation −w·A′(x) = price. The step A(x) − A(x+1) lies between the slopes at its
    /// ends, so the whole number is within one of it.
    fn crawls_at(&self, page: usize, price: f64) -> Option<u32> {
        let weight = self.weight[page];
        // A cast of a number beyond the range saturates, which serves.
        (weight > 0.0).then(|| self.law[page].fetches_at(self.window, price / weight) as u32)
    }
}
