//! A partition that is open here: feeds its index, reads clicks, answers questions.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tidewatch_core::{PageId, Time};
use tidewatch_node::Serving;
use tidewatch_parse::extract::Extract;
use tidewatch_partition::{Config, CrawlError, Partition, Settled, Watch};
use tidewatch_search::{Feeder, Indexer};
use tidewatch_server::ask::{self, Questions};

use super::clicks::ClickLog;
use super::crowd::{Crowd, Local};
use crate::clicks::ClickReader;

/// Longest wait of a page for its commit. A node has an index for each partition, so each commits more
/// rarely than the one index of a single machine.
const PATIENCE: Duration = Duration::from_secs(5);
/// The memory is divided by the number of partitions, at most by this. So a node with more partitions uses
/// more than its settings say.
const MOST_AT_ONCE: u32 = 16;

/// Settings of all partitions of a node.
pub(super) struct ShardSettings {
    /// Bytes for the unwritten pages of an index; `None` without indexes.
    memory: Option<usize>,
    agent: String,
    clicks: Option<ClickLog>,
}

impl ShardSettings {
    /// Settings for partitions of a crawl of `count`, which learn from `clicks`.
    pub(super) fn new(crawl: &Config, count: u32, clicks: Option<ClickLog>) -> ShardSettings {
        let memory = ((crawl.index_mb as usize) << 20) / count.clamp(1, MOST_AT_ONCE) as usize;
        ShardSettings { memory: crawl.index.then_some(memory), agent: crawl.agent.clone(), clicks }
    }

    pub(super) const fn has_index(&self) -> bool {
        self.memory.is_some()
    }
}

/// Watches a partition until it is closed here.
pub(super) struct ShardWatch {
    own: Box<dyn Watch + Send>,
    number: u32,
    crowd: Arc<Crowd>,
    local: Arc<Local>,
    _serving: Serving,
    questions: Questions,
    clicks: Option<ClickLog>,
    reader: Option<ClickReader>,
    // Dropped before the indexer, which ends when its feeder is gone.
    feeder: Option<Feeder>,
    indexer: Option<Indexer>,
}

impl ShardWatch {
    /// Opens the index in a partition's directory, and answers for it from now on. A partition whose index
    /// cannot be opened crawls on without.
    pub(super) fn open(
        number: u32,
        dir: &Path,
        settings: &ShardSettings,
        crowd: &Arc<Crowd>,
        own: Box<dyn Watch + Send>,
        note: impl Fn(&str),
    ) -> ShardWatch {
        let start = |memory| Indexer::start_one(dir, number, memory, &settings.agent, PATIENCE);
        let (indexer, feeder) = match settings.memory.map(start).transpose() {
            Ok(opened) => opened.unzip(),
            Err(error) => {
                note(&format!("partition {number} crawls without its index: {error}"));
                (None, None)
            }
        };
        let (asker, mut questions) = ask::channel(1);
        let questions = questions.swap_remove(0);
        let searcher = indexer.as_ref().map(Indexer::searcher);
        let (local, serving) = crowd.enter(number, asker, searcher);
        let (crowd, clicks) = (Arc::clone(crowd), settings.clicks.clone());
        ShardWatch {
            own,
            number,
            crowd,
            local,
            _serving: serving,
            questions,
            clicks,
            reader: None,
            feeder,
            indexer,
        }
    }

    /// Reads clicks from where the partition last stopped.
    fn read_clicks(&mut self, crawl: &mut Partition, now: Time) -> Result<(), CrawlError> {
        if let Some(clicks) = self.clicks.take() {
            let searcher = self.local.searcher.clone();
            self.reader = Some(ClickReader::over(clicks.read(), crawl, searcher)?);
        }
        self.reader.as_mut().map_or(Ok(()), |reader| reader.turn(crawl, now))
    }
}

impl Drop for ShardWatch {
    fn drop(&mut self) {
        self.crowd.leave(self.number);
    }
}

impl Watch for ShardWatch {
    fn stored(&mut self, crawl: &Partition, pages: &[PageId]) {
        if let Some(feeder) = &mut self.feeder {
            let unix = |time| crawl.unix_micros(time);
            // A store that cannot be read stops the crawl by itself.
            let _ = feeder.stored(crawl.store(), pages, crawl.last(), &unix);
        }
        self.own.stored(crawl, pages);
    }

    fn turn(&mut self, crawl: &mut Partition, now: Time) -> Result<(), CrawlError> {
        self.questions.answer(crawl, now);
        self.read_clicks(crawl, now)?;
        self.own.turn(crawl, now)
    }

    fn extracted(&mut self, page: PageId, extract: Extract) {
        if let Some(feeder) = &mut self.feeder {
            feeder.extracted(page, extract);
        }
    }

    fn settled(&mut self, crawl: &Partition, settled: Settled, now: Time) {
        if let (Settled::Gone(page), Some(feeder)) = (settled, &mut self.feeder) {
            feeder.gone(page);
        }
        self.own.settled(crawl, settled, now);
    }

    fn tick(&mut self, crawl: &Partition, now: Time) {
        if let Some(feeder) = &mut self.feeder {
            let _ = feeder.feed(crawl.store(), &|time| crawl.unix_micros(time));
        }
        if let Some(indexer) = &self.indexer {
            let mut shown = self.local.health.lock().unwrap_or_else(PoisonError::into_inner);
            *shown = indexer.health();
        }
        self.own.tick(crawl, now);
    }

    fn disk(&mut self, is_full: bool) {
        self.own.disk(is_full);
    }
}
