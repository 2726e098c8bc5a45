//! Durable queues of URLs for other crawlers: one thread, one directory.
//!
//! A [`Keeper`] owns a directory and one thread. Requests of any number of clients reach the thread
//! through a channel; it applies them to [`Queues`](tidewatch_queues::Queues), commits their inputs
//! and rows as one batch, syncs, and only then answers. So an answer means *durable*, and clients
//! that ask at the same time share one sync. A lease is durable before its URL is told.
//!
//! # Files
//!
//! ```text
//! DIR/lock      held by the one process that uses the directory
//! DIR/format    the version of everything below
//! DIR/db/       tables: URLs with their payload, the tape, dropped queues, single values
//! DIR/synced    how long the tape was at the last sync
//! DIR/snapshot  the queues, and their policy, at a position of the tape
//! ```
//!
//! A start loads the snapshot and replays the rest of the tape. The table of URLs holds the data that
//! [`Queues`](tidewatch_queues::Queues) does not need in memory.
//!
//! # Damage
//!
//! The journals are checked before the storage engine reads them, since it would cut off whatever follows
//! a damaged byte. A directory that holds less than `synced` says is refused and left as it is.
//!
//! # Failed writes
//!
//! After a failed commit or sync memory is ahead of the disk. So the keeper answers nothing more
//! and stops; the next start finds all that was answered.

mod dir;
mod engine;
mod error;
mod keeper;
mod names;
mod open;
mod replay;
mod snapshot;
mod tables;
mod why;

pub use dir::is_frontier;
pub use error::{KeeperError, Refused};
pub use keeper::{
    Ask, Given, Item, Keeper, Listed, Order, Put, QueueName, Said, Settings, Taken, Telling,
};
pub use names::{crawl_name, usual_key};
pub use replay::{Replayed, replay};
pub use tidewatch_queues::{Figures, Standing, State, Worth};
pub use why::WhyUrl;
