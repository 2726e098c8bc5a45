//! Simulated and recorded webs on simulated time: how good is a policy?

pub mod generate;
pub mod import;
