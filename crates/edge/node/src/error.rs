//! Why a node stops.

use std::io;
use std::path::PathBuf;

use tidewatch_partition::CrawlError;

use crate::broker::BrokerError;

/// Why a node cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The brokers.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// A partition.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// A partition panicked.
    #[error("partition {partition} panicked: {why}; please report this")]
    Panicked {
        /// The partition.
        partition: u32,
        /// What the panic said.
        why: String,
    },
    /// A file.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory holds a crawl of its own.
    #[error(
        "{dir} holds a crawl of one machine, which cannot join a cluster; begin in another --dir with \
         the same seeds"
    )]
    OneMachine {
        /// The directory.
        dir: PathBuf,
    },
    /// Another process uses the directory.
    #[error("another process uses {dir}; give every node a --dir of its own")]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// The store of checkpoints failed.
    #[error("the store of checkpoints at {at} cannot be used: {why}")]
    Checkpoints {
        /// Where it is.
        at: String,
        /// What went wrong.
        why: String,
    },
    /// The crawl was begun with another policy.
    #[error(
        "this cluster crawls with policy `{was}` and seed {was_seed}; set these in the node's \
         configuration too"
    )]
    OtherPolicy {
        /// The policy.
        was: String,
        /// Its seed.
        was_seed: u64,
    },
    /// The cluster has another number of partitions.
    #[error("this cluster has {was} partitions, not {asked}; leave out --partitions")]
    OtherPartitions {
        /// How many it has.
        was: u32,
        /// How many were asked for.
        asked: u32,
    },
    /// There is nothing to crawl.
    #[error("this cluster has no seeds yet; name some, for example https://example.com/")]
    NoSeeds,
}
