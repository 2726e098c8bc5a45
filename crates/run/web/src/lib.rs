//! The living web: a trace served over real HTTP on loopback.
//!
//! A [`Site`] computes the reply to a request as a pure function of (trace, seed, habits, time). A
//! [`WebServer`] serves it: one loopback address per host, one port, a [`WebClock`] for the time of that web,
//! and a [`RequestLog`] of everything that clients did, to judge a crawler's politeness from the
//! server's side.
//!
//! Invariants:
//! - Only loopback addresses are ever bound.
//! - Same trace, seed, habits and time: same bytes. Nothing else influences a reply.
//! - `Date`, `Last-Modified`, `Retry-After` and `Crawl-delay` are in the trace's time. Only the delay of
//!   slow hosts is in real time.
//! - Plain HTTP only: `https` URLs of a trace are served and linked as `http` ([`over_http`]).
//! - Every page with status 200 below `/private/` is a trap that `robots.txt` disallows; every other
//!   page with status 200 is a page of the trace.
//! - A page that repeats another one by the table `truth` shows its text and title; it names it as canonical
//!   if the table says so. Error pages with status 200 have one title.
//! - On a host with a search box, every page is found by each word of its title, and pages that no link leads to are
//!   found by nothing else ([`Site::is_hidden`]).
//! - Bounded: connections, request heads, idle time, length of the log.
//!
//! It does not record real webs and adds no noise: two fetches of an unchanged page give the same
//! bytes.

mod clock;
mod date;
mod error;
mod habits;
mod server;
mod site;
mod text;

pub use clock::{Accelerated, ByHand, WebClock};
pub use error::WebError;
pub use habits::WebHabits;
pub use server::{
    Connection, Counters, HostCounters, Limits, LoggedRequest, Names, RequestLog, ServerOptions,
    WebServer,
};
pub use site::{PageRequest, Reply, SENT_ON_TITLE, Served, Site, WALL_TITLE, over_http};
