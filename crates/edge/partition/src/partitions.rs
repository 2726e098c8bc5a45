//! A crawl in one process, whether it has one partition or several, each on a thread of its own.
//!
//! ```text
//! DIR/                one partition: everything lies in DIR itself
//! DIR/partitions      several: their number, and
//! DIR/partition-0/ …  each partition as a directory of its own
//! ```
//!
//! A host belongs to the partition that [`owner`] names, so the number of partitions cannot change later.
//! `partitions` is written once all of them are there: from then on, one that is missing is a loss.
//! The partitions share the budget (`ledger`), links (`exchange`) and the politeness of addresses (`gate`);
//! everything else a partition does alone, so each replays alone. One partition shares nothing and runs on
//! the caller's thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use tidewatch_cluster::place::owner;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span};
use tidewatch_policy::WhatIf;
use tidewatch_store::StoreError;
use tokio::runtime::Handle;

use crate::exchange::InProcess;
use crate::gate::AddressGate;
use crate::ledger::Ledger;
use crate::partition::Seat;
use crate::quiet::Quiet;
use crate::{
    Clock, Config, CrawlError, Ended, Net, Outlook, Partition, Scope, Status, Stop, Watch,
    check_budget, run,
};

/// The file that says how many partitions there are.
const NAME: &str = "partitions";
/// How often a run looks whether it should stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// All partitions of a crawl.
pub struct Partitions {
    parts: Vec<Partition>,
    ledger: Arc<Ledger>,
}

impl Partitions {
    /// Opens the crawl in `dir` at a moment of Unix time, in microseconds, or begins one with `count`
    /// partitions. Without a `count` it has as many as it was begun with, or one. `pace` is for a
    /// simulated web that runs faster ([`Partition::set_pace`]).
    pub fn open(
        dir: &Path,
        config: &Config,
        count: Option<u32>,
        pace: Option<f64>,
        unix_micros: i64,
    ) -> Result<Partitions, CrawlError> {
        check_budget(config.budget)?;
        let was = recorded(dir)?;
        let count = count.or(was).unwrap_or(1).max(1);
        if let Some(was) = was.filter(|was| *was != count) {
            let dir = dir.display().to_string();
            return Err(CrawlError::OtherPartitions { dir, was, asked: count });
        }
        let own = config.divided(count);
        let dirs = if was.is_some() { Self::dirs(dir)? } else { part_dirs(dir, count) }.into_iter();
        let parts = dirs.map(|dir| Partition::open(&dir, own.clone(), unix_micros));
        let mut parts = parts.collect::<Result<Vec<Partition>, CrawlError>>()?;
        if was.is_none() && count > 1 {
            record(dir, count)?;
        }
        if let Some(pace) = pace {
            parts.iter_mut().for_each(|part| part.set_pace(pace));
        }
        let pace = parts.first().map_or(1.0, Partition::pace);
        Self::assemble(parts, config.budget.as_per_second() * pace, config.politeness.address_gap)
    }

    /// Opens a crawl as it was when it ended, for reading: nothing in its directory is changed. No
    /// crawl may run there meanwhile.
    pub fn look(dir: &Path, unix_micros: i64) -> Result<Partitions, CrawlError> {
        let parts = Self::dirs(dir)?.into_iter();
        let parts = parts.map(|dir| Partition::look(&dir, unix_micros));
        let parts = parts.collect::<Result<Vec<Partition>, CrawlError>>()?;
        let granted = parts.iter().map(|part| part.budget().as_per_second()).sum();
        let total = parts.first().map(Partition::kept_total).transpose()?.flatten();
        Self::assemble(parts, total.unwrap_or(granted), Span::ZERO)
    }

    /// Joins partitions that have `total` fetches per second of the operator's clock together.
    fn assemble(
        mut parts: Vec<Partition>,
        total: f64,
        address_gap: Span,
    ) -> Result<Partitions, CrawlError> {
        let (count, pace) = (parts.len() as u32, parts.first().map_or(1.0, Partition::pace));
        let total = Rate::per_second(total).unwrap_or(Rate::ZERO);
        let ledger = Arc::new(Ledger::new(total, pace));
        if count > 1 {
            let exchange = Arc::new(InProcess::default());
            let gap = Duration::from_secs_f64(address_gap.seconds() / pace);
            let gate = Arc::new(AddressGate::new(gap));
            let stuck = Arc::new(Quiet::default());
            stuck.expect(parts.len());
            for (number, part) in (0..).zip(&mut parts) {
                let (exchange, ledger) = (Arc::clone(&exchange), Arc::clone(&ledger));
                let (gate, stuck) = (Arc::clone(&gate), Some(Arc::clone(&stuck)));
                let first_parcel = None;
                part.join(Seat { number, count, first_parcel, exchange, ledger, gate, stuck })?;
                part.keep_total(total);
            }
        }
        Ok(Partitions { parts, ledger })
    }

    /// The directories of the partitions of the crawl in `dir`: `dir` itself, where there is only one.
    pub fn dirs(dir: &Path) -> Result<Vec<PathBuf>, CrawlError> {
        let dirs = part_dirs(dir, recorded(dir)?.unwrap_or(1));
        let lost = dirs.iter().find(|part| dirs.len() > 1 && !part.is_dir());
        lost.map_or(Ok(()), |lost| Err(CrawlError::LostPartition(lost.clone())))?;
        Ok(dirs)
    }

    /// Adds a seed to the partition that owns its host. It joins that partition's next commit.
    pub fn seed(&mut self, url: &CanonicalUrl) -> Result<(), CrawlError> {
        for part in &mut self.parts {
            let now = Clock::of(part).now();
            part.seed_or_allow(url, now)?;
        }
        Ok(())
    }

