//! Starts a crawl: a new one, or one from where it stopped.

use std::path::Path;

use tidewatch_core::{PageId, Reason};
use tidewatch_frontier::tape::Input;
use tidewatch_policy::{Policy, Setup, registry};
use tidewatch_store::{Memory, Store, StoreError};

use super::aim::Aim;
use super::forms::Forms;
use super::hygiene::is_probe;
use super::judge::Judge;
use super::reread::Reread;
use super::setback::Hopeless;
use super::{ARCHIVED, CrawlError, OWN, Partition, SCOPE, SEEDS};
use crate::Config;
use crate::announced::Notes;
use crate::hints::Senders;
use crate::pages::Pages;
use crate::robots::RobotsCache;
use crate::scope::{Reach, Scope};
use crate::shelf::Shelf;
use crate::spending::Spending;
use crate::tally::Tally;
use crate::taped::{Replayed, Taped};
use crate::timeline::Timeline;

impl Partition {
    /// Opens a crawl at a moment of Unix time, in microseconds, or begins one.
    pub fn open(dir: &Path, config: Config, unix_micros: i64) -> Result<Partition, CrawlError> {
        // An unknown policy leaves no half-made directory behind.
        policy(&config)?;
        let store = Store::open(dir, memory(&config))?;
        let mut partition = Self::assemble(config, Pages::new(store)?, unix_micros)?;
        partition.shelf = partition.open_shelf(unix_micros)?;
        partition.play()?;
        partition.resume(unix_micros)?;
        Ok(partition)
    }

    /// Opens the archive for appending.
    pub(super) fn open_shelf(&self, unix_micros: i64) -> Result<Shelf, CrawlError> {
        let synced = self.pages.meta(ARCHIVED)?;
        let dir = self.pages.store().dir().join("archive");
        let most_bytes = self.config.archive_file_mb << 20;
        Ok(Shelf::open(&dir, most_bytes, unix_micros, synced.as_deref())?)
    }

    /// All the parts of a crawl but its archive, with an empty frontier.
    pub(super) fn assemble(
        mut config: Config,
        mut pages: Pages,
        unix_micros: i64,
    ) -> Result<Partition, CrawlError> {
        let scope = scope(&mut config, &pages)?;
        config.check()?;
        let epoch = begin(&mut pages, &config, unix_micros)?;
        let pace = pages.meta("pace")?.and_then(|bytes| bytes.try_into().ok());
        let pace = pace.map_or(1.0, f64::from_le_bytes);
        let judge = Judge::of(&pages, &config)?;
        let aim = Aim::of(&mut pages, &config)?;
        let forms = Forms::of(&pages, &config)?;
        Ok(Partition {
            timeline: Timeline::new(epoch, pace, unix_micros),
            taped: Taped::new(policy(&config)?),
            pages,
            shelf: Shelf::none(),
            robots: RobotsCache::default(),
            tally: Tally::default(),
            scope,
            reread: None,
            hopeless: Hopeless::default(),
            judge,
            aim,
            forms,
            spending: Spending::default(),
            senders: Senders::default(),
            announced: Notes::default(),
            member: None,
            config,
        })
    }

    /// The policy and seed that a crawl was begun with, if it was.
    pub(super) fn begun_with(pages: &Pages) -> Result<Option<(String, u64)>, StoreError> {
        let Some(policy) = pages.meta("policy")? else { return Ok(None) };
        let seed = pages.meta("seed")?.and_then(|bytes| bytes.try_into().ok());
        let policy = String::from_utf8_lossy(&policy).into_owned();
        Ok(Some((policy, seed.map_or(0, u64::from_le_bytes))))
    }

    /// Brings the frontier back: from the snapshot, if there is one, and the tape after it.
    pub(super) fn play(&mut self) -> Result<(), CrawlError> {
        let (next, policy) = (self.pages.store().next_tape(), policy(&self.config)?);
        let from = self.taped.load(self.pages.store().dir(), policy, next);
        self.pages.count_pages(self.taped.pages_by_host());
        self.play_from(from, false).map(|_| ())
    }

    /// Plays the tape from a batch on. Every decision on it is taken again and must come out the same.
    /// With `provoke` the policy is asked again what it panicked over.
    pub(super) fn play_from(&mut self, batch: u64, provoke: bool) -> Result<Replayed, CrawlError> {
        let (inputs, mut names) = self.pages.tape_from(batch, self.taped.next_page())?;
        let replayed = self.taped.replay(inputs, &mut names, provoke);
        // These returns were heard when the inputs were first played.
        self.taped.take_returns();
        replayed
    }

