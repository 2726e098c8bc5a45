//! Policies that may look at the truth. What they reach bounds what can be learned.

mod known_rates;
mod omniscient;

pub use known_rates::known_rates;
pub use omniscient::Omniscient;
