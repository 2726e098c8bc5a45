//! A partition on a thread of its own, from its opening to its hand-over.
//!
//! ```text
//! prepare ─▶ open ─▶ crawl ─┬─ closed ─▶ end
//!              ▲            ├─ drained ─▶ stage, upload ─▶ end
//!              └─ upload ◀──┴─ checkpoint ─▶ stage
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidewatch_cluster::Epoch;
use tidewatch_cluster::node::Manifest;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Time};
use tidewatch_parse::extract::Extract;
use tidewatch_partition::{
    Config, CrawlError, Net, Partition, Seat, Settled, Status, Stop, Watch, run,
};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

use crate::checkpoint::{Checkpoints, Staged, epoch_of, forget_epoch, set_epoch};
use crate::clock::Licence;
use crate::error::NodeError;
use crate::links::position;
use crate::node::Event;

/// Wait before the store of checkpoints is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// Why a partition's run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// It goes on.
    Run = 0,
    /// To be checkpointed, and then to go on.
    Checkpoint = 1,
    /// To be checkpointed and given to another node.
    Drain = 2,
    /// At once: another node may own it.
    Close = 3,
}

/// Seeds of the crawl, which every partition is told.
pub(crate) type Seeds = Arc<Mutex<Vec<CanonicalUrl>>>;

/// Everything a partition's thread needs.
pub(crate) struct Task {
    pub(crate) number: u32,
    pub(crate) epoch: Epoch,
    /// The epoch that the directory must have to be the newest.
    pub(crate) local: Option<Epoch>,
    pub(crate) restore: Option<Manifest>,
    pub(crate) dir: PathBuf,
    pub(crate) staging: PathBuf,
    pub(crate) config: Config,
    pub(crate) seat: Seat,
    pub(crate) licence: Arc<Licence>,
    pub(crate) net: Arc<Net>,
    pub(crate) runtime: Handle,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) seeds: Seeds,
    pub(crate) status: Arc<Mutex<Option<Status>>>,
    pub(crate) stop: Stop,
    pub(crate) order: Arc<AtomicU8>,
    pub(crate) events: UnboundedSender<Event>,
}

impl Task {
    /// Runs the partition until it is handed over or closed.
    pub(crate) fn run(mut self, watch: Box<dyn Watch + Send>) -> Result<(), NodeError> {
        self.prepare()?;
        let mut attend = Attend {
            watch,
            seeds: Arc::clone(&self.seeds),
            told: 0,
            status: Arc::clone(&self.status),
        };
        let (mut first, mut checkpoint) = ((self.epoch.0 << 32) + 1, 0);
        loop {
            let (next, position) = self.crawl(first, &mut attend)?;
            first = next;
            if self.order() == Order::Close || self.licence.is_closed() {
                return Ok(());
            }
            checkpoint += 1;
            // An earlier one may still be on its way from its own directory.
            let name = format!("{}-{checkpoint}", self.epoch.0);
            let staged = Staged::take(&self.dir, &self.staging.join(&name))
                .map_err(|source| NodeError::Io { path: self.staging.clone(), source })?;
            // The flag first: an order that comes in between sets it again.
            self.stop.flag.store(false, Ordering::Relaxed);
            let (was, next) = (Order::Checkpoint as u8, Order::Run as u8);
            let goes_on =
                self.order.compare_exchange(was, next, Ordering::AcqRel, Ordering::Acquire);
            if goes_on.is_ok() {
                self.upload_aside(name, staged, checkpoint, position);
            } else if self.order() == Order::Close {
                return Ok(());
            } else {
                self.upload(&name, &staged, checkpoint, position)?;
                self.tell(Event::Drained(self.number));
                return Ok(());
            }
        }
    }

    fn order(&self) -> Order {
        match self.order.load(Ordering::Relaxed) {
            1 => Order::Checkpoint,
            2 => Order::Drain,
            3 => Order::Close,
            _ => Order::Run,
        }
    }

    fn tell(&self, event: Event) {
        // The node ends without waiting for its partitions only when it is told to stop at once.
        let _ = self.events.send(event);
    }

