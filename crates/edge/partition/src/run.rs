//! The loop: jobs out, reports in, commits as often as they are cheap, a sync twice a second.
//!
//! One thread owns the partition and never waits for the network: it hands jobs to the runtime and
//! sleeps until a report comes or a host opens. So the partition's state needs no lock, and its
//! decisions depend on reports alone. Reports join the next commit. A kill of the process loses at
//! most the work since the last commit, a crash of the machine that since the last sync; none of it
//! was reported as stored.
//!
//! A full disk pauses the crawl. What could not be written is kept, and every sync tries to write
//! it; until one succeeds, no report is taken in and no job handed out.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use tidewatch_core::{PageId, Span, Time};
use tidewatch_frontier::network_of;
use tidewatch_parse::extract::Extract;
use tidewatch_store::free_bytes;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::Net;
use crate::bell::Bell;
use crate::net::unix_micros;
use crate::partition::{CrawlError, Next, Partition, Settled};
use crate::quiet::{PATIENCE, Quiet};
use crate::work::{Job, Report};

/// Shortest time between two commits. Each syncs the archive first.
const COMMIT_EVERY: Duration = Duration::from_millis(50);
/// Commits take at most one part in this many of the loop's time; a slow disk has fewer of them.
const COMMIT_SHARE: u32 = 20;
/// How often everything is synced, and the watcher told.
const SYNC_EVERY: Duration = Duration::from_millis(500);
/// A snapshot is saved once the inputs since the last one took this long to play: the next start,
/// which plays them again, should take seconds.
const LONGEST_REPLAY: Duration = Duration::from_secs(1);
/// But only once they took this many times as long as saving, which grows with the frontier.
const SAVE_SHARE: u32 = 3;
/// How long requests under way may take to end when the crawl is stopped.
const LAST_WAIT: Duration = Duration::from_secs(3);
/// Most reports per commit, so that a commit takes moments, not seconds.
const MOST_AT_ONCE: usize = 256;
/// How long to wait for more reports after the first. No host notices: its gap is longer, or it
/// gets a thousand requests a second.
const LINGER: Duration = Duration::from_millis(1);
/// Longest that the loop sleeps: a stop is noticed within this time.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The crawl's time: a steady clock from where the crawl was opened.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    origin: Time,
    /// Seconds of crawl time in one second of real time.
    pace: f64,
}

impl Clock {
    /// Starts at a crawl's present time.
    pub fn of(partition: &Partition) -> Clock {
        let origin = partition.time(unix_micros(SystemTime::now()));
        Clock { began: Instant::now(), origin, pace: partition.pace() }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let micros = self.began.elapsed().as_micros() as f64 * self.pace;
        self.origin + Span::from_micros(micros as u64)
    }

    /// Real time to wait until `time`.
    fn until(&self, time: Time) -> Duration {
        let micros = time.since(self.now()).as_micros() as f64 / self.pace;
        Duration::from_micros(micros as u64)
    }
}

/// When a crawl ends.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// After this long.
    pub after: Option<Duration>,
    /// After this many page requests in this run.
    pub fetches: Option<u64>,
    /// Once this flag is set.
    pub flag: Arc<AtomicBool>,
    /// Once nothing is left to fetch; hosts that do not answer are not waited for.
    pub once: Option<Arc<Quiet>>,
    /// While this flag is set, no request begins. Everything else goes on.
    pub hold: Arc<AtomicBool>,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// [`Stop::after`] has passed.
    Time,
    /// [`Stop::fetches`] were made.
    Fetches,
    /// [`Stop::flag`] was set.
    Told,
    /// Nothing is held and nothing can be fetched: [`Partition::in_the_way`] says why.
    CannotStart,
    /// Nothing is left to fetch, and [`Stop::once`] was asked for.
    Done,
}

impl Stop {
    pub(crate) fn why(&self, began: Instant, fetches: u64) -> Option<Ended> {
        if self.flag.load(Ordering::Relaxed) {
            Some(Ended::Told)
        } else if self.after.is_some_and(|after| began.elapsed() >= after) {
            Some(Ended::Time)
        } else if self.once.as_ref().is_some_and(|quiet| quiet.is_over()) {
            Some(Ended::Done)
        } else {
            self.fetches.is_some_and(|most| fetches >= most).then_some(Ended::Fetches)
        }
    }
}

