//! How often do pages change, what does staleness cost, how is a crawl budget divided?

pub mod allocate;
pub mod estimate;
pub mod law;
pub mod longevity;
pub mod rhythm;
pub mod timetable;
pub mod weight;
