//! A cache of robots.txt rules.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use tidewatch_core::HostId;
use tidewatch_robots::Robots;

/// Hosts whose rules are kept; the oldest make room.
const MOST_HOSTS: usize = 20_000;

/// Parsed rules of the hosts that were asked for last.
#[derive(Default)]
pub(crate) struct RobotsCache {
    rules: FxHashMap<HostId, Robots>,
    /// Oldest first.
    order: VecDeque<HostId>,
}

impl RobotsCache {
    /// Whether a host's rules allow a path; `None` if they are not in memory.
    pub(crate) fn allows(&self, host: HostId, path: &str) -> Option<bool> {
        self.rules.get(&host).map(|robots| robots.allows(path))
    }

    /// Caches a host's rules, replacing earlier ones.
    pub(crate) fn keep(&mut self, host: HostId, robots: Robots) {
        if self.rules.insert(host, robots).is_none() {
            self.order.push_back(host);
        }
        if self.order.len() > MOST_HOSTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.rules.remove(&oldest);
        }
    }
}
