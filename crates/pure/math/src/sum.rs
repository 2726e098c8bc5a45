//! Sums and averages that stay exact enough over 10⁸ terms.
//!
//! [`Sum`] adds with a running compensation (Neumaier's variant of Kahan): the error is about two
//! roundings of the result plus n²·2⁻¹⁰⁶ of the sum of magnitudes, instead of n roundings.
//! [`Moments`] keeps mean and variance (Welford) and can be merged pairwise (Chan, Golub, `LeVeque`).
//! [`Estimate`] is a mean with its Student-t confidence interval.
//!
//! All are deterministic: the same terms in the same order and the same merges give the same
//! bits. Parallel code must therefore split by index, not by whichever thread is free.

use crate::special::student_t_quantile;

/// A compensated sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// The empty sum.
    pub const fn new() -> Self {
        Self { high: 0.0, low: 0.0 }
    }

    /// Adds one term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        let total = self.high + term;
        // The rounding error of the addition, exact when the larger operand comes first.
        self.low += if self.high.abs() >= term.abs() {
            (self.high - total) + term
        } else {
            (term - total) + self.high
        };
        self.high = total;
    }

    /// Adds all terms of another sum.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.add(other.high);
        self.low += other.low;
    }

    /// The sum. Once a term or the total is infinite it is infinite (or NaN), as with `+`.
    #[inline]
    pub fn value(&self) -> f64 {
        // After an overflow the compensation is ∞ − ∞; the plain sum is the honest answer.
        if self.high.is_finite() { self.high + self.low } else { self.high }
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Self::new();
        sum.extend(terms);
        sum
    }
}

impl Extend<f64> for Sum {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, terms: I) {
        terms.into_iter().for_each(|term| self.add(term));
    }
}

/// The compensated sum of `terms`.
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().collect::<Sum>().value()
}

/// Running count, mean and variance.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Σ (x − mean)².
    squares: f64,
}

impl Moments {
    /// No observations yet.
    pub const fn new() -> Self {
        Self { count: 0, mean: 0.0, squares: 0.0 }
    }

    /// Takes in one observation.
    #[inline]
    pub fn add(&mut self, x: f64) {
        self.count += 1;
        let before = x - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (x - self.mean);
    }

    /// Takes in all observations of another.
    pub fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        if other.count == 0 {
            return;
        }
        let share = other.count as f64 / count as f64;
        let gap = other.mean - self.mean;
        self.squares += other.squares + gap * gap * share * self.count as f64;
        self.mean += gap * share;
        self.count = count;
    }

    /// Number of observations.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Mean; NaN when there is no observation.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// Unbiased sample variance (divisor n − 1); NaN below two observations.
    pub fn variance(&self) -> f64 {
        if self.count < 2 { f64::NAN } else { self.squares / (self.count - 1) as f64 }
    }

    /// Sample standard deviation, the root of [`Moments::variance`].
    pub fn deviation(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The mean with its 95 % Student-t confidence interval.
    pub fn estimate(&self) -> Estimate {
        self.estimate_at(0.95)
    }

    /// The mean with a Student-t confidence interval of the given level in (0, 1):
    /// half width = t(n − 1; (1 + level)/2) · s/√n, exact for normal observations. The half width
    /// is NaN below two observations: one run says nothing about its spread.
    pub fn estimate_at(&self, level: f64) -> Estimate {
        let n = self.count;
        let half_width = if n < 2 {
            f64::NAN
        } else {
            let t = student_t_quantile((n - 1) as f64, f64::midpoint(1.0, level));
            t * (self.variance() / n as f64).sqrt()
        };
        Estimate { mean: self.mean(), half_width, n }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(observations: I) -> Self {
        let mut moments = Self::new();
        observations.into_iter().for_each(|x| moments.add(x));
        moments
    }
}

/// A mean and how far the truth may lie from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Sample mean.
    pub mean: f64,
    /// Half of the width of the confidence interval; NaN below two observations.
    pub half_width: f64,
    /// Number of observations.
    pub n: u64,
}

impl Estimate {
    /// Lower and upper end of the interval.
    pub fn interval(&self) -> (f64, f64) {
        (self.mean - self.half_width, self.mean + self.half_width)
    }

    /// Whether `truth` lies within the interval.
    pub fn covers(&self, truth: f64) -> bool {
        (truth - self.mean).abs() <= self.half_width
    }
}

