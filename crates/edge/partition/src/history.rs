//! The history of a crawl's figures, kept in its store.
//!
//! A bounded number of samples, spread evenly over the life of the crawl: when there are too many, every
//! other one is dropped and the step between two doubles.

use serde::{Deserialize, Serialize};
use tidewatch_core::FetchKind;

use crate::{Freshness, Status};

/// Samples kept: at twice as many, every other one is dropped.
const SAMPLES: usize = 400;
/// Least time between two samples.
const STEP_MS: i64 = 1_000;

/// Figures at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, milliseconds of Unix time.
    pub unix_ms: i64,
    /// The price.
    pub price: Option<f64>,
    /// Share of copies up to date.
    pub freshness: Option<Freshness>,
    /// Fetches so far, in the order of [`FetchKind::ALL`].
    pub fetches: [u64; 4],
    /// Failures so far.
    pub failures: u64,
}

/// Samples in the order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    samples: Vec<Sample>,
    step_ms: i64,
}

impl Default for History {
    fn default() -> Self {
        History { samples: Vec::new(), step_ms: STEP_MS }
    }
}

impl History {
    /// The samples.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Whether a sample at this time would be taken.
    pub fn is_due(&self, unix_ms: i64) -> bool {
        let last = self.samples.last().map(|last| last.unix_ms);
        // A clock that was set back must not stop history.
        last.is_none_or(|last| unix_ms >= last.saturating_add(self.step_ms) || unix_ms < last)
    }

    /// Takes a sample, if it is due.
    pub fn add(&mut self, status: &Status, unix_ms: i64) {
        if self.is_due(unix_ms) {
            self.add_last(status, unix_ms);
        }
    }

    /// Takes a sample at the end of a run, whether it is due or not.
    pub fn add_last(&mut self, status: &Status, unix_ms: i64) {
        self.samples.retain(|sample| sample.unix_ms < unix_ms);
        let count = |kind: FetchKind| status.tally.fetches.get(kind.name()).copied().unwrap_or(0);
        self.samples.push(Sample {
            unix_ms,
            price: status.price,
            freshness: status.freshness,
            fetches: FetchKind::ALL.map(count),
            failures: status.failures,
        });
        if self.samples.len() >= 2 * SAMPLES {
            let mut is_odd = false;
            self.samples.retain(|_| {
                is_odd = !is_odd;
                is_odd
            });
            self.step_ms = self.step_ms.saturating_mul(2);
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Of stored bytes. History is only shown, so damage begins a new one.
    pub(crate) fn of_bytes(bytes: &[u8]) -> History {
        let read = serde_json::from_slice(bytes).ok();
        let is_sound = |history: &History| {
            history.step_ms >= STEP_MS && history.samples.is_sorted_by_key(|sample| sample.unix_ms)
        };
        read.filter(is_sound).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_bounded_and_reaches_back_to_the_start() {
        let (mut history, status) = (History::default(), Status::default());
        for tick in 0..20_000 {
            history.add(&status, 1_000 + tick * 500);
            if tick == 7_000 {
                history = History::of_bytes(&history.to_bytes());
            }
        }
        let samples = history.samples();
        assert!(samples.len() < 2 * SAMPLES && samples.len() > SAMPLES / 2);
        assert_eq!(samples[0].unix_ms, 1_000);
        assert!(samples.last().unwrap().unix_ms > 9_000_000);
        assert!(samples.windows(2).all(|pair| pair[0].unix_ms < pair[1].unix_ms));
        assert!(history.to_bytes().len() < 200_000);
        assert_eq!(History::of_bytes(&history.to_bytes()), history);
        assert_eq!(History::of_bytes(b"{}").samples(), []);
        // A clock that was set back.
        history.add(&status, 500_000);
        assert_eq!(history.samples().last().unwrap().unix_ms, 500_000);
        assert!(history.samples().is_sorted_by_key(|sample| sample.unix_ms));
    }
}
