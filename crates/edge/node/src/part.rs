//! A partition on a thread of its own, from its opening to its hand-over.
//!
//! ```text
//! prepare ─▶ open ─▶ crawl ─┬─ closed ─▶ end
//!              ▲            ├─ drained ─▶ stage, upload ─▶ end
//!              └─ upload ◀──┴─ checkpoint ─▶ stage
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidewatch_cluster::Epoch;
use tidewatch_cluster::node::{Line, Manifest};
use tidewatch_core::{PageId, Time};
use tidewatch_parse::extract::Extract;
use tidewatch_partition::{Config, CrawlError, Net, Partition, Seat, Settled, Watch, run};
use tidewatch_store::sync_dirs;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

use crate::checkpoint::{Checkpoints, Staged, epoch_of, forget_epoch, set_epoch};
use crate::control::{Control, Order};
use crate::error::NodeError;
use crate::links::position;
use crate::node::NodeObserver;
use crate::record::Home;
use crate::running::Event;
use crate::seeds::Seeds;

/// Wait before the store of checkpoints is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// How often to look whether the seeds are known.
const LOOK: Duration = Duration::from_millis(50);

/// Things shared by all partitions of a node.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) net: Arc<Net>,
    pub(crate) runtime: Handle,
    pub(crate) seeds: Seeds,
    pub(crate) events: UnboundedSender<Event>,
}

/// One opening of a partition: which, and from which state.
pub(crate) struct Opening {
    pub(crate) number: u32,
    pub(crate) epoch: Epoch,
    /// The epochs of which the directory must have one to be the newest.
    pub(crate) local: Option<Line>,
    pub(crate) restore: Option<Manifest>,
}

/// The thread of a partition.
pub(crate) struct Task {
    opening: Opening,
    dir: PathBuf,
    staging: PathBuf,
    config: Config,
    seat: Seat,
    checkpoints: Checkpoints,
    control: Control,
    means: Means,
}

impl Task {
    /// A thread that has not begun, with its directories in `home`.
    pub(crate) fn new(
        opening: Opening,
        home: &Home,
        config: Config,
        seat: Seat,
        checkpoints: Checkpoints,
        control: Control,
        means: Means,
    ) -> Task {
        let (dir, staging) = (home.partition(opening.number), home.staging(opening.number));
        Task { opening, dir, staging, config, seat, checkpoints, control, means }
    }

    /// Runs the partition until it is handed over or closed.
    pub(crate) fn run(self, observer: &dyn NodeObserver) -> Result<(), NodeError> {
        self.prepare()?;
        let (control, seeds) = (self.control.clone(), self.means.seeds.clone());
        while !seeds.is_complete() && !control.licence().is_closed() {
            std::thread::sleep(LOOK);
        }
        let mut attend = Attend { watch: None, seeds, told: 0, control };
        let epoch = self.opening.epoch.0;
        let (mut first, mut checkpoint) = ((epoch << 32) + 1, 0);
        loop {
            let (next, position) = self.crawl(first, &mut attend, observer)?;
            first = next;
            if self.control.order() == Order::Close || self.control.licence().is_closed() {
                return Ok(());
            }
            checkpoint += 1;
            // An earlier one may still be on its way from its own directory.
            let name = format!("{epoch}-{checkpoint}");
            let staged = self.stage(&name);
            match (self.control.go_on(), staged) {
                (Order::Run, Ok(staged)) => self.upload_aside(name, staged, checkpoint, position),
                // Perhaps the disk is full. The next checkpoint tries again.
                (Order::Run, Err(error)) => self.tell(Event::Trouble(error.to_string())),
                (Order::Close, _) => return Ok(()),
                (Order::Checkpoint | Order::Drain, staged) => {
                    let staged = staged.or_else(|_| self.insist(|| self.stage(&name)))?;
                    self.upload(&name, &staged, checkpoint, position)?;
                    self.tell(Event::Drained(self.opening.number));
                    return Ok(());
                }
            }
        }
    }

    fn stage(&self, name: &str) -> Result<Staged, NodeError> {
        Staged::take(&self.dir, &self.staging.join(name))
            .map_err(|source| NodeError::Io { path: self.staging.clone(), source })
    }

    fn tell(&self, event: Event) {
        // The node ends without waiting for its partitions only when it is told to stop at once.
        let _ = self.means.events.send(event);
    }

    /// Brings the newest state into the directory: it is there already, or in a checkpoint, or the
    /// partition begins.
    fn prepare(&self) -> Result<(), NodeError> {
        let failed = |source| NodeError::Io { path: self.dir.clone(), source };
        let remove = |dir: &Path| if dir.exists() { fs::remove_dir_all(dir) } else { Ok(()) };
        remove(&self.staging).map_err(failed)?;
        let found = epoch_of(&self.dir).map(Epoch);
        if !self.opening.local.zip(found).is_some_and(|(line, found)| line.has(found)) {
            forget_epoch(&self.dir).and_then(|()| remove(&self.dir)).map_err(failed)?;
            if let Some(object) =
                self.opening.restore.as_ref().and_then(|restore| restore.object.as_ref())
            {
                let new = self.staging.join("restored");
                self.insist(|| {
                    let restored = self.checkpoints.restore(self.opening.number, object, &new);
                    self.means.runtime.block_on(restored)
                })?;
                // The note of the epoch must not outlive the files that it speaks of.
                sync_dirs(&new).map_err(failed)?;
                fs::rename(&new, &self.dir).map_err(failed)?;
            }
        }
        set_epoch(&self.dir, self.opening.epoch.0).map_err(failed)
    }

