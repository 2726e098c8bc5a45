//! How many clicks a new page brings, and how fast they come: P(1 − e^(−μa)) by age a.
//!
//! Given S_k, the mean number of clicks of a page in its first k bins of length D, P and μ minimise
//! ```text
//! F(P, μ) = Σ_k (P(1 − e^(−μkD)) − S_k)²                    [LOSS13, eq. 5]
//! ```
//! The paper descends its gradient in P and μ, whose scales differ by many decades, so that the step
//! has to be chosen by hand. Here P is eliminated (variable projection): with φ_k = 1 − e^(−μkD) the
//! best P is ΣφS/Σφ², what is left is a function of ln μ alone, and its one stationary point is found
//! inside a bracket. Same minimum, no step size, a handful of passes.

use serde::{Deserialize, Serialize};
use tidewatch_math::roots::{Stop, solve};

/// Profit and decay of the pages of a source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfitCurve {
    /// Clicks of a page over its life, P.
    pub profit: f64,
    /// Rate at which they are lost, μ, per second.
    pub decay: f64,
}

impl ProfitCurve {
    /// Clicks expected in the bin of ages [kD, (k + 1)D): P·e^(−μkD)·(1 − e^(−μD)).
    pub fn in_bin(&self, k: usize, bin: f64) -> f64 {
        let x = self.decay * bin;
        self.profit * (-x * k as f64).exp() * -(-x).exp_m1()
    }
}

/// Precision of ln μ: far finer than any number of clicks determines.
const WIDTH: f64 = 1e-9;
/// First step from the starting point, in ln μ.
const STEP: f64 = 0.25;
/// Slowest decay told from none: a lifetime of this many spans of the data.
const SLOWEST_SPANS: f64 = 4.0;
/// Fastest decay that bins can show: a lifetime of this part of a bin.
const FASTEST_BINS: f64 = 0.25;

/// The best curve for mean clicks `cumulative[k]` until age (k + 1)·`bin`. `near` is where to look
/// first. `None` without data, or where there are no clicks at all.
pub fn fit(cumulative: &[f64], bin: f64, near: Option<f64>) -> Option<ProfitCurve> {
    let sound = cumulative.iter().all(|s| s.is_finite());
    if !sound || !cumulative.iter().any(|&s| s > 0.0) || bin.is_nan() || bin <= 0.0 {
        return None;
    }
    let span = bin * cumulative.len() as f64;
    let (low, high) = ((SLOWEST_SPANS * span).recip().ln(), (FASTEST_BINS * bin).recip().ln());
    let start = near.map_or_else(|| (4.0 / span).ln(), f64::ln).clamp(low, high);
    let slope = |ln_decay: f64| Sums::at(cumulative, ln_decay.exp() * bin).slope();
    let ln_decay = stationary(slope, start, (low, high));
    let sums = Sums::at(cumulative, ln_decay.exp() * bin);
    let curve = ProfitCurve { profit: sums.best_profit(), decay: ln_decay.exp() };
    (curve.profit > 0.0).then_some(curve)
}

/// The zero of the slope of a function that falls and then rises; an end if it only does one.
fn stationary(slope: impl Fn(f64) -> f64, start: f64, (low, high): (f64, f64)) -> f64 {
    let here = slope(start);
    let rises = here > 0.0;
    let (mut near, mut step) = (start, STEP);
    loop {
        let far = (if rises { near - step } else { near + step }).clamp(low, high);
        if (slope(far) > 0.0) != rises {
            let found = solve(&slope, (near.min(far), near.max(far)), Stop::absolute(WIDTH));
            return found.map_or(near, |root| root.x);
        }
        if far <= low || far >= high {
            return far;
        }
        (near, step) = (far, 2.0 * step);
    }
}

/// The sums that the projected objective is made of.
struct Sums {
    /// Σφ² and ΣφS…
    square: f64,
    product: f64,
    /// …and half the first's, and all of the second's, derivative in ln μ.
    square_slope: f64,
    product_slope: f64,
}

