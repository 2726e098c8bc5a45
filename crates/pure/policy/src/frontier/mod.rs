//! Which page never fetched before is worth fetching first `[ON10]`, `[TTKN15]`.
//!
//! Every order here has the same shell, [`Ranked`]: a [`Book`] of what is known,
//! a queue of the frontier by score, and a share of fetches that goes back to
//! sources for new links. An [`Order`] only says what a page scores and which
//! scores have risen; orders that solve a walk do so again whenever the web
//! known has grown by a fifth, starting from the last solution, and keep scores
//! up to date by single steps in between. So a decision costs a few operations
//! on a queue, and all walks together a constant number of passes over the links.
//!
//! What a score is worth in clicks, which a price needs, every order learns as
//! it goes and tells by [`ExpectsClicks`] ([`calibrate`]); how the two kinds of
//! links are mixed is found by [`tune`].

mod book;
pub mod calibrate;
mod classifier;
mod impact;
pub mod learn;
mod links;
mod mixed;
mod outcomes;
mod queries;
mod ranked;
mod sites;
mod terms;
mod topical;
pub mod tune;

pub use book::{Book, Known, Standing};
pub use calibrate::{Expected, ExpectsClicks};
pub use classifier::Classifier;
pub use impact::{ImpactOrder, Interesting};
pub use links::{Breadth, InDegree, Opic, PageRankOrder, RankMass, Shuffled};
pub use mixed::{Learned, Learner};
pub use queries::{Needs, QueryOrder};
pub use ranked::{Order, Ranked};
pub use sites::{SiteSize, SpawningRate};
pub use terms::{Topic, words};
pub use topical::{FishSearch, SharkSearch};

#[cfg(test)]
mod tests;
