//! Spend refreshes on content that lasts `[OP08]`.
//!
//! A page is made of regions that behave differently: some never change, some are overwritten by
//! every update (*churn*), some show a window of items and push the oldest out (*scroll*). What a copy
//! loses with time is not whether it changed but how much of it is gone, the *divergence*
//! D(τ) = 1 − |F∩F′|/|F∪F′|. A fetch is worth U(τ) = τD(τ) − ∫₀^τ D, and a page is due when U reaches
//! one threshold for the whole crawl (eq. 4).
//!
//! * [`DivergenceCurve`]: D, U and U⁻¹ of such a page, derived from the model.
//! * [`Profiles`]: what was seen of a page, as divergences from base versions kept as sketches.
//! * [`fit`]: the curve that the evidence favours, from few points.
//! * [`Longevity`]: the policies, `curve-fit` and `bound-based`, which share a schedule and differ in
//!   how they find a page's period.

mod bounds;
mod candidates;
mod curve;
mod fit;
mod packed;
mod profile;
mod worth;

pub use bounds::{UtilityBounds, utility_bounds};
pub use curve::{DivergenceCurve, MOST_ITEMS};
pub use fit::{Fit, expected_worth, fit, fit_given};
pub use packed::{pack, unpack};
pub use profile::{Point, Profiles};
pub use worth::ExpectedWorth;
