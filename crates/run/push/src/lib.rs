//! Who says that pages have changed, and may they?
//!
//! [`Push`] listens for publishers: as an IndexNow receiver, and as a WebSub subscriber at the hubs that
//! feeds and headers name. A message whose sender is proven becomes hints for a [`Hearer`]. Each publisher
//! has a limited allowance of hints (`tidewatch_partition::hints`).
//!
//! All input comes from strangers:
//!
//! - An IndexNow key counts once its file was found on the publisher's host. What strangers can make us fetch
//!   is limited (`keys`), goes through the crawl's own fetcher with its checks of addresses, and only to
//!   hosts that the hearer covers.
//! - No request that they cause carries headers of the operator for single origins, and no hub on such an
//!   origin is asked.
//! - A WebSub delivery counts if it is signed with the secret of its subscription, names no other topic and
//!   is no repetition. Only URLs of the topic's own site are taken from it.
//! - A site is asked at most once in a gap, for key files and as a hub (`pace`), and a hub that verifies
//!   nothing is asked no more (`hubs`).
//! - Bodies, requests, connections and the memory of past ones are bounded.
//!
//! Must not decide what a hint is worth: the policy learns that.

mod book;
mod delivery;
mod hearer;
mod hubs;
mod indexnow;
mod keys;
mod meter;
mod pace;
mod routes;
mod state;
mod subscriber;
mod subscription;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::Fetcher;
use tidewatch_server::ServerError;
use tokio::task::JoinSet;

pub use self::book::SubscriptionView;
pub use self::hearer::{Hearer, Later};
pub use self::state::PushReport;

use self::book::Book;
use self::keys::Keys;
use self::pace::Pace;
use self::state::State;
use self::subscriber::Subscriber;

/// Most connections at once.
pub const CONNECTIONS: usize = 128;

/// How to listen for publishers.
pub struct PushOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// Whether IndexNow submissions are taken.
    pub indexnow: bool,
    /// The URL at which hubs reach `address`, without a path; `None` for no subscriptions.
    pub websub: Option<CanonicalUrl>,
    /// The file that subscriptions are kept in.
    pub file: PathBuf,
    /// Least time between two requests to a site: for key files, and to hubs.
    pub gap: Duration,
    /// Connections at once; at most [`CONNECTIONS`].
    pub connections: usize,
}

/// Errors that stop [`Push::open`].
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The address cannot be bound.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The subscriptions cannot be read.
    #[error("cannot read the subscriptions in {}: {source}; mend or remove the file", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Listens for publishers until it is dropped. Subscriptions outlive it: the next start continues them.
pub struct Push {
    address: SocketAddr,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

impl Push {
    /// Starts to listen. Must be called within a runtime. Key files are fetched and hubs are asked as
    /// `fetcher` does it, without its private headers.
    pub fn open(
        options: &PushOptions,
        fetcher: &Fetcher,
        hearer: impl Hearer,
    ) -> Result<Push, PushError> {
        let fetcher = Arc::new(fetcher.for_strangers());
        let file = &options.file;
        let book = Book::open(file);
        let book = book.map_err(|source| PushError::File { file: file.clone(), source })?;
        let (listener, address) = tidewatch_server::bind(options.address)?;
        let pace = Arc::new(Pace::new(options.gap));
        let keys = options.indexnow.then(|| Keys::new(Arc::clone(&fetcher), Arc::clone(&pace)));
        let state = Arc::new(State::new(Box::new(hearer), keys, book));
        let mut tasks = JoinSet::new();
        let router = routes::router(Arc::clone(&state), options.websub.is_some());
        let connections = options.connections.min(CONNECTIONS);
        tasks.spawn(tidewatch_server::accept(listener, router, connections));
        if let Some(callback) = &options.websub {
            let (state, callback) = (Arc::clone(&state), callback.origin().to_owned());
            tasks.spawn(Subscriber { state, fetcher, pace, callback }.run());
        }
        Ok(Push { address, state, _tasks: tasks })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// A function that reports what came in; it may be called from any thread.
    pub fn reporter(&self) -> impl Fn() -> PushReport + Send + Sync + 'static {
        let state = Arc::clone(&self.state);
        move || state.report()
    }
}