    /// Goes on from where the tape ends.
    fn resume(&mut self, unix_micros: i64) -> Result<(), CrawlError> {
        let now = self.time(unix_micros).max(self.taped.last());
        self.timeline.not_before(self.taped.last(), unix_micros);
        self.tally = Tally::restore(&self.pages)?;
        for page in self.taped.under_way() {
            self.tell_failed(page, Reason::OwnStop, now)?;
        }
        let (politeness, limits) = (self.config.politeness, self.config.limits);
        self.taped.tell(Input::Rules { politeness, limits })?;
        self.taped.tell(Input::Revisit(self.config.revisit))?;
        self.taped.tell(Input::SlowLane(self.config.slow_lane))?;
        self.taped.tell(Input::Resumed { at: now })?;
        let budget = self.config.budget;
        self.taped.tell(Input::Budget { budget, at: now })?;
        self.tell_gaps()?;
        self.start_anew(now)?;
        let own: String = self.config.own_hosts().flat_map(|host| [host, "\n"]).collect();
        let is_own_other = self.pages.meta(OWN)?.unwrap_or_default() != own.as_bytes();
        if is_own_other {
            self.pages.put_meta(OWN, own.into_bytes());
        }
        let scope = self.config.scope_toml();
        self.reread = Reread::of(&mut self.pages, scope, is_own_other, now)?;
        self.commit()
    }
}

/// The scope of a crawl: as configured and, where nothing is configured, as stored.
fn scope(config: &mut Config, pages: &Pages) -> Result<Scope, CrawlError> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let stored = pages.meta(SCOPE)?.map(text);
    if let Some(stored) = &stored {
        config.inherit_scope(stored)?;
    } else if pages.meta("epoch")?.is_some() && !config.named.contains("scope.reach") {
        // Crawls of the first versions knew no other scope.
        config.scope.reach = Reach::Everything;
    }
    let seeds = match pages.meta(SEEDS)?.map(text) {
        Some(stored) => stored.lines().map(str::to_owned).collect(),
        None => seeds_of_pages(pages)?,
    };
    Ok(Scope::new(config.scope.clone(), seeds))
}

/// The hosts of the pages that no other page named, for crawls that did not store their seeds.
fn seeds_of_pages(pages: &Pages) -> Result<Vec<String>, StoreError> {
    let mut hosts = Vec::new();
    for row in pages.store().tables()?.pages_from(PageId(0)) {
        let (_, row) = row?;
        if row.depth == 0 && row.via.is_none() && row.is_source && !is_probe(&row) {
            hosts.push(pages.url(row.host, "/")?.host().to_owned());
        }
    }
    Ok(hosts)
}

/// How much memory the store may use.
pub(super) fn memory(config: &Config) -> Memory {
    let (cache, sieve) = (config.cache_mb << 20, (config.sieve_mb as usize) << 20);
    Memory { cache, sieve, files: config.table_files }
}

pub(super) fn policy(config: &Config) -> Result<Box<dyn Policy>, CrawlError> {
    #[cfg(test)]
    if let Some(policy) = super::tests::policy(&config.policy) {
        return Ok(policy);
    }
    let found = registry::find(&config.policy);
    let unknown = || CrawlError::UnknownPolicy(config.policy.clone());
    Ok((found.ok_or_else(unknown)?.make)(Setup::seeded(config.seed)))
}

/// Reads or sets when the crawl began and with which policy.
fn begin(pages: &mut Pages, config: &Config, unix_micros: i64) -> Result<i64, CrawlError> {
    let number = |bytes: Vec<u8>| bytes.try_into().map(i64::from_le_bytes).ok();
    let Some(epoch) = pages.meta("epoch")?.and_then(number) else {
        pages.put_meta("epoch", unix_micros.to_le_bytes().to_vec());
        pages.put_meta("policy", config.policy.clone().into_bytes());
        pages.put_meta("seed", config.seed.to_le_bytes().to_vec());
        return Ok(unix_micros);
    };
    let (was, was_seed) = Partition::begun_with(pages)?.unwrap_or_default();
    if was != config.policy || was_seed != config.seed {
        return Err(CrawlError::OtherPolicy { was, was_seed });
    }
    Ok(epoch)
}
