//! Heavy tails and mixed rates: Zipf ranks, gamma by mean and variation.

use rand_distr::{Distribution, Gamma, Zipf};

use crate::special::{gamma_p, harmonic};
use crate::{Draws, MathError};

/// Ranks 1…n with probability proportional to rank^(−exponent).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZipfRanks {
    ranks: u64,
    exponent: f64,
    /// Σ rank^(−exponent).
    total: f64,
    law: Zipf<f64>,
}

impl ZipfRanks {
    /// The law on 1…`ranks` (at least one) with a finite exponent ≥ 0.
    pub fn new(ranks: u64, exponent: f64) -> Result<Self, MathError> {
        let n = ranks as f64;
        MathError::check(ranks > 0, "the number of ranks", n, "at least one")?;
        let refused = MathError::Domain {
            what: "the Zipf exponent",
            value: exponent,
            expected: "finite and not negative",
        };
        let law = Zipf::new(n, exponent).map_err(|_| refused)?;
        if exponent.is_infinite() {
            return Err(refused);
        }
        Ok(Self { ranks, exponent, total: harmonic(ranks, exponent), law })
    }

    /// P(rank); 0 outside 1…n.
    pub fn probability(&self, rank: u64) -> f64 {
        let inside = (1..=self.ranks).contains(&rank);
        if inside { (rank as f64).powf(-self.exponent) / self.total } else { 0.0 }
    }

    /// The share of the first `count` ranks together.
    pub fn top_share(&self, count: u64) -> f64 {
        harmonic(count.min(self.ranks), self.exponent) / self.total
    }

    /// One rank in 1…n. Takes two draws a trial, 1.3 trials or so on average.
    pub fn sample(&self, draws: &mut Draws) -> u64 {
        (self.law.sample(draws) as u64).clamp(1, self.ranks)
    }
}

/// Rates from a gamma law given by its mean and squared coefficient of variation δ², the mixed
/// population of \[CGM03\]. δ² = 0 is the constant, 1 the exponential law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GammaRates {
    mean: f64,
    scv: f64,
    /// Absent for the constant.
    law: Option<Gamma<f64>>,
}

impl GammaRates {
    /// The law with the given mean > 0 and squared coefficient of variation ≥ 0, both finite.
    pub fn new(mean: f64, scv: f64) -> Result<Self, MathError> {
        MathError::check(mean > 0.0 && mean.is_finite(), "mean", mean, "positive and finite")?;
        let what = "the squared coefficient of variation";
        let expected = "finite and not negative";
        MathError::check(scv >= 0.0 && scv.is_finite(), what, scv, expected)?;
        let law = if scv == 0.0 {
            None
        } else {
            let refused = MathError::Domain { what, value: scv, expected };
            Some(Gamma::new(1.0 / scv, mean * scv).map_err(|_| refused)?)
        };
        Ok(Self { mean, scv, law })
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// P(rate ≤ x).
    pub fn cdf(&self, x: f64) -> f64 {
        if self.law.is_none() {
            return if x < self.mean { 0.0 } else { 1.0 };
        }
        gamma_p(1.0 / self.scv, x.max(0.0) / (self.mean * self.scv))
    }

    /// One rate. Takes a few draws, none for the constant.
    pub fn sample(&self, draws: &mut Draws) -> f64 {
        self.law.map_or(self.mean, |law| law.sample(draws))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moments;
    use crate::stats::{ks_distance, ks_limit, sorted};

    const N: usize = 20_000;
    /// A thousand probabilities, each rounded.
    const SUM: f64 = 1e-12;
    /// A sound sampler fails one fixed seed in a million.
    const ALPHA: f64 = 1e-6;

    fn draw(label: &str, mut sample: impl FnMut(&mut Draws) -> f64) -> Vec<f64> {
        let mut draws = Draws::of(1, label, 0);
        (0..N).map(|_| sample(&mut draws)).collect()
    }

    #[track_caller]
    fn assert_law(values: &[f64], cdf: impl FnMut(f64) -> f64, mean: f64) {
        let distance = ks_distance(&sorted(values), cdf);
        assert!(distance < ks_limit(values.len(), ALPHA), "distance {distance}");
        let estimate = values.iter().copied().collect::<Moments>().estimate_at(1.0 - ALPHA);
        assert!(estimate.covers(mean), "{estimate} against {mean}");
    }

    #[test]
    fn gamma_rates_have_their_law_and_mean() {
        for scv in [0.1, 1.0, 4.0] {
            let law = GammaRates::new(3.0, scv).unwrap();
            let values = draw("gamma", |d| law.sample(d));
            assert_law(&values, |x| law.cdf(x), law.mean());
            let moments: Moments = values.iter().copied().collect();
            let found = moments.variance() / 9.0;
            // Var(s²) ≈ (κ − 1)σ⁴/n with kurtosis κ = 3 + 6δ².
            let limit = 5.0 * scv * ((2.0 + 6.0 * scv) / N as f64).sqrt();
            assert!((found - scv).abs() < limit, "δ² {found} against {scv}");
        }
        let constant = GammaRates::new(3.0, 0.0).unwrap();
        assert_eq!(constant.sample(&mut Draws::new(1, 1)), 3.0);
        assert_eq!((constant.cdf(2.9), constant.cdf(3.0)), (0.0, 1.0));
    }

    #[test]
    fn zipf_ranks_have_their_probabilities() {
        for exponent in [0.0, 0.8, 1.0, 1.7] {
            let law = ZipfRanks::new(1000, exponent).unwrap();
            let values = draw("zipf", |d| law.sample(d) as f64);
            for rank in [1, 2, 10] {
                let p = law.top_share(rank);
                let count = values.iter().filter(|&&v| v <= rank as f64).count() as f64;
                let limit = 5.0 * (N as f64 * p * (1.0 - p)).sqrt();
                assert!((count - N as f64 * p).abs() < limit, "{exponent}, {rank}: {count}");
            }
            let total: f64 = (0..=1001).map(|rank| law.probability(rank)).sum();
            assert!((total - 1.0).abs() < SUM, "{total}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(ZipfRanks::new(0, 1.0).is_err() && ZipfRanks::new(9, -1.0).is_err());
        assert!(ZipfRanks::new(9, f64::INFINITY).is_err());
        assert!(GammaRates::new(0.0, 1.0).is_err() && GammaRates::new(1.0, -1.0).is_err());
    }
}
