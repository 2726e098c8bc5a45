//! Frontier orders on generated and real webs.

pub(super) mod coverage;
mod expected;
pub(super) mod impact;
mod methods;
pub(super) mod real;
mod setting;
mod told;
mod witness;
mod worth;
