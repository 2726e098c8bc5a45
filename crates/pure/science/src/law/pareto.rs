//! Heavy tails: the Pareto laws, with and without a least time between changes.

use super::invert::invert_worth;
use super::{LawError, LossCurve};
use tidewatch_math::special::{expm1_over, g, gamma_p_inv, minus_ln_1p};

/// Times between changes with Ḡ(t) = (s/t)^α from the scale s on, 1 before `[WSY02]`.
///
/// The mean is αs/(α − 1), so λ = (α − 1)/(αs), and
/// * D(τ) = λτ up to s, then 1 − (s/τ)^(α−1)/α;
/// * U(τ) = λτ²/2 up to s, then λs²(½ + ((τ/s)^(2−α) − 1)/(2 − α)), a logarithm at α = 2;
/// * U(∞) = λs²·α/(2(α − 2)) for α > 2, else infinite: such a page is never given up.
///
/// **Shape at most one.** The mean is infinite and λ = 0: at a random moment of a process that has
/// been running for ever the next change is infinitely far off, and the equilibrium distribution
/// puts all its mass at infinity. We take the limit α ↓ 1 of the formulas, which is D = U = 0,
/// A = 0 and U⁻¹ = ∞: the page is as good as static and gets no fetch. A page that did change in
/// the time it was watched should be described by another law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    shape: f64,
    scale: f64,
}

impl Pareto {
    /// Tail exponent α > 0 and least time between changes s > 0.
    pub fn new(shape: f64, scale: f64) -> Result<Self, LawError> {
        LawError::positive("shape of the Pareto law", shape)?;
        LawError::positive("scale of the Pareto law", scale)?;
        Ok(Self { shape, scale })
    }

    /// λ, changes per unit time; 0 where the mean is infinite.
    pub fn rate(&self) -> f64 {
        (self.shape - 1.0).max(0.0) / (self.shape * self.scale)
    }

    /// λs²(½ + (e^((2−α)ℓ) − 1)/(2 − α)), the worth at τ = s·e^ℓ, ℓ ≥ 0.
    fn worth_in_tail(&self, log_excess: f64) -> f64 {
        let lift = (2.0 - self.shape) * log_excess;
        self.rate() * self.scale * self.scale * (0.5 + log_excess * expm1_over(-lift))
    }
}

impl LossCurve for Pareto {
    fn stale(&self, elapsed: f64) -> f64 {
        if elapsed <= self.scale { self.rate() * elapsed } else { 1.0 - self.fresh(elapsed) }
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        if self.shape <= 1.0 {
            1.0
        } else if elapsed <= self.scale {
            1.0 - self.rate() * elapsed
        } else {
            (self.scale / elapsed).powf(self.shape - 1.0) / self.shape
        }
    }

    fn slope(&self, elapsed: f64) -> f64 {
        self.rate() * (self.scale / elapsed).min(1.0).powf(self.shape)
    }

    fn worth(&self, elapsed: f64) -> f64 {
        if self.shape <= 1.0 {
            0.0
        } else if elapsed <= self.scale {
            0.5 * self.rate() * elapsed * elapsed
        } else if elapsed == f64::INFINITY {
            self.worth_limit()
        } else {
            self.worth_in_tail((elapsed / self.scale).ln())
        }
    }

    fn worth_limit(&self) -> f64 {
        if self.shape <= 1.0 {
            0.0
        } else if self.shape <= 2.0 {
            f64::INFINITY
        } else {
            self.rate() * self.scale * self.scale * self.shape / (2.0 * (self.shape - 2.0))
        }
    }

    /// Closed: τ = √(2U/λ) up to s, then s·(1 + (2 − α)z)^(1/(2−α)) with z = U/(λs²) − ½.
    fn elapsed_at(&self, worth: f64) -> f64 {
        if worth <= 0.0 {
            return 0.0;
        }
        if worth >= self.worth_limit() {
            return f64::INFINITY;
        }
        let unit = self.rate() * self.scale * self.scale;
        let z = worth / unit - 0.5;
        if z <= 0.0 {
            return self.scale * (2.0 * worth / unit).sqrt();
        }
        let power = 2.0 - self.shape;
        // Close to the limit rounding may take the product below −1.
        let log_excess = if power == 0.0 { z } else { (power * z).max(-1.0).ln_1p() / power };
        self.scale * log_excess.exp()
    }

    /// The law has its corner where the shortest gap ends.
    fn smooth_between(&self, from: f64, to: f64) -> bool {
        !(from < self.scale && self.scale < to)
    }
}

/// Times between changes with Ḡ(t) = (1 + t/s)^(−α), the Pareto law from zero.
///
/// With a = α − 1 and mean s/a: D(τ) = 1 − (1 + τ/s)^(−a). This is also a Poisson page whose rate is
/// known only as a gamma posterior of shape a and rate s, since E\[e^(−λτ)\] = (s/(s+τ))^a; see
/// [`Lomax::uncertain_rate`]. Its worth is the posterior mean of the Poisson worth, heavy tail and
/// all, so that a page about which little is known keeps being visited now and then.
///
/// With z = τ/s, L = ln(1+z), w = z/(1+z), c = a − 1 and φ(y) = y − ln(1+y):
/// U = s·P·(1 − e^(−cP))/(cP), P = φ(−w) + φ(cw)/c, which is s(1 − (1+az)(1+z)^(−a))/(a−1) without
/// its cancellations for small z, for large a and for a near one. U(∞) = s/(a−1), infinite for a ≤ 1.
///
/// Shape at most one (a ≤ 0): no mean, D = 0, as for [`Pareto`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lomax {
    /// a = α − 1, at least zero.
    excess: f64,
    scale: f64,
}

