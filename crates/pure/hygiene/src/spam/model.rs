//! Logistic regression with a normal prior: ln(p/(1 − p)) = b + w·x.
//!
//! The prior is what another set of labels taught; the labels of this crawl move the weights away from
//! it, the less sure the prior is, the sooner. The weights maximise
//!
//! Σ ln p(label | x, w) − ½ Σ (wᵢ − mᵢ)²/sᵢ²,
//!
//! a concave function, by Newton's method. Who labels hosts looks for spam, so that its share among
//! labels says nothing about its share π on the web. So b is fixed, and while weights are learnt
//! ln(n₁/n₀) − ln(π/(1 − π)) is added to it, n₁ and n₀ the numbers of labels (`[KZ01]`, prior correction).

use tidewatch_math::linear::Cholesky;

/// Steps of Newton's method. It converges quadratically; a dozen is plenty.
const STEPS: usize = 25;
/// The weights are found when no step is longer.
const FOUND: f64 = 1e-9;
/// Longest step of one weight, so that labels that a line divides do not throw it far off.
const LONGEST: f64 = 2.0;

/// What is believed of a weight before labels come: its mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub spread: f64,
}

/// Features with a label.
#[derive(Clone, Copy, Debug)]
pub struct Example<const N: usize> {
    /// Features, centred where nothing speaks for either label.
    pub x: [f64; N],
    /// The label.
    pub is_spam: bool,
}

/// Weights of features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic<const N: usize> {
    /// Log odds at x = 0.
    pub bias: f64,
    /// Log odds a unit of each feature.
    pub weights: [f64; N],
}

impl<const N: usize> Logistic<N> {
    /// The chance that something with these features is spam.
    pub fn chance(&self, x: &[f64; N]) -> f64 {
        sigmoid(self.bias + dot(&self.weights, x))
    }

    /// Learns weights from labels, where `share` of all is spam and the log odds at x = 0 are `bias`.
    pub fn fit(bias: f64, share: f64, prior: &[Belief; N], labels: &[Example<N>]) -> Logistic<N> {
        let spam = labels.iter().filter(|label| label.is_spam).count() as f64;
        let good = labels.len() as f64 - spam;
        // Half a label each: no number is infinite.
        let offset = bias + ((spam + 0.5) / (good + 0.5)).ln() - (share / (1.0 - share)).ln();
        let mut weights = prior.map(|belief| belief.mean);
        for _ in 0..STEPS {
            let step = step(offset, prior, labels, &weights);
            weights = std::array::from_fn(|at| weights[at] - step[at].clamp(-LONGEST, LONGEST));
            if step.iter().all(|step| step.abs() < FOUND) {
                break;
            }
        }
        Logistic { bias, weights }
    }
}

/// H⁻¹∇ of the negative logarithm of the posterior.
fn step<const N: usize>(
    offset: f64,
    prior: &[Belief; N],
    labels: &[Example<N>],
    weights: &[f64; N],
) -> [f64; N] {
    let mut slope = [0.0; N];
    let mut curve = [[0.0; N]; N];
    for at in 0..N {
        let precision = 1.0 / (prior[at].spread * prior[at].spread);
        slope[at] = precision * (weights[at] - prior[at].mean);
        curve[at][at] = precision;
    }
    for Example { x, is_spam } in labels {
        let p = sigmoid(offset + dot(weights, x));
        let (error, curving) = (p - f64::from(u8::from(*is_spam)), p * (1.0 - p));
        for j in 0..N {
            slope[j] += error * x[j];
            for k in 0..=j {
                curve[j][k] += curving * x[j] * x[k];
            }
        }
    }
    Cholesky::of(&curve, f64::MIN_POSITIVE).solve(slope)
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;

    fn prior<const N: usize>(spread: f64) -> [Belief; N] {
        [Belief { mean: 0.0, spread }; N]
    }

    /// Draws labels by known weights: those found lie within four standard errors of them, and chances
    /// are those of the web although every second label is spam.
    #[test]
    fn weights_and_chances_are_found() {
        const LABELS: usize = 4_000;
        /// Four standard errors of a weight, 1/√(n·p(1 − p)) for p = ½, and some for p away from it.
        const ERROR: f64 = 0.2;
        let truth = [1.0, -0.5, 0.0];
        let bias = -3.0;
        let mut draws = Draws::of(3, "logistic", 0);
        let (mut labels, mut spam) = (Vec::new(), 0);
        let (mut all, mut all_spam) = (0.0, 0.0);
        while labels.len() < LABELS {
            let x: [f64; 3] = std::array::from_fn(|_| 4.0 * draws.uniform() - 2.0);
            let is_spam = draws.uniform() < sigmoid(bias + dot(&truth, &x));
            (all, all_spam) = (all + 1.0, all_spam + f64::from(u8::from(is_spam)));
            // As many good ones as spam.
            if is_spam || labels.len() < 2 * spam {
                spam += usize::from(is_spam);
                labels.push(Example { x, is_spam });
            }
        }
        let share = all_spam / all;
        let found = Logistic::fit(bias, share, &prior(10.0), &labels);
        for (found, truth) in found.weights.iter().zip(truth) {
            assert!((found - truth).abs() < ERROR, "{found} {truth}");
        }
        let at = |x: f64| (found.chance(&[x, 0.0, 0.0]), sigmoid(bias + x));
        for (found, truth) in [at(0.0), at(2.0)] {
            assert!((found - truth).abs() < 0.06, "{found} {truth}");
        }
    }

    #[test]
    fn the_slope_is_zero_at_the_weights() {
        let labels = [([1.0, 0.0], true), ([0.5, -1.0], false), ([-1.0, 2.0], false)]
            .map(|(x, is_spam)| Example { x, is_spam });
        let prior = [Belief { mean: 0.3, spread: 0.7 }, Belief { mean: -0.2, spread: 2.0 }];
        let found = Logistic::fit(-2.0, 0.2, &prior, &labels);
        let offset = -2.0 + (1.5f64 / 2.5).ln() - 0.25f64.ln();
        for (at, believed) in prior.iter().enumerate() {
            let from_prior = (found.weights[at] - believed.mean) / believed.spread.powi(2);
            let from_labels: f64 = labels
                .iter()
                .map(|label| {
                    let p = sigmoid(offset + dot(&found.weights, &label.x));
                    (p - f64::from(u8::from(label.is_spam))) * label.x[at]
                })
                .sum();
            assert!((from_prior + from_labels).abs() < 1e-8, "{from_prior} {from_labels}");
        }
    }

    #[test]
    fn without_labels_the_prior_stands() {
        let prior = [Belief { mean: 0.3, spread: 0.7 }];
        let found = Logistic::fit(-2.0, 0.2, &prior, &[]);
        assert!((found.weights[0] - 0.3).abs() < 1e-12);
        assert!((found.chance(&[0.0]) - sigmoid(-2.0)).abs() < 1e-12);
    }

    /// A line divides the labels: without a prior no weight were large enough.
    #[test]
    fn divided_labels_have_weights() {
        let labels = [(-3.0, false), (-2.0, false), (2.0, true), (3.0, true)]
            .map(|(x, is_spam)| Example { x: [x], is_spam });
        let found = Logistic::fit(0.0, 0.5, &prior(1.0), &labels);
        assert!(found.weights[0] > 0.5 && found.weights[0] < 4.0, "{found:?}");
    }
}
