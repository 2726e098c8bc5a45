//! Policies that may look at the truth. They bound what a policy that has to learn can reach.

mod known_rates;
mod known_sources;
mod longevity;
mod met;
mod omniscient;
mod timed;

pub use known_rates::known_rates;
pub use known_sources::{Learns, known_sources, partly_known_sources, source_terms};
pub use longevity::{Knowledge, KnownLongevity, SeenLongevity};
pub use omniscient::Omniscient;
pub use timed::Timed;
