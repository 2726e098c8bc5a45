//! Counts queries and how often they were served.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, BuildHasherDefault};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::feedback::Need;
use crate::date::DAY_S;

/// Most queries counted; beyond it, the rarest are dropped.
const MOST_QUERIES: usize = 50_000;
/// Most result pages remembered until they are clicked.
const MOST_SHOWINGS: usize = 100_000;
/// Most pairs of client and query distinguished in a day.
const MOST_PAIRS: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    asked: f64,
    /// Result pages without a result.
    empty: f64,
    clicked: f64,
}

/// Counts queries, each once per client and day.
#[derive(Default)]
pub(super) struct Asking {
    queries: FxHashMap<Box<str>, Tally>,
    /// The query of each result page, until it is clicked.
    showings: FxHashMap<u64, Box<str>>,
    order: VecDeque<u64>,
    pairs: FxHashSet<u64>,
    day: i64,
}

impl Asking {
    pub(super) fn asked(&mut self, id: u64, client: u64, query: &str, is_empty: bool, at_ms: i64) {
        let day = at_ms.div_euclid(1_000 * DAY_S);
        if day != self.day || self.pairs.len() >= MOST_PAIRS {
            self.day = day;
            self.pairs.clear();
        }
        let words = query.to_lowercase();
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one((client, &words));
        if words.is_empty() || !self.pairs.insert(hash) {
            return;
        }
        if self.queries.len() >= MOST_QUERIES {
            self.queries.retain(|_, tally| tally.asked > 1.0);
            if self.queries.len() >= MOST_QUERIES {
                self.queries.clear();
            }
        }
        let tally = self.queries.entry(words.clone().into()).or_default();
        tally.asked += 1.0;
        tally.empty += f64::from(u8::from(is_empty));
        if self.order.len() >= MOST_SHOWINGS
            && let Some(oldest) = self.order.pop_front()
        {
            self.showings.remove(&oldest);
        }
        self.order.push_back(id);
        self.showings.insert(id, words.into());
    }

    pub(super) fn clicked(&mut self, id: u64) {
        let query = self.showings.remove(&id);
        if let Some(tally) = query.and_then(|query| self.queries.get_mut(&query)) {
            tally.clicked += 1.0;
        }
    }

    /// The queries with the most unmet need. A searcher who saw results and clicked none counts as
    /// half served: the list may have been the answer.
    pub(super) fn needs(&self, most: usize) -> Vec<Need> {
        let need = |tally: &Tally| {
            let unclicked = (tally.asked - tally.empty - tally.clicked).max(0.0);
            (tally.empty + 0.5 * unclicked) / tally.asked
        };
        let mut all: Vec<Need> = self
            .queries
            .iter()
            .map(|(words, tally)| Need {
                words: words.to_string(),
                count: tally.asked,
                need: need(tally),
            })
            .collect();
        let weight = |need: &Need| need.count * need.need;
        all.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.words.cmp(&b.words)));
        all.truncate(most);
        all
    }
}