impl Sums {
    /// At x = μD; φ_k = 1 − q^k and dφ_k/d ln μ = kx·q^k with q = e^(−x). Four bins at a time, since
    /// q^k by repeated multiplication is a chain that a processor cannot shorten.
    fn at(cumulative: &[f64], x: f64) -> Self {
        const LANES: usize = 4;
        let step = (-x * LANES as f64).exp();
        let mut power: [f64; LANES] = std::array::from_fn(|i| (-x * (i + 1) as f64).exp());
        let mut age: [f64; LANES] = std::array::from_fn(|i| x * (i + 1) as f64);
        let mut sums = [[0.0; LANES]; 4];
        let (chunks, rest) = cumulative.as_chunks::<LANES>();
        let mut add = |s: &[f64], power: &[f64; LANES], age: &[f64; LANES]| {
            for (i, s) in s.iter().enumerate() {
                let (phi, slope) = (1.0 - power[i], age[i] * power[i]);
                sums[0][i] += phi * phi;
                sums[1][i] += phi * s;
                sums[2][i] += phi * slope;
                sums[3][i] += slope * s;
            }
        };
        for chunk in chunks {
            add(chunk, &power, &age);
            power.iter_mut().for_each(|p| *p *= step);
            age.iter_mut().for_each(|a| *a += x * LANES as f64);
        }
        add(rest, &power, &age);
        let [square, product, square_slope, product_slope] =
            sums.map(|lanes| lanes.iter().sum::<f64>());
        Sums { square, product, square_slope, product_slope }
    }

    fn best_profit(&self) -> f64 {
        if self.square > 0.0 { self.product / self.square } else { 0.0 }
    }

