//! Gaps between the changes of a page that is not Poisson.
//!
//! A renewal process seen from an arbitrary moment does not start with an ordinary gap: long gaps
//! are likelier to be hit. The time to the first change then has the distribution function
//! (1/mean)·∫₀ᵗ Ḡ, Ḡ being the chance that a gap exceeds t; starting with an ordinary gap instead
//! would bias every freshness figure of a short run. [`RenewalGap::first`] draws it.

use crate::special::{gamma_p, gamma_p_inv, ln_gamma};
use crate::{Draws, MathError};

/// The law of gaps between changes, parametrised by its mean (in the caller's unit of time).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RenewalGap {
    /// Ḡ(t) = e^(−t/mean): the Poisson process.
    Exponential {
        /// Mean gap.
        mean: f64,
    },
    /// Ḡ(t) = e^(−(t/scale)^shape): bursts for shape < 1, regular for shape > 1.
    Weibull {
        /// Scale of time.
        scale: f64,
        /// Shape.
        shape: f64,
    },
    /// Ḡ(t) = (scale/t)^shape for t ≥ scale, 1 before: no gap is shorter than the scale.
    Pareto {
        /// Shortest gap.
        scale: f64,
        /// Shape, above one.
        shape: f64,
    },
}

fn positive(what: &'static str, value: f64) -> Result<f64, MathError> {
    MathError::check(value > 0.0 && value.is_finite(), what, value, "positive and finite")
}

impl RenewalGap {
    /// Exponential gaps with the given mean.
    pub fn exponential(mean: f64) -> Result<Self, MathError> {
        Ok(Self::Exponential { mean: positive("mean", mean)? })
    }

    /// Weibull gaps with the given mean and shape (at least 0.05, below which the mean of any
    /// sample is meaningless).
    pub fn weibull(mean: f64, shape: f64) -> Result<Self, MathError> {
        positive("mean", mean)?;
        let sound = shape >= 0.05 && shape.is_finite();
        MathError::check(sound, "the Weibull shape", shape, "finite and at least 0.05")?;
        Ok(Self::Weibull { scale: mean / ln_gamma(1.0 + 1.0 / shape).exp(), shape })
    }

    /// Pareto gaps with the given mean. A shape of one or less has no finite mean, hence no rate
    /// of change, and is refused.
    pub fn pareto(mean: f64, shape: f64) -> Result<Self, MathError> {
        positive("mean", mean)?;
        let sound = shape > 1.0 && shape.is_finite();
        MathError::check(sound, "the Pareto shape", shape, "finite and above one")?;
        Ok(Self::Pareto { scale: mean * (shape - 1.0) / shape, shape })
    }