impl std::fmt::Display for Estimate {
    /// `mean ± half width`, honouring the precision asked for.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(4);
        write!(f, "{:.digits$} ± {:.digits$}", self.mean, self.half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn compensated_sum_keeps_small_terms() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
        let tenths = sum(std::iter::repeat_n(0.1, 10_000_000));
        assert!((tenths - 1e6).abs() <= 1e6 * f64::EPSILON, "{tenths}");
        let plain: f64 = std::iter::repeat_n(0.1, 10_000_000).sum();
        assert!((plain - 1e6).abs() > 1e-5, "the plain sum shows that the test can fail");
    }

    #[test]
    fn infinity_is_kept() {
        assert_eq!(sum([f64::INFINITY, 1.0]), f64::INFINITY);
        assert_eq!(sum([f64::MAX, f64::MAX, 1.0]), f64::INFINITY);
        assert!(sum([f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert_eq!(sum([]), 0.0);
    }

    #[test]
    fn moments_of_a_known_sample() {
        let moments: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!((moments.count(), moments.mean()), (8, 5.0));
        assert!((moments.variance() - 32.0 / 7.0).abs() < 1e-15);
        assert!(Moments::new().mean().is_nan() && Moments::new().variance().is_nan());
    }

    #[test]
    fn estimate_of_a_known_sample() {
        // Sample 1…10: mean 5.5, s² = 55/6; t(9; 0.975) = 2.262157162798205.
        let estimate = (1..=10).map(f64::from).collect::<Moments>().estimate();
        let expected = 2.262157162798205 * (55.0_f64 / 60.0).sqrt();
        assert!((estimate.half_width / expected - 1.0).abs() < 1e-14, "{estimate:?}");
        assert_eq!(format!("{estimate:.2}"), "5.50 ± 2.17");
        assert!(estimate.covers(4.0) && !estimate.covers(3.0));
        assert!(Moments::new().estimate().mean.is_nan());
        assert!([1.0].into_iter().collect::<Moments>().estimate().half_width.is_nan());
    }

    /// Four standard deviations of the number of covering intervals among `RUNS`.
    #[test]
    fn nineteen_intervals_in_twenty_cover_the_truth() {
        use rand_distr::{Distribution, StandardNormal};
        const RUNS: u64 = 4000;
        let covered = (0..RUNS)
            .filter(|&run| {
                let draws = crate::Draws::of(1, "coverage", run);
                let sample: Moments =
                    StandardNormal.sample_iter(draws).take(5).map(|z: f64| 3.0 + 2.0 * z).collect();
                sample.estimate().covers(3.0)
            })
            .count() as f64;
        let runs = RUNS as f64;
        let deviation = (runs * 0.95 * 0.05).sqrt();
        assert!((covered - 0.95 * runs).abs() < 4.0 * deviation, "{covered}");
    }

    /// A shift that leaves 8 of 16 digits: the textbook formula Σx² − n·mean² has none left.
    const FAR: f64 = 1e8;

    #[test]
    fn variance_survives_a_large_mean() {
        let moments: Moments = (0..1000).map(|k| FAR + f64::from(k % 10)).collect();
        let exact = 8.25 * 1000.0 / 999.0;
        assert!((moments.variance() / exact - 1.0).abs() < FAR * f64::EPSILON);
    }

    proptest! {
        #[test]
        fn merging_equals_adding(
            left in prop::collection::vec(-1e6..1e6_f64, 0..50),
            right in prop::collection::vec(-1e6..1e6_f64, 0..50),
        ) {
            let whole = || left.iter().chain(&right).copied();
            // Rounding of values up to 10⁶, a few operations each.
            let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 100.0 * f64::EPSILON * scale;

            let mut halves: Sum = left.iter().copied().collect();
            halves.merge(&right.iter().copied().collect());
            prop_assert!(near(halves.value(), sum(whole()), 1e6));

            let mut halves: Moments = left.iter().copied().collect();
            halves.merge(&right.iter().copied().collect());
            let together: Moments = whole().collect();
            prop_assert_eq!(halves.count(), together.count());
            if together.count() > 1 {
                prop_assert!(near(halves.mean(), together.mean(), 1e6));
                prop_assert!(near(halves.variance(), together.variance(), 1e12));
            }
        }

        #[test]
        fn exact_for_integers(terms in prop::collection::vec(-(1_i64 << 52)..1 << 52, 0..200)) {
            let exact: i128 = terms.iter().map(|&t| i128::from(t)).sum();
            let found = sum(terms.iter().map(|&t| t as f64));
            prop_assert_eq!(found, exact as f64);
        }
    }
}