    /// The sign of dF/d ln μ at the best P: F = ΣS² − (ΣφS)²/Σφ².
    fn slope(&self) -> f64 {
        self.product * (self.product * self.square_slope - self.product_slope * self.square)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;

    const BIN: f64 = 1200.0;
    const STEPS: u32 = 60_000;

    fn exact(curve: ProfitCurve, bins: usize) -> Vec<f64> {
        (1..=bins).map(|k| curve.profit * -(-curve.decay * BIN * k as f64).exp_m1()).collect()
    }

    /// F of equation (5).
    fn objective(s: &[f64], curve: ProfitCurve) -> f64 {
        s.iter().zip(exact(curve, s.len())).map(|(s, fit)| (fit - s).powi(2)).sum()
    }

    /// Algorithm 2 of the paper: gradient descent in P and μ. Units are chosen so that both
    /// gradients have one scale (μ per span of the data, P relative to the last S); the step is halved
    /// whenever it would climb, which the paper leaves to the reader.
    fn descend(s: &[f64], start: ProfitCurve) -> ProfitCurve {
        let (unit_p, unit_mu) = (s[s.len() - 1], (BIN * s.len() as f64).recip());
        let (mut p, mut mu) = (start.profit / unit_p, start.decay / unit_mu);
        let f =
            |p: f64, mu: f64| objective(s, ProfitCurve { profit: p * unit_p, decay: mu * unit_mu });
        let mut step = 1e-3 / (s.len() as f64 * unit_p * unit_p);
        let mut last = f(p, mu);
        for _ in 0..STEPS {
            let (mut by_p, mut by_mu) = (0.0, 0.0);
            for (i, s) in s.iter().enumerate() {
                let age = BIN * (i + 1) as f64 * unit_mu;
                let fall = (-mu * age).exp();
                let residual = p * unit_p * (1.0 - fall) - s;
                by_p += 2.0 * residual * (1.0 - fall) * unit_p;
                by_mu += 2.0 * residual * p * unit_p * age * fall;
            }
            let (next_p, next_mu) = (p - step * by_p, mu - step * by_mu);
            let next = f(next_p, next_mu);
            if next <= last {
                (p, mu, last, step) = (next_p, next_mu, next, step * 1.1);
            } else {
                step *= 0.5;
            }
        }
        ProfitCurve { profit: p * unit_p, decay: mu * unit_mu }
    }

    #[test]
    fn the_descent_of_the_paper_ends_at_the_same_minimum() {
        let truth = ProfitCurve { profit: 3.0, decay: 1.0 / 36_000.0 };
        let mut s = exact(truth, 60);
        // Clicks come in lumps: a rough staircase instead of the curve.
        for (i, s) in s.iter_mut().enumerate() {
            *s += 0.3 * Draws::new(5, i as u64).uniform() - 0.1;
        }
        let ours = fit(&s, BIN, None).unwrap();
        let theirs = descend(&s, ProfitCurve { profit: 1.0, decay: 1e-5 });
        assert!(objective(&s, ours) <= objective(&s, theirs) * (1.0 + 1e-12));
        // Gradient descent crawls along the valley; it is this close after so many steps.
        assert!((ours.profit / theirs.profit - 1.0).abs() < 1e-4, "{ours:?} {theirs:?}");
        assert!((ours.decay / theirs.decay - 1.0).abs() < 1e-4, "{ours:?} {theirs:?}");
    }

    proptest! {
        #[test]
        fn an_exact_curve_is_found_from_anywhere(
            profit in 1e-4..1e4_f64,
            hours in 0.5..300.0_f64,
            bins in 20..504_usize,
            near in 1e-8..1e-2_f64,
        ) {
            let truth = ProfitCurve { profit, decay: 1.0 / (hours * 3600.0) };
            let found = fit(&exact(truth, bins), BIN, Some(near)).unwrap();
            let slowest = 1.0 / (SLOWEST_SPANS * BIN * bins as f64);
            if truth.decay > slowest {
                // Rounding of S in a window that shows a part of a slow decay only.
                prop_assert!((found.decay / truth.decay - 1.0).abs() < 1e-5, "{found:?} {truth:?}");
                prop_assert!((found.profit / profit - 1.0).abs() < 1e-5, "{found:?} {truth:?}");
            }
        }

        /// No other pair of parameters within the bounds fits better.
        #[test]
        fn it_is_the_least(
            steps in prop::collection::vec(0.0..1.0_f64, 8..80),
            other in (0.1..3.0_f64, 0.1..10.0_f64),
        ) {
            let mut sum = 0.0;
            let s: Vec<f64> = steps.iter().enumerate().map(|(i, x)| {
                sum += x * (-(i as f64) / 10.0).exp();
                sum
            }).collect();
            prop_assume!(sum > 1e-6);
            let best = fit(&s, BIN, None).unwrap();
            let trial = ProfitCurve { profit: best.profit * other.0, decay: best.decay * other.1 };
            let inside = trial.decay * BIN * s.len() as f64 > 1.0 / SLOWEST_SPANS
                && trial.decay * BIN * FASTEST_BINS < 1.0;
            prop_assume!(inside);
            prop_assert!(objective(&s, best) <= objective(&s, trial) * (1.0 + 1e-9));
        }
    }

    #[test]
    fn a_bin_holds_its_part_of_the_curve() {
        let curve = ProfitCurve { profit: 7.0, decay: 2e-5 };
        let s = exact(curve, 5);
        assert!((curve.in_bin(0, BIN) - s[0]).abs() < 1e-12);
        assert!((curve.in_bin(4, BIN) - (s[4] - s[3])).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(fit(&[], BIN, None), None);
        assert_eq!(fit(&[0.0; 30], BIN, None), None);
        assert_eq!(fit(&[1.0, f64::NAN], BIN, None), None);
        assert_eq!(fit(&[1.0], 0.0, None), None);
        // All clicks in the first bin: the fastest decay that bins can show.
        let fast = fit(&[2.0; 50], BIN, None).unwrap();
        assert!((fast.profit - 2.0).abs() < 0.1 && fast.decay > 1.0 / BIN, "{fast:?}");
    }
}
