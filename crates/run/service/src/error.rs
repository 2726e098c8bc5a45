//! What can go wrong with a service.

use std::io;
use std::path::PathBuf;

use tidewatch_node::NodeError;
use tidewatch_partition::{CrawlError, NoNetwork};
use tidewatch_push::PushError;
use tidewatch_search::SearchError;
use tidewatch_search::clicks::ImportError;
use tidewatch_server::ServerError;

/// Why a service cannot start, go on or answer. Messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The crawl failed.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// The network settings cannot be used.
    #[error(transparent)]
    Network(#[from] NoNetwork),
    /// The node of a cluster failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The index or the search log failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A log of clicks cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The server cannot start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Publishers cannot be listened to.
    #[error(transparent)]
    Push(#[from] PushError),
    /// The runtime cannot start.
    #[error("cannot start the service's threads: {0}")]
    Threads(io::Error),
    /// The limit of open files is too low.
    #[error(
        "this process may have only {limit} files and sockets open, too few for a crawl; raise the \
         limit, for example with `ulimit -n 1024`"
    )]
    FewFiles {
        /// The limit.
        limit: usize,
    },
    /// A repaired crawl needs a new directory.
    #[error("{} is not empty; give another directory with --to", .0.display())]
    NotEmpty(PathBuf),
    /// A new crawl without seeds.
    #[error("{} knows no page yet; name a seed, such as https://example.com/", .0.display())]
    NoSeed(PathBuf),
    /// The directory holds no crawl.
    #[error("{} holds no crawl; start one with `tidewatch crawl`", .0.display())]
    NoCrawl(PathBuf),
    /// The directory is a node's, which does not run.
    #[error(
        "{} is the directory of a node of a cluster, which does not run now. Ask in the directory of one \
         that runs, or with --cluster",
        .0.display()
    )]
    NodeAtRest(PathBuf),
    /// A running crawl has no answer.
    #[error("{0}")]
    Refused(String),
    /// The crawl has just started.
    #[error("the crawl in {} has written no figures yet; try again in a second", .0.display())]
    NoFigures(PathBuf),
    /// `status.json` cannot be used.
    #[error(
        "the figures in {}/status.json are damaged ({source}); a running crawl writes them anew",
        dir.display()
    )]
    DamagedFigures {
        /// The crawl's directory.
        dir: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The crawl did not answer in time.
    #[error("the crawl is busy; try again in a moment")]
    Busy,
    /// The service no longer runs.
    #[error("the crawl is not running")]
    NotRunning,
    /// Search was asked of a service without an index.
    #[error("this crawl keeps no search index")]
    NoIndex,
}
