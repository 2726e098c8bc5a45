//! State that all requests share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tidewatch_search::Searcher;
use tidewatch_search::clicks::Desk;
use tokio::sync::Semaphore;

use crate::ask::Asker;
use crate::{Board, Options};

/// Searches at once: each is a few milliseconds of one core.
const SEARCHES: usize = 8;

/// State of a server.
pub(crate) struct Shared {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
    pub(crate) names: Vec<String>,
    pub(crate) is_proxied: bool,
    pub(crate) search: Option<Search>,
    pub(crate) reports: Option<PathBuf>,
    pub(crate) board: Board,
    pub(crate) asker: Asker,
}

/// What a search needs.
#[derive(Clone)]
pub(crate) struct Search {
    pub(crate) searcher: Searcher,
    pub(crate) desk: Arc<Desk>,
    pub(crate) turns: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(options: Options, address: SocketAddr, asker: Asker) -> Shared {
        let Options { token, names, is_proxied, search, reports } = options;
        let turns = Arc::new(Semaphore::new(SEARCHES));
        let search = search.map(|(searcher, desk)| Search { searcher, desk, turns });
        let board = Board::default();
        Shared { address, token, names, is_proxied, search, reports, board, asker }
    }

    /// Whether only this machine can reach the listener.
    pub(crate) fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }
}

/// Milliseconds of Unix time.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
