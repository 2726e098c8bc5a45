//! The search index of a crawl and the desk that logs its searches and clicks.

use std::path::Path;
use std::sync::Arc;

use tidewatch_core::PageId;
use tidewatch_parse::document::Parsed;
use tidewatch_partition::{Config, Partition, Settled};
use tidewatch_search::clicks::{ClickSettings, Desk};
use tidewatch_search::{Feeder, IndexHealth, Indexer, SearchError, Searcher};

use crate::now_s;

/// Follows the crawl and keeps the index up to date.
pub(crate) struct Search {
    // Dropped before the indexer is joined, which ends when its queue closes.
    feeder: Option<Feeder>,
    indexer: Option<Indexer>,
    pub(crate) searcher: Searcher,
    pub(crate) desk: Arc<Desk>,
}

impl Search {
    pub(crate) fn open(dir: &Path, config: &Config) -> Result<Search, SearchError> {
        let memory = (config.index_mb as usize) << 20;
        let (indexer, feeder) = Indexer::start(dir, memory, &config.agent)?;
        let settings = ClickSettings { keep_days: config.keep_days, ..ClickSettings::default() };
        let desk = Arc::new(Desk::open(dir, settings, now_s())?);
        let searcher = indexer.searcher();
        Ok(Search { feeder: Some(feeder), indexer: Some(indexer), searcher, desk })
    }

    /// The copies of these pages are stored.
    pub(crate) fn stored(&mut self, crawl: &Partition, pages: &[PageId]) {
        if let Some(feeder) = &mut self.feeder {
            let unix = |time| crawl.unix_micros(time);
            // A store that cannot be read stops the crawl by itself.
            let _ = feeder.stored(crawl.store(), pages, crawl.last(), &unix);
        }
    }

    /// The crawl has parsed a page.
    pub(crate) fn parsed(&mut self, page: PageId, parsed: Box<Parsed>) {
        if let Some(feeder) = &mut self.feeder {
            feeder.parsed(page, parsed);
        }
    }

    /// A report was settled.
    pub(crate) fn settled(&mut self, settled: Settled) {
        if let (Settled::Gone(page), Some(feeder)) = (settled, &mut self.feeder) {
            feeder.gone(page);
        }
    }

    /// Hands waiting pages to the indexer, and syncs the search log.
    pub(crate) fn feed(&mut self, crawl: &Partition) {
        if let Some(feeder) = &mut self.feeder {
            let _ = feeder.feed(crawl.store(), &|time| crawl.unix_micros(time));
        }
        let _ = self.desk.sync();
    }

    pub(crate) fn health(&self) -> Option<IndexHealth> {
        self.indexer.as_ref().map(Indexer::health)
    }

    /// Commits what was handed over and ends the indexer. Searching goes on.
    pub(crate) fn finish(&mut self) -> Option<IndexHealth> {
        self.feeder = None;
        let _ = self.desk.sync();
        self.indexer.take().map(Indexer::finish)
    }
}

impl Drop for Search {
    /// Waits for the indexer, which holds the index open until it ends.
    fn drop(&mut self) {
        self.finish();
    }
}
