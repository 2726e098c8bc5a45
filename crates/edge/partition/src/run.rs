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

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tidewatch_core::{PageId, Span, Time};
use tidewatch_parse::extract::Extract;
use tidewatch_store::free_bytes;
use tokio::runtime::Handle;

use crate::Net;
use crate::bell::Bell;
use crate::outside::{Live, Outside, Pass};
use crate::partition::{CrawlError, Next, Partition, Settled};
use crate::quiet::{PATIENCE, Quiet};
use crate::report::unix_micros;

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
/// How long to wait before a failed write is tried again, at least.
const RETRY_WAIT: Duration = Duration::from_millis(100);

/// The crawl's time: a steady clock from where the crawl was opened.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    course: Course,
}

impl Clock {
    /// Starts at a crawl's present time.
    pub fn of(partition: &Partition) -> Clock {
        let course = Course::of(partition, unix_micros(SystemTime::now()));
        Clock { began: Instant::now(), course }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        self.course.at(self.began.elapsed())
    }
}

/// How the crawl's time follows the time since a moment.
#[derive(Clone, Copy, Debug)]
struct Course {
    origin: Time,
    /// Seconds of crawl time in one second of real time.
    pace: f64,
}

impl Course {
    fn of(partition: &Partition, unix_micros: i64) -> Course {
        Course { origin: partition.time(unix_micros), pace: partition.pace() }
    }

    /// The crawl's time when this much has passed.
    fn at(&self, passed: Duration) -> Time {
        let micros = passed.as_micros() as f64 * self.pace;
        self.origin + Span::from_micros(micros as u64)
    }

