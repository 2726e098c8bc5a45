//! What is a page, a host, a time, an observation, a reason, a canonical URL?
//!
//! The types that every other crate shares.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod calendar;
pub mod ids;
pub mod observation;
pub mod reason;
pub mod sketch;
pub mod time;
pub mod url;

pub use ids::{HostId, PageId, PageKey};
pub use observation::{
    Asked, Content, Discovery, Doubted, Event, FetchKind, Interest, InterestKind, LinkSeen,
    Observation, Outcome, Signal,
};
pub use reason::{DropReason, Reason};
pub use time::{Rate, Span, Time};