    /// The partition that owns a URL's host.
    pub fn owner_mut(&mut self, url: &CanonicalUrl) -> &mut Partition {
        let number = owner(url, self.parts.len() as u32);
        &mut self.parts[number as usize]
    }

    /// The partitions, by number.
    pub fn parts(&self) -> &[Partition] {
        &self.parts
    }

    /// The partitions, by number, to be changed.
    pub fn parts_mut(&mut self) -> &mut [Partition] {
        &mut self.parts
    }

    /// Pages known.
    pub fn pages(&self) -> u32 {
        self.parts.iter().map(|part| part.store().pages()).sum()
    }

    /// The budget of the whole crawl, per second of the operator's clock.
    pub fn budget(&self) -> Rate {
        self.parts.first().map_or(Rate::ZERO, Partition::crawl_budget)
    }

    /// The crawl at its own budget and at another one, per second of the operator's clock. `None` if
    /// the policy cannot tell.
    pub fn outlook(&self, other: Rate) -> Option<Outlook> {
        let (now, then) = self.what_if(self.budget()).zip(self.what_if(other))?;
        Some(Outlook::new(now, then, &self.status()))
    }

    /// Predicts the effect of another budget, per second of the operator's clock. `None` if the policy
    /// cannot tell.
    pub fn what_if(&self, budget: Rate) -> Option<WhatIf> {
        self.parts.iter().for_each(Partition::declare_demand);
        let parts = self.parts.iter().map(|part| part.what_if(budget));
        WhatIf::sum(&parts.collect::<Option<Vec<WhatIf>>>()?)
    }

    /// What is in the way of the first pages of each partition, a line each.
    pub fn in_the_way(&mut self) -> Result<Vec<String>, CrawlError> {
        let mut lines = Vec::new();
        for part in &mut self.parts {
            lines.extend(part.in_the_way(part.last())?);
        }
        Ok(lines)
    }

    /// Which URLs are taken in; the same for all partitions.
    pub fn scope(&self) -> Option<&Scope> {
        self.parts.first().map(Partition::scope)
    }

    /// The policy that chooses.
    pub fn policy(&self) -> &str {
        self.parts.first().map_or("", Partition::policy)
    }

    /// The figures of all partitions together.
    pub fn status(&self) -> Status {
        Status::sum(self.parts.iter().map(Partition::status).collect())
    }

    /// Crawls until told to stop, each partition on a thread of its own with the watcher of the same
    /// number. Everything done is stored when it returns.
    pub fn run<W: Watch + Send>(
        &mut self,
        net: &Arc<Net>,
        runtime: &Handle,
        stop: &Stop,
        watches: &mut [W],
    ) -> Result<Ended, CrawlError> {
        assert_eq!(self.parts.len(), watches.len(), "a watcher for each partition");
        if let ([part], [watch]) = (&mut self.parts[..], &mut *watches) {
            return run(part, net, runtime, stop, watch);
        }
        let before: u64 = self.parts.iter().map(|part| part.tally().all_fetches()).sum();
        if let Some(quiet) = &stop.once {
            quiet.expect(self.parts.len());
        }
        let flag = Arc::new(AtomicBool::new(false));
        let (ledger, began) = (&self.ledger, Instant::now());
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (part, watch) in self.parts.iter_mut().zip(watches) {
                let own = Stop { fetches: None, flag: Arc::clone(&flag), ..stop.clone() };
                threads.push(scope.spawn(move || {
                    // One partition that ends, even by a panic, stops all.
                    let _all = StopAll(Arc::clone(&own.flag));
                    run(part, net, runtime, &own, watch)
                }));
            }
            let mut ended = None;
            while !threads.iter().all(ScopedJoinHandle::is_finished) {
                if !flag.load(Ordering::Relaxed)
                    && let Some(why) =
                        stop.why(began.elapsed(), ledger.fetches().saturating_sub(before))
                {
                    ended = Some(why);
                    flag.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(LOOK_EVERY);
            }
            let mut cannot_start = false;
            for thread in threads {
                let own = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                cannot_start |= own == Ended::CannotStart;
            }
            // A partition may have noticed first.
            let first = cannot_start.then_some(Ended::CannotStart);
            Ok(first.or(ended).or_else(|| stop.why(began.elapsed(), 0)).unwrap_or(Ended::Time))
        })
    }
}

/// Where the partitions of a crawl in `dir` lie, if it has `count`.
fn part_dirs(dir: &Path, count: u32) -> Vec<PathBuf> {
    if count == 1 {
        return vec![dir.to_owned()];
    }
    (0..count).map(|number| dir.join(format!("partition-{number}"))).collect()
}

/// How many partitions the crawl in `dir` has; `None` if there is no crawl.
fn recorded(dir: &Path) -> Result<Option<u32>, StoreError> {
    let path = dir.join(NAME);
    match fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse() {
            Ok(count) if count > 0 => Ok(Some(count)),
            _ => Err(StoreError::BadFile { path, held: "the number of partitions" }),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(dir.join("format").exists().then_some(1))
        }
        Err(source) => Err(StoreError::Io { path, source }),
    }
}

/// Sets its flag when dropped.
struct StopAll(Arc<AtomicBool>);

impl Drop for StopAll {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes the number of partitions atomically.
fn record(dir: &Path, count: u32) -> Result<(), StoreError> {
    let (path, new) = (dir.join(NAME), dir.join("partitions.new"));
    let written = fs::create_dir_all(dir)
        .and_then(|()| fs::write(&new, format!("{count}\n")))
        .and_then(|()| fs::File::open(&new)?.sync_all())
        .and_then(|()| fs::rename(&new, &path))
        .and_then(|()| fs::File::open(dir)?.sync_all());
    written.map_err(|source| StoreError::Io { path, source })
}
