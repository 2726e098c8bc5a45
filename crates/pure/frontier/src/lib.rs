//! Which URL is fetched next, given due times, politeness and budget?
//!
//! Pure: events in, commands out. The crawler carries commands out over the
//! network and reports back; a simulation does the same on its own clock, so
//! politeness is tested without a socket.
//!
//! # The life of a URL
//!
//! A link, seed, feed or sitemap names it. [`hygiene`] may drop it, with a
//! reason that is counted. The store's sieve knows whether it was seen before;
//! if not, the page gets its number and the policy hears of it. There it waits,
//! sixteen bytes or so, while its address lies on disk.
//!
//! When the [`Pacer`] has an allowance, the policy chooses a page among the
//! hosts whose gate is open, and the page becomes its host's one *job*. A job
//! goes through up to three steps, each of them a [`Command`]: the host's name
//! is resolved, its robots.txt is read, the page is fetched. Steps that have
//! been done lately are left out. Each request waits until both its host and
//! the address behind it are open, and closes both until their gap is over
//! ([`politeness`]). With the page's answer the job is over and the host can be
//! chosen again; a failed page goes back to the policy as an outcome like any
//! other.
//!
//! # Invariants
//!
//! - A host has at most one job, so at most one connection.
//! - An address has at most one request under way, whatever hosts share it.
//! - No request starts before its host and its address are open.
//! - No page is requested again before its rest is over ([`Revisit`]).
//! - No page is requested unless its host's robots.txt has been read and holds.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

mod address;
pub mod audit;
mod frontier;
pub mod hygiene;
mod pacer;
pub mod politeness;
mod revisit;
pub mod tape;

pub use address::network_of;
pub use frontier::{
    Command, Defect, Frontier, KeptBack, Limits, Next, RobotsRead, ServerId, SlowLane,
};
pub use pacer::{Pacer, Unused};
pub use politeness::{Answer, HostMemo, Politeness};
pub use revisit::Revisit;
