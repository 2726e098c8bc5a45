//! Which URL does a fetcher get that asks, and for how long?
//!
//! Fetchers that are not ours bring URLs and take URLs. URLs wait in *queues*, usually one for each
//! host; a queue belongs to a *crawl*. Whoever takes a URL holds a *lease* on it: nobody else gets
//! it until the lease ends or the URL comes back.
//!
//! Pure: inputs in, effects out. [`Queues`] reads no clock and draws no ambient randomness, so its
//! inputs, the *tape*, determine its state. [`Queues::apply`] is the only way to change it, live
//! and in a replay.
//!
//! # The life of a URL
//!
//! It is *put* and gets the next number ([`PageId`](tidewatch_core::PageId)). It *waits* until it is due,
//! its queue is open, and somebody takes it. Then it is *held*. When it comes back with a date, it waits for
//! that date; with none, it is *done*. If it does not come back, its lease ends and it waits again. It is
//! *dropped* with its queue, with its crawl, or for its age.
//!
//! # Two orders
//!
//! *Strict*: among open queues the one that opened first, within it the URL that was due first.
//! *Managed*: a [`Policy`](tidewatch_policy::Policy) chooses; a date only says whether a URL is done.
//!
//! # What is promised
//!
//! - No URL is given out twice within its lease.
//! - A queue that gave out URLs is closed for its gap; a blocked queue is closed; a queue whose
//!   limit of done URLs is reached is closed.
//! - While inactive, nothing is given out.
//! - Time never runs backwards: an earlier time counts as the latest one seen.
//! - Memory: 24 bytes and an index entry of 12 a URL, beside 8 to 16 while it waits.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

mod agenda;
mod figures;
mod leases;
mod managed;
mod queue;
mod queues;
mod standing;
mod take;
pub mod tape;
#[cfg(test)]
mod tests;
mod urls;

pub use figures::Figures;
pub use managed::Worth;
pub use queues::{Diverged, Effect, Queues, Replay};
pub use standing::Standing;
pub use tape::{CrawlId, Facts, Input, News, Want};
pub use urls::{Print, State};

/// Most URLs that one question brings.
pub const MOST_TAKEN: usize = 10_000;
