//! What a service is told when it is opened.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::Hosts;
use tidewatch_partition::Config;
use tokio::runtime::Handle;

/// Settings of a [`Service`](crate::Service). [`ServiceConfig::new`] gives every field but `dir` its
/// default.
#[derive(Clone)]
pub struct ServiceConfig {
    /// The directory that holds the crawl; created if it is missing.
    pub dir: PathBuf,
    /// Settings of the crawl: budget, policy, politeness, limits.
    pub crawl: Config,
    /// URLs to start from. A crawl that has pages already needs none.
    pub seeds: Vec<CanonicalUrl>,
    /// Number of partitions of a new crawl, each on a thread of its own; by default one. A crawl keeps
    /// the number that it was started with.
    pub partitions: Option<u32>,
    /// Keep a search index of the stored copies.
    pub index: bool,
    /// Feed logged views and clicks back to the policy.
    pub learn_from_clicks: bool,
    /// Serve the search page, the dashboard and the API.
    pub listen: Option<Listen>,
    /// Listen for publishers that say what has changed.
    pub publishers: Option<Publishers>,
    /// Stop after this long.
    pub stop_after: Option<Duration>,
    /// Stop after this many page requests.
    pub stop_after_fetches: Option<u64>,
    /// Fetch every page once, and stop when none is left.
    pub once: bool,
    /// Resolve these names only, in place of the DNS and of the configured hosts file.
    pub hosts: Option<Hosts>,
    /// Seconds of crawl time per real second, for a simulated web that runs faster.
    pub pace: Option<f64>,
    /// Runtime for network tasks. By default the service starts its own.
    pub runtime: Option<Handle>,
}

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address to bind. Any other than loopback needs a token.
    pub address: SocketAddr,
    /// The token that changes need, and reading from elsewhere than this machine.
    pub token: Option<String>,
    /// More names under which the server is reached.
    pub names: Vec<String>,
    /// A proxy forwards every request, so that no request counts as local.
    pub is_proxied: bool,
}

/// How to listen for publishers, away from the server and its token: anybody may speak here.
#[derive(Clone, Debug)]
pub struct Publishers {
    /// The address to bind.
    pub address: SocketAddr,
    /// Take IndexNow submissions.
    pub indexnow: bool,
    /// Subscribe at the hubs that feeds name; they reach `address` by this URL.
    pub websub: Option<CanonicalUrl>,
}

impl ServiceConfig {
    /// Defaults: the standard crawl settings, an index, no server, no end.
    pub fn new(dir: &Path) -> ServiceConfig {
        ServiceConfig {
            dir: dir.to_owned(),
            crawl: Config::default(),
            seeds: Vec::new(),
            partitions: None,
            index: true,
            learn_from_clicks: true,
            listen: None,
            publishers: None,
            stop_after: None,
            stop_after_fetches: None,
            once: false,
            hosts: None,
            pace: None,
            runtime: None,
        }
    }
}

impl Listen {
    /// Serves at `address` without a token, under no other name and without a proxy.
    pub fn at(address: SocketAddr) -> Listen {
        Listen { address, token: None, names: Vec::new(), is_proxied: false }
    }
}
