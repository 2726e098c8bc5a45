//! How often is each page fetched, when the budget is smaller than the wish?
//!
//! Two forms of the question. [`allocate`] hands out fetch *rates* under a budget per unit time:
//! maximise Σ wᵢ·v(λᵢ, fᵢ) with Σ fᵢ = B, bounds per page and caps per host. [`crawls`] hands out
//! whole *numbers* of fetches within a window, for any law of change.
//!
//! The life of an allocation: the columns are checked and their bounds summed (one pass); capped
//! hosts are solved by themselves; the price ω at which the pages ask for exactly the budget is
//! searched, from a start that a sample of the pages gives (about five passes); the rates at that
//! price are written (one pass). At the end each page satisfies the Lagrange conditions: marginal
//! value = ω strictly inside its bounds, ≤ ω at the minimum, ≥ ω at the maximum, with a saturated
//! host's own price in place of ω.
//!
//! What is defined where the textbook is silent:
//! - a page of weight zero, or one that never changes, gets its minimum;
//! - if the pages that fetches can help are all at their maxima, the rest of the budget stays
//!   unspent and [`Allocation::unspent`] says so (all weights zero is a case of it);
//! - equal pages get equal rates: there are no ties to break;
//! - same columns, same result to the last bit, on any number of threads.

#![allow(clippy::float_cmp, reason = "exact zeros and infinities are cases of their own")]

pub mod crawls;
mod error;
mod hosts;
mod informed;
mod kernel;
mod market;
mod mirror;
mod objective;
mod pages;
mod search;
#[cfg(test)]
mod tests;
pub mod two_pages;

pub use error::AllocateError;
pub use informed::{Informed, by_weight, informed};
pub use mirror::mirror_step;
pub use objective::Objective;
pub use pages::{MAGNITUDES, Pages};

use market::{Market, Price};
use pages::Bounds;

/// Fetch rates and what they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Fetch rate of each page, in the order of the columns.
    pub rates: Vec<f64>,
    /// The price ω: marginal value of a fetch, in weight × time. Zero when the budget exceeds
    /// every use for it, infinite when it is all taken by the minima.
    pub price: f64,
    /// The price in force at each host, above `price` where its cap binds; empty without caps.
    pub host_prices: Vec<f64>,
    /// Σ of the rates.
    pub spent: f64,
    /// Budget that no page has a use for, because all are at their maxima or worth nothing.
    pub unspent: f64,
    /// spent + unspent − budget: what rounding left over.
    pub residual: f64,
    /// Passes over the columns made by the search for the price.
    pub passes: u32,
    /// Pages with weight that change, but too fast to be worth a single fetch at the price.
    pub given_up: usize,
}

impl Allocation {
    /// Σ weight × score of an objective under these rates, and the sum of weights to divide by.
    pub fn score(&self, pages: &Pages<'_>, objective: Objective) -> (f64, f64) {
        let rows = pages.weight.iter().zip(pages.change_rate).zip(&self.rates);
        // A page without weight must not turn an infinite age into NaN.
        let scored = rows.filter(|((weight, _), _)| **weight > 0.0);
        let score = scored.map(|((w, change), rate)| w * objective.score(*change, *rate));
        (tidewatch_math::sum::sum(score), tidewatch_math::sum::sum(pages.weight.iter().copied()))
    }
}

/// The best fetch rates for `budget` fetches per unit time. `host_caps` gives the greatest total
/// rate of each host (infinite for none), indexed by [`Pages::host`].
///
/// ```
/// use tidewatch_science::allocate::{Objective, Pages, allocate};
/// // Two pages of a host that allows one fetch a day, and one page elsewhere.
/// let pages = Pages { host: Some(&[0, 0, 1]), ..Pages::new(&[1.0; 3], &[1.0; 3]) };
/// let plan = allocate(&pages, 5.0, Objective::Freshness, Some(&[1.0, f64::INFINITY]))?;
/// assert!((plan.rates[0] - 0.5).abs() < 1e-9 && (plan.rates[2] - 4.0).abs() < 1e-9);
/// assert!(plan.host_prices[0] > plan.price); // there the cap is the limit, not the budget
/// # Ok::<(), tidewatch_science::allocate::AllocateError>(())
/// ```
pub fn allocate(
    pages: &Pages<'_>,
    budget: f64,
    objective: Objective,
    host_caps: Option<&[f64]>,
) -> Result<Allocation, AllocateError> {
    if !pages::is_magnitude(budget) {
        return Err(AllocateError::Budget { budget });
    }
    let bounds = pages.check(objective)?;
    let (saturation, bounds) = match host_caps {
        None => (Vec::new(), bounds),
        Some(caps) => {
            let hosts = hosts::solve(pages, caps, objective)?;
            (hosts.saturation, hosts.bounds)
        }
    };
    let market = Market::new(objective, *pages, &saturation);
    let (price, passes) = clear(&market, bounds, budget)?;
    let mut rates = vec![0.0; pages.len()];
    let (spent, given_up) = market.fill(price, &mut rates);
    let unspent = (budget - bounds.most).max(0.0);
    Ok(Allocation {
        rates,
        price: price.value(),
        host_prices: saturation.iter().map(|(own, _)| own.value().max(price.value())).collect(),
        spent,
        unspent,
        residual: spent + unspent - budget,
        passes,
        given_up,
    })
}

/// The price to charge and the passes it took to find.
fn clear(market: &Market<'_>, bounds: Bounds, budget: f64) -> Result<(Price, u32), AllocateError> {
    if bounds.least > budget {
        Err(AllocateError::BelowMinimum { minimum: bounds.least, budget })
    } else if bounds.most <= budget {
        Ok((Price::exactly(0.0), 0))
    } else if bounds.least == budget {
        Ok((Price::exactly(f64::INFINITY), 0))
    } else {
        let clearing = market.clear(budget);
        Ok((clearing.price, clearing.passes))
    }
}
