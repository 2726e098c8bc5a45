//! Bursts and regular beats: the Weibull law.

use super::{LawError, LossCurve};
use tidewatch_math::special::{gamma_p, gamma_p_inv, gamma_q, ln_gamma};

/// Smallest shape accepted: at 1/20 the mean is already 20! scales, and half of all gaps lie below
/// 10⁻³ scales.
const LEAST_SHAPE: f64 = 0.05;
/// Largest shape accepted: at 100 the gaps differ by about one per cent, a clock for any purpose.
const MOST_SHAPE: f64 = 100.0;

/// Times between changes with Ḡ(t) = exp(−(t/s)^k), 'often' what logs show `[WSY02]`.
///
/// Shape k < 1: changes come in bursts; k = 1: Poisson of rate 1/s; k > 1: they keep a distance.
/// The mean is sΓ(1 + 1/k). With z = (τ/s)^k and P the regularised incomplete gamma function,
/// substituting v = s·y^(1/k) in λ∫₀^τ Ḡ and λ∫₀^τ vḠ gives
///
/// D(τ) = P(1/k, z),   U(τ) = U(∞)·P(2/k, z),   U(∞) = s·Γ(2/k)/Γ(1/k).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull {
    shape: f64,
    scale: f64,
}

impl Weibull {
    /// Shape k from 0.05 to 100, scale s > 0.
    pub fn new(shape: f64, scale: f64) -> Result<Self, LawError> {
        let known = (LEAST_SHAPE..=MOST_SHAPE).contains(&shape);
        LawError::check(known, "shape of the Weibull law", shape, "from 0.05 to 100")?;
        LawError::positive("scale of the Weibull law", scale)?;
        Ok(Self { shape, scale })
    }

    /// The law of this shape that changes `rate` > 0 times per unit time.
    pub fn with_rate(shape: f64, rate: f64) -> Result<Self, LawError> {
        LawError::positive("change rate", rate)?;
        let unit = Self::new(shape, 1.0)?;
        Self::new(shape, unit.rate() / rate)
    }

    /// λ, changes per unit time.
    pub fn rate(&self) -> f64 {
        (-ln_gamma(1.0 + self.shape.recip())).exp() / self.scale
    }

    /// z = (τ/s)^k.
    fn hazard(&self, elapsed: f64) -> f64 {
        (elapsed / self.scale).powf(self.shape)
    }

    /// Whether z is too small a number to carry τ; then D = λτ and U = λτ²/2 to the last bit.
    fn is_short(z: f64) -> bool {
        z < f64::MIN_POSITIVE
    }
}

impl LossCurve for Weibull {
    fn stale(&self, elapsed: f64) -> f64 {
        let z = self.hazard(elapsed);
        if Self::is_short(z) {
            self.rate() * elapsed
        } else if z == f64::INFINITY {
            1.0
        } else {
            gamma_p(self.shape.recip(), z)
        }
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        let z = self.hazard(elapsed);
        if Self::is_short(z) {
            1.0 - self.stale(elapsed)
        } else if z == f64::INFINITY {
            0.0
        } else {
            gamma_q(self.shape.recip(), z)
        }
    }

    fn slope(&self, elapsed: f64) -> f64 {
        self.rate() * (-self.hazard(elapsed)).exp()
    }

    fn worth(&self, elapsed: f64) -> f64 {
        let z = self.hazard(elapsed);
        if Self::is_short(z) {
            return 0.5 * self.rate() * elapsed * elapsed;
        }
        let share = if z == f64::INFINITY { 1.0 } else { gamma_p(2.0 / self.shape, z) };
        self.worth_limit() * share
    }

    fn worth_limit(&self) -> f64 {
        self.scale * (ln_gamma(2.0 / self.shape) - ln_gamma(self.shape.recip())).exp()
    }

    fn elapsed_at(&self, worth: f64) -> f64 {
        if worth <= 0.0 {
            return 0.0;
        }
        let share = worth / self.worth_limit();
        if share >= 1.0 {
            return f64::INFINITY;
        }
        let z = gamma_p_inv(2.0 / self.shape, share);
        if Self::is_short(z) {
            return (2.0 * worth / self.rate()).sqrt();
        }
        self.scale * z.powf(self.shape.recip())
    }
}
