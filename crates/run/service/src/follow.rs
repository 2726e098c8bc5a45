//! Follows the partitions of a running service: feeds the index, reads clicks, answers questions and
//! publishes figures.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidewatch_core::{PageId, Time};
use tidewatch_parse::extract::Extract;
use tidewatch_partition::{CrawlError, History, Partition, Settled, Status, Watch};
use tidewatch_search::{Feeder, IndexHealth};
use tidewatch_server::ask::Questions;
use tidewatch_server::{Extra, Figures, Server};

use crate::clicks::ClickReader;
use crate::search::Search;
use crate::{Observer, now_micros};

/// How often the history of figures is stored: a kill loses at most this much of it.
const STORE_EVERY: Duration = Duration::from_secs(30);

/// What belongs to one partition.
pub(crate) struct Part {
    pub(crate) feeder: Option<Feeder>,
    pub(crate) clicks: Option<ClickReader>,
    pub(crate) questions: Questions,
}

impl Part {
    /// Hands waiting pages to the indexer.
    pub(crate) fn feed(&mut self, crawl: &Partition) {
        if let Some(feeder) = &mut self.feeder {
            let _ = feeder.feed(crawl.store(), &|time| crawl.unix_micros(time));
        }
    }

    /// Hands parsed pages to the indexer until none waits, at most until `until`.
    pub(crate) fn drain(&mut self, crawl: &Partition, until: Instant) {
        const PAUSE: Duration = Duration::from_millis(5);
        self.feed(crawl);
        while self.feeder.as_ref().is_some_and(Feeder::has_parsed) && Instant::now() < until {
            std::thread::sleep(PAUSE);
            self.feed(crawl);
        }
    }
}

/// What all partitions share.
pub(crate) struct Whole {
    pub(crate) server: Option<Server>,
    pub(crate) search: Option<Search>,
    /// The newest figures of each partition.
    statuses: Vec<Status>,
    history: Arc<History>,
    /// When the history was stored last.
    stored_at: Instant,
}

impl Whole {
    pub(crate) fn new(server: Option<Server>, search: Option<Search>, history: History) -> Whole {
        let (statuses, history) = (Vec::new(), Arc::new(history));
        Whole { server, search, statuses, history, stored_at: Instant::now() }
    }

    /// Samples the crawl's figures.
    pub(crate) fn sample(&mut self, status: &Status) {
        let now_ms = now_micros() / 1_000;
        if self.history.is_due(now_ms) {
            Arc::make_mut(&mut self.history).add(status, now_ms);
        }
    }

    /// Samples the crawl's figures at the end of a run.
    pub(crate) fn sample_last(&mut self, status: &Status) {
        Arc::make_mut(&mut self.history).add_last(status, now_micros() / 1_000);
    }

    /// Stores the history with the first partition; it joins the next commit.
    pub(crate) fn store_history(&mut self, crawl: &mut Partition) {
        self.stored_at = Instant::now();
        crawl.keep_history(&self.history);
    }

    /// The crawl's figures, with the newest of a partition.
    fn update(&mut self, number: usize, status: Status) -> Status {
        if let Some(known) = self.statuses.get_mut(number) {
            *known = status;
        }
        Status::sum(self.statuses.clone())
    }

    /// Publishes figures, and syncs the search log.
    pub(crate) fn publish(&self, status: Status, is_running: bool, extra: Option<Extra>) {
        if let Some(search) = &self.search {
            search.sync();
        }
        if let Some(server) = &self.server {
            let (index, history) = (self.health(), Arc::clone(&self.history));
            let missing = None;
            server.publish(Figures { status, history, index, is_running, extra, missing });
        }
    }

    fn health(&self) -> Option<IndexHealth> {
        self.search.as_ref().and_then(Search::health)
    }
}

/// The whole and the caller's observer. Partitions take turns with it.
pub(crate) struct Common<'c>(Mutex<(&'c mut Whole, &'c mut (dyn Observer + Send))>);

impl<'c> Common<'c> {
    /// Starts from the figures that each partition has now.
    pub(crate) fn new(
        whole: &'c mut Whole,
        observer: &'c mut (dyn Observer + Send),
        crawl: &[Partition],
    ) -> Common<'c> {
        whole.statuses = crawl.iter().map(Partition::status).collect();
        Common(Mutex::new((whole, observer)))
    }

    fn lock(&self) -> MutexGuard<'_, (&'c mut Whole, &'c mut (dyn Observer + Send))> {
        // A partition that panicked stops all; what it left is only shown.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows one partition.
pub(crate) struct Follow<'f, 'c> {
    pub(crate) part: &'f mut Part,
    pub(crate) common: &'f Common<'c>,
}

impl Watch for Follow<'_, '_> {
    fn stored(&mut self, crawl: &Partition, pages: &[PageId]) {
        if let Some(feeder) = &mut self.part.feeder {
            let unix = |time| crawl.unix_micros(time);
            // A store that cannot be read stops the crawl by itself.
            let _ = feeder.stored(crawl.store(), pages, crawl.last(), &unix);
        }
        self.common.lock().1.stored(crawl, pages);
    }

    fn turn(&mut self, crawl: &mut Partition, now: Time) -> Result<(), CrawlError> {
        self.part.questions.answer(crawl, now);
        if let Some(clicks) = &mut self.part.clicks {
            clicks.turn(crawl, now)?;
        }
        let (whole, observer) = &mut *self.common.lock();
        if crawl.number() == 0 && whole.stored_at.elapsed() >= STORE_EVERY {
            whole.store_history(crawl);
        }
        observer.turn(crawl, now)
    }

    fn extracted(&mut self, page: PageId, extract: Extract) {
        if let Some(feeder) = &mut self.part.feeder {
            feeder.extracted(page, extract);
        }
    }

    fn settled(&mut self, crawl: &Partition, settled: Settled, now: Time) {
        if let (Settled::Gone(page), Some(feeder)) = (settled, &mut self.part.feeder) {
            feeder.gone(page);
        }
        self.common.lock().1.settled(crawl, settled, now);
    }

    fn tick(&mut self, crawl: &Partition, now: Time) {
        self.part.feed(crawl);
        let status = crawl.status();
        let (whole, observer) = &mut *self.common.lock();
        let status = whole.update(crawl.number() as usize, status);
        observer.tick(crawl, now);
        // The first partition speaks for all.
        if crawl.number() == 0 {
            observer.progress(&status);
            whole.sample(&status);
            whole.publish(status, true, observer.extra());
        }
    }

    fn disk(&mut self, is_full: bool) {
        self.common.lock().1.disk(is_full);
    }
}
