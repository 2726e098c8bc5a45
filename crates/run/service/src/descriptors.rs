//! How many files and sockets a crawl may have open, and who gets them.
//!
//! Every request, every idle connection, every table's file and every reader of the dashboard needs a
//! file descriptor, and the system limits them (`ulimit -n`). A crawl that runs into the limit cannot
//! even write its tables. So the limit is raised as far as the system allows, and the settings are cut
//! to what it leaves.

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidewatch_partition::Config;

use crate::ServiceError;

/// Descriptors of the process itself: standard streams, runtime, locks, history, DNS.
const OWN: usize = 48;
/// Descriptors of a partition besides its tables: archive, journals, sieve, and a compaction.
const PER_PARTITION: usize = 48;
/// Descriptors of the search index, merges included.
const INDEX: usize = 64;
/// Most connections of the server.
const SERVER: usize = 512;
/// Most connections of publishers, and as many requests for key files and to hubs as there may be.
const PUBLISHERS: usize = tidewatch_push::CONNECTIONS;
const TO_PUBLISHERS: usize = 16;
/// Fewer requests than this are no crawl.
const LEAST_REQUESTS: usize = 8;

/// What the limit of open files allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptors {
    /// The limit.
    pub limit: usize,
    /// Connections of the server.
    pub server: usize,
    /// Connections of publishers.
    pub publishers: usize,
    /// Files of the tables.
    pub tables: usize,
    /// Requests under way, slow ones included.
    pub requests: usize,
    /// Idle connections.
    pub idle: usize,
    /// Whether a setting had to be cut.
    pub is_cut: bool,
}

/// What needs descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uses {
    pub(crate) partitions: usize,
    pub(crate) has_server: bool,
    pub(crate) has_publishers: bool,
    pub(crate) has_index: bool,
}

impl Descriptors {
    /// Raises this process's limit as far as it may and cuts the settings to it.
    pub(crate) fn claim(config: &mut Config, uses: Uses) -> Result<Descriptors, ServiceError> {
        let limit = raise_open_files();
        Descriptors::share(limit, config, uses).ok_or(ServiceError::FewFiles { limit })
    }

    /// Divides `limit` and cuts the settings to it; `None` if it is too small to crawl.
    fn share(limit: usize, config: &mut Config, uses: Uses) -> Option<Descriptors> {
        let server = if uses.has_server { SERVER.min(limit / 8) } else { 0 };
        let publishers = if uses.has_publishers { PUBLISHERS.min(limit / 16) } else { 0 };
        let to_publishers = if uses.has_publishers { TO_PUBLISHERS } else { 0 };
        let index = if uses.has_index { INDEX } else { 0 };
        let fixed = OWN + PER_PARTITION * uses.partitions + index;
        let rest = limit.checked_sub(fixed + server + publishers + to_publishers)?;
        let tables = config.table_files.min(rest / 4);
        let most = (rest - tables) / 3;
        let requests = config.limits.requests.min(most);
        let slow = config.slow_lane.requests.min(most);
        let idle = config.idle_connections.min(rest - tables - requests - slow);
        if requests < LEAST_REQUESTS.min(config.limits.requests) {
            return None;
        }
        let is_cut = (tables, requests, slow, idle)
            != (
                config.table_files,
                config.limits.requests,
                config.slow_lane.requests,
                config.idle_connections,
            );
        (config.table_files, config.limits.requests) = (tables, requests);
        (config.slow_lane.requests, config.idle_connections) = (slow, idle);
        let requests = requests + slow;
        Some(Descriptors { limit, server, publishers, tables, requests, idle, is_cut })
    }
}

impl fmt::Display for Descriptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Descriptors { limit, tables, requests, idle, .. } = self;
        if !self.is_cut {
            return write!(f, "at most {limit}, which is enough for the settings");
        }
        write!(
            f,
            "at most {limit}, which allows {requests} requests under way, {idle} idle connections and \
             {tables} files of tables, fewer than the settings say; raise it with `ulimit -n`"
        )
    }
}

/// Raises the limit of open files as far as the system lets this process, and returns it.
pub fn raise_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = match setrlimit(Resource::Nofile, most) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    current.map_or(usize::MAX, |current| usize::try_from(current).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(partitions: usize, is_full: bool) -> Uses {
        Uses { partitions, has_server: is_full, has_publishers: is_full, has_index: is_full }
    }

    #[test]
    fn all_shares_together_stay_under_the_limit() {
        for limit in [256, 300, 512, 1_024, 4_096, 20_000, usize::MAX] {
            for (partitions, is_full) in [(1, false), (1, true), (3, true)] {
                let mut config = Config::default();
                let uses = uses(partitions, is_full);
                let Some(shared) = Descriptors::share(limit, &mut config, uses) else {
                    assert!(limit <= 512, "{limit} is enough for {partitions}");
                    continue;
                };
                let more = if is_full { INDEX + TO_PUBLISHERS } else { 0 };
                let used = OWN + PER_PARTITION * partitions + more + shared.server;
                let used = used + shared.publishers;
                assert_eq!(shared.publishers > 0, is_full, "publishers have their share");
                assert!(used + shared.tables + shared.requests + shared.idle <= limit);
                assert_eq!(shared.is_cut, config != Config::default());
            }
        }
    }

    #[test]
    fn the_usual_limit_still_crawls_well_and_says_so() {
        let mut config = Config::default();
        let shared = Descriptors::share(1_024, &mut config, uses(1, true)).expect("enough");
        assert!(config.limits.requests >= 128 && config.idle_connections >= 128, "{shared:?}");
        assert!(shared.to_string().contains("ulimit -n"), "{shared}");
        let shared = Descriptors::share(65_536, &mut Config::default(), uses(1, true));
        assert!(shared.expect("enough").to_string().contains("enough"));
        assert_eq!(Descriptors::share(64, &mut Config::default(), uses(1, false)), None);
    }
}
