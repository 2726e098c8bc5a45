//! Heavy tails and mixed rates: bounded Pareto, Zipf ranks, gamma by mean and variation.

use rand_distr::{Distribution, Gamma, Zipf};

use crate::special::{expm1_over, gamma_p, harmonic};
use crate::{Draws, MathError};

/// A Pareto law cut to \[low, high\]: density proportional to x^(−shape−1).
///
/// Any real shape is allowed: 0 is the law with uniform logarithm, −1 the uniform law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedPareto {
    low: f64,
    high: f64,
    shape: f64,
}

impl BoundedPareto {
    /// The law on 0 < low < high < ∞ with the given finite shape.
    pub fn new(low: f64, high: f64, shape: f64) -> Result<Self, MathError> {
        MathError::check(low > 0.0 && low.is_finite(), "low", low, "positive and finite")?;
        MathError::check(high > low && high.is_finite(), "high", high, "finite and above low")?;
        MathError::check(shape.is_finite(), "shape", shape, "finite")?;
        Ok(Self { low, high, shape })
    }

    /// ln(high/low), the length of the range in logarithms.
    fn range(&self) -> f64 {
        (self.high / self.low).ln()
    }

    /// P(X ≤ x).
    pub fn cdf(&self, x: f64) -> f64 {
        let part = (x.clamp(self.low, self.high) / self.low).ln();
        // (1 − e^(−αs))/α over the same at the full range: no singularity at α = 0.
        let mass = |s: f64| s * expm1_over(self.shape * s);
        mass(part) / mass(self.range())
    }

    /// The x with P(X ≤ x) = p, for p in \[0, 1\].
    pub fn quantile(&self, p: f64) -> f64 {
        let full = self.range();
        let mass = p * full * expm1_over(self.shape * full);
        // s = −ln(1 − α·mass)/α; at α·mass → 0 it is the mass itself.
        let bent = self.shape * mass;
        let s = if bent == 0.0 { mass } else { mass * (-(-bent).ln_1p() / bent) };
        (self.low * s.exp()).clamp(self.low, self.high)
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        let full = self.range();
        self.low * expm1_over((self.shape - 1.0) * full) / expm1_over(self.shape * full)
    }

    /// One value. Takes one draw.
    pub fn sample(&self, draws: &mut Draws) -> f64 {
        self.quantile(draws.uniform_open())
    }
}

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
    use proptest::prelude::*;

    const N: usize = 20_000;
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
    fn bounded_pareto_has_its_law_and_mean() {
        for shape in [-1.0, 0.0, 1e-12, 0.8, 1.0, 2.5] {
            let law = BoundedPareto::new(0.1, 50.0, shape).unwrap();
            assert_law(&draw("pareto", |d| law.sample(d)), |x| law.cdf(x), law.mean());
        }
        let uniform = BoundedPareto::new(1.0, 3.0, -1.0).unwrap();
        assert!((uniform.mean() - 2.0).abs() < 1e-15 && (uniform.cdf(1.5) - 0.25).abs() < 1e-15);
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
            assert!((total - 1.0).abs() < 1e-12, "{total}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(BoundedPareto::new(0.0, 1.0, 1.0).is_err());
        assert!(BoundedPareto::new(2.0, 1.0, 1.0).is_err());
        assert!(BoundedPareto::new(1.0, 2.0, f64::NAN).is_err());
        assert!(ZipfRanks::new(0, 1.0).is_err() && ZipfRanks::new(9, -1.0).is_err());
        assert!(ZipfRanks::new(9, f64::INFINITY).is_err());
        assert!(GammaRates::new(0.0, 1.0).is_err() && GammaRates::new(1.0, -1.0).is_err());
    }

    proptest! {
        #[test]
        fn bounded_pareto_quantile_inverts(shape in -3.0..3.0_f64, p in 0.0..=1.0_f64, high in 1.1..1e6_f64) {
            let law = BoundedPareto::new(1.0, high, shape).unwrap();
            let x = law.quantile(p);
            prop_assert!((1.0..=high).contains(&x));
            prop_assert!((law.cdf(x) - p).abs() < 1e-9);
        }
    }
}
