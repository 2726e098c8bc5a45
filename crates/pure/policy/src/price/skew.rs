//! Overdispersion of clicks among pages with equal expected clicks.
//!
//! Clicks with expectation m are negative binomial with shape a: Poisson about a mean that is gamma
//! distributed about m, of variance m(1 + m/a). If few pages have all the clicks, a is small, and a hundred
//! pages without a click say little about the mean. The shape is learnt: each of a few has its posterior
//! probability.

use serde::{Deserialize, Serialize};
use tidewatch_math::special::ln_gamma;

/// The possible shapes a. Of the collections of `[TTKN15]` the most unequal has four fifths of the clicks on 0.7%
/// of the pages, as gamma distributed means of shape 0.006 have; an encyclopedia half of them on a tenth,
/// as of shape 0.26.
const SHAPES: [f64; 3] = [0.5, 0.05, 0.005];

/// Lowest ln probability of a shape, so that one page with very many clicks can be unlearnt.
const LEAST_LN: f64 = -10.0;

/// Probabilities of shapes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Skew {
    /// Logarithms, the highest zero.
    ln: [f64; SHAPES.len()],
}

impl Default for Skew {
    fn default() -> Self {
        Skew { ln: [0.0; SHAPES.len()] }
    }
}

impl Skew {
    /// The shape with the variance of the posterior mixture, m(1 + m·E\[1/a\]).
    pub(super) fn shape(&self) -> f64 {
        let (mut all, mut inverse) = (0.0, 0.0);
        for (ln, shape) in self.ln.iter().zip(SHAPES) {
            all += ln.exp();
            inverse += ln.exp() / shape;
        }
        all / inverse
    }

    /// Learns from a page that had `clicks` ≥ 0 where `expected` > 0 were expected.
    pub(super) fn learn(&mut self, expected: f64, clicks: f64) {
        for (ln, shape) in self.ln.iter_mut().zip(SHAPES) {
            *ln += ln_mass(expected, shape, clicks);
        }
        let highest = self.ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.ln.iter_mut().for_each(|ln| *ln = (*ln - highest).max(LEAST_LN));
    }
}

/// ln of the probability of `clicks`, up to a term that is the same for every shape.
fn ln_mass(expected: f64, shape: f64, clicks: f64) -> f64 {
    let many = if clicks > 0.0 { ln_gamma(clicks + shape) - ln_gamma(shape) } else { 0.0 };
    many - shape * (expected / shape).ln_1p() - clicks * (shape + expected).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;

    /// The literal form: the product of (a+j)/(j+1) over j < clicks.
    #[test]
    fn masses_are_those_of_the_negative_binomial() {
        for (expected, shape) in [(0.3, 0.005), (2.0, 0.5), (40.0, 0.05)] {
            let literal = |clicks: i32| {
                let ways: f64 =
                    (0..clicks).map(|j| (shape + f64::from(j)) / (f64::from(j) + 1.0)).product();
                let of_all = expected / (shape + expected);
                ways * (shape / (shape + expected)).powf(shape) * of_all.powi(clicks)
            };
            let factorial = |clicks: i32| (1..=clicks).map(f64::from).product::<f64>();
            for clicks in [0, 1, 2, 7, 30] {
                let common = expected.powi(clicks) / factorial(clicks);
                let ours = ln_mass(expected, shape, f64::from(clicks)).exp() * common;
                assert!((ours / literal(clicks) - 1.0).abs() < 1e-9, "{shape} {clicks}");
            }
        }
    }

    /// Pages of which one in a hundred is clicked are told from pages that are all clicked alike.
    #[test]
    fn unequal_pages_are_distinguished_from_equal_ones() {
        let mut draws = Draws::of(1, "price.skew", 0);
        let [mut equal, mut unequal] = [Skew::default(), Skew::default()];
        let before = equal.shape();
        for _ in 0..300 {
            let is_clicked = draws.uniform() < 0.01;
            unequal.learn(0.2, if is_clicked { 20.0 } else { 0.0 });
            equal.learn(2.0, (4.0 * draws.uniform()).round());
        }
        assert!(equal.shape() > 0.4 && unequal.shape() < before, "{equal:?} {unequal:?}");
    }

    /// One page of very many clicks among equal ones: a few dozen of them, each half a point of ln
    /// likelihood, outweigh it.
    #[test]
    fn one_page_does_not_decide_for_good() {
        let mut skew = Skew::default();
        skew.learn(0.1, 1000.0);
        assert!(skew.shape() < 0.01);
        (0..100).for_each(|_| skew.learn(2.0, 2.0));
        assert!(skew.shape() > 0.4, "{skew:?}");
    }

    /// Whatever comes, there is a shape.
    #[test]
    fn extremes_leave_a_shape() {
        let mut skew = Skew::default();
        for clicks in [0.0, 1e12, 0.0, 1e-9] {
            for expected in [1e-300, 1e300, 1.0] {
                skew.learn(expected, clicks);
                assert!((0.005..=0.5).contains(&skew.shape()), "{skew:?}");
            }
        }
    }
}
