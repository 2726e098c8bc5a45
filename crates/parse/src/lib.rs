//! What text, links and fragments do these bytes hold?
//!
//! The life of a body: [`charset`] turns its bytes into text, then [`html::scan`] walks that text
//! once and tells every [`html::Visitor`] what it meets. Text, links and fragments are visitors, so
//! a crawler that wants all three pays for one pass.
//!
//! Pure: no clock, no file, no socket. All input is hostile: whatever the bytes, the work is linear
//! in their number and the memory beyond them is bounded.

pub mod charset;
pub mod diff;
pub mod fragments;
pub mod html;
mod noise;
pub mod reading;
