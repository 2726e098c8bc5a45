//! How stale does a page become when nobody looks?
//!
//! A *staleness law* says how a page changes; from it follow the two things a scheduler asks:
//!
//! * by elapsed time ([`LossCurve`]): the staleness D(τ) of a copy τ after its fetch, and the worth
//!   U(τ) = τ·D(τ) − ∫₀^τ D of one more fetch then, which is what the price is compared with;
//! * by number of fetches ([`Staleness`]): the average staleness A(x) over a window T with x fetches,
//!   its slope and its steps, which is what an allocation of a fixed number of fetches needs.
//!
//! For a page whose changes form a stationary process both are the same curve. `[WSY02]` give
//! a = (1/T) Σⱼ ∫ (1 − λ∫₀^∞ Ḡ(t − tⱼ + v) dv) dt, t from tⱼ to tⱼ₊₁, for fetches at tⱼ, with Ḡ the
//! complementary distribution of the time between updates and 1/λ its mean. Substituting
//! τ = t − tⱼ and then v → v − τ, the bracket is
//!
//! D(τ) = 1 − λ∫_τ^∞ Ḡ(v) dv = λ∫₀^τ Ḡ(v) dv,
//!
//! the *equilibrium distribution* of the law: a fetch falls at a random moment of the update
//! process, the wait for the next update has density λḠ, and the copy is stale once it is over.
//! (The second form uses λ∫₀^∞ Ḡ = 1.) From it D′ = λḠ, U′ = τD′ and U(τ) = λ∫₀^τ vḠ(v) dv, which
//! rises to E\[X²\]/(2E\[X\]): above that worth no fetch is ever due. D is concave because Ḡ falls, so
//! equal gaps u = T/(x+1) are best, and with M(u) = (1/u)∫₀^u D
//!
//! A(x) = M(u),   −A′(x) = U(u)/T,   A convex in x.
//!
//! A page with a known timetable of possible updates ([`Quasi`]) has no such curve: its A is a
//! table from a dynamic program. [`Law`] holds any of them in one small `Copy` value without a heap
//! allocation, so that a problem may mix them freely.
//!
//! Times are in any one unit; rates are per that unit, worths U in that unit.
//!
//! ```
//! use tidewatch_science::law::{LossCurve, Poisson, Staleness};
//! let page = Poisson::new(0.5)?; // one change in two days
//! // Stale with a chance of 39 % a day after a fetch, and 21 % of the time if fetched daily.
//! assert!((page.stale(1.0) - 0.393).abs() < 0.001);
//! assert!((page.stale_mean(1.0) - 0.213).abs() < 0.001);
//! // Worth a fetch at a price of a quarter of a day after this wait; never at two days.
//! let wait = page.elapsed_at(0.25);
//! assert!((page.worth(wait) - 0.25).abs() < 1e-9);
//! assert_eq!(page.elapsed_at(2.0), f64::INFINITY);
//! # Ok::<(), tidewatch_science::law::LawError>(())
//! ```

#![allow(clippy::float_cmp, reason = "exact zeros and infinities are cases of their own")]

mod curve;
mod error;
mod invert;
mod mixture;
mod pareto;
mod poisson;
mod quasi;
mod renewal;
mod weibull;

pub use curve::{Curve, Law};
pub use error::LawError;
use invert::invert_worth;
pub use mixture::Mixture;
pub use pareto::{Lomax, Pareto};
pub use poisson::Poisson;
pub use quasi::{Plan, Quasi, UpdateTimes};
pub use renewal::Renewal;
pub use weibull::Weibull;

/// The staleness of a copy by the time since its fetch.
///
/// Every method accepts all elapsed times in [0, ∞]; D(0) = U(0) = 0. Implementors give the first
/// five, each to nearly full *relative* precision; the others follow without cancellation, because
/// a concave D has U(τ) ≤ τD(τ)/2.
pub trait LossCurve {
    /// D(τ): chance (or amount) stale `elapsed` after a fetch. Rises from 0.
    fn stale(&self, elapsed: f64) -> f64;

    /// 1 − D(τ), precise also where D is close to one.
    fn fresh(&self, elapsed: f64) -> f64;

    /// D′(τ) = λḠ(τ).
    fn slope(&self, elapsed: f64) -> f64;

    /// U(τ) = τD(τ) − ∫₀^τ D `[OP08, eq. 4]`: what one more fetch is worth, per unit of weight.
    fn worth(&self, elapsed: f64) -> f64;

    /// U(∞), the least upper bound of the worth; may be infinite.
    fn worth_limit(&self) -> f64;

