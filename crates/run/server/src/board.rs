//! The crawl's published figures.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};
use tidewatch_partition::{History, Status};
use tidewatch_report::Table;
use tidewatch_search::IndexHealth;
use tokio::sync::watch;

/// What a crawl publishes.
#[derive(Clone)]
pub struct Figures {
    /// The crawl's own figures.
    pub status: Status,
    /// Their history since the crawl began.
    pub history: Arc<History>,
    /// The indexer's figures, if there is one.
    pub index: Option<IndexHealth>,
    /// Whether the crawl is running.
    pub is_running: bool,
    /// Figures of the program that runs the crawl.
    pub extra: Option<Extra>,
    /// Partitions whose figures are missing, where they may be.
    pub missing: Option<Missing>,
}

/// Partitions that did not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// How many partitions there are.
    pub of: u32,
    /// Those that did not answer.
    pub partitions: Vec<u32>,
}

impl Missing {
    /// A sentence, if some did not answer.
    pub fn told(&self) -> Option<String> {
        let count = self.partitions.len();
        let answered = (self.of as usize).saturating_sub(count);
        let shown = self.partitions.iter().take(MOST_NAMED).map(u32::to_string);
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = if count > MOST_NAMED { ", …" } else { "" };
        (count > 0).then(|| {
            format!("{answered} of {} partitions answered; missing: {shown}{more}.", self.of)
        })
    }
}

/// Most missing partitions that are named.
const MOST_NAMED: usize = 20;

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
        if let Some(Missing { of, partitions }) = &self.missing {
            json["partitions"] = json!({ "of": of, "missing": partitions });
        }
        if let Some(extra) = &self.extra {
            json[extra.name] = extra.json.clone();
        }
        json
    }
}

/// The current figures.
pub(crate) struct Board {
    figures: RwLock<Option<Arc<Figures>>>,
    changes: watch::Sender<u64>,
}

impl Default for Board {
    fn default() -> Self {
        Board { figures: RwLock::default(), changes: watch::Sender::new(0) }
    }
}

impl Board {
    /// Publishes new figures.
    pub(crate) fn publish(&self, figures: Figures) {
        *self.figures.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(figures));
        self.changes.send_modify(|count| *count += 1);
    }

    /// The figures, if there are any yet.
    pub(crate) fn figures(&self) -> Option<Arc<Figures>> {
        self.figures.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Signals every change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