/// Hooks into a partition's run.
pub trait Watch {
    /// These pages' copies are synced to disk.
    fn stored(&mut self, _partition: &Partition, _pages: &[PageId]) {}
    /// Called in every turn of the loop.
    fn turn(&mut self, _partition: &mut Partition, _now: Time) -> Result<(), CrawlError> {
        Ok(())
    }
    /// A page was parsed whose copy will be stored; only if [`Net::keep_text`] asks for its words.
    fn extracted(&mut self, _page: PageId, _extract: Extract) {}
    /// A report was settled.
    fn settled(&mut self, _partition: &Partition, _settled: Settled, _now: Time) {}
    /// Twice a second.
    fn tick(&mut self, _partition: &Partition, _now: Time) {}
    /// The disk is full and the crawl pauses, or it goes on.
    fn disk(&mut self, _is_full: bool) {}
    /// Bytes that are free on the disk of a directory, if that can be told.
    fn free_bytes(&self, dir: &Path) -> Option<u64> {
        free_bytes(dir).ok()
    }
}

/// Crawls until told to stop. Everything done is stored when it returns.
pub fn run(
    partition: &mut Partition,
    net: &Arc<Net>,
    runtime: &Handle,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Ended, CrawlError> {
    let (sender, reports) = mpsc::channel();
    let (clock, before) = (Clock::of(partition), partition.tally().all_fetches());
    let mut hand = Hand { net, runtime, sender, under_way: 0, tasks: JoinSet::new() };
    let mut keeper = Keeper::new();
    let bell = Bell::hang(partition.store().dir());
    let began = Instant::now();
    let ended = loop {
        if let Some(ended) = stop.why(began, partition.tally().all_fetches() - before) {
            break ended;
        }
        if partition.cannot_start(hand.under_way == 0) {
            break Ended::CannotStart;
        }
        let turn = Instant::now();
        let is_held = keeper.is_full || stop.hold.load(Ordering::Relaxed);
        let wait = if is_held { Time::NEVER } else { hand.out(partition, clock.now())? };
        partition.taped_mut().count_time(turn.elapsed());
        let sleep = clock.until(wait).min(LONGEST_SLEEP);
        if keeper.is_stuck {
            std::thread::sleep(LONGEST_SLEEP);
        } else {
            let taken = take(partition, &reports, sleep, &clock, &mut hand, &mut keeper, watch);
            let met = taken.and_then(|()| partition.meet(clock.now()));
            let met = met.and_then(|()| partition.reread(clock.now()));
            if let Some(bell) = &bell {
                bell.answer(partition, clock.now());
            }
            keeper.bear(met.and_then(|()| watch.turn(partition, clock.now())), watch)?;
        }
        if keeper.keep(partition, clock.now(), watch)?
            && let Some(quiet) = &stop.once
        {
            quiet.note(partition.number(), partition.is_done(PATIENCE, clock.now()));
        }
    };
    let last = Instant::now();
    while hand.under_way > 0 && last.elapsed() < LAST_WAIT && !keeper.is_stuck {
        take(partition, &reports, LONGEST_SLEEP, &clock, &mut hand, &mut keeper, watch)?;
    }
    keeper.sync(partition, clock.now(), watch)?;
    partition.save()?;
    Ok(ended)
}

/// Hands jobs to the runtime.
struct Hand<'h> {
    net: &'h Arc<Net>,
    runtime: &'h Handle,
    sender: Sender<Report>,
    under_way: usize,
    /// Requests that are still under way when the loop ends are broken off: whoever opens the partition
    /// next counts the gaps of its hosts from then.
    tasks: JoinSet<()>,
}

impl Hand<'_> {
    /// Hands out every job that can start now, and returns when to look again.
    fn out(&mut self, partition: &mut Partition, now: Time) -> Result<Time, CrawlError> {
        loop {
            let job = match partition.next(now)? {
                Next::Job(job) => job,
                Next::WaitUntil(until) => return Ok(until),
            };
            let (net, sender) = (Arc::clone(self.net), self.sender.clone());
            self.under_way += 1;
            let gate = partition.member().map(|member| Arc::clone(member.gate()));
            let shared = gate.zip(address(partition, &job));
            while self.tasks.try_join_next().is_some() {}
            let task = async move {
                let report = match shared {
                    Some((gate, address)) => {
                        let copy = job.clone();
                        let request = Box::pin(net.perform(job));
                        let made = gate.pass(address, request).await;
                        made.unwrap_or_else(|| copy.given_up())
                    }
                    None => net.perform(job).await,
                };
                // Nobody listens any more when the crawl has stopped.
                let _ = sender.send(report);
            };
            self.tasks.spawn_on(task, self.runtime);
        }
    }
}

/// The address that a job's request goes to.
fn address(partition: &Partition, job: &Job) -> Option<IpAddr> {
    match job {
        Job::Resolve { .. } => None,
        Job::Robots { host, .. } | Job::Page { host, .. } => {
            partition.address_of(*host).map(network_of)
        }
    }
}

