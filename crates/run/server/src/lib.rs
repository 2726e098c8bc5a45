//! The search page, the dashboard and the API of a crawl over HTTP.
//!
//! # The life of a request
//!
//! [`net`] accepts a bounded number of connections and is patient for so long. [`guard`] first checks
//! that the request names this server, so that no other site can borrow a visitor's browser to read
//! it. Then it checks access: local requests may read, every other request and every change needs
//! the token, and only the search page is public. [`routes`] is the one table of what there is; the API's
//! description is made from it.
//!
//! The crawl has a thread of its own that never waits for a reader. Twice a second it publishes its
//! figures on the [`Board`]; what else somebody wants to know is a question ([`ask`]) that it answers
//! between two turns, if it can in time.
//!
//! # What is shown
//!
//! Pages are plain HTML that works without scripts; one small script keeps the dashboard's figures
//! moving. The content of crawled pages is only ever text, escaped by construction: nothing from the
//! archive is served, and the policy of every answer forbids scripts and styles from elsewhere.

pub mod ask;
mod assets;
mod board;
mod click;
mod client;
mod dashboard;
mod error;
mod guard;
mod layout;
mod metrics;
mod net;
mod openapi;
mod operate;
mod reports;
pub mod routes;
mod search_api;
mod search_page;
mod shared;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tidewatch_partition::Crawl;
use tidewatch_search::Searcher;
use tidewatch_search::clicks::Desk;
use tokio::task::JoinSet;

pub use self::board::{Board, Extra, Figures};
pub use self::error::ServerError;
use self::shared::Shared;

/// What a server needs.
#[derive(Default)]
pub struct Options {
    /// Needed for changes, and for reading by any request that is not local.
    pub token: Option<String>,
    /// Other names under which this server is reached.
    pub names: Vec<String>,
    /// A proxy forwards every request and names the client in X-Forwarded-For. No request is local
    /// then: all but the search page needs the token.
    pub is_proxied: bool,
    /// The index and the desk for clicks, where there is an index.
    pub search: Option<(Searcher, Arc<Desk>)>,
    /// Where reports lie that can be looked at.
    pub reports: Option<PathBuf>,
}

/// A server that is listening; dropping it ends it.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    questions: ask::Questions,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Begins to listen. Must be called within a runtime. An address that others can reach needs a
    /// token.
    pub fn open(listen: SocketAddr, options: Options) -> Result<Server, ServerError> {
        let is_open = listen.ip().is_loopback();
        if options.token.as_ref().is_some_and(|token| token.len() < guard::SHORTEST_TOKEN) {
            return Err(ServerError::ShortToken);
        }
        if !is_open && options.token.is_none() {
            return Err(ServerError::NoToken(listen));
        }
        let (listener, address) = net::bind(listen)?;
        let (asker, questions) = ask::channel();
        let shared = Arc::new(Shared::new(options, address, asker));
        let mut tasks = JoinSet::new();
        tasks.spawn(net::accept(listener, routes::router(&shared)));
        Ok(Server { address, shared, questions, _tasks: tasks })
    }

    /// Shows how a crawl stands.
    pub fn publish(&self, figures: Figures) {
        self.shared.board.publish(figures);
    }

    /// Answers what readers have asked about a crawl, for a moment.
    pub fn answer(&self, crawl: &mut Crawl, now: tidewatch_core::Time) {
        self.questions.answer(crawl, now);
    }

    /// Waits for a question for at most so long, and answers it.
    pub fn wait_and_answer(
        &self,
        crawl: &mut Crawl,
        now: tidewatch_core::Time,
        patience: std::time::Duration,
    ) {
        self.questions.wait_and_answer(crawl, now, patience);
    }
}
