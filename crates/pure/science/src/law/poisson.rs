//! Changes at random: the Poisson law.

use super::{LawError, LossCurve};
use tidewatch_math::special::{g, g_inv};

/// Changes at a constant rate λ, independent of the past `[CGM03]`, `[WSY02]`.
///
/// D(τ) = 1 − e^(−λτ), U(τ) = g(λτ)/λ with g(x) = 1 − (1 + x)e⁻ˣ, U(∞) = 1/λ and
/// A(x) = 1 + ((x+1)/(λT))(e^(−λT/(x+1)) − 1). A rate of zero is a page that never changes: D = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    rate: f64,
}

impl Poisson {
    /// Never changes.
    pub const NEVER: Poisson = Poisson { rate: 0.0 };

    /// Changes `rate` times per unit time on average.
    pub fn new(rate: f64) -> Result<Self, LawError> {
        LawError::not_negative("change rate", rate).map(|rate| Self { rate })
    }

    /// λ, changes per unit time.
    pub fn rate(self) -> f64 {
        self.rate
    }
}

impl LossCurve for Poisson {
    fn stale(&self, elapsed: f64) -> f64 {
        -(-self.expected(elapsed)).exp_m1()
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        (-self.expected(elapsed)).exp()
    }

    fn slope(&self, elapsed: f64) -> f64 {
        self.rate * self.fresh(elapsed)
    }

    fn worth(&self, elapsed: f64) -> f64 {
        if self.rate == 0.0 { 0.0 } else { g(self.rate * elapsed) / self.rate }
    }

    fn worth_limit(&self) -> f64 {
        if self.rate == 0.0 { 0.0 } else { self.rate.recip() }
    }

    fn elapsed_at(&self, worth: f64) -> f64 {
        if worth <= 0.0 {
            return 0.0;
        }
        // Compared before multiplying, which might round the limit itself to less than one.
        if worth >= self.worth_limit() {
            return f64::INFINITY;
        }
        g_inv(self.rate * worth) / self.rate
    }
}

impl Poisson {
    /// Expected changes in `elapsed`; no change in no time, however fast, and none ever at rate 0.
    fn expected(self, elapsed: f64) -> f64 {
        if self.rate == 0.0 { 0.0 } else { self.rate * elapsed }
    }
}
