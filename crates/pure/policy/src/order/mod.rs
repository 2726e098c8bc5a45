//! Crawl orders that need no theory: the baselines every policy is judged against.

mod adaptive;
mod bfs;
mod proportional;
mod random;
mod uniform;

pub use adaptive::{Adaptive, AdaptiveRule, IntervalRule};
pub use bfs::BreadthFirst;
pub use proportional::Proportional;
pub use random::Random;
pub use uniform::Uniform;
