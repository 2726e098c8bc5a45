//! How often do pages change, what does staleness cost, how is a crawl budget divided?

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod allocate;
pub mod estimate;
pub mod law;
pub mod longevity;
pub mod rhythm;
pub mod timetable;
pub mod weight;
