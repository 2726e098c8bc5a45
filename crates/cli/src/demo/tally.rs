//! Counts of what the demo did.

use std::collections::BTreeMap;

use tidewatch_core::FetchKind;

use super::job::{Done, Found};

/// Everything that is counted while the demo runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Fetches by kind, in the order of [`FetchKind::ALL`].
    pub(super) fetches: [u64; 4],
    /// Requests by status; `None` for requests without a reply.
    pub(super) statuses: BTreeMap<Option<u16>, u64>,
    /// Fetches that failed, by reason.
    pub(super) failures: BTreeMap<&'static str, u64>,
    /// Fetches that were sent elsewhere.
    pub(super) redirects: u64,
    /// Bytes of bodies.
    pub(super) bytes: u64,
    /// Links that `robots.txt` forbids to follow.
    pub(super) disallowed_links: u64,
    /// Pages chosen and then not fetched because `robots.txt`, read just then, forbids it.
    pub(super) disallowed_pages: u64,
    /// Allowances that lapsed because nothing was due, or everything due was closed.
    pub(super) idle: u64,
    /// Allowances that lapsed because too many fetches were under way.
    pub(super) crowded: u64,
    /// Choices of closed hosts: defects of the policy.
    pub(super) impolite: u64,
}

impl Tally {
    pub(super) fn count(&mut self, done: &Done, kind: FetchKind) {
        for status in &done.statuses {
            *self.statuses.entry(*status).or_default() += 1;
        }
        self.bytes += done.bytes;
        match &done.found {
            Found::Disallowed => {
                self.disallowed_pages += 1;
                return;
            }
            Found::Failed(reason) => *self.failures.entry(reason).or_default() += 1,
            Found::Moved(_) => self.redirects += 1,
            Found::Content { .. } | Found::Same | Found::Gone => {}
        }
        self.fetches[kind as usize] += 1;
    }

    pub(super) fn requests(&self) -> u64 {
        self.statuses.values().sum()
    }
}