    /// The mean gap; its inverse is the rate of change.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Exponential { mean } => mean,
            Self::Weibull { scale, shape } => scale * ln_gamma(1.0 + 1.0 / shape).exp(),
            Self::Pareto { scale, shape } => scale * shape / (shape - 1.0),
        }
    }

    /// Ḡ(t) = P(gap > t), for t ≥ 0.
    pub fn survival(&self, t: f64) -> f64 {
        match *self {
            Self::Exponential { mean } => (-t / mean).exp(),
            Self::Weibull { scale, shape } => (-(t / scale).powf(shape)).exp(),
            Self::Pareto { scale, shape } => (scale / t).min(1.0).powf(shape),
        }
    }

    /// The t with P(gap > t) = `survival`, in (0, 1\].
    fn quantile_of_survival(&self, survival: f64) -> f64 {
        let log = -survival.ln();
        match *self {
            Self::Exponential { mean } => mean * log,
            Self::Weibull { scale, shape } => scale * log.powf(1.0 / shape),
            Self::Pareto { scale, shape } => scale * (log / shape).exp(),
        }
    }

    /// P(time to the first change ≤ t) from an arbitrary moment: (1/mean)·∫₀ᵗ Ḡ, for t ≥ 0.
    pub fn first_cdf(&self, t: f64) -> f64 {
        match *self {
            Self::Exponential { mean } => -(-t / mean).exp_m1(),
            Self::Weibull { scale, shape } => gamma_p(1.0 / shape, (t / scale).powf(shape)),
            Self::Pareto { scale, shape } if t <= scale => t * (shape - 1.0) / (scale * shape),
            Self::Pareto { scale, shape } => 1.0 - (scale / t).powf(shape - 1.0) / shape,
        }
    }

    /// The inverse of [`RenewalGap::first_cdf`], for p in (0, 1).
    fn first_quantile(&self, p: f64) -> f64 {
        match *self {
            Self::Exponential { mean } => -mean * (-p).ln_1p(),
            Self::Weibull { scale, shape } => scale * gamma_p_inv(1.0 / shape, p).powf(1.0 / shape),
            Self::Pareto { scale, shape } => {
                let linear = p * scale * shape / (shape - 1.0);
                let curved = scale * ((1.0 - p) * shape).powf(-1.0 / (shape - 1.0));
                if linear <= scale { linear } else { curved }
            }
        }
    }

    /// A gap between two changes. Takes one draw.
    pub fn sample(&self, draws: &mut Draws) -> f64 {
        self.quantile_of_survival(draws.uniform_open())
    }

    /// The time from an arbitrary moment to the first change. Takes one draw.
    pub fn first(&self, draws: &mut Draws) -> f64 {
        self.first_quantile(draws.uniform_open())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moments;
    use crate::quadrature::{Aim, integrate};
    use crate::stats::{ks_distance, ks_limit, sorted};
    use proptest::prelude::*;

    fn laws() -> [RenewalGap; 6] {
        [
            RenewalGap::exponential(2.0).unwrap(),
            RenewalGap::weibull(2.0, 0.6).unwrap(),
            RenewalGap::weibull(2.0, 1.0).unwrap(),
            RenewalGap::weibull(2.0, 3.0).unwrap(),
            RenewalGap::pareto(2.0, 3.5).unwrap(),
            RenewalGap::pareto(2.0, 1.5).unwrap(),
        ]
    }

    /// A few dozen roundings.
    const ROUNDING: f64 = 1e-13;
    /// A rounding of t, magnified by a power of at most a hundred.
    const INVERSE: f64 = 1e-12;
    /// A sound sampler fails one fixed seed in a million.
    const ALPHA: f64 = 1e-6;

    #[test]
    fn samples_follow_their_laws() {
        for law in laws() {
            let mut draws = Draws::of(1, "gap", 0);
            let gaps: Vec<f64> = (0..20_000).map(|_| law.sample(&mut draws)).collect();
            let firsts: Vec<f64> = (0..20_000).map(|_| law.first(&mut draws)).collect();
            assert_eq!(draws.position(), 40_000);
            let limit = ks_limit(gaps.len(), ALPHA);
            let distance = ks_distance(&sorted(&gaps), |t| 1.0 - law.survival(t));
            assert!(distance < limit, "{law:?}: {distance}");
            let distance = ks_distance(&sorted(&firsts), |t| law.first_cdf(t));
            assert!(distance < limit, "{law:?}: {distance}");
            assert!((law.mean() - 2.0).abs() < ROUNDING);
            // The heaviest law has no variance, so its sample mean has no such interval.
            if law != laws()[5] {
                let moments: Moments = gaps.into_iter().collect();
                assert!(moments.estimate_at(1.0 - ALPHA).covers(2.0), "{law:?}: {moments:?}");
            }
        }
    }

    /// Stationarity: started with [`RenewalGap::first`], the mean number of changes in \[0, T\] is
    /// T/mean exactly, whatever T. Started with an ordinary gap it is not.
    #[test]
    fn the_first_gap_makes_the_process_stationary() {
        let law = RenewalGap::weibull(2.0, 0.6).unwrap();
        let count = |item: u64, stationary: bool| {
            let mut draws = Draws::of(2, "stationary", item);
            let mut t = if stationary { law.first(&mut draws) } else { law.sample(&mut draws) };
            let mut changes = 0.0;
            while t < 1.0 {
                changes += 1.0;
                t += law.sample(&mut draws);
            }
            changes
        };
        let counts = |stationary| (0..20_000).map(move |item| count(item, stationary));
        let right: Moments = counts(true).collect();
        let wrong: Moments = counts(false).collect();
        assert!(right.estimate_at(1.0 - ALPHA).covers(0.5), "{right:?}");
        assert!(!wrong.estimate_at(1.0 - ALPHA).covers(0.5), "{wrong:?}");
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(RenewalGap::exponential(0.0).is_err() && RenewalGap::weibull(-1.0, 1.0).is_err());
        assert!(RenewalGap::weibull(1.0, 0.01).is_err() && RenewalGap::pareto(1.0, 1.0).is_err());
        assert!(RenewalGap::pareto(f64::NAN, 2.0).is_err());
    }

    proptest! {
        #[test]
        fn quantiles_invert(p in 0.001..0.999_f64) {
            for law in laws() {
                let t = law.quantile_of_survival(p);
                prop_assert!((law.survival(t) - p).abs() < INVERSE, "{law:?}");
                let t = law.first_quantile(p);
                prop_assert!((law.first_cdf(t) - p).abs() < INVERSE, "{law:?}");
            }
        }

        /// The closed forms of the first gap against the integral that defines them.
        #[test]
        fn first_gap_is_the_integrated_survival(t in 0.01..20.0_f64) {
            for law in laws() {
                // In two parts, because the Pareto law has a kink at its shortest gap.
                let kink = match law {
                    RenewalGap::Pareto { scale, .. } => scale.min(t),
                    _ => 0.5 * t,
                };
                let part =
                    |a, b| integrate(|s| law.survival(s), a, b, Aim::relative(1e-11)).unwrap();
                let (head, tail) = (part(0.0, kink), part(kink, t));
                let gap = law.first_cdf(t) - (head.value + tail.value) / law.mean();
                prop_assert!(gap.abs() <= head.error + tail.error + ROUNDING, "{law:?}: {gap:e}");
            }
        }
    }
}