/// Waits for a report and takes in all that are there.
fn take(
    partition: &mut Partition,
    reports: &Receiver<Report>,
    wait: Duration,
    clock: &Clock,
    hand: &mut Hand<'_>,
    keeper: &mut Keeper,
    watch: &mut dyn Watch,
) -> Result<(), CrawlError> {
    let first = reports.recv_timeout(wait).ok();
    if first.is_some() && hand.under_way > 1 {
        // More reports follow soon, and one commit for all is cheaper than one for each.
        std::thread::sleep(LINGER);
    }
    let turn = Instant::now();
    let mut taken = Vec::new();
    for mut report in first.into_iter().chain(reports.try_iter()).take(MOST_AT_ONCE) {
        hand.under_way -= 1;
        let (now, extract) = (clock.now(), report.take_extract());
        taken.push((partition.take_in(report, now)?, extract, now));
    }
    partition.taped_mut().count_time(turn.elapsed());
    // The watcher hears of them after the next sync.
    keeper.stored.extend(taken.iter().filter_map(|(settled, ..)| settled.held()));
    let committed = keeper.commit(partition);
    for (settled, extract, now) in taken {
        if let (Some(page), Some(extract)) = (settled.held(), extract) {
            watch.extracted(page, extract);
        }
        watch.settled(partition, settled, now);
    }
    committed
}

/// Syncs, tells the watcher, and looks after the disk.
struct Keeper {
    /// Pages whose copies will be stored by the next sync.
    stored: Vec<PageId>,
    synced: Instant,
    committed: Instant,
    /// How long the last commit took.
    commit_took: Duration,
    /// There is too little room to go on.
    is_full: bool,
    /// A write failed for lack of room and waits to be retried.
    is_stuck: bool,
}

impl Keeper {
    fn new() -> Keeper {
        let now = Instant::now();
        Keeper {
            stored: Vec::new(),
            synced: now,
            committed: now,
            commit_took: Duration::ZERO,
            is_full: false,
            is_stuck: false,
        }
    }

    /// Commits, if that is due; else only makes room in memory.
    fn commit(&mut self, partition: &mut Partition) -> Result<(), CrawlError> {
        if self.committed.elapsed() < COMMIT_EVERY.max(COMMIT_SHARE * self.commit_took) {
            return partition.relieve();
        }
        let began = Instant::now();
        let done = partition.commit();
        (self.committed, self.commit_took) = (Instant::now(), began.elapsed());
        done
    }

    /// Pauses if the error is a full disk; returns any other error.
    fn bear(
        &mut self,
        done: Result<(), CrawlError>,
        watch: &mut dyn Watch,
    ) -> Result<(), CrawlError> {
        self.is_stuck = match done {
            Ok(()) => false,
            Err(error) if error.is_full_disk() => true,
            Err(error) => return Err(error),
        };
        if self.is_stuck {
            self.note_disk(true, watch);
        }
        Ok(())
    }

    fn note_disk(&mut self, is_full: bool, watch: &mut dyn Watch) {
        if std::mem::replace(&mut self.is_full, is_full) != is_full {
            watch.disk(is_full);
        }
    }

    /// Syncs, if that is due, and returns whether it was.
    fn keep(
        &mut self,
        partition: &mut Partition,
        now: Time,
        watch: &mut dyn Watch,
    ) -> Result<bool, CrawlError> {
        if self.synced.elapsed() < SYNC_EVERY {
            return Ok(false);
        }
        let least = partition.config().free_disk_mb << 20;
        let is_full = watch.free_bytes(partition.store().dir()).is_some_and(|free| free < least);
        if self.is_stuck && is_full {
            // The write would fail again.
            self.synced = Instant::now();
            return Ok(true);
        }
        let synced = self.sync(partition, now, watch).and_then(|()| Self::save(partition));
        self.bear(synced, watch)?;
        self.note_disk(is_full || self.is_stuck, watch);
        Ok(true)
    }

    fn save(partition: &mut Partition) -> Result<(), CrawlError> {
        let is_time = partition.taped_mut().wants_save(LONGEST_REPLAY, SAVE_SHARE);
        if is_time { partition.save() } else { Ok(()) }
    }

    fn sync(
        &mut self,
        partition: &mut Partition,
        now: Time,
        watch: &mut dyn Watch,
    ) -> Result<(), CrawlError> {
        self.synced = Instant::now();
        partition.sync()?;
        partition.note_spending(now);
        watch.stored(partition, &self.stored);
        self.stored.clear();
        watch.tick(partition, now);
        // If the write fails, readers see older figures, which is harmless.
        let _ = partition.status().write(partition.store().dir());
        self.synced = Instant::now();
        Ok(())
    }
}
