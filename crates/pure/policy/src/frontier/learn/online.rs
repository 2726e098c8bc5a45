//! Linear regression by gradient descent, one example at a time.
//!
//! Features are scaled by their running mean and deviation, and each weight has its own step, which
//! shrinks as its gradients add up (AdaGrad, `[DHS11]`), so no step size needs tuning. Targets are
//! heavy-tailed counts: the regression is of ln(1 + target), which has the same order.

/// Initial step.
const STEP: f64 = 0.5;

/// An online linear regression.
#[derive(Clone, Debug)]
pub struct OnLine {
    weights: Vec<f64>,
    squares: Vec<f64>,
    mean: Vec<f64>,
    /// Sum of squared distances from the mean.
    spread: Vec<f64>,
    count: f64,
}

impl OnLine {
    /// An untrained regression on `width` features.
    pub fn new(width: usize) -> Self {
        OnLine {
            // The last weight is the constant's.
            weights: vec![0.0; width + 1],
            squares: vec![1e-12; width + 1],
            mean: vec![0.0; width],
            spread: vec![0.0; width],
            count: 0.0,
        }
    }

    /// Learns one example.
    pub fn learn(&mut self, features: &[f64], target: f64) {
        self.count += 1.0;
        for ((&x, mean), spread) in features.iter().zip(&mut self.mean).zip(&mut self.spread) {
            let from = x - *mean;
            *mean += from / self.count;
            *spread += from * (x - *mean);
        }
        let gap = self.predict(features) - target.max(0.0).ln_1p();
        for i in 0..self.weights.len() {
            let gradient = gap * self.scaled(features, i);
            self.squares[i] += gradient * gradient;
            self.weights[i] -= STEP * gradient / self.squares[i].sqrt();
        }
    }

    /// Feature i in deviations from its mean, within ±4.
    fn scaled(&self, features: &[f64], i: usize) -> f64 {
        let Some(x) = features.get(i) else { return 1.0 };
        let deviation = (self.spread[i] / self.count.max(1.0)).sqrt();
        if deviation > 0.0 { ((x - self.mean[i]) / deviation).clamp(-4.0, 4.0) } else { 0.0 }
    }

    /// Expected ln(1 + target).
    pub fn predict(&self, features: &[f64]) -> f64 {
        (0..self.weights.len()).map(|i| self.weights[i] * self.scaled(features, i)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::{Draws, stats};

    #[test]
    fn it_finds_the_order_of_a_log_linear_target() {
        let mut model = OnLine::new(3);
        let mut draws = Draws::new(4, 4);
        let mut row = || {
            let x: Vec<f64> = [1000.0, 1.0, 0.01].iter().map(|s| s * draws.uniform()).collect();
            // The third feature says nothing.
            let level = 2.0 * x[0] / 1000.0 - x[1];
            (x, (1.0 + level).exp())
        };
        (0..4000).for_each(|_| {
            let (x, target) = row();
            model.learn(&x, target);
        });
        let test: Vec<_> = (0..500).map(|_| row()).collect();
        let found: Vec<f64> = test.iter().map(|(x, _)| model.predict(x)).collect();
        let truth: Vec<f64> = test.iter().map(|(_, target)| *target).collect();
        assert!(stats::spearman(&found, &truth) > 0.99);
    }
}
