//! ECHO: find and fetch short-lived new pages in time `[LOSS13]`.
//!
//! Most new pages matter for days. They are found on *sources*, which show links to them for hours,
//! so one budget has to pay for watching sources and for fetching what they reveal.
//!
//! How the parts meet. A visit to a source tells how many links are new ([`arrivals`]) and which pages
//! are its own; a push of the search log tells what those pages were worth ([`clicks`], [`profit`],
//! [`curve`]). Every half hour Algorithm 1 ([`solve`](mod@solve))
//! turns profit, decay and arrivals into intervals, and [`Echo`] spends the budget by them, in one of
//! the ways of the paper ([`Rule`]).

pub mod arrivals;
pub mod beliefs;
mod bins;
pub mod clicks;
pub mod curve;
mod policy;
pub mod profit;
pub mod solve;
mod watch;

pub use arrivals::Pace;
pub use beliefs::{Beliefs, Counting};
pub use policy::{Echo, Rule, Settings, Told};
pub use profit::{Assumed, Pooling};
pub use solve::{Charge, Schedule, Terms, solve};
