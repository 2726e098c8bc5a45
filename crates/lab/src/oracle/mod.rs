//! Policies that may look at the truth. What they reach bounds what can be learned.

mod omniscient;

pub use omniscient::Omniscient;
