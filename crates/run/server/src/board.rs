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
