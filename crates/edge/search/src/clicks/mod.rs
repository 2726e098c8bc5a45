//! Views and clicks: signed, counted once, logged, handed to the crawl.
//!
//! # The life of a click
//!
//! When results are shown, the [`Desk`] numbers the result page, logs which page stood where, and
//! signs a link for each ([`Ticket`]). When a link is clicked, its signature, its age and its first
//! use are checked before the click goes to the [`Log`]. The [`Feedback`] reads the log, caps each
//! client's share ([`Guard`](guard::Guard)), and turns it into interest for the crawl and
//! popularity for ranking.
//!
//! # Privacy
//!
//! No address is stored, only a hash of it with a salt that is replaced every day
//! ([`Clients`](clients::Clients)), so clicks of two days cannot be linked to one person. The log
//! is kept for the configured number of days.

mod asked;
mod clients;
mod desk;
mod feedback;
mod guard;
mod import;
mod log;
mod ticket;

pub use self::desk::{ClickSettings, Clicked, Desk};
pub use self::feedback::{Entries, Feedback, InterestRow, Known, Need, NewInterest};
pub use self::import::{ImportError, Imported, import};
pub use self::log::{Entry, Log, Mark, Rows};
pub use self::ticket::{BadTicket, Ticket};
