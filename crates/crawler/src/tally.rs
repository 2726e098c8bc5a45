//! Counts of a whole crawl, kept across restarts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidewatch_core::FetchKind;
use tidewatch_store::{Batch, Store, StoreError};

/// Under which name the store keeps the counts.
const NAME: &str = "tally";

/// What happened so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Page requests, by what they were for.
    pub fetches: BTreeMap<String, u64>,
    /// Answers, by status.
    pub statuses: BTreeMap<u16, u64>,
    /// What went wrong or was dropped, by reason.
    pub reasons: BTreeMap<String, u64>,
    /// Requests for robots.txt.
    pub robots: u64,
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
    /// Counts a reason.
    pub fn count(&mut self, reason: &str) {
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
    }

    pub(crate) fn count_fetch(&mut self, kind: FetchKind) {
        *self.fetches.entry(kind.name().to_owned()).or_default() += 1;
    }

    /// Page requests of all kinds.
    pub fn all_fetches(&self) -> u64 {
        self.fetches.values().sum()
    }

    pub(crate) fn restore(&mut self, store: &Store) -> Result<(), StoreError> {
        if let Some(bytes) = store.tables().meta(NAME)? {
            let damaged = |_| StoreError::Damaged { table: "meta", key: 0 };
            *self = serde_json::from_slice(&bytes).map_err(damaged)?;
        }
        Ok(())
    }

    pub(crate) fn keep(&self, batch: &mut Batch) {
        let bytes = serde_json::to_vec(self).expect("counts can be written");
        batch.meta.insert(NAME.to_owned(), bytes);
    }
}