impl Lomax {
    /// Tail exponent α > 0 and scale s > 0 of the time between changes.
    pub fn new(shape: f64, scale: f64) -> Result<Self, LawError> {
        LawError::positive("shape of the Lomax law", shape)?;
        LawError::positive("scale of the Lomax law", scale)?;
        Ok(Self { excess: (shape - 1.0).max(0.0), scale })
    }

    /// A Poisson page whose rate has the gamma distribution with this shape and rate (of mean
    /// `shape`/`rate`; `rate` is in units of time).
    pub fn uncertain_rate(shape: f64, rate: f64) -> Result<Self, LawError> {
        LawError::not_negative("shape of the rate's distribution", shape)?;
        LawError::positive("rate of the rate's distribution", rate)?;
        Ok(Self { excess: shape, scale: rate })
    }

    /// λ, changes per unit time (the mean of the gamma distribution).
    pub fn rate(&self) -> f64 {
        self.excess / self.scale
    }

    /// U/s = a(φ(z)e^(−y) − L·g(y)/y)/(1 − a) with y = aL and g(y) = 1 − (1+y)e^(−y): without the
    /// cancellation of the other form for small a, where c rounds to −1.
    fn worth_of_small_excess(&self, z: f64) -> f64 {
        let (a, log) = (self.excess, z.ln_1p());
        let y = a * log;
        let second = if y > 0.0 { log * (g(y) / y) } else { 0.0 };
        a * (minus_ln_1p(z) * (-y).exp() - second) / (1.0 - a)
    }

    /// The central 95 % interval of the rate.
    pub fn interval_95(&self) -> (f64, f64) {
        if self.excess == 0.0 {
            return (0.0, 0.0);
        }
        let at = |p: f64| gamma_p_inv(self.excess, p) / self.scale;
        (at(0.025), at(0.975))
    }
}

impl LossCurve for Lomax {
    fn stale(&self, elapsed: f64) -> f64 {
        if self.excess == 0.0 {
            return 0.0;
        }
        -(-self.excess * (elapsed / self.scale).ln_1p()).exp_m1()
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        if self.excess == 0.0 {
            return 1.0;
        }
        (-self.excess * (elapsed / self.scale).ln_1p()).exp()
    }

    fn slope(&self, elapsed: f64) -> f64 {
        self.rate() * (-(self.excess + 1.0) * (elapsed / self.scale).ln_1p()).exp()
    }

    fn worth(&self, elapsed: f64) -> f64 {
        if self.excess == 0.0 {
            return 0.0;
        }
        if elapsed == f64::INFINITY {
            return self.worth_limit();
        }
        let z = elapsed / self.scale;
        if self.excess < SMALL_EXCESS {
            return self.scale * self.worth_of_small_excess(z);
        }
        let (w, c) = (z / (1.0 + z), self.excess - 1.0);
        // φ(cw)/c → 0 with c; below the square root of the smallest number c²w²/2 would underflow.
        let second = if c.abs() < f64::MIN_POSITIVE { 0.0 } else { minus_ln_1p(c * w) / c };
        // φ(−w) = L − w, from L itself where w has rounded away its distance from one.
        let first = if z < 1.0 { minus_ln_1p(-w) } else { z.ln_1p() - w };
        let p = first + second;
        self.scale * p * expm1_over(c * p)
    }

    fn worth_limit(&self) -> f64 {
        if self.excess == 0.0 {
            0.0
        } else if self.excess <= 1.0 {
            f64::INFINITY
        } else {
            self.scale / (self.excess - 1.0)
        }
    }

    /// By Halley's method on ln u over ln z, with u = U/s: concave, so that steps from the left stay
    /// there, and U ≤ D′(0)τ²/2 gives a first z there that is exact for short times.
    ///
    /// With q = dln u/dln z = zu′/u the second derivative is q(2 − (a+1)w − q), and from U itself
    /// (1+z)^(−a) = (1 − cu)/(1 + az), so that a step costs one U and one exponential.
    fn elapsed_at(&self, worth: f64) -> f64 {
        let u = worth / self.scale;
        let (a, c) = (self.excess, self.excess - 1.0);
        let mut z = (2.0 * u / a).sqrt();
        let is_plain = worth > 0.0 && worth < self.worth_limit() && z > 0.0 && z.is_finite();
        for _ in 0..if is_plain { HALLEY_STEPS } else { 0 } {
            let found = self.worth(z * self.scale) / self.scale;
            let w = z / (1.0 + z);
            let q = a * z * w * (1.0 - c * found) / ((1.0 + a * z) * found);
            let newton = (u / found).ln() / q;
            let bend = 0.5 * newton * (2.0 - (a + 1.0) * w - q);
            let step = newton / (1.0 + bend.clamp(-0.5, 0.5));
            if !step.is_finite() {
                break;
            }
            z *= step.exp();
            if step.abs() < HALLEY_DONE {
                return z * self.scale;
            }
        }
        invert_worth(self, worth)
    }
}

/// Below this a the first form of U loses more than four digits.
const SMALL_EXCESS: f64 = 1e-4;
/// Steps are many only where the worth is all but reached, and there halving does as well.
const HALLEY_STEPS: u32 = 12;
/// A step below this leaves its cube, which is less than rounding.
const HALLEY_DONE: f64 = 1e-5;
