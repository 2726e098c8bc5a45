//! A server of the URLFrontier protocol, version 2.6: a frontier for other crawlers.
//!
//! [`Server::bind`] opens a directory and a socket; [`Server::run`] serves until it is told to stop.
//! An acknowledgement means that the URL is on disk and synced. `docs/urlfrontier.md` says what this server
//! does where the protocol leaves a choice.
//!
//! Must not decide what is given out: [`tidewatch_keeper`] stores and decides, this crate translates.

mod connections;
mod desk;
mod hearer;
mod lists;
mod metadata;
mod puts;
mod server;
mod service;
mod why;

pub use server::{MOST_CONNECTIONS, Options, Publishers, Secured, Server, ServerError};
pub use tidewatch_keeper::{Keeper, Order, Replayed, Settings, is_frontier, replay};

/// Messages, server and client of the protocol, generated from `proto/urlfrontier.proto`.
#[allow(missing_docs, unreachable_pub, reason = "generated")]
#[allow(clippy::pedantic, reason = "generated")]
pub mod protocol {
    tonic::include_proto!("urlfrontier");
}
