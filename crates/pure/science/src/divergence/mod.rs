//! How much of a copy is gone, and does what is new last? `[OP08]`
//!
//! A page is made of regions that behave differently: some never change, some are overwritten by
//! every update (*churn*), some show a window of items and push the oldest out (*scroll*). The loss of
//! a copy is then not whether the page changed but how much of it is gone, the *divergence*
//! D(τ) = 1 − |F∩F′|/|F∪F′| of the text fragments F of two versions. A fetch is worth
//! U(τ) = τD(τ) − ∫₀^τ D, and a page is due when U reaches one threshold for the whole crawl (eq. 4).
//!
//! * [`DivergenceCurve`]: D, U and U⁻¹ of such a page, derived from the model.
//! * [`Profiles`]: the divergences seen between fetches of a page, from sketches of its text.
//! * [`fit`]: the curve that a few divergences speak for; [`fit_given`] also uses the change rate.
//! * [`expected_worth`]: the worth of a fetch averaged over all curves, which is what schedules a page.
//! * [`utility_bounds`]: bounds on U that assume nothing but that divergence grows.
//!
//! ```
//! use tidewatch_science::divergence::{DivergenceCurve, ProfilePoint, fit};
//! use tidewatch_science::law::LossCurve;
//! const DAY: f64 = 86_400.0;
//! // A page of which 40 % is replaced every other day, seen often.
//! let truth = DivergenceCurve::new(0.5 / DAY, 0.4, 0.0, 1);
//! let seen: Vec<ProfilePoint> = (1..=60)
//!     .map(|day| f64::from(day) * 0.5 * DAY)
//!     .map(|elapsed| ProfilePoint { elapsed, divergence: truth.stale(elapsed) })
//!     .collect();
//! let found = fit(&seen, 64, 1).curve;
//! assert!((found.limit() - 0.4).abs() < 0.1);
//! let (ours, best) = (found.elapsed_at(0.1 * DAY), truth.elapsed_at(0.1 * DAY));
//! assert!((0.5..2.0).contains(&(ours / best)));
//! ```

mod bounds;
mod candidates;
mod curve;
mod fit;
mod packed;
mod profile;
mod worth;

pub use bounds::{UtilityBounds, utility_bounds};
pub use curve::DivergenceCurve;
pub use fit::{Fit, expected_worth, fit, fit_given};
pub use packed::{PackedPoint, PackedProfile};
pub use profile::{ProfilePoint, Profiles};
pub use worth::ExpectedWorth;
