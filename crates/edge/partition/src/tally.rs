//! Counts of a crawl, kept across restarts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidewatch_core::{DropReason, FetchKind, Reason, Span};
use tidewatch_store::StoreError;

use crate::Freshness;
use crate::freshness::by_revisits;
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
    /// Links to other addresses of known pages, by rules learnt: fetches spared.
    pub spared: u64,
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
    /// Seconds between those visits and the ones before.
    pub watched_s: u64,
    /// Of these, the seconds before visits that saw a change.
    pub changed_s: u64,
    /// Sum of the squares of those times.
    pub watched_squares: u64,
    /// Bytes written to the archive.
    pub archive_bytes: u64,
}

impl Tally {
    /// Counts a URL or page that was dropped.
    pub(crate) fn drop(&mut self, reason: DropReason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// Counts a visit to a page with a copy, so long after the one before.
    pub(crate) fn count_revisit(&mut self, changed: bool, since: Span) {
        let seconds = since.as_micros() / 1_000_000;
        self.revisits += 1;
        self.changes += u64::from(changed);
        self.watched_s = self.watched_s.saturating_add(seconds);
        self.changed_s = self.changed_s.saturating_add(if changed { seconds } else { 0 });
        let square = seconds.saturating_mul(seconds);
        self.watched_squares = self.watched_squares.saturating_add(square);
    }

    /// Share of copies that are up to date, of those revisited; `None` before any was.
    pub(crate) fn freshness(&self) -> Option<Freshness> {
        by_revisits(self.watched_s, self.changed_s, self.watched_squares)
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
        self.spared += other.spared;
        self.robots += other.robots;
        self.held += other.held;
        self.body_bytes += other.body_bytes;
        self.copies += other.copies;
        self.changes += other.changes;
        self.revisits += other.revisits;
        self.watched_s = self.watched_s.saturating_add(other.watched_s);
        self.changed_s = self.changed_s.saturating_add(other.changed_s);
        self.watched_squares = self.watched_squares.saturating_add(other.watched_squares);
        self.archive_bytes += other.archive_bytes;
    }
}

fn add<K: Clone + Ord>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (key, count) in others {
        *counts.entry(key.clone()).or_default() += count;
    }
}
