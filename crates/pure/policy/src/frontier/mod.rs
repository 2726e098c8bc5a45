//! Which unfetched page is worth fetching first? `[ON10]`, `[TTKN15]`
//!
//! Every order here has the same shell, [`Ranked`]: a [`Book`] of what is known, a queue of the
//! frontier by score, and a share of fetches that goes back to sources for new links. An [`Order`]
//! only gives the score of a page and the pages whose scores have risen. Orders that solve a walk
//! do so again whenever the known web has grown by a fifth, starting from the last solution, and
//! update scores by single steps in between. So a decision costs a few queue operations, and all
//! walks together a constant number of passes over the links.
//!
//! A price needs scores in clicks: every order learns the conversion during the crawl and offers it
//! through [`ExpectsClicks`] ([`calibrate`]). [`tune`] finds how to mix the two kinds of links.

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
pub use links::{Breadth, ForeignInDegree, InDegree, Opic, PageRankOrder, RankMass, Shuffled};
pub use mixed::{Learned, Learner};
pub use queries::{Needs, QueryOrder};
pub use ranked::{Order, Ranked};
pub use sites::{SiteSize, SpawningRate};
pub use terms::{Topic, words};
pub use topical::{FishSearch, SharkSearch};

#[cfg(test)]
mod tests;
