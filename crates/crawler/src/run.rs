//! The loop: jobs out, reports in, everything synced twice a second.
//!
//! One thread owns the crawl and never waits for the network: it hands jobs to
//! the runtime and sleeps until a report comes or a host opens. So the crawl's
//! state needs no lock, and what it decides depends on reports alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use tidewatch_core::{PageId, Time};
use tidewatch_store::free_bytes;
use tokio::runtime::Handle;

use crate::net::unix_micros;
use crate::settle::Settled;
use crate::work::Report;
use crate::{Crawl, CrawlError, Net};

/// How often everything is synced, and the watcher told.
const SYNC_EVERY: Duration = Duration::from_millis(500);
/// Inputs on the tape after which the frontier is saved, at least: a start plays as many
/// in the blink of an eye.
const SAVE_EVERY: u64 = 20_000;
/// The same in terms of pages, because a large frontier takes longer to save.
const SAVE_EVERY_SHARE: u64 = 8;
/// How long requests under way may take to end when the crawl is stopped.
const LAST_WAIT: Duration = Duration::from_secs(3);
/// Longest that the loop sleeps: a stop is noticed within this time.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The crawl's time: a steady clock from where the crawl was opened.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    origin: Time,
}

impl Clock {
    /// Starts at a crawl's present time.
    pub fn of(crawl: &Crawl) -> Clock {
        Clock { began: Instant::now(), origin: crawl.time(unix_micros(SystemTime::now())) }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let micros = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.origin + tidewatch_core::Span::from_micros(micros)
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
    let mut keeper = Keeper { stored: Vec::new(), synced: Instant::now(), is_full: false };
    let began = Instant::now();
    let ended = loop {
        if let Some(ended) = stop.why(began, crawl.tally().all_fetches() - before) {
            break ended;
        }
        let wait = if keeper.is_full { Time::NEVER } else { hand.out(crawl, clock.now())? };
        let sleep = Duration::from_micros(wait.since(clock.now()).as_micros());
        let sleep = sleep.min(LONGEST_SLEEP);
        take(crawl, &reports, sleep, &clock, &mut hand, &mut keeper, watch)?;
        watch.turn(crawl, clock.now())?;
        keeper.keep(crawl, clock.now(), watch)?;
    };
    let last = Instant::now();
    while hand.under_way > 0 && last.elapsed() < LAST_WAIT {
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

/// Waits for a report and settles all that are there.
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
    for report in first.into_iter().chain(reports.try_iter()) {
        hand.under_way -= 1;
        let now = clock.now();
        let settled = crawl.settle(report, now)?;
        watch.settled(crawl, settled, now);
        keeper.stored.extend(settled.held());
    }
    Ok(())
}

/// Syncs, tells the watcher, and looks after the disk.
struct Keeper {
    stored: Vec<PageId>,
    synced: Instant,
    is_full: bool,
}

impl Keeper {
    fn keep(
        &mut self,
        crawl: &mut Crawl,
        now: Time,
        watch: &mut dyn Watch,
    ) -> Result<(), CrawlError> {
        if self.synced.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        self.sync(crawl, now, watch)?;
        let pages = u64::from(crawl.store().pages());
        if crawl.unsaved() >= SAVE_EVERY.max(pages / SAVE_EVERY_SHARE) {
            crawl.save()?;
        }
        let least = crawl.config.free_disk_mb << 20;
        let is_full = watch.free_bytes(crawl.store().dir()).is_some_and(|free| free < least);
        if std::mem::replace(&mut self.is_full, is_full) != is_full {
            watch.disk(is_full);
        }
        Ok(())
    }

    fn sync(
        &mut self,
        crawl: &mut Crawl,
        now: Time,
        watch: &mut dyn Watch,
    ) -> Result<(), CrawlError> {
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
