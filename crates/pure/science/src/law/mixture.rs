//! One of several laws, nobody knows which.

use super::{Curve, LawError, LossCurve};

/// A page that follows law i with chance pᵢ: D = Σ pᵢDᵢ, and everything linear in D with it
/// (U, ∫D, A). Only U⁻¹ needs a search. Borrows its parts, so it costs 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture<'a> {
    parts: &'a [(f64, Curve)],
    /// 1/Σ shares, so that the caller need not normalise.
    scale: f64,
}

impl<'a> Mixture<'a> {
    /// Laws with their shares, which need not add up to one.
    pub fn new(parts: &'a [(f64, Curve)]) -> Result<Self, LawError> {
        for &(share, _) in parts {
            LawError::not_negative("share of a law in a mixture", share)?;
        }
        let total: f64 = parts.iter().map(|(share, _)| share).sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(LawError::Empty);
        }
        Ok(Self { parts, scale: total.recip() })
    }

    fn mean(&self, value: impl Fn(&Curve) -> f64) -> f64 {
        let parts = self.parts.iter().filter(|(share, _)| *share > 0.0);
        parts.map(|(share, law)| share * self.scale * value(law)).sum()
    }
}

impl LossCurve for Mixture<'_> {
    fn stale(&self, elapsed: f64) -> f64 {
        self.mean(|law| law.stale(elapsed))
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        self.mean(|law| law.fresh(elapsed))
    }

    fn slope(&self, elapsed: f64) -> f64 {
        self.mean(|law| law.slope(elapsed))
    }

    fn worth(&self, elapsed: f64) -> f64 {
        self.mean(|law| law.worth(elapsed))
    }

    fn worth_limit(&self) -> f64 {
        self.mean(LossCurve::worth_limit)
    }

    fn smooth_between(&self, from: f64, to: f64) -> bool {
        self.parts.iter().all(|(_, law)| law.smooth_between(from, to))
    }
}
