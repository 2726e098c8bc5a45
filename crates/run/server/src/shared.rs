//! State that all requests share.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tidewatch_search::clicks::Desk;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ask::Asker;
use crate::events::Readers;
use crate::finder::Finder;
use crate::owners::Cluster;
use crate::{Board, Options, Publishers};

/// Searches at once: each is a few milliseconds of one core.
const SEARCHES: usize = 8;

/// State of a server.
pub(crate) struct Shared {
    address: SocketAddr,
    token: Option<String>,
    names: Vec<String>,
    is_proxied: bool,
    search: Option<Search>,
    cluster: Option<Arc<dyn Cluster>>,
    publishers: Option<Publishers>,
    reports: Option<PathBuf>,
    board: Board,
    asker: Asker,
    readers: Readers,
}

/// What a search needs.
#[derive(Clone)]
pub(crate) struct Search {
    finder: Finder,
    desk: Arc<Desk>,
    turns: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(options: Options, address: SocketAddr, asker: Asker) -> Shared {
        let Options { token, names, is_proxied, search, cluster, publishers, reports, .. } =
            options;
        let turns = Arc::new(Semaphore::new(SEARCHES));
        let search = search.map(|(finder, desk)| Search { finder, desk, turns });
        let (board, readers) = (Board::default(), Readers::default());
        Shared {
            address,
            token,
            names,
            is_proxied,
            search,
            cluster,
            publishers,
            reports,
            board,
            asker,
            readers,
        }
    }

    /// The address that the server listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether `given` is the token; compares in constant time.
    pub(crate) fn is_token(&self, given: &str) -> bool {
        self.token.as_ref().is_some_and(|token| is_equal(token.as_bytes(), given.as_bytes()))
    }

    /// Whether `name` is one of the names that the operator gave the server.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether requests come through a proxy that names the client.
    pub(crate) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    /// The index and the click log, if there are.
    pub(crate) fn search(&self) -> Option<&Search> {
        self.search.as_ref()
    }

    /// The cluster, if the crawl runs on one.
    pub(crate) fn cluster(&self) -> Option<&Arc<dyn Cluster>> {
        self.cluster.as_ref()
    }

    /// What publishers have sent, if they are listened to.
    pub(crate) fn publishers(&self) -> Option<serde_json::Value> {
        self.publishers.as_ref().map(|tell| tell())
    }

    /// The directory of the reports.
    pub(crate) fn reports(&self) -> Option<&Path> {
        self.reports.as_deref()
    }

    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    /// Who reads events.
    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    pub(crate) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Whether only this machine can reach the listener.
    pub(crate) fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }
}

impl Search {
    /// Finds pages.
    pub(crate) fn finder(&self) -> &Finder {
        &self.finder
    }

    /// The click log.
    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Waits until few enough searches run; `None` if the server is shutting down.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }
}

/// Milliseconds of Unix time.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Compares in constant time.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}
