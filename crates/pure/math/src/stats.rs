//! Summaries of samples: quantiles, concentration, correlation, distance from a law.
//!
//! Small and exact rather than streaming. A NaN in a sample, or an empty sample, gives NaN.

use crate::sum::sum;

/// A copy of `values` in ascending order (NaN last, by the total order of floating point).
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The quantile at `p` in \[0, 1\] of an ascending sample, linear between order statistics
/// (Hyndman and Fan's type 7, the default of R and `NumPy`). NaN for an empty sample or a p outside.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    if sorted.is_empty() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let position = p * (sorted.len() - 1) as f64;
    let below = position as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let share = position - below as f64;
    if share == 0.0 {
        sorted[below]
    } else {
        sorted[below] + share * (sorted[above] - sorted[below])
    }
}

/// The share of the total that the largest `fraction` in \[0, 1\] of an ascending non-negative
/// sample holds; a fractional count takes its part of the next value.
pub fn top_share(sorted: &[f64], fraction: f64) -> f64 {
    let count = fraction.clamp(0.0, 1.0) * sorted.len() as f64;
    let whole = count as usize;
    let descending = || sorted.iter().rev().copied();
    let part = descending().nth(whole).map_or(0.0, |x| (count - whole as f64) * x);
    (sum(descending().take(whole)) + part) / sum(descending())
}

/// Pearson's correlation of two samples of one length, in \[−1, 1\]; NaN when a sample is
/// constant, shorter than two, or the lengths differ.
pub fn pearson(x: &[f64], y: &[f64]) -> f64 {
    if x.len() != y.len() || x.len() < 2 {
        return f64::NAN;
    }
    let n = x.len() as f64;
    let (mean_x, mean_y) = (sum(x.iter().copied()) / n, sum(y.iter().copied()) / n);
    let gaps = || x.iter().zip(y).map(|(x, y)| (x - mean_x, y - mean_y));
    let (xx, yy) = (sum(gaps().map(|(x, _)| x * x)), sum(gaps().map(|(_, y)| y * y)));
    (sum(gaps().map(|(x, y)| x * y)) / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0)
}

/// Spearman's rank correlation: Pearson's of the [`ranks`]. The same cases give NaN.
pub fn spearman(x: &[f64], y: &[f64]) -> f64 {
    pearson(&ranks(x), &ranks(y))
}

/// The rank of each value from 1 up; equal values share the mean of their ranks. A NaN keeps NaN.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    let mut ranks = vec![f64::NAN; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + 0.5 * (tied.len() + 1) as f64;
        before += tied.len();
        for &index in tied {
            ranks[index] = if values[index].is_nan() { f64::NAN } else { rank };
        }
    }
    ranks
}

/// The Kolmogorov–Smirnov distance of an ascending sample from a continuous law:
/// supₓ |Fₙ(x) − F(x)|.
pub fn ks_distance(sorted: &[f64], mut cdf: impl FnMut(f64) -> f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let n = sorted.len() as f64;
    let gap = |(i, &x): (usize, &f64)| {
        let expected = cdf(x);
        let (below, above) = (expected - i as f64 / n, (i + 1) as f64 / n - expected);
        // `max` would drop a NaN.
        if expected.is_nan() { f64::NAN } else { below.max(above) }
    };
    sorted
        .iter()
        .enumerate()
        .map(gap)
        .fold(0.0, |worst, gap| if gap > worst || gap.is_nan() { gap } else { worst })
}

/// The distance that a sample of n from the law itself exceeds with a chance of at most `alpha`:
/// √(ln(2/α)/(2n)), the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant,
/// valid for every n.
pub fn ks_limit(n: usize, alpha: f64) -> f64 {
    ((2.0 / alpha).ln() / (2.0 * n as f64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draws;
    use proptest::prelude::*;

    /// Nine digits of the textbook.
    const PRINTED: f64 = 1e-9;
    /// Compensated sums of at most sixty terms, divided once.
    const ROUNDING: f64 = 1e-12;

    #[test]
    fn known_samples() {
        let sample = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&sample, 0.5), 2.5);
        assert_eq!((quantile(&sample, 0.0), quantile(&sample, 1.0)), (1.0, 4.0));
        assert_eq!(quantile(&sample, 0.25), 1.75);
        assert_eq!((top_share(&sample, 0.25), top_share(&sample, 0.375)), (0.4, 0.55));
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert!((spearman(&[1.0, 2.0, 3.0], &[1.0, 8.0, 27.0]) - 1.0).abs() < ROUNDING);
        // Anscombe's first quartet, whose correlation is a textbook value.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        assert!((pearson(&x, &y) - 0.816420516).abs() < PRINTED);
    }

    #[test]
    fn degenerate_samples_give_nan() {
        assert!(quantile(&[], 0.5).is_nan() && quantile(&[1.0], 2.0).is_nan());
        assert!(top_share(&[], 0.1).is_nan());
        assert!(pearson(&[1.0, 1.0], &[1.0, 2.0]).is_nan() && pearson(&[1.0], &[1.0]).is_nan());
        assert!(pearson(&[1.0, 2.0], &[1.0]).is_nan());
        assert!(ks_distance(&[], |x| x).is_nan() && ks_distance(&[0.5], |_| f64::NAN).is_nan());
    }

    #[test]
    fn distance_accepts_the_law_and_rejects_another() {
        let mut draws = Draws::of(1, "ks", 0);
        let sample = sorted(&(0..10_000).map(|_| draws.uniform()).collect::<Vec<_>>());
        let limit = ks_limit(sample.len(), 1e-6);
        assert!(ks_distance(&sample, |x| x) < limit);
        assert!(ks_distance(&sample, |x| x.powf(1.2)) > limit);
        assert_eq!(ks_distance(&[0.25, 0.75], |x| x), 0.25);
    }

    proptest! {
        #[test]
        fn bounds_and_symmetries(values in prop::collection::vec((0.0..1e6_f64, -1e3..1e3_f64), 2..60)) {
            let (x, y): (Vec<f64>, Vec<f64>) = values.into_iter().unzip();
            let ascending = sorted(&x);
            let share = top_share(&ascending, 0.3);
            prop_assert!(share.is_nan() || (0.3 - ROUNDING..=1.0 + ROUNDING).contains(&share));
            let r = spearman(&x, &y);
            prop_assert!(r.is_nan() || (r - spearman(&y, &x)).abs() < ROUNDING);
            let halves = quantile(&ascending, 0.5);
            prop_assert!(ascending[0] <= halves && halves <= ascending[ascending.len() - 1]);
        }
    }
}
