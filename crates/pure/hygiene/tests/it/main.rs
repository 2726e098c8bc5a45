//! The whole of hygiene on small webs with known truth.

mod rules;
