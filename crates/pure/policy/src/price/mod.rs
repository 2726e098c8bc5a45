//! One price for every fetch.
//!
//! A fetch may refresh a copy, look for new links on a source, bring in a new page before interest in
//! it fades, or explore a page never seen. One budget pays for all of them, so all are asked the same
//! question: how many clicks does it bring? Whatever brings at least the *price* ω is fetched; ω is such
//! that the budget is just spent, and so it is what the marginal fetch brings.
//!
//! How the parts meet. [`value`] says what a fetch is worth, by kind. [`Pages`](pages) holds the beliefs:
//! [`copies`] learns how copies go stale and how often they are clicked, also from hints (`signals`) and
//! by the hours at which hosts change ([`tidewatch_science::rhythm`]); [`news`] learns what sources show
//! and what new pages bring, each page by itself (`predict`); `prospects` learns what pages of the frontier
//! bring, and `links` how much the pages that link to them are worth. `Market` finds the price at which
//! [`demand`] meets the budget ([`clearing`]), keeps it there while the load moves (`control`), and prices
//! slow hosts on their own (`hosts`). `Queues` keep pages in the order in which they reach the price,
//! `Probes` measure how wrong beliefs about freshness (`freshness`) are.
//! `doubts` lower the value of pages that may bring nothing of their own. [`Price`] decides.

pub mod clearing;
mod clicks;
mod control;
pub mod copies;
pub mod copy;
pub mod demand;
mod doubts;
mod freshness;
mod hosts;
mod links;
mod market;
pub mod news;
mod pages;
mod policy;
mod predict;
mod probes;
mod prospects;
mod queues;
mod settings;
pub mod signals;
mod skew;
mod source;
pub mod value;

pub use policy::Price;
pub use settings::Settings;
pub use source::Source;
pub use value::{Staling, Value};
