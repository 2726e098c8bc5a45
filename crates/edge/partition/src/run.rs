//! The loop: jobs out, reports in, everything synced twice a second.
//!
//! One thread owns the crawl and never waits for the network: it hands jobs to
//! the runtime and sleeps until a report comes or a host opens. So the crawl's
//! state needs no lock, and what it decides depends on reports alone. Reports
//! that come together are committed together, before more jobs are handed out.
//!
//! A full disk is no reason to stop. What could not be written is kept, no report
//! is taken in and no job handed out until it is written, which is tried whenever
//! everything would be synced.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use tidewatch_core::{PageId, Span, Time};
use tidewatch_store::free_bytes;
use tokio::runtime::Handle;

use crate::net::unix_micros;
use crate::settle::Settled;
use crate::work::Report;
use crate::{Crawl, CrawlError, Net};

/// How often everything is synced, and the watcher told.
const SYNC_EVERY: Duration = Duration::from_millis(500);
/// The frontier is saved once its inputs since took this long to take in: a start, which takes
/// them in again, is to be ready within seconds.
const LONGEST_REPLAY: Duration = Duration::from_secs(1);
/// But not before this many times as long as saving takes, which grows with what is known.
const SAVE_SHARE: u32 = 3;
/// How long requests under way may take to end when the crawl is stopped.
const LAST_WAIT: Duration = Duration::from_secs(3);
/// Reports that are committed together at most: a commit takes moments, not seconds.
const MOST_AT_ONCE: usize = 256;
/// How long reports are waited for that come right after another. No host notices: its gap is
/// longer, or it is asked a thousand times a second.
const LINGER: Duration = Duration::from_millis(1);
/// Longest that the loop sleeps: a stop is noticed within this time.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The crawl's time: a steady clock from where the crawl was opened.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    origin: Time,
    /// Seconds of the crawl in one of ours.
    pace: f64,
}

impl Clock {
    /// Starts at a crawl's present time.
    pub fn of(crawl: &Crawl) -> Clock {
        let origin = crawl.time(unix_micros(SystemTime::now()));
        Clock { began: Instant::now(), origin, pace: crawl.pace() }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let micros = self.began.elapsed().as_micros() as f64 * self.pace;
        self.origin + Span::from_micros(micros as u64)
    }

    /// How long we have to wait until a time.
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
    /// When someone says so.
    pub flag: Arc<AtomicBool>,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its time was over.
    Time,
    /// It made as many fetches as it should.
    Fetches,
    /// Someone said so.
    Told,
}

impl Stop {
    fn why(&self, began: Instant, fetches: u64) -> Option<Ended> {
        if self.flag.load(Ordering::Relaxed) {
            Some(Ended::Told)
        } else if self.after.is_some_and(|after| began.elapsed() >= after) {
            Some(Ended::Time)
        } else {
            self.fetches.is_some_and(|most| fetches >= most).then_some(Ended::Fetches)
        }
    }
}

/// Someone who follows a crawl.
pub trait Watch {
    /// These pages' copies are stored: they survive the machine.
    fn stored(&mut self, _crawl: &Crawl, _pages: &[PageId]) {}
    /// Takes part in every turn of the loop.
    fn turn(&mut self, _crawl: &mut Crawl, _now: Time) -> Result<(), CrawlError> {
        Ok(())
    }
    /// A report was settled.
    fn settled(&mut self, _crawl: &Crawl, _settled: Settled, _now: Time) {}
    /// Twice a second.
    fn tick(&mut self, _crawl: &Crawl, _now: Time) {}
    /// The disk is full and the crawl pauses, or it goes on.
    fn disk(&mut self, _is_full: bool) {}
    /// Bytes that are free on the disk of a directory, if that can be told.
    fn free_bytes(&self, dir: &Path) -> Option<u64> {
        free_bytes(dir).ok()
    }
}

