//! Weights of pages.

use rayon::prelude::*;
use tidewatch_math::rng::{Draws, purpose};

/// Distribution of weights, scaled to mean 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights {
    /// Equal weights.
    Equal,
    /// Weight of rank r is r^(−exponent).
    Zipf {
        /// 0 = equal.
        exponent: f64,
        /// Assignment of ranks.
        order: RankOrder,
    },
    /// The embarrassment of showing a stale copy, `wᵢ = dᵢ·Σ_j Σ_k c_jk·b_ijk` `[WSY02]`: dᵢ, the
    /// chance that a stale copy answers wrongly, is uniform; the page is shown as often as its Zipf
    /// rank says; its position is geometric around its own mean (so b falls by a constant factor
    /// with position); and the click probability c falls as 1/position and by half with each further
    /// result page.
    Embarrassment {
        /// Exponent of the frequency at which pages are shown.
        exponent: f64,
    },
}

/// Assignment of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankOrder {
    /// Weight and change rate are independent.
    Random,
    /// Higher change rates have more weight.
    WithRate,
    /// Higher change rates have less weight.
    AgainstRate,
}

const RESULTS_PER_PAGE: u32 = 10;
const RESULT_PAGES: u32 = 3;
const CLICK_DECAY_PER_PAGE: f64 = 0.5;

impl Weights {
    /// One weight per page, with mean 1.
    pub(super) fn draw(self, rates: &[f64], seed: u64) -> Vec<f64> {
        let mut weights = match self {
            Weights::Equal => return vec![1.0; rates.len()],
            Weights::Zipf { exponent, order } => zipf(exponent, order, rates, seed),
            Weights::Embarrassment { exponent } => {
                let shown = zipf(exponent, RankOrder::Random, rates, seed);
                let label = purpose("renewal.embarrassment");
                let one = |(page, shown): (usize, &f64)| {
                    shown * embarrassment(&mut Draws::keyed(seed, label, page as u64))
                };
                shown.par_iter().enumerate().map(one).collect()
            }
        };
        let total: f64 = weights.iter().sum();
        let factor = weights.len() as f64 / total;
        for weight in &mut weights {
            *weight *= factor;
        }
        weights
    }

    /// The exponent, where there is one.
    pub(super) const fn exponent(self) -> f64 {
        match self {
            Weights::Equal => 0.0,
            Weights::Zipf { exponent, .. } | Weights::Embarrassment { exponent } => exponent,
        }
    }
}

fn zipf(exponent: f64, order: RankOrder, rates: &[f64], seed: u64) -> Vec<f64> {
    let label = purpose("renewal.rank");
    let key = |page: usize| match order {
        RankOrder::Random => Draws::keyed(seed, label, page as u64).uniform(),
        RankOrder::WithRate => -rates[page],
        RankOrder::AgainstRate => rates[page],
    };
    let mut ranked: Vec<(f64, u32)> =
        (0..rates.len()).into_par_iter().map(|page| (key(page), page as u32)).collect();
    ranked.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut weights = vec![0.0; rates.len()];
    for (rank, (_, page)) in ranked.into_iter().enumerate() {
        weights[page as usize] = ((rank + 1) as f64).powf(-exponent);
    }
    weights
}

/// `dᵢ·Σ_j Σ_k c_jk·b_ijk` for a page shown once.
fn embarrassment(draws: &mut Draws) -> f64 {
    let wrong = draws.uniform_open();
    // Mean position from the top of the first result page to the end of the last.
    let deepest = f64::from(RESULTS_PER_PAGE * RESULT_PAGES);
    let leave = 1.0 / (1.0 + (deepest - 1.0) * draws.uniform());
    let mut there = leave;
    let mut clicked = 0.0;
    for place in 0..RESULTS_PER_PAGE * RESULT_PAGES {
        let (page, position) = (place / RESULTS_PER_PAGE, place % RESULTS_PER_PAGE + 1);
        let click = CLICK_DECAY_PER_PAGE.powf(f64::from(page)) / f64::from(position);
        clicked += click * there;
        there *= 1.0 - leave;
    }
    wrong * clicked
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "ranks are exact")]
mod tests {
    use super::*;

    const RATES: [f64; 4] = [3.0, 1.0, 4.0, 2.0];

    #[test]
    fn order_follows_the_rates() {
        let h = 1.0 + 0.5 + 1.0 / 3.0 + 0.25;
        let with = Weights::Zipf { exponent: 1.0, order: RankOrder::WithRate }.draw(&RATES, 1);
        let against =
            Weights::Zipf { exponent: 1.0, order: RankOrder::AgainstRate }.draw(&RATES, 1);
        for (page, (rank_with, rank_against)) in
            [(2.0, 3.0), (4.0, 1.0), (1.0, 4.0), (3.0, 2.0)].iter().enumerate()
        {
            assert!((with[page] - 4.0 / h / rank_with).abs() < 1e-12);
            assert!((against[page] - 4.0 / h / rank_against).abs() < 1e-12);
        }
        assert_eq!(Weights::Equal.draw(&RATES, 1), [1.0; 4]);
    }

    #[test]
    fn embarrassment_is_positive_with_mean_one() {
        let weights = Weights::Embarrassment { exponent: 0.8 }.draw(&[1.0; 1000], 5);
        assert!(weights.iter().all(|&w| w > 0.0));
        assert!((weights.iter().sum::<f64>() / 1000.0 - 1.0).abs() < 1e-12);
    }
}
