//! Chooses a setting without overfitting: the 0.632+ bootstrap `[ET97]`.
//!
//! The error of a setting on the examples it was chosen by is too low; its error on the examples
//! left out of a resample, which lacks 36.8 % of them, is too high. The 0.632+ rule weights the two
//! by how much the first overfits:
//!
//! err = (1 − w)·apparent + w·left-out, w = 0.632/(1 − 0.368·R),
//! R = (left-out − apparent)/(no information − apparent), within [0, 1].

use tidewatch_math::rng::{Draws, purpose};

const RESAMPLES: u64 = purpose("tune.resample");

/// Share of the best possible total impact that the first pages of an order have.
///
/// `scores` and `impact` are of the same pages; the first `share` of them by score count (ties by
/// place), at least one. 1 if there is no impact at all.
pub fn share_of_ideal(scores: &[f64], impact: &[f64], share: f64) -> f64 {
    let n = scores.len();
    let count = ((n as f64 * share).round() as usize).clamp(1.min(n), n);
    let top = |by: &[f64]| {
        let mut order: Vec<usize> = (0..n).collect();
        let first = |a: &usize, b: &usize| by[*b].total_cmp(&by[*a]).then(a.cmp(b));
        if count > 0 && count < n {
            order.select_nth_unstable_by(count - 1, first);
        }
        order[..count].iter().map(|&i| impact[i]).sum::<f64>()
    };
    let ideal = top(impact);
    if ideal > 0.0 { top(scores) / ideal } else { 1.0 }
}

/// The 0.632+ estimate of the error of a procedure.
///
/// `error(train, test)` learns from the examples numbered in `train` (with repetitions) and returns
/// its error on those in `test`. `no_information` is the error of a procedure that knows nothing.
/// The seed determines the draws.
pub fn error_632_plus(
    examples: usize,
    resamples: u32,
    seed: u64,
    no_information: f64,
    mut error: impl FnMut(&[usize], &[usize]) -> f64,
) -> f64 {
    let all: Vec<usize> = (0..examples).collect();
    let apparent = error(&all, &all);
    let (mut sum, mut count) = (0.0, 0.0);
    for resample in 0..u64::from(resamples) {
        let mut draws = Draws::keyed(seed, RESAMPLES, resample);
        let mut is_in = vec![false; examples];
        let train: Vec<usize> =
            (0..examples).map(|_| draws.below(examples as u64) as usize).collect();
        train.iter().for_each(|&i| is_in[i] = true);
        let test: Vec<usize> = all.iter().copied().filter(|&i| !is_in[i]).collect();
        if !test.is_empty() {
            sum += error(&train, &test);
            count += 1.0;
        }
    }
    if count == 0.0 {
        return apparent;
    }
    combine(apparent, sum / count, no_information)
}

fn combine(apparent: f64, left_out: f64, no_information: f64) -> f64 {
    let left_out = left_out.min(no_information);
    let overfit = if left_out > apparent && no_information > apparent {
        (left_out - apparent) / (no_information - apparent)
    } else {
        0.0
    };
    let weight = 0.632 / (1.0 - 0.368 * overfit);
    (1.0 - weight) * apparent + weight * left_out
}

/// The best of several settings, each a column of scores of the same pages.
///
/// The error of a setting is one minus its [`share_of_ideal`], averaged over the `shares`. Nothing
/// is fitted within a resample, so the estimate is of the setting's own error and its noise. The
/// setting of least error is chosen, the first of equals.
pub fn best_setting(
    columns: &[Vec<f64>],
    impact: &[f64],
    shares: &[f64],
    resamples: u32,
    seed: u64,
) -> Option<(usize, Vec<f64>)> {
    let errors: Vec<f64> = columns
        .iter()
        .map(|scores| {
            let measure = |test: &[usize]| {
                let [s, i] = [scores, impact].map(|of| test.iter().map(|&t| of[t]).collect());
                let (s, i): (Vec<f64>, Vec<f64>) = (s, i);
                let reached = shares.iter().map(|&share| share_of_ideal(&s, &i, share));
                1.0 - reached.sum::<f64>() / shares.len().max(1) as f64
            };
            let total: f64 = impact.iter().sum();
            // Of a random order: its share of the total over the ideal's.
            let none = shares.iter().map(|&share| {
                let ideal = share_of_total(impact, share);
                if total > 0.0 && ideal > 0.0 { 1.0 - share / ideal } else { 0.0 }
            });
            let none = none.sum::<f64>() / shares.len().max(1) as f64;
            error_632_plus(impact.len(), resamples, seed, none, |_, test| measure(test))
        })
        .collect();
    let best = (0..errors.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b]))?;
    Some((best, errors))
}

