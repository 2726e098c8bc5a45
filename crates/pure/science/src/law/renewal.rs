//! Any renewal law, from its survival function alone.

use super::{LawError, LossCurve};
use tidewatch_math::quadrature::{Aim, integrate, integrate_tail};
use tidewatch_math::roots::{Stop, bisect};

/// Asked of every integral.
const AIM: Aim = Aim { absolute: 0.0, relative: 1e-11, evaluations: 20_000 };
/// An integral over all times known no better than this does not exist, for our purposes.
const DIVERGED: f64 = 1e-5;
/// Growth of successive stretches of an integral from zero, so that neither a narrow start nor a
/// long tail escapes the rule.
const STRETCH: f64 = 4.0;

/// Changes as a renewal process whose gaps outlast t with chance Ḡ(t), given as a function.
///
/// D, U and their limits are integrals of Ḡ (see the module's head), done afresh by adaptive
/// quadrature at every call, some hundred evaluations each: the way to try a law, and the oracle for
/// those that have a closed form. Ḡ must fall from 1 to 0; a corner or a jump in it may cost digits,
/// because a rule knows a function only at its nodes.
#[derive(Clone, Copy)]
pub struct Renewal<G> {
    survival: G,
    mean: f64,
    worth_limit: f64,
}

impl<G: Fn(f64) -> f64> Renewal<G> {
    /// Finds the moments by quadrature. A second moment that does not converge is taken to be
    /// infinite; a mean that does not is refused. Tails only a little lighter than a limit of
    /// existence converge too slowly to be told from it: use [`Renewal::with_moments`] for them.
    pub fn new(survival: G) -> Result<Self, LawError> {
        let median = median(&survival)?;
        let mean = over_all_times(&survival, median).unwrap_or(f64::NAN);
        let half_second = over_all_times(|v| v * survival(v), median);
        Self::with_moments(survival, mean, 2.0 * half_second.unwrap_or(f64::INFINITY))
    }

    /// With E\[X\] and E\[X²\] given; the latter may be infinite.
    pub fn with_moments(survival: G, mean: f64, second_moment: f64) -> Result<Self, LawError> {
        LawError::positive("mean time between changes", mean)?;
        let least = mean * mean;
        let possible = second_moment >= least * (1.0 - DIVERGED);
        LawError::check(possible, "second moment", second_moment, "at least the mean squared")?;
        Ok(Self { survival, mean, worth_limit: second_moment / (2.0 * mean) })
    }

    /// λ, changes per unit time.
    pub fn rate(&self) -> f64 {
        self.mean.recip()
    }

    /// ∫₀^τ f over growing stretches; `f` is bounded, so the quadrature cannot fail.
    fn integral(&self, f: impl Fn(f64) -> f64, elapsed: f64) -> f64 {
        let (mut from, mut to, mut total) = (0.0, self.mean.min(elapsed), 0.0);
        while from < to {
            let part = integrate(&f, from, to, AIM).map_or(f64::NAN, |integral| integral.value);
            total += part;
            // What is left of a falling integrand cannot matter any more.
            if part < f64::EPSILON * f64::EPSILON * total {
                break;
            }
            (from, to) = (to, (to * STRETCH).min(elapsed));
        }
        total
    }
}

/// Where a survival function passes one half: the scale of its law.
fn median(survival: impl Fn(f64) -> f64) -> Result<f64, LawError> {
    let found = bisect(|t| survival(t) - 0.5, (0.0, f64::MAX), Stop::relative(1e-3));
    let median = found.map_or(f64::NAN, |root| root.x);
    LawError::positive("median time between changes", median)
}

/// ∫₀^∞ f, if it converges: adaptively around the median, where laws may have corners, and by a
/// rule for tails beyond.
fn over_all_times(f: impl Fn(f64) -> f64, median: f64) -> Option<f64> {
    let ends = [0.0, median, STRETCH * median, STRETCH * STRETCH * median];
    let mut total = 0.0;
    for pair in ends.windows(2) {
        total += integrate(&f, pair[0], pair[1], AIM).ok()?.value;
    }
    let tail = integrate_tail(&f, ends[3], AIM).ok()?;
    let value = total + tail.value;
    (tail.error <= DIVERGED * value && value.is_finite()).then_some(value)
}

impl<G: Fn(f64) -> f64> LossCurve for Renewal<G> {
    fn stale(&self, elapsed: f64) -> f64 {
        if elapsed > self.mean {
            return 1.0 - self.fresh(elapsed);
        }
        self.rate() * self.integral(&self.survival, elapsed)
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        if elapsed <= self.mean {
            return 1.0 - self.stale(elapsed);
        }
        if elapsed == f64::INFINITY {
            return 0.0;
        }
        let rest = integrate_tail(&self.survival, elapsed, AIM);
        self.rate() * rest.map_or(f64::NAN, |integral| integral.value)
    }

    fn slope(&self, elapsed: f64) -> f64 {
        self.rate() * (self.survival)(elapsed)
    }

    fn worth(&self, elapsed: f64) -> f64 {
        if elapsed == f64::INFINITY {
            return self.worth_limit;
        }
        self.rate() * self.integral(|v| v * (self.survival)(v), elapsed)
    }

    fn worth_limit(&self) -> f64 {
        self.worth_limit
    }
}

impl<G> std::fmt::Debug for Renewal<G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renewal").field("mean", &self.mean).finish_non_exhaustive()
    }
}
