//! What is a page, a host, a time, an observation, a canonical URL?
//!
//! Pure: no clock, no file, no socket, no ambient randomness.

pub mod url;