/// Share of all impact on the best `share` of pages.
fn share_of_total(impact: &[f64], share: f64) -> f64 {
    let mut sorted = impact.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let count = ((sorted.len() as f64 * share).round() as usize).clamp(1, sorted.len().max(1));
    let total: f64 = sorted.iter().sum();
    sorted.iter().take(count).sum::<f64>() / total.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::float_cmp, reason = "the figures are exact")]
    fn shares_by_hand() {
        let impact = [4.0, 0.0, 3.0, 1.0];
        assert_eq!(share_of_ideal(&[1.0, 2.0, 3.0, 4.0], &impact, 0.5), 4.0 / 7.0);
        assert_eq!(share_of_ideal(&impact, &impact, 0.25), 1.0);
        assert_eq!(share_of_ideal(&[], &[], 0.1), 1.0);
        assert_eq!(share_of_ideal(&[1.0, 1.0], &[0.0, 0.0], 0.5), 1.0);
    }

    #[test]
    fn the_rule_is_the_published_one() {
        // No overfitting: plain 0.632. Total overfitting: left-out error alone.
        assert!((combine(0.2, 0.2, 0.5) - 0.2).abs() < 1e-15);
        assert!((combine(0.0, 0.5, 0.5) - 0.5).abs() < 1e-15);
        // R = 0.5: w = 0.632/(1 − 0.184).
        let w = 0.632 / (1.0 - 0.184);
        assert!((combine(0.1, 0.3, 0.5) - ((1.0 - w) * 0.1 + w * 0.3)).abs() < 1e-15);
    }

    #[test]
    fn memorising_is_seen_through() {
        // Labels are coins; one nearest neighbour remembers them all. Its true error is one half.
        let mut draws = Draws::of(3, "tune.test", 0);
        let points: Vec<(f64, bool)> =
            (0..200).map(|_| (draws.uniform(), draws.chance(0.5))).collect();
        let nearest = |train: &[usize], test: &[usize]| {
            let wrong = test.iter().filter(|&&t| {
                let near = train.iter().min_by(|&&a, &&b| {
                    let far = |i: usize| (points[i].0 - points[t].0).abs();
                    far(a).total_cmp(&far(b))
                });
                near.is_some_and(|&i| points[i].1 != points[t].1)
            });
            wrong.count() as f64 / test.len() as f64
        };
        let all: Vec<usize> = (0..200).collect();
        assert!(nearest(&all, &all) < 0.01, "it remembers everything");
        let err = error_632_plus(200, 50, 7, 0.5, nearest);
        // Five standard errors of an error rate of 200 coins.
        assert!((err - 0.5).abs() < 5.0 * 0.5 / 200_f64.sqrt(), "{err}");
    }

    #[test]
    fn the_better_column_wins() {
        let mut draws = Draws::of(3, "tune.columns", 0);
        let impact: Vec<f64> = (0..400).map(|_| draws.exponential(1.0)).collect();
        let noisy: Vec<f64> = impact.iter().map(|i| i + draws.exponential(1.0)).collect();
        let blind: Vec<f64> = (0..400).map(|_| draws.uniform()).collect();
        let (best, errors) = best_setting(&[blind, noisy], &impact, &[0.1], 20, 1).unwrap();
        assert_eq!(best, 1);
        assert!(errors[1] < errors[0]);
    }
}
