//! The search page, the dashboard and the API of a crawl over HTTP.
//!
//! # The life of a request
//!
//! [`net`] accepts a bounded number of connections for a bounded time. [`guard`] first checks
//! that the request names this server, so that no other site can borrow a visitor's browser to read
//! it. Then it checks access: local requests may read, every other request and every change needs
//! the token, and only the search page is public. [`routes`] is the table of all routes; the API's
//! description is generated from it.
//!
//! The crawl has its own thread and never waits for a reader. Twice a second it publishes its figures
//! ([`Server::publish`]). Anything else is a question ([`ask`]) that it answers between two turns of
//! its loop, if it can in time.
//!
//! Of a crawl on several machines every node has the same pages. Questions go to the owners of the
//! partitions ([`Owners`]), a search to all of them ([`Finder`]); partitions that did not answer are named.
//!
//! # What is shown
//!
//! Pages are plain HTML that works without scripts; one small script refreshes the dashboard's
//! figures. Content of crawled pages appears only as escaped text: nothing from the archive is
//! served, and the content security policy of every answer forbids foreign scripts and styles.

pub mod ask;
mod assets;
mod board;
mod click;
mod client;
mod cluster;
mod dashboard;
mod error;
mod events;
mod finder;
mod guard;
mod layout;
mod metrics;
mod net;
mod openapi;
mod operate;
mod owners;
mod question;
mod reports;
pub mod routes;
mod search_api;
mod search_page;
mod shared;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tidewatch_search::clicks::Desk;
use tokio::task::JoinSet;

use self::board::Board;
pub use self::board::{Extra, Figures, Missing};
pub use self::dashboard::rule_table;
pub use self::error::ServerError;
pub use self::finder::Finder;
pub use self::net::{PER_CLIENT, accept, bind};
pub use self::owners::{Cluster, ClusterView, Owners, Partial, Pending};
use self::shared::Shared;

/// What a server needs besides the crawl.
#[derive(Default)]
pub struct Options {
    /// Needed for changes, and for reading by any request that is not local.
    pub token: Option<String>,
    /// More host names under which this server is reached.
    pub names: Vec<String>,
    /// A proxy forwards every request and names the client in X-Forwarded-For. No request is local
    /// then: all but the search page needs the token.
    pub is_proxied: bool,
    /// The finder and the desk that logs clicks, if there is an index.
    pub search: Option<(Finder, Arc<Desk>)>,
    /// The cluster that the crawl runs on, if it runs on one.
    pub cluster: Option<Arc<dyn Cluster>>,
    /// What publishers have sent, if they are listened to.
    pub publishers: Option<Publishers>,
    /// The directory of reports to show.
    pub reports: Option<PathBuf>,
    /// Most connections at once, if fewer than usual.
    pub connections: Option<usize>,
}

/// Tells what publishers have sent.
pub type Publishers = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

/// A listening server; dropping it ends it.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Starts to listen; questions about the crawl go through `asker`. Must be called within a
    /// runtime. An address that other machines can reach needs a token.
    pub fn open(
        listen: SocketAddr,
        asker: ask::Asker,
        options: Options,
    ) -> Result<Server, ServerError> {
        if options.token.as_ref().is_some_and(|token| token.len() < guard::SHORTEST_TOKEN) {
            return Err(ServerError::ShortToken);
        }
        if !listen.ip().is_loopback() && options.token.is_none() {
            return Err(ServerError::NoToken(listen));
        }
        let (listener, address) = net::bind(listen)?;
        let most = options.connections.unwrap_or(usize::MAX);
        let shared = Arc::new(Shared::new(options, address, asker));
        let mut tasks = JoinSet::new();
        tasks.spawn(net::accept(listener, routes::router(&shared), most));
        Ok(Server { address, shared, _tasks: tasks })
    }

    /// Publishes the crawl's figures.
    pub fn publish(&self, figures: Figures) {
        self.shared.board().publish(figures);
    }
}
