//! How fresh the collection is: the share of copies that equal their page, each copy counting the same.
//!
//! Revisits cannot be counted for it, because they go to pages that change. Random probes have no bias,
//! but are few. So the beliefs about change rates say what to expect of every copy, and the probes by how
//! much that is wrong on average, which is the difference estimator of survey sampling (Särndal,
//! Swensson and Wretman 1992, §6.3):
//!
//! > F = m + w·d,  w = τ² / (τ² + v),  σ² = τ²·v / (τ² + v) + s²
//!
//! m is the mean chance of the copies to be fresh, d the mean of (fresh or not − chance) over the probes
//! and v its variance, τ the doubt in m, and s² the variance because a sample of the copies stands for
//! all and because chances are no facts. That the policy chose what to revisit by the same history does
//! not bias m: beliefs given the history do not depend on why it was looked at (Rubin 1976). τ covers that
//! the model of the beliefs may be wrong:
//!
//! > τ² = 1/12 · n₀ / (n₀ + visits) + MISFIT²
//!
//! Before any revisit nothing is known, and the variance is that of the uniform law on \[0, 1\]. It falls
//! as the model learns, down to an assumed misfit: pages do not quite change as the model says.

use tidewatch_math::sum::Moments;

/// Revisits that halve the first doubt.
const FIRST_VISITS: f64 = 20.0;
/// Assumed standard deviation of the model's error when it has learnt all it can.
const MISFIT: f64 = 0.05;
/// Quantile of the standard normal law for an interval of 95%.
const Z_95: f64 = 1.959_963_984_540_054;

/// What the beliefs say of the copies.
pub(super) struct Believed {
    chances: Moments,
    /// Mean of chance · (1 − chance).
    spread: f64,
    copies: f64,
    visits: f64,
}

impl Believed {
    /// From the chances of a sample of `copies`, learnt from `visits` revisits. `None` without copies.
    pub(super) fn of(
        sample: impl Iterator<Item = f64>,
        copies: usize,
        visits: u64,
    ) -> Option<Believed> {
        let (mut chances, mut spread) = (Moments::default(), Moments::default());
        for chance in sample {
            chances.add(chance);
            spread.add(chance * (1.0 - chance));
        }
        let (copies, visits) = (copies as f64, visits as f64);
        let spread = spread.mean();
        (chances.count() > 0).then_some(Believed { chances, spread, copies, visits })
    }

    /// The share of fresh copies and the half-width of its 95% interval. `error` is the mean error of the
    /// beliefs over the probes, and its variance.
    pub(super) fn corrected(&self, error: Option<(f64, f64)>) -> (f64, f64) {
        let doubt = FIRST_VISITS / (FIRST_VISITS + self.visits) / 12.0 + MISFIT * MISFIT;
        let (error, variance) = match error {
            Some((mean, variance)) => {
                (doubt / (doubt + variance) * mean, doubt * variance / (doubt + variance))
            }
            None => (0.0, doubt),
        };
        // Of a sample without replacement; nothing if all copies are in it.
        let count = self.chances.count() as f64;
        let sampled = (1.0 - count / self.copies) * self.chances.variance() / count;
        let sampled = sampled.max(0.0) + self.spread / self.copies;
        let share = (self.chances.mean() + error).clamp(0.0, 1.0);
        (share, Z_95 * (variance + sampled).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn believed(chance: f64, visits: u64) -> Believed {
        Believed::of((0..1000).map(|_| chance), 1000, visits).unwrap()
    }

    #[test]
    fn without_a_visit_or_probe_anything_is_possible() {
        assert!(Believed::of(std::iter::empty(), 0, 5).is_none());
        let (share, half) = believed(0.9, 0).corrected(None);
        assert!((share - 0.9).abs() < 1e-12 && half > 0.56, "{share} ± {half}");
    }

    #[test]
    fn visits_and_probes_narrow_the_interval_and_probes_correct_the_share() {
        let halves = [0, 100, 10_000].map(|visits| believed(0.9, visits).corrected(None).1);
        assert!(halves.is_sorted_by(|wide, narrow| wide > narrow), "{halves:?}");
        // A thousand probes say that the beliefs are .3 too high.
        let (share, half) = believed(0.9, 0).corrected(Some((-0.3, 0.25 / 1000.0)));
        assert!((share - 0.6).abs() < 0.01 && half < 0.04, "{share} ± {half}");
        // Two probes say little.
        let (share, _) = believed(0.9, 10_000).corrected(Some((-0.4, 0.25 / 2.0)));
        assert!(share > 0.88, "{share}");
    }
}
