//! Counts of a crawl, kept across restarts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidewatch_core::{DropReason, FetchKind, Reason};
use tidewatch_store::StoreError;

use crate::pages::Pages;

/// Name under which the store keeps the counts.
const NAME: &str = "tally";

/// What happened so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Page requests, by what they were for.
    pub fetches: BTreeMap<String, u64>,
    /// Answers, by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that brought no copy, by reason: failures, redirects, pages that are gone.
    pub reasons: BTreeMap<Reason, u64>,
    /// URLs and pages that were dropped, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Requests for robots.txt.
    pub robots: u64,
    /// Pages with a copy.
    pub held: u64,
    /// Decoded bytes of all bodies.
    pub body_bytes: u64,
    /// Copies taken, changed or not.
    pub copies: u64,
    /// Copies that a reader would see changed, among those seen before.
    pub changes: u64,
    /// Visits that could have seen a change.
    pub revisits: u64,
    /// Bytes written to the archive.
    pub archive_bytes: u64,
}

impl Tally {
    /// Counts a URL or page that was dropped.
    pub(crate) fn drop(&mut self, reason: DropReason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// Estimated share of time that a copy is up to date; `None` before any was checked.
    ///
    /// > F = (1 − s) / (−ln s), s = share of revisits that saw no change
    ///
    /// which is the freshness of a page visited at equal intervals, with Poisson changes and chance
    /// s of none between two visits (`[CGM03]` §3). For pages of unlike rates it is an estimate;
    /// pages never revisited are left out.
    pub fn freshness_estimate(&self) -> Option<f64> {
        let same = self.revisits.checked_sub(self.changes)? as f64 / self.revisits as f64;
        match same {
            _ if self.revisits == 0 => None,
            s if s <= 0.0 => Some(0.0),
            s if s >= 1.0 => Some(1.0),
            s => Some((1.0 - s) / -s.ln()),
        }
    }

    /// Counts a request that brought no copy.
    pub(crate) fn count(&mut self, reason: Reason) {
        *self.reasons.entry(reason).or_default() += 1;
    }

    pub(crate) fn count_fetch(&mut self, kind: FetchKind) {
        *self.fetches.entry(kind.name().to_owned()).or_default() += 1;
    }

    pub(crate) fn count_answer(&mut self, status: Option<u16>, body_bytes: u64) {
        if let Some(status) = status {
            *self.statuses.entry(status).or_default() += 1;
        }
        self.body_bytes += body_bytes;
    }

    /// Failed requests. Redirects and pages that are gone are no failures.
    pub fn failures(&self) -> u64 {
        let failures = self.reasons.iter().filter(|(reason, _)| reason.is_failure());
        failures.map(|(_, count)| count).sum()
    }

    /// Page requests of all kinds.
    pub fn all_fetches(&self) -> u64 {
        self.fetches.values().sum()
    }

    /// The counts as they were committed last.
    pub(crate) fn restore(pages: &Pages) -> Result<Tally, StoreError> {
        let damaged = |_| StoreError::Damaged { table: "meta", key: 0 };
        let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).map_err(damaged);
        pages.meta(NAME)?.map_or_else(|| Ok(Tally::default()), read)
    }

    /// Adds the counts to the next commit.
    pub(crate) fn keep(&self, pages: &mut Pages) {
        pages.put_meta(NAME, serde_json::to_vec(self).expect("counts can be written"));
    }

    /// Adds the counts of another partition.
    pub(crate) fn add(&mut self, other: &Tally) {
        add(&mut self.fetches, &other.fetches);
        add(&mut self.statuses, &other.statuses);
        add(&mut self.reasons, &other.reasons);
        add(&mut self.dropped, &other.dropped);
        self.robots += other.robots;
        self.held += other.held;
        self.body_bytes += other.body_bytes;
        self.copies += other.copies;
        self.changes += other.changes;
        self.revisits += other.revisits;
        self.archive_bytes += other.archive_bytes;
    }
}

fn add<K: Clone + Ord>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (key, count) in others {
        *counts.entry(key.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freshness(revisits: u64, changes: u64) -> Option<f64> {
        Tally { changes, revisits, ..Tally::default() }.freshness_estimate()
    }

    #[test]
    fn freshness_lies_between_its_bounds() {
        assert_eq!(freshness(0, 0), None);
        assert_eq!(freshness(10, 0), Some(1.0));
        assert_eq!(freshness(10, 10), Some(0.0));
        // s = e⁻¹: λI = 1, F = 1 − e⁻¹.
        let f = freshness(1_000_000, 632_121).expect("there were visits");
        assert!((f - 0.632_121).abs() < 1e-5, "{f}");
    }
}
