//! How fresh the collection is: the share of copies that equal their page, each copy counting the same.
//!
//! Revisits cannot be counted for it, because they go to pages that change. Random probes have no bias,
//! but are few. So the beliefs about change rates say what to expect of every copy, and the probes by how
//! much that is wrong on average, which is the difference estimator of survey sampling `[SSW92, §6.3]`:
//!
//! > F = m + w·d,  w = τ² / (τ² + v),  σ² = τ²·v / (τ² + v) + s²
//!
//! m is the mean chance of the copies to be fresh, d the mean of (fresh or not − chance) over the probes
//! and v its variance, τ the doubt in m, and s² the variance because a sample of the copies stands for
//! all and because chances are no facts. That the policy chose what to revisit by the same history does
//! not bias m: beliefs given the history do not depend on why it was looked at `[R76]`.
//!
//! τ covers that all change rates may be wrong together, by a factor whose logarithm has the deviation
//!
//! > θ² = 1 / (1/θ₀² + changes seen) + MISFIT²
//!
//! A change seen tells as much of a logarithm as one observation of variance 1. Before the first, θ₀ is
//! that of the vague prior, a gamma law of shape ½: π/√2. What is left after many is an assumed misfit:
//! pages do not quite change as the model says. Then τ is half the way between m if all pages changed
//! e^θ times slower, and e^θ times faster. So copies that are seconds old are known to be fresh without
//! a single revisit.

use tidewatch_math::sum::Moments;

/// Variance of ln λ under the vague prior: ψ′(½) = π²/2.
const FIRST_DOUBT: f64 = std::f64::consts::PI * std::f64::consts::PI / 2.0;
/// Standard deviation of ln λ, for all pages together, that is left after many changes were seen. Measured
/// in the lab (`crates/run/lab/tests/it/told.rs`) on webs 1 to 6 of five kinds at two budgets: with .25 the
/// interval had to be 1.66 times as wide to cover 95% of 1,740 looks. That is .42, and more because a part
/// of the interval, the sampling, does not grow with it.
const MISFIT: f64 = 0.5;
/// Quantile of the standard normal law for an interval of 95%.
const Z_95: f64 = 1.959_963_984_540_054;

/// By which factor all change rates may be wrong.
pub(super) struct Doubt(f64);

impl Doubt {
    /// The doubt after so many changes were seen.
    pub(super) fn after(changes: f64) -> Doubt {
        Doubt((1.0 / (1.0 / FIRST_DOUBT + changes) + MISFIT * MISFIT).sqrt())
    }

    /// Factors on the change rates: none, and a deviation to either side.
    pub(super) fn factors(&self) -> [f64; 3] {
        [1.0, self.0.exp(), (-self.0).exp()]
    }
}

/// What the beliefs say of the copies.
pub(super) struct Believed {
    chances: Moments,
    /// Mean of chance · (1 − chance).
    spread: f64,
    /// τ, the doubt in the mean chance.
    doubt: f64,
    copies: f64,
}

impl Believed {
    /// From the chances of a sample of `copies`, with the factors of [`Doubt::factors`]. `None` without
    /// copies.
    pub(super) fn of(sample: impl Iterator<Item = [f64; 3]>, copies: usize) -> Option<Believed> {
        let (mut chances, mut spread, mut doubt) =
            (Moments::default(), Moments::default(), Moments::default());
        for [chance, faster, slower] in sample {
            chances.add(chance);
            spread.add(chance * (1.0 - chance));
            doubt.add((slower - faster) / 2.0);
        }
        let (spread, doubt, copies) = (spread.mean(), doubt.mean(), copies as f64);
        (chances.count() > 0).then_some(Believed { chances, spread, doubt, copies })
    }

    /// The share of fresh copies and the half-width of its 95% interval. `error` is the mean error of the
    /// beliefs over the probes, and its variance.
    pub(super) fn corrected(&self, error: Option<(f64, f64)>) -> (f64, f64) {
        let doubt = self.doubt * self.doubt;
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

    /// A thousand copies of pages that change once a day, each so many days old.
    fn believed(days: f64, changes: f64) -> Believed {
        let chances = Doubt::after(changes).factors().map(|faster| (-faster * days).exp());
        Believed::of((0..1000).map(|_| chances), 1000).unwrap()
    }

    #[test]
    fn without_a_change_seen_old_copies_are_doubtful_and_young_ones_are_not() {
        assert!(Believed::of(std::iter::empty(), 0).is_none());
        let (share, half) = believed(0.5, 0.0).corrected(None);
        assert!((share - 0.607).abs() < 1e-3 && half > 0.7, "{share} ± {half}");
        // Ten seconds.
        let (share, half) = believed(1e-4, 0.0).corrected(None);
        assert!(share > 0.9998 && half < 0.002, "{share} ± {half}");
    }

    #[test]
    fn changes_and_probes_narrow_the_interval_and_probes_correct_the_share() {
        let halves = [0.0, 10.0, 1000.0].map(|changes| believed(0.5, changes).corrected(None).1);
        assert!(halves.is_sorted_by(|wide, narrow| wide > narrow), "{halves:?}");
        // A thousand probes say that the beliefs are .3 too high.
        let (share, half) = believed(0.1, 0.0).corrected(Some((-0.3, 0.25 / 1000.0)));
        assert!((share - 0.605).abs() < 0.01 && half < 0.05, "{share} ± {half}");
        // Two probes say little.
        let (share, _) = believed(0.1, 10_000.0).corrected(Some((-0.4, 0.25 / 2.0)));
        assert!(share > 0.89, "{share}");
    }
}