    /// U⁻¹: the elapsed time at which the worth reaches `worth`; 0 for `worth` ≤ 0 and ∞ for
    /// `worth` ≥ U(∞): such a page is given up.
    fn elapsed_at(&self, worth: f64) -> f64 {
        invert_worth(self, worth)
    }

    /// M(τ) = (1/τ)∫₀^τ D: average staleness between two fetches `gap` apart; 0 at 0.
    fn stale_mean(&self, gap: f64) -> f64 {
        if gap == 0.0 { 0.0 } else { self.stale(gap) - self.worth_over(gap) }
    }

    /// 1 − M(τ), precise also where M is close to one.
    fn fresh_mean(&self, gap: f64) -> f64 {
        if gap == 0.0 { 1.0 } else { self.fresh(gap) + self.worth_over(gap) }
    }

    /// Whether D has all its derivatives between two elapsed times; a corner there would spoil
    /// quadrature.
    fn smooth_between(&self, _from: f64, _to: f64) -> bool {
        true
    }

    /// U(τ)/τ with its limit 0 at infinity, where a worth without bound still grows slower than τ.
    fn worth_over(&self, elapsed: f64) -> f64 {
        if elapsed == f64::INFINITY { 0.0 } else { self.worth(elapsed) / elapsed }
    }
}

/// The average staleness of a page by the number of fetches in a window.
///
/// A is convex and falling, so the steps [`Staleness::gain`] never rise with the number of fetches
/// (computed ones by no more than rounding, where the exact ones are as good as equal): this is
/// what makes greedy and multiplier methods exact.
pub trait Staleness {
    /// A(x): average staleness over `window` with `fetches` ≥ 0 fetches, best placed.
    fn average(&self, window: f64, fetches: f64) -> f64;

    /// −A′(x) ≥ 0, from the right where A has a corner.
    fn marginal(&self, window: f64, fetches: f64) -> f64;

    /// A(n) − A(n+1) ≥ 0: what the fetch after the n-th saves.
    fn gain(&self, window: f64, fetches: u64) -> f64;

    /// The most fetches x, real, of which every bit is worth `price`: −A′ ≥ price below x.
    /// 0 when not even the first is; ∞ for `price` ≤ 0.
    fn fetches_at(&self, window: f64, price: f64) -> f64;
}

/// From this many fetches on a step of A is integrated instead of subtracted.
const STEP_BY_INTEGRAL: u64 = 16;

/// Gauss–Legendre nodes and weights on [0, 1], five points.
///
/// The integrand U(T/(y+1)) has its nearest singularity at y = −1, at least 34 half-widths from the
/// middle of [n, n+1] for n ≥ 16, so the error is of order (2·35)⁻¹⁰ < 10⁻¹⁸.
const GAUSS_5: [(f64, f64); 5] = [
    (0.046910077030668004, 0.11846344252809454),
    (0.23076534494715845, 0.23931433524968324),
    (0.5, 0.28444444444444444),
    (0.7692346550528415, 0.23931433524968324),
    (0.953089922969332, 0.11846344252809454),
];

impl<C: LossCurve + ?Sized> Staleness for C {
    fn average(&self, window: f64, fetches: f64) -> f64 {
        self.stale_mean(window / (fetches + 1.0))
    }

    /// −A′(x) = M′(u)·u²/T = U(u)/T.
    fn marginal(&self, window: f64, fetches: f64) -> f64 {
        self.worth(window / (fetches + 1.0)) / window
    }

    /// Subtracts whichever of M and 1 − M is small; for many fetches, where the difference is a
    /// small part of both, integrates −A′ over the step instead. The relative error stays near
    /// 10⁻¹⁵ for any number of fetches, while successive steps differ by about 2/n of themselves,
    /// so the computed steps fall as the exact ones do. A step across a corner of D is subtracted
    /// all the same: it is one step of the page, and good to n roundings.
    fn gain(&self, window: f64, fetches: u64) -> f64 {
        let n = fetches as f64;
        let (before, after) = (window / (n + 1.0), window / (n + 2.0));
        if fetches >= STEP_BY_INTEGRAL && self.smooth_between(after, before) {
            return GAUSS_5.iter().map(|(at, weight)| weight * self.marginal(window, n + at)).sum();
        }
        let stale = self.stale_mean(before);
        let gain = if stale < 0.5 {
            stale - self.stale_mean(after)
        } else {
            self.fresh_mean(after) - self.fresh_mean(before)
        };
        gain.max(0.0)
    }

    fn fetches_at(&self, window: f64, price: f64) -> f64 {
        if price <= 0.0 {
            return f64::INFINITY;
        }
        (window / self.elapsed_at(price * window) - 1.0).max(0.0)
    }
}

#[cfg(test)]
mod tests;
