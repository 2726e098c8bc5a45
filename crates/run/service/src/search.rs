//! The search index of a crawl and the desk that logs its searches and clicks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidewatch_partition::Config;
use tidewatch_search::clicks::{ClickSettings, Desk};
use tidewatch_search::{Feeder, IndexHealth, Indexer, SearchError, Searcher};

use crate::now_s;

/// The index of a crawl. Every partition has a [`Feeder`] of it.
pub(crate) struct Search {
    indexer: Option<Indexer>,
    searcher: Searcher,
    desk: Arc<Desk>,
}

impl Search {
    /// Opens the index and the desk in a crawl's directory, and a feeder for each of its partitions.
    pub(crate) fn open(
        dir: &Path,
        parts: &[PathBuf],
        config: &Config,
    ) -> Result<(Search, Vec<Feeder>), SearchError> {
        let memory = (config.index_mb as usize) << 20;
        let (indexer, feeders) = Indexer::start(dir, parts, memory, &config.agent)?;
        let settings = ClickSettings { keep_days: config.keep_days, ..ClickSettings::default() };
        let desk = Arc::new(Desk::open(dir, settings, now_s())?);
        let searcher = indexer.searcher();
        Ok((Search { indexer: Some(indexer), searcher, desk }, feeders))
    }

    /// Finds pages.
    pub(crate) fn searcher(&self) -> Searcher {
        self.searcher.clone()
    }

    /// Logs searches and clicks.
    pub(crate) fn desk(&self) -> Arc<Desk> {
        Arc::clone(&self.desk)
    }

    /// Syncs the search log.
    pub(crate) fn sync(&self) {
        let _ = self.desk.sync();
    }

    pub(crate) fn health(&self) -> Option<IndexHealth> {
        self.indexer.as_ref().map(Indexer::health)
    }

    /// Commits what was handed over and ends the indexer. Its feeders must be dropped first. Searching
    /// goes on.
    pub(crate) fn finish(&mut self) -> Option<IndexHealth> {
        self.sync();
        self.indexer.take().map(Indexer::finish)
    }
}

impl Drop for Search {
    /// Waits for the indexer, which holds the index open until it ends.
    fn drop(&mut self) {
        self.finish();
    }
}