    /// How long to wait until `time`, rounded up: a moment before it there is nothing to do yet.
    fn until(&self, time: Time, passed: Duration) -> Duration {
        let micros = time.since(self.at(passed)).as_micros() as f64 / self.pace;
        Duration::from_micros(micros.ceil() as u64)
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
    /// Why to end after this much time and so many page requests; `None` to go on.
    pub(crate) fn why(&self, passed: Duration, fetches: u64) -> Option<Ended> {
        if self.flag.load(Ordering::Relaxed) {
            Some(Ended::Told)
        } else if self.after.is_some_and(|after| passed >= after) {
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
    run_in(partition, &mut Live::new(net, runtime), stop, watch)
}

/// The same with a clock and a network of one's own.
pub fn run_in(
    partition: &mut Partition,
    outside: &mut dyn Outside,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Ended, CrawlError> {
    let (course, before) =
        (Course::of(partition, outside.unix_micros()), partition.tally().all_fetches());
    let began = outside.passed();
    let mut turns = Turns { outside, course, began, keeper: Keeper::default() };
    let bell = Bell::hang(partition.store().dir());
    let ended = loop {
        if let Some(ended) = stop.why(turns.passed(), partition.tally().all_fetches() - before) {
            break ended;
        }
        if partition.cannot_start(turns.outside.under_way() == 0) {
            break Ended::CannotStart;
        }
        let is_held = turns.keeper.is_full || stop.hold.load(Ordering::Relaxed);
        let until = if is_held { Time::NEVER } else { turns.hand_out(partition)? };
        if turns.keeper.is_stuck {
            turns.outside.sleep(RETRY_WAIT);
        } else {
            let wait = turns.course.until(until, turns.passed());
            let taken = turns.take(partition, wait, watch);
            let met = taken.and_then(|()| partition.meet(turns.now()));
            let met = met.and_then(|()| partition.reread(turns.now()));
            let met = met.and_then(|()| partition.rejudge(turns.now()));
            if let Some(bell) = &bell {
                bell.answer(partition, turns.now());
            }
            let met = met.and_then(|()| watch.turn(partition, turns.now()));
            // A write for an operator may have failed, and the tables are closed since.
            let met = met.and_then(|()| Ok(partition.store().tables().map(drop)?));
            turns.keeper.bear(met, watch)?;
        }
        if turns.keep(partition, watch)?
            && let Some(quiet) = &stop.once
        {
            quiet.note(partition.number(), partition.is_done(PATIENCE, turns.now()));
        }
    };
    let last = turns.passed() + LAST_WAIT;
    while turns.outside.under_way() > 0 && turns.passed() < last && !turns.keeper.is_stuck {
        turns.take(partition, last.saturating_sub(turns.passed()), watch)?;
    }
    turns.sync(partition, watch)?;
    partition.save()?;
    Ok(ended)
}

/// The parts of a turn of the loop.
struct Turns<'t> {
    outside: &'t mut dyn Outside,
    course: Course,
    /// [`Outside::passed`] when the run began.
    began: Duration,
    keeper: Keeper,
}

impl Turns<'_> {
    /// Time since the run began.
    fn passed(&self) -> Duration {
        self.outside.passed().saturating_sub(self.began)
    }

    fn now(&self) -> Time {
        self.course.at(self.passed())
    }

    /// Begins every job that can start now, and returns when to look again.
    fn hand_out(&mut self, partition: &mut Partition) -> Result<Time, CrawlError> {
        let (turn, now) = (self.passed(), self.now());
        let wait = loop {
            match partition.next(now)? {
                Next::Job(job) => {
                    let pass = Pass::of(partition, &job);
                    self.outside.begin(job, pass);
                }
                Next::WaitUntil(until) => break until,
            }
        };
        partition.taped_mut().count_time(self.passed().saturating_sub(turn));
        Ok(wait)
    }

    /// Waits for a report, at most `wait`, and takes in all that are there.
    fn take(
        &mut self,
        partition: &mut Partition,
        wait: Duration,
        watch: &mut dyn Watch,
    ) -> Result<(), CrawlError> {
        let mut next = self.outside.wait(wait);
        if next.is_some() && self.outside.under_way() > 0 {
            // More reports follow soon, and one commit for all is cheaper than one for each.
            self.outside.sleep(LINGER);
        }
        let (turn, mut taken) = (self.passed(), Vec::new());
        while let Some(mut report) = next {
            let (now, extract) = (self.now(), report.take_extract());
            taken.push((partition.take_in(report, now)?, extract, now));
            next = if taken.len() < MOST_AT_ONCE { self.outside.ready() } else { None };
        }
        partition.taped_mut().count_time(self.passed().saturating_sub(turn));
        // The watcher hears of them after the next sync.
        self.keeper.stored.extend(taken.iter().filter_map(|(settled, ..)| settled.held()));
        let committed = self.commit(partition);
        for (settled, extract, now) in taken {
            if let (Some(page), Some(extract)) = (settled.held(), extract) {
                watch.extracted(page, extract);
            }
            watch.settled(partition, settled, now);
        }
        committed
    }

    /// Commits, if that is due; else only makes room in memory.
    fn commit(&mut self, partition: &mut Partition) -> Result<(), CrawlError> {
        let (began, keeper) = (self.passed(), &self.keeper);
        if began.saturating_sub(keeper.committed)
            < COMMIT_EVERY.max(COMMIT_SHARE * keeper.commit_took)
        {
            return partition.relieve();
        }
        let done = partition.commit();
        self.keeper.committed = self.passed();
        self.keeper.commit_took = self.keeper.committed.saturating_sub(began);
        done
    }

    /// Syncs, if that is due, and returns whether it was.
    fn keep(
        &mut self,
        partition: &mut Partition,
        watch: &mut dyn Watch,
    ) -> Result<bool, CrawlError> {
        if self.passed().saturating_sub(self.keeper.synced) < SYNC_EVERY {
            return Ok(false);
        }
        let least = partition.config().free_disk_mb << 20;
        let is_full = watch.free_bytes(partition.store().dir()).is_some_and(|free| free < least);
        if self.keeper.is_stuck && is_full {
            // The write would fail again.
            self.keeper.synced = self.passed();
            return Ok(true);
        }
        let synced = self.sync(partition, watch).and_then(|()| save(partition));
        self.keeper.bear(synced, watch)?;
        self.keeper.note_disk(is_full || self.keeper.is_stuck, watch);
        Ok(true)
    }

    fn sync(&mut self, partition: &mut Partition, watch: &mut dyn Watch) -> Result<(), CrawlError> {
        let now = self.now();
        self.keeper.synced = self.passed();
        partition.sync()?;
        partition.note_spending(now);
        watch.stored(partition, &self.keeper.stored);
        self.keeper.stored.clear();
        watch.tick(partition, now);
        // If the write fails, readers see older figures, which is harmless.
        let _ = partition.status().write(partition.store().dir());
        self.keeper.synced = self.passed();
        Ok(())
    }
}

/// Saves a snapshot, if one is due.
fn save(partition: &mut Partition) -> Result<(), CrawlError> {
    let is_time = partition.taped_mut().wants_save(LONGEST_REPLAY, SAVE_SHARE);
    if is_time { partition.save() } else { Ok(()) }
}

/// Pages to be reported after the next sync, and whether the disk has room. Times are since the run began.
#[derive(Default)]
struct Keeper {
    /// Pages whose copies will be stored by the next sync.
    stored: Vec<PageId>,
    synced: Duration,
    committed: Duration,
    /// How long the last commit took.
    commit_took: Duration,
    /// There is too little room to go on.
    is_full: bool,
    /// A write failed for lack of room and waits to be retried.
    is_stuck: bool,
}

impl Keeper {
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
}