    /// Brings the newest state into the directory: it is there already, or in a checkpoint, or the
    /// partition begins.
    fn prepare(&self) -> Result<(), NodeError> {
        let failed = |source| NodeError::Io { path: self.dir.clone(), source };
        let remove = |dir: &Path| if dir.exists() { fs::remove_dir_all(dir) } else { Ok(()) };
        remove(&self.staging).map_err(failed)?;
        let local = self.local.map(|epoch| epoch.0);
        if local.is_none() || epoch_of(&self.dir) != local {
            forget_epoch(&self.dir).and_then(|()| remove(&self.dir)).map_err(failed)?;
            if let Some(object) = self.restore.as_ref().and_then(|restore| restore.object.as_ref())
            {
                let new = self.staging.join("restored");
                self.insist(|| {
                    let restored = self.checkpoints.restore(self.number, object, &new);
                    self.runtime.block_on(restored)
                })?;
                fs::rename(&new, &self.dir).map_err(failed)?;
            }
        }
        set_epoch(&self.dir, self.epoch.0).map_err(failed)
    }

    /// Opens the partition and crawls until told otherwise. Returns the number of its next parcel, and
    /// how far it has read its links.
    fn crawl(&mut self, first: u64, attend: &mut Attend) -> Result<(u64, u64), NodeError> {
        let mut partition = Partition::open(&self.dir, self.config.clone(), unix_micros())?;
        partition.join(Seat { first_parcel: Some(first), ..self.seat.clone() })?;
        attend.told = 0;
        let now = partition.time(unix_micros()).max(partition.last());
        attend.tell_seeds(&mut partition, now)?;
        partition.sync()?;
        self.tell(Event::Opened(self.number));
        let ended = run(&mut partition, &self.net, &self.runtime, &self.stop, attend);
        self.seat.ledger.leave(self.number);
        ended?;
        let mark = partition.links_mark()?;
        Ok((partition.next_parcel(), position(mark.as_deref())))
    }

    fn upload(
        &self,
        name: &str,
        staged: &Staged,
        number: u64,
        position: u64,
    ) -> Result<(), NodeError> {
        let object = self
            .insist(|| self.runtime.block_on(self.checkpoints.upload(self.number, name, staged)))?;
        let (partition, epoch) = (self.number, self.epoch);
        self.tell(Event::Uploaded { partition, epoch, number, position, object });
        Ok(())
    }

    /// Tries until it succeeds: the store of checkpoints may be gone for a while. Gives up when the
    /// partition belongs to another node.
    fn insist<T>(&self, mut act: impl FnMut() -> Result<T, NodeError>) -> Result<T, NodeError> {
        loop {
            match act() {
                Err(error) if !self.licence.is_closed() => {
                    self.tell(Event::Trouble(format!("{error}; partition {} waits", self.number)));
                    std::thread::sleep(AGAIN);
                }
                done => return done,
            }
        }
    }

    /// Uploads while the partition goes on. If it fails, the next checkpoint tries again: until one is
    /// accepted, the links stay at the brokers.
    fn upload_aside(&self, name: String, staged: Staged, number: u64, position: u64) {
        let (checkpoints, events) = (self.checkpoints.clone(), self.events.clone());
        let (partition, epoch) = (self.number, self.epoch);
        self.runtime.spawn(async move {
            let event = match checkpoints.upload(partition, &name, &staged).await {
                Ok(object) => Event::Uploaded { partition, epoch, number, position, object },
                Err(error) => Event::Trouble(error.to_string()),
            };
            let _ = events.send(event);
        });
    }
}

fn unix_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Watches a partition for the node, and passes everything on.
struct Attend {
    watch: Box<dyn Watch + Send>,
    seeds: Seeds,
    /// How many seeds the partition was told.
    told: usize,
    status: Arc<Mutex<Option<Status>>>,
}

impl Attend {
    fn tell_seeds(&mut self, partition: &mut Partition, now: Time) -> Result<(), CrawlError> {
        let new: Vec<CanonicalUrl> = {
            let seeds = self.seeds.lock().unwrap_or_else(PoisonError::into_inner);
            seeds[self.told.min(seeds.len())..].to_vec()
        };
        self.told += new.len();
        new.iter().try_for_each(|seed| partition.seed_or_allow(seed, now))
    }
}

impl Watch for Attend {
    fn stored(&mut self, partition: &Partition, pages: &[PageId]) {
        self.watch.stored(partition, pages);
    }

    fn turn(&mut self, partition: &mut Partition, now: Time) -> Result<(), CrawlError> {
        self.tell_seeds(partition, now)?;
        self.watch.turn(partition, now)
    }

    fn extracted(&mut self, page: PageId, extract: Extract) {
        self.watch.extracted(page, extract);
    }

    fn settled(&mut self, partition: &Partition, settled: Settled, now: Time) {
        self.watch.settled(partition, settled, now);
    }

    fn tick(&mut self, partition: &Partition, now: Time) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(partition.status());
        self.watch.tick(partition, now);
    }

    fn disk(&mut self, is_full: bool) {
        self.watch.disk(is_full);
    }
}
