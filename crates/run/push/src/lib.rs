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
//! - Bodies, requests, connections and the memory of past ones are bounded.
//!
//! Must not decide what a hint is worth: the policy learns that.

mod book;
mod delivery;
mod hearer;
mod indexnow;
mod keys;
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

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::Fetcher;
use tidewatch_server::ServerError;
use tokio::task::JoinSet;

pub use self::book::SubscriptionView;
pub use self::hearer::{Hearer, Later};
pub use self::state::PushReport;

use self::book::Book;
use self::keys::Keys;
use self::state::State;

/// Connections at once.
const CONNECTIONS: usize = 128;

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
        let keys = options.indexnow.then(|| Keys::new(Arc::clone(&fetcher)));
        let state = Arc::new(State::new(Box::new(hearer), keys, book));
        let mut tasks = JoinSet::new();
        let router = routes::router(Arc::clone(&state), options.websub.is_some());
        tasks.spawn(tidewatch_server::accept(listener, router, CONNECTIONS));
        if let Some(callback) = &options.websub {
            let callback = callback.origin().to_owned();
            tasks.spawn(subscriber::run(Arc::clone(&state), fetcher, callback));
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
