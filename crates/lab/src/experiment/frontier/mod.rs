//! Which page never seen first: the orders of the frontier, on generated and on real webs.

pub(super) mod coverage;
pub(super) mod impact;
mod methods;
pub(super) mod real;
mod setting;