/// Crawls until told to stop. Everything done is stored when it returns.
pub fn run(
    crawl: &mut Crawl,
    net: &Arc<Net>,
    runtime: &Handle,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Ended, CrawlError> {
    let (sender, reports) = mpsc::channel();
    let (clock, before) = (Clock::of(crawl), crawl.tally().all_fetches());
    let mut hand = Hand { net, runtime, sender, under_way: 0 };
    let mut keeper = Keeper::new();
    let began = Instant::now();
    let ended = loop {
        if let Some(ended) = stop.why(began, crawl.tally().all_fetches() - before) {
            break ended;
        }
        let turn = Instant::now();
        let wait = if keeper.is_full { Time::NEVER } else { hand.out(crawl, clock.now())? };
        crawl.unsaved_took += turn.elapsed();
        let sleep = clock.until(wait).min(LONGEST_SLEEP);
        if keeper.is_stuck {
            std::thread::sleep(LONGEST_SLEEP);
        } else {
            let taken = take(crawl, &reports, sleep, &clock, &mut hand, &mut keeper, watch);
            keeper.bear(taken.and_then(|()| watch.turn(crawl, clock.now())), watch)?;
        }
        keeper.keep(crawl, clock.now(), watch)?;
    };
    let last = Instant::now();
    while hand.under_way > 0 && last.elapsed() < LAST_WAIT && !keeper.is_stuck {
        take(crawl, &reports, LONGEST_SLEEP, &clock, &mut hand, &mut keeper, watch)?;
    }
    keeper.sync(crawl, clock.now(), watch)?;
    crawl.save()?;
    Ok(ended)
}

/// Hands jobs to the runtime.
struct Hand<'h> {
    net: &'h Arc<Net>,
    runtime: &'h Handle,
    sender: Sender<Report>,
    under_way: usize,
}

impl Hand<'_> {
    /// Hands out everything that can be done now, and returns when there is more.
    fn out(&mut self, crawl: &mut Crawl, now: Time) -> Result<Time, CrawlError> {
        loop {
            let job = match crawl.next(now)? {
                Ok(job) => job,
                Err(until) => return Ok(until),
            };
            let (net, sender) = (Arc::clone(self.net), self.sender.clone());
            self.under_way += 1;
            self.runtime.spawn(async move {
                // Nobody listens any more when the crawl has stopped.
                let _ = sender.send(net.perform(job).await);
            });
        }
    }
}

/// Waits for a report, takes in all that are there, and commits them as one.
fn take(
    crawl: &mut Crawl,
    reports: &Receiver<Report>,
    wait: Duration,
    clock: &Clock,
    hand: &mut Hand<'_>,
    keeper: &mut Keeper,
    watch: &mut dyn Watch,
) -> Result<(), CrawlError> {
    let first = reports.recv_timeout(wait).ok();
    if first.is_some() && hand.under_way > 1 {
        // The others are not far, and one commit for many is cheaper than many.
        std::thread::sleep(LINGER);
    }
    let turn = Instant::now();
    let mut taken = Vec::new();
    for report in first.into_iter().chain(reports.try_iter()).take(MOST_AT_ONCE) {
        hand.under_way -= 1;
        let now = clock.now();
        taken.push((crawl.take_in(report, now)?, now));
    }
    crawl.unsaved_took += turn.elapsed();
    // Even if they cannot be committed now, they will be before they are told to be stored.
    keeper.stored.extend(taken.iter().filter_map(|(settled, _)| settled.held()));
    let committed = crawl.commit();
    for (settled, now) in taken {
        watch.settled(crawl, settled, now);
    }
    committed
}

/// Syncs, tells the watcher, and looks after the disk.
struct Keeper {
    /// Pages whose copies will be stored by the next sync.
    stored: Vec<PageId>,
    synced: Instant,
    /// There is too little room to go on.
    is_full: bool,
    /// There is something that could not be written.
    is_stuck: bool,
}

impl Keeper {
    fn new() -> Keeper {
        Keeper { stored: Vec::new(), synced: Instant::now(), is_full: false, is_stuck: false }
    }

    /// Takes a full disk for a reason to pause, and any other error for what it is.
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

    fn keep(
        &mut self,
        crawl: &mut Crawl,
        now: Time,
        watch: &mut dyn Watch,
    ) -> Result<(), CrawlError> {
        if self.synced.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        let least = crawl.config.free_disk_mb << 20;
        let is_full = watch.free_bytes(crawl.store().dir()).is_some_and(|free| free < least);
        if self.is_stuck && is_full {
            // It would fail again.
            self.synced = Instant::now();
            return Ok(());
        }
        let synced = self.sync(crawl, now, watch).and_then(|()| Self::save(crawl));
        self.bear(synced, watch)?;
        self.note_disk(is_full || self.is_stuck, watch);
        Ok(())
    }

    fn save(crawl: &mut Crawl) -> Result<(), CrawlError> {
        let is_time = crawl.unsaved_took >= LONGEST_REPLAY.max(SAVE_SHARE * crawl.save_took);
        if is_time { crawl.save() } else { Ok(()) }
    }

    fn sync(
        &mut self,
        crawl: &mut Crawl,
        now: Time,
        watch: &mut dyn Watch,
    ) -> Result<(), CrawlError> {
        self.synced = Instant::now();
        crawl.sync()?;
        watch.stored(crawl, &self.stored);
        self.stored.clear();
        watch.tick(crawl, now);
        // A status that cannot be written is old, which its reader can live with.
        let _ = crawl.status().write(crawl.store().dir());
        self.synced = Instant::now();
        Ok(())
    }
}
