//! Policies that may look at the truth. What they reach bounds what can be learned.

mod known_rates;
mod longevity;
mod met;
mod omniscient;
mod timed;

pub use known_rates::known_rates;
pub use longevity::{Knowledge, KnownLongevity, SeenLongevity};
pub use omniscient::Omniscient;
pub use timed::Timed;
