//! The crawl's published figures and their history.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};
use tidewatch_core::FetchKind;
use tidewatch_partition::Status;
use tidewatch_report::Table;
use tidewatch_search::IndexHealth;
use tokio::sync::watch;

use crate::shared::now_ms;

/// Samples kept: at twice as many, every other one is dropped.
const SAMPLES: usize = 400;
/// Least time between two samples.
const SAMPLE_MS: i64 = 1_000;

/// What a crawl publishes.
#[derive(Clone)]
pub struct Figures {
    /// The crawl's own figures.
    pub status: Status,
    /// The indexer's figures, if there is one.
    pub index: Option<IndexHealth>,
    /// Whether the crawl is running.
    pub is_running: bool,
    /// Figures of the program that runs the crawl.
    pub extra: Option<Extra>,
}

/// Figures of the program that runs the crawl.
#[derive(Clone)]
pub struct Extra {
    /// Their name.
    pub name: &'static str,
    /// What they mean, in a sentence.
    pub about: String,
    /// For people.
    pub table: Table,
    /// For programs.
    pub json: Value,
}

impl Figures {
    /// As JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!(self.status);
        json["is_running"] = self.is_running.into();
        json["index"] = json!(self.index);
        json["notes"] = json!(self.status.notes());
        if let Some(extra) = &self.extra {
            json[extra.name] = extra.json.clone();
        }
        json
    }
}

/// Figures at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Seconds since the first.
    pub(crate) at_s: f64,
    pub(crate) price: Option<f64>,
    pub(crate) freshness: Option<f64>,
    pub(crate) probed: Option<(f64, f64)>,
    /// Fetches so far, by kind.
    pub(crate) fetches: [u64; 4],
    /// Failures so far.
    pub(crate) failures: u64,
}

/// The current figures and their history.
pub(crate) struct Board {
    state: RwLock<State>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    figures: Option<Arc<Figures>>,
    history: History,
}

/// Samples spread evenly over the whole run.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) samples: Vec<Sample>,
    began_ms: i64,
    next_ms: i64,
    step_ms: i64,
}

impl Default for Board {
    fn default() -> Self {
        Board { state: RwLock::default(), changes: watch::Sender::new(0) }
    }
}

impl Board {
    /// Publishes new figures.
    pub(crate) fn publish(&self, figures: Figures) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.history.add(&figures.status, now_ms());
        state.figures = Some(Arc::new(figures));
        drop(state);
        self.changes.send_modify(|count| *count += 1);
    }

    /// The figures, if there are any yet.
    pub(crate) fn figures(&self) -> Option<Arc<Figures>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).figures.clone()
    }

    /// Their history.
    pub(crate) fn history(&self) -> History {
        self.state.read().unwrap_or_else(PoisonError::into_inner).history.clone()
    }

    /// Signals every change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl History {
    fn add(&mut self, status: &Status, now_ms: i64) {
        if self.samples.is_empty() {
            (self.began_ms, self.next_ms, self.step_ms) = (now_ms, now_ms, SAMPLE_MS);
        }
        if now_ms < self.next_ms {
            return;
        }
        self.next_ms = now_ms + self.step_ms;
        let count = |kind: FetchKind| status.tally.fetches.get(kind.name()).copied().unwrap_or(0);
        self.samples.push(Sample {
            at_s: (now_ms - self.began_ms) as f64 / 1_000.0,
            price: status.price,
            freshness: status.freshness_estimate,
            probed: status.freshness_probed,
            fetches: FetchKind::ALL.map(count),
            failures: status.tally.reasons.values().sum(),
        });
        if self.samples.len() >= 2 * SAMPLES {
            let mut is_odd = false;
            self.samples.retain(|_| {
                is_odd = !is_odd;
                is_odd
            });
            self.step_ms *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            policy: "price".into(),
            budget_per_s: 1.0,
            pages: 1,
            hosts: 1,
            ..Status::default()
        }
    }

    #[test]
    fn history_is_bounded_and_reaches_back_to_the_start() {
        let (mut history, status) = (History::default(), status());
        for tick in 0..20_000 {
            history.add(&status, tick * 500);
        }
        assert!(history.samples.len() < 2 * SAMPLES && history.samples.len() > SAMPLES / 2);
        assert!(history.samples[0].at_s <= 30.0);
        assert!(history.samples.last().unwrap().at_s > 9_000.0);
        assert!(history.samples.windows(2).all(|pair| pair[0].at_s < pair[1].at_s));
    }
}
