//! The columns of an allocation and what makes them one.

use rayon::prelude::*;
use tidewatch_math::Sum;

use super::kernel::{self, TILE};
use super::market::BLOCK;
use super::{AllocateError, Objective};

/// Smallest and largest magnitude of a weight, rate, bound or budget that is not zero or
/// infinite. Within them no product that the formulas take can overflow or vanish; outside of
/// them the unit is wrong.
pub const MAGNITUDES: std::ops::RangeInclusive<f64> = 1e-50..=1e50;
const EXPECTED: &str = "zero or between 1e-50 and 1e50";
const EXPECTED_OR_INFINITE: &str = "zero, between 1e-50 and 1e50, or infinite";

/// Pages as columns of equal length; row i is page i.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages<'a> {
    /// What a fresh copy is worth, ≥ 0. A page of weight zero gets its minimum.
    pub weight: &'a [f64],
    /// Changes per unit time, ≥ 0. A page that never changes gets its minimum; an infinite rate
    /// is allowed and takes the objective's limit.
    pub change_rate: &'a [f64],
    /// Least fetch rate of each page; zero when absent.
    pub min: Option<&'a [f64]>,
    /// Greatest fetch rate of each page; infinite when absent.
    pub max: Option<&'a [f64]>,
    /// Row of each page's host among the host caps; needed only with caps.
    pub host: Option<&'a [u32]>,
}

/// What a set of pages can take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    /// Σ of the minima.
    pub(super) least: f64,
    /// Σ of the maxima of pages that a fetch can help, and of the minima of the others.
    pub(super) most: f64,
}

impl<'a> Pages<'a> {
    /// Pages without bounds or hosts.
    pub const fn new(weight: &'a [f64], change_rate: &'a [f64]) -> Self {
        Self { weight, change_rate, min: None, max: None, host: None }
    }

    /// The number of pages.
    pub const fn len(&self) -> usize {
        self.weight.len()
    }

    /// Whether there are no pages.
    pub const fn is_empty(&self) -> bool {
        self.weight.is_empty()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            weight: &self.weight[start..end],
            change_rate: &self.change_rate[start..end],
            min: self.min.map(|column| &column[start..end]),
            max: self.max.map(|column| &column[start..end]),
            host: self.host.map(|column| &column[start..end]),
        }
    }

    /// Moves rates into the pages' bounds.
    pub(super) fn clamp(&self, rates: &mut [f64]) {
        if let Some(max) = self.max {
            rates.iter_mut().zip(max).for_each(|(rate, max)| *rate = rate.min(*max));
        }
        if let Some(min) = self.min {
            rates.iter_mut().zip(min).for_each(|(rate, min)| *rate = rate.max(*min));
        }
    }

    /// Pages that have a use for fetches, yet are given none by these rates (not yet clamped).
    pub(super) fn given_up(&self, rates: &[f64]) -> usize {
        let pages = rates.iter().zip(self.weight).zip(self.change_rate);
        pages
            .filter(|((rate, weight), change)| **rate == 0.0 && **weight > 0.0 && **change > 0.0)
            .count()
    }

    pub(super) fn min_of(&self, page: usize) -> f64 {
        self.min.map_or(0.0, |min| min[page])
    }

    /// The most that a page has a use for.
    pub(super) fn most_of(&self, page: usize, objective: Objective) -> f64 {
        let change = self.change_rate[page];
        let hopeless = change.is_infinite() && objective.is_gain();
        if self.weight[page] == 0.0 || change == 0.0 || hopeless {
            self.min_of(page)
        } else {
            self.max.map_or(f64::INFINITY, |max| max[page])
        }
    }

    /// Checks every number and sums the bounds; one pass. Names the first offending page.
    pub(super) fn check(&self, objective: Objective) -> Result<Bounds, AllocateError> {
        self.check_lengths()?;
        let blocks = self.len().div_ceil(BLOCK);
        let parts: Vec<Result<(Sum, Sum), AllocateError>> =
            (0..blocks).into_par_iter().map(|block| self.check_block(block, objective)).collect();
        let (mut least, mut most) = (Sum::new(), Sum::new());
        for part in parts {
            let (min, max) = part?;
            least.merge(&min);
            most.merge(&max);
        }
        Ok(Bounds { least: least.value(), most: most.value() })
    }

    fn check_lengths(&self) -> Result<(), AllocateError> {
        let columns = [
            ("change_rate", Some(self.change_rate.len())),
            ("min", self.min.map(<[_]>::len)),
            ("max", self.max.map(<[_]>::len)),
            ("host", self.host.map(<[_]>::len)),
        ];
        for (column, length) in columns {
            if let Some(found) = length.filter(|&found| found != self.len()) {
                return Err(AllocateError::Length { column, found, expected: self.len() });
            }
        }
        Ok(())
    }

    fn check_block(&self, block: usize, objective: Objective) -> Result<(Sum, Sum), AllocateError> {
        let (mut least, mut most) = (Sum::new(), Sum::new());
        let end = self.len().min((block + 1) * BLOCK);
        for start in (block * BLOCK..end).step_by(TILE) {
            let tile = self.slice(start, end.min(start + TILE));
            if !tile.is_sound() {
                // Page by page, for the name of the first that is not.
                (start..start + tile.len()).try_for_each(|page| self.check_page(page))?;
            }
            least.add(tile.min.map_or(0.0, kernel::sum));
            let mut rates = [0.0; TILE];
            for (page, rate) in rates[..tile.len()].iter_mut().enumerate() {
                *rate = tile.most_of(page, objective);
            }
            most.add(kernel::sum(&rates[..tile.len()]));
        }
        Ok((least, most))
    }

    /// Whether every number is what its column says.
    #[allow(clippy::needless_bitwise_bool, reason = "a branch would prevent vectorisation")]
    fn is_sound(&self) -> bool {
        let bad = |column: &[f64], infinite: bool| {
            let sound = |v: f64| is_magnitude(v) | (infinite & (v == f64::INFINITY));
            column.iter().fold(false, |bad, &value| bad | !sound(value))
        };
        let crossed = match (self.min, self.max) {
            (Some(min), Some(max)) => min.iter().zip(max).fold(false, |bad, (a, b)| bad | (a > b)),
            _ => false,
        };
        !(crossed
            | bad(self.weight, false)
            | bad(self.change_rate, true)
            | self.min.is_some_and(|min| bad(min, false))
            | self.max.is_some_and(|max| bad(max, true)))
    }

    #[inline]
    fn check_page(&self, page: usize) -> Result<(), AllocateError> {
        let numbers = [
            ("weight", Some(self.weight[page]), false),
            ("change_rate", Some(self.change_rate[page]), true),
            ("min", self.min.map(|min| min[page]), false),
            ("max", self.max.map(|max| max[page]), true),
        ];
        for (column, value, infinite) in numbers {
            if let Some(value) = value
                && !is_magnitude(value)
                && !(infinite && value == f64::INFINITY)
            {
                let expected = if infinite { EXPECTED_OR_INFINITE } else { EXPECTED };
                return Err(AllocateError::Value { page, column, value, expected });
            }
        }
        let (min, max) = (self.min_of(page), self.max.map_or(f64::INFINITY, |max| max[page]));
        if min <= max { Ok(()) } else { Err(AllocateError::Bounds { page, min, max }) }
    }
}

/// Whether a number is zero or of a magnitude that rates and weights have.
#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "a branch would prevent vectorisation")]
pub(super) fn is_magnitude(value: f64) -> bool {
    (value == 0.0) | ((value >= *MAGNITUDES.start()) & (value <= *MAGNITUDES.end()))
}
