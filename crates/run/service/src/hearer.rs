//! Passes the messages of publishers to the crawl.

use std::sync::Arc;

use serde_json::{Value, json};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::announced::Announced;
use tidewatch_partition::hints::{Received, Sender};
use tidewatch_push::{Hearer, Later, Push};
use tidewatch_server::ask::Asker;

/// A crawl in this process.
pub(crate) struct Crawl(Asker);

impl Crawl {
    pub(crate) fn new(asker: Asker) -> Crawl {
        Crawl(asker)
    }
}

impl Hearer for Crawl {
    fn covers(&self, url: CanonicalUrl) -> Later<'_, Option<bool>> {
        Box::pin(async { self.0.covers(url).await.ok() })
    }

    fn hear(&self, sender: Sender, urls: Vec<CanonicalUrl>) -> Later<'_, Option<Received>> {
        Box::pin(async { self.0.take_hints(sender, urls).await.ok() })
    }

    fn announced(&self) -> Later<'_, Vec<Announced>> {
        Box::pin(async { self.0.take_announced().await.unwrap_or_default() })
    }
}

/// Counts of what publishers have sent, for the dashboard.
pub(crate) fn publishers(push: &Push) -> tidewatch_server::Publishers {
    let report = push.reporter();
    Arc::new(move || serde_json::to_value(report()).unwrap_or_else(|_| -> Value { json!({}) }))
}
