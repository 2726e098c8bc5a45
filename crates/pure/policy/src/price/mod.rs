//! One price for every fetch.
//!
//! A fetch may refresh a copy, look for new links on a source, bring in a new page before interest in
//! it fades, or explore a page never seen. All are paid from one budget, so all are asked the same
//! question: how many clicks does it bring? Whatever brings at least the *price* ω is fetched; ω is
//! such that this is what the budget bears, and is therefore what the marginal fetch brings.
//!
//! How the parts meet. [`value`] says what a fetch is worth, by kind. [`market`] finds the price at
//! which demand meets the budget; [`control`] keeps it there while the load moves; [`hosts`]
//! that politeness slows have their own. [`copies`] learns how copies go stale and what they are worth,
//! also from hints ([`signals`]) and by the hours at which hosts change ([`tidewatch_science::rhythm`]); [`news`] learns
//! what sources show and what new pages bring, each page by itself ([`predict`]), and [`prospects`]
//! what pages of the frontier do. [`Price`] puts items in the order in which they reach the price
//! (`place.rs`, `next.rs`; `plan.rs` finds both anew), [`probes`] measure without favour, and [`why`] tells what
//! decided.

pub mod clearing;
pub mod clicks;
pub mod control;
pub mod copies;
pub mod copy;
pub mod credit;
pub mod hosts;
pub mod market;
pub mod news;
mod next;
mod place;
mod plan;
mod policy;
pub mod predict;
pub mod probes;
pub mod prospects;
pub mod settings;
pub mod signals;
pub mod skew;
pub mod source;
pub mod value;
pub mod why;

pub use policy::Price;
pub use settings::Settings;
pub use source::Source;
pub use value::{Staling, Value};