    /// Opens the partition and crawls until told otherwise. Returns the number of its next parcel, and
    /// how far it has read its links.
    fn crawl(
        &self,
        first: u64,
        attend: &mut Attend,
        observer: &dyn NodeObserver,
    ) -> Result<(u64, u64), NodeError> {
        let mut partition = self.open()?;
        partition.join(Seat { first_parcel: Some(first), ..self.seat.clone() })?;
        attend.told = 0;
        // The watcher stays from one checkpoint to the next. It may add to the directory, which must be a
        // partition's by then.
        attend.watch.get_or_insert_with(|| observer.watch(self.opening.number, &self.dir));
        let now = partition.time(unix_micros()).max(partition.last());
        attend.tell_seeds(&mut partition, now)?;
        partition.sync()?;
        self.tell(Event::Opened(self.opening.number));
        let ended =
            run(&mut partition, &self.means.net, &self.means.runtime, self.control.stop(), attend);
        self.seat.ledger.leave(self.opening.number);
        ended?;
        let mark = partition.links_mark()?;
        Ok((partition.next_parcel(), position(mark.as_deref())))
    }

    /// Opens the partition, and waits while the disk is full: others of this node may make room.
    fn open(&self) -> Result<Partition, NodeError> {
        loop {
            match Partition::open(&self.dir, self.config.clone(), unix_micros()) {
                Err(error) if error.is_full_disk() && !self.control.licence().is_closed() => {
                    self.wait(&error);
                }
                opened => return Ok(opened?),
            }
        }
    }

    fn upload(
        &self,
        name: &str,
        staged: &Staged,
        number: u64,
        position: u64,
    ) -> Result<(), NodeError> {
        let object = self.insist(|| {
            self.means.runtime.block_on(self.checkpoints.upload(self.opening.number, name, staged))
        })?;
        let (partition, epoch) = (self.opening.number, self.opening.epoch);
        self.tell(Event::Uploaded { partition, epoch, number, position, object });
        Ok(())
    }

    /// Tries until it succeeds: the store of checkpoints may be gone for a while. Gives up when the
    /// partition belongs to another node.
    fn insist<T>(&self, mut act: impl FnMut() -> Result<T, NodeError>) -> Result<T, NodeError> {
        loop {
            match act() {
                Err(error) if !self.control.licence().is_closed() => self.wait(&error),
                done => return done,
            }
        }
    }

    /// Says why the partition waits, and waits a while.
    fn wait(&self, why: &dyn std::fmt::Display) {
        self.tell(Event::Trouble(format!("{why}; partition {} waits", self.opening.number)));
        std::thread::sleep(AGAIN);
    }

    /// Uploads while the partition goes on. If it fails, the next checkpoint tries again: until one is
    /// accepted, the links stay at the brokers.
    fn upload_aside(&self, name: String, staged: Staged, number: u64, position: u64) {
        let (checkpoints, events) = (self.checkpoints.clone(), self.means.events.clone());
        let (partition, epoch) = (self.opening.number, self.opening.epoch);
        let uploading = self.control.uploading();
        self.means.runtime.spawn(async move {
            let event = match checkpoints.upload(partition, &name, &staged).await {
                Ok(object) => Event::Uploaded { partition, epoch, number, position, object },
                Err(error) => Event::Trouble(error.to_string()),
            };
            let _ = events.send(event);
            drop((staged, uploading));
        });
    }
}

fn unix_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Watches nothing.
struct Nobody;

impl Watch for Nobody {}

/// Watches a partition for the node, and passes everything on.
struct Attend {
    /// `None` until the partition is open.
    watch: Option<Box<dyn Watch + Send>>,
    seeds: Seeds,
    /// How many seeds the partition was told.
    told: usize,
    control: Control,
}

impl Attend {
    fn watch(&mut self) -> &mut (dyn Watch + Send) {
        &mut **self.watch.get_or_insert_with(|| Box::new(Nobody))
    }

    fn tell_seeds(&mut self, partition: &mut Partition, now: Time) -> Result<(), CrawlError> {
        let new = self.seeds.after(self.told);
        self.told += new.len();
        new.iter().try_for_each(|seed| partition.seed_or_allow(seed, now))
    }
}

impl Watch for Attend {
    fn stored(&mut self, partition: &Partition, pages: &[PageId]) {
        self.watch().stored(partition, pages);
    }

    fn turn(&mut self, partition: &mut Partition, now: Time) -> Result<(), CrawlError> {
        self.tell_seeds(partition, now)?;
        self.watch().turn(partition, now)
    }

    fn extracted(&mut self, page: PageId, extract: Extract) {
        self.watch().extracted(page, extract);
    }

    fn settled(&mut self, partition: &Partition, settled: Settled, now: Time) {
        self.watch().settled(partition, settled, now);
    }

    fn tick(&mut self, partition: &Partition, now: Time) {
        self.control.show(partition.status());
        self.watch().tick(partition, now);
    }

    fn disk(&mut self, is_full: bool) {
        self.watch().disk(is_full);
    }
}
