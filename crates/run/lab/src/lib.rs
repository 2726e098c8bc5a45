//! Simulated and recorded webs on simulated time: how good is a policy?

pub mod cluster;
pub mod compare;
pub mod engine;
mod error;
pub mod experiment;
pub mod generate;
pub mod import;
pub mod oracle;
pub mod policies;
pub mod portrait;
pub mod reach;
pub mod snapshots;
pub mod split;
pub mod words;
pub mod world;

pub use engine::{Bounds, Measures, Settings, Start};
pub use error::LabError;
pub use words::{Question, Words};
pub use world::World;
