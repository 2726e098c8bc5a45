//! Errors, and reasons for refusals.

use std::io;
use std::path::PathBuf;

use tidewatch_queues::Diverged;
use tidewatch_store::StoreError;

/// Errors that stop the keeper, or keep it from starting.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// A file could not be read or written.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process uses the directory.
    #[error("{} is in use by another process; stop it first", dir.display())]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory holds something else.
    #[error(
        "{} holds other files and no frontier; name an empty directory or a new one", dir.display()
    )]
    NotAFrontier {
        /// The directory.
        dir: PathBuf,
    },
    /// The tables hold less than was answered for.
    #[error(
        "{} is damaged: it holds less than clients were told is stored; nothing was changed; restore the \
         directory from a copy",
        path.display()
    )]
    Lost {
        /// The journal, or the directory of the tables.
        path: PathBuf,
    },
    /// The tables could not be checked.
    #[error(transparent)]
    Unchecked(StoreError),
    /// The tables failed.
    #[error("the tables failed: {0}")]
    Engine(#[from] fjall::Error),
    /// A row makes no sense.
    #[error("row {key} of the table '{table}' is damaged; restore the directory from a copy")]
    Damaged {
        /// The table.
        table: &'static str,
        /// The row.
        key: u64,
    },
    /// A replayed decision differs from the tape.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// There is no such policy.
    #[error("there is no policy '{0}'; `tidewatch lab list` shows all")]
    NoPolicy(String),
    /// The policy panics over what is on the tape.
    #[error(
        "the policy '{policy}' panicked while it took its decisions again, please report this; start \
         without --policy to give URLs out by date: nothing is lost"
    )]
    PolicyPanicked {
        /// The policy.
        policy: String,
    },
    /// No randomness could be had for the secret of the hashes.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// The keeper has stopped.
    #[error("the frontier has stopped: {0}")]
    Stopped(String),
}

impl From<StoreError> for KeeperError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Lost { path } => KeeperError::Lost { path },
            error => KeeperError::Unchecked(error),
        }
    }
}

/// Why a URL, or a question, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Refused {
    /// There is nothing to keep.
    #[error("the item has no URL")]
    NoUrl,
    /// No queue can be told.
    #[error("the URL has no host, and no queue is named; name one in 'key'")]
    NoQueue,
    /// The URL is too long.
    #[error("the URL has more than 8,192 bytes")]
    LongUrl,
    /// The queue's key is too long.
    #[error("the key of the queue has more than 255 bytes")]
    LongKey,
    /// The name of the crawl is too long.
    #[error("the crawl ID has more than 255 bytes")]
    LongCrawl,
    /// The metadata is too large.
    #[error("the metadata of the URL has more than 65,536 bytes")]
    LargeMetadata,
    /// There are too many crawls.
    #[error("there are 1,000 crawls already; delete one")]
    ManyCrawls,
    /// There are too many queues.
    #[error("there are 20 million queues already; delete some")]
    ManyQueues,
    /// There are too many URLs.
    #[error("4 billion URLs have been put in this directory; start another one")]
    ManyUrls,
    /// There is no such queue.
    #[error("there is no such queue in this crawl")]
    UnknownQueue,
}
