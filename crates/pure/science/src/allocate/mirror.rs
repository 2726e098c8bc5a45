//! One step of mirror descent on fetch rates \[KBZ20\].
//!
//! On-line learning without a model of change: the rates move along a noisy gradient of the cost and
//! stay on the budget. With the log barrier as mirror map the step is
//!
//! argmin_r η·g·r + Σₖ (rₖ/r′ₖ − 1 − ln(rₖ/r′ₖ)),   Σ r = B,   min ≤ r ≤ max,
//!
//! whose Lagrange condition ηgₖ − 1/rₖ + 1/r′ₖ + ν = 0 gives rₖ = 1/(1/r′ₖ + ηgₖ + ν): a page whose fetches
//! save more (g more negative) gets more, and a rare page moves less. ν is found by bisection.

use tidewatch_math::sum::sum;

/// Bisections of ν over its bracket: to the last bit.
const HALVINGS: u32 = 120;

/// New rates after one step from `rates` along `gradient`, with `learning_rate` η; the sum of the
/// rates stays. `bounds` are the least and the greatest rate of a page. Rates are per unit time,
/// gradients in cost × time, η in 1/(cost × time²). Gradients that are no numbers count as zero.
pub fn mirror_step(rates: &mut [f64], gradient: &[f64], learning_rate: f64, bounds: (f64, f64)) {
    let (least, most) = bounds;
    let budget = sum(rates.iter().copied());
    let pulls: Vec<f64> = rates
        .iter()
        .zip(gradient)
        .map(|(rate, slope)| {
            let slope = if slope.is_finite() { learning_rate * slope } else { 0.0 };
            rate.clamp(least, most).recip() + slope
        })
        .collect();
    let rate = |pull: f64, shift: f64| {
        let inverse = pull + shift;
        if inverse > 0.0 { inverse.recip().clamp(least, most) } else { most }
    };
    let total = |shift: f64| sum(pulls.iter().map(|&pull| rate(pull, shift)));
    // At −max(pull) every page has the greatest rate, at 1/least − min(pull) the least one.
    let mut low = -pulls.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut high = least.recip() - pulls.iter().copied().fold(f64::INFINITY, f64::min);
    if !(low.is_finite() && high.is_finite() && low < high) {
        return;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if total(middle) > budget { low = middle } else { high = middle }
    }
    rates.iter_mut().zip(&pulls).for_each(|(new, &pull)| *new = rate(pull, high));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn objective(rates: &[f64], before: &[f64], gradient: &[f64], eta: f64) -> f64 {
        let term = |i: usize| {
            let ratio = rates[i] / before[i];
            eta * gradient[i] * rates[i] + ratio - 1.0 - ratio.ln()
        };
        (0..rates.len()).map(term).sum()
    }

    proptest! {
        /// No shift of rate from one page to another improves on the step.
        #[test]
        fn the_step_is_the_minimum(
            before in proptest::collection::vec(0.05..2.0_f64, 3),
            gradient in proptest::collection::vec(-3.0..3.0_f64, 3),
            eta in 0.01..1.0_f64,
        ) {
            let mut rates = before.clone();
            mirror_step(&mut rates, &gradient, eta, (0.025, 6.0));
            let (old, new): (f64, f64) = (before.iter().sum(), rates.iter().sum());
            prop_assert!((new / old - 1.0).abs() < 1e-9);
            let best = objective(&rates, &before, &gradient, eta);
            for (i, j) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
                let mut other = rates.clone();
                let by = 1e-3 * other[i];
                (other[i], other[j]) = (other[i] - by, other[j] + by);
                if other[i] >= 0.025 && other[j] <= 6.0 {
                    prop_assert!(objective(&other, &before, &gradient, eta) >= best - 1e-12);
                }
            }
        }

        #[test]
        fn all_magnitudes_give_rates(
            rows in proptest::collection::vec((-30.0..30.0_f64, -30.0..30.0_f64), 1..9),
            eta in -30.0..30.0_f64,
        ) {
            let mut rates: Vec<f64> = rows.iter().map(|row| 10f64.powf(row.0)).collect();
            let gradient: Vec<f64> = rows.iter().map(|row| -10f64.powf(row.1)).collect();
            mirror_step(&mut rates, &gradient, 10f64.powf(eta), (1e-30, 1e30));
            prop_assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0), "{rates:?}");
        }
    }
}
