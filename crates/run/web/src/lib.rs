//! The living web: a trace served over real HTTP on loopback.
//!
//! A [`Site`] answers "what does this URL show at this time?" as a pure
//! function of (trace, seed, habits, time). A [`Server`] puts it on the
//! network: one loopback address a host, one port, a [`Clock`] that says what
//! time it is on that web, and a [`RequestLog`] of everything that clients did,
//! so that a crawler's manners can be judged from the server's side.
//!
//! What holds:
//! - Only loopback addresses are ever bound.
//! - Same trace, seed, habits and time: same bytes. Nothing else influences a reply.
//! - The web lives in its own time: `Date`, `Last-Modified`, `Retry-After` and
//!   `Crawl-delay` are in the trace's time. Only the delay of slow hosts is real,
//!   since it is there to be felt by a client.
//! - It speaks plain HTTP: a trace's `https` URLs are served, linked and known
//!   as `http` ([`over_http`]).
//! - Every page with status 200 below `/private/` is a lure that `robots.txt`
//!   disallows; every other page with status 200 is a page of the trace.
//! - Bounded: connections, request heads, idle time, length of the log.
//!
//! It is not a recorder of real webs, and it makes no noise: two fetches of an
//! unchanged page give the same bytes.

mod clock;
mod date;
mod error;
mod habits;
mod server;
mod site;
mod text;

pub use clock::{Accelerated, ByHand, Clock};
pub use error::WebError;
pub use habits::Habits;
pub use server::{
    Connection, Counters, HostCounters, Limits, Logged, Names, RequestLog, Server, ServerOptions,
};
pub use site::{Asked, Reply, Served, Site, over_http};
