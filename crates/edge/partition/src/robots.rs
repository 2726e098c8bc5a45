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
    /// A host's rules, if they are in memory.
    pub(crate) fn of(&self, host: HostId) -> Option<&Robots> {
        self.rules.get(&host)
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
