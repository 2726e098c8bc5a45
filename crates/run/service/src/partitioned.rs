//! A crawl in several partitions, each on a thread of its own.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidewatch_core::{PageId, Time};
use tidewatch_partition::{Ended, Net, Partition, Partitions, Settled, Status, Stop, Watch};
use tokio::runtime;

use crate::{Observer, OwnRuntime, ServiceConfig, ServiceError, now_micros};

/// A crawl in several partitions. It has neither an index nor a server, and reads no clicks; a crawl
/// that needs them runs in one partition as a [`Service`](crate::Service).
pub struct PartitionedCrawl {
    partitions: Partitions,
    net: Arc<Net>,
    stop: Stop,
    runtime: runtime::Handle,
    // Dropped last: requests run on it.
    _own_runtime: Option<OwnRuntime>,
}

impl PartitionedCrawl {
    /// Opens a crawl, or starts one with [`ServiceConfig::partitions`]. A crawl keeps the number of
    /// partitions that it was started with.
    pub fn open(config: &ServiceConfig) -> Result<PartitionedCrawl, ServiceError> {
        if config.listen.is_some() {
            return Err(ServiceError::Several { dir: config.dir.clone(), what: "--listen" });
        }
        let (own, runtime) = crate::runtime_of(config)?;
        let (dir, count) = (&config.dir, config.partitions);
        let mut partitions = Partitions::open(dir, &config.crawl, count, now_micros())?;
        config.seeds.iter().try_for_each(|seed| partitions.seed(seed))?;
        let net = crate::net_of(config, &runtime, 0)?;
        let stop = crate::stop_of(config);
        Ok(PartitionedCrawl { partitions, net, stop, runtime, _own_runtime: own })
    }

    /// Set it to true to end [`run`](PartitionedCrawl::run).
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop.flag)
    }

    /// Stops on SIGINT (Ctrl-C) and SIGTERM.
    pub fn stop_on_signals(&self) {
        crate::stop_on_signals(&self.runtime, self.stop_flag());
    }

    /// Which URLs are taken in, in one sentence.
    pub fn scope(&self) -> String {
        self.partitions.parts().first().map_or_else(String::new, |part| part.scope().describe())
    }

    /// The figures of all partitions together.
    pub fn status(&self) -> Status {
        self.partitions.status()
    }

    /// Crawls until told to stop, and says why it ended. The observer is called by one partition at
    /// a time.
    pub fn run(&mut self, observer: &mut (dyn Observer + Send)) -> Result<Ended, ServiceError> {
        crate::allow_many_sockets();
        let parts = self.partitions.parts().iter().map(Partition::status).collect();
        let shared = Mutex::new(Shared { observer, parts });
        let mut watches: Vec<Part<'_, '_>> = (0..self.partitions.parts().len())
            .map(|number| Part { number, shared: &shared })
            .collect();
        Ok(self.partitions.run(&self.net, &self.runtime, &self.stop, &mut watches)?)
    }
}

/// What the partitions' threads share.
struct Shared<'o> {
    observer: &'o mut (dyn Observer + Send),
    /// The newest figures of each partition.
    parts: Vec<Status>,
}

/// Follows one partition.
struct Part<'s, 'o> {
    number: usize,
    shared: &'s Mutex<Shared<'o>>,
}

impl<'o> Part<'_, 'o> {
    fn lock(&self) -> MutexGuard<'_, Shared<'o>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Part<'_, '_> {
    fn stored(&mut self, partition: &Partition, pages: &[PageId]) {
        self.lock().observer.stored(partition, pages);
    }

    fn settled(&mut self, partition: &Partition, settled: Settled, now: Time) {
        self.lock().observer.settled(partition, settled, now);
    }

    fn tick(&mut self, partition: &Partition, _: Time) {
        let mut shared = self.lock();
        shared.parts[self.number] = partition.status();
        if self.number == 0 {
            let all = Status::sum(shared.parts.clone());
            shared.observer.progress(&all);
        }
    }

    fn disk(&mut self, is_full: bool) {
        self.lock().observer.disk(is_full);
    }
}
