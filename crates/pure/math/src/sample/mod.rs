//! Samplers that synthetic webs need and `rand_distr` does not give in this form.
//!
//! Each law is a small value checked when made, with its distribution function or probabilities
//! beside its sampler, so that a generator can state what it drew from. Sampling takes a
//! [`Draws`](crate::Draws); where one uniform suffices it takes exactly one draw, so that results stay put when a
//! neighbouring parameter changes. Whatever `rand_distr` samples well is left to it.

mod heavy;
mod renewal;
mod rhythm;

pub use heavy::{GammaRates, ZipfRanks};
pub use renewal::RenewalGap;
pub use rhythm::{Arrivals, HOUR, HOURS, Rhythm, WEEK};
