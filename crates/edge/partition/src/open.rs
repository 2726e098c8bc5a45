//! How a crawl starts: anew, or from where it was.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use tidewatch_archive::{Archive, warc_date};
use tidewatch_core::{PageId, Rate, Reason, Time};
use tidewatch_frontier::tape::{Input, Names};
use tidewatch_frontier::{Frontier, Limits, Politeness};
use tidewatch_policy::{Policy, Setup, registry};
use tidewatch_store::{Batch, HostRow, Memory, PageRow, Store, StoreError};

use crate::crawl::{ARCHIVED, Crawl, CrawlError, Host};
use crate::tally::Tally;
use crate::{Config, snapshot};

/// What a replay went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Everything that the frontier was told or asked.
    pub inputs: u64,
    /// Decisions among them, all of which came out as they did then.
    pub decisions: u64,
}

impl Crawl {
    /// Opens a crawl at a moment of Unix time, in microseconds.
    pub fn open(dir: &Path, config: Config, unix_micros: i64) -> Result<Crawl, CrawlError> {
        let store = Self::store_of(dir, &config)?;
        let mut crawl = Self::assemble(config, store, unix_micros)?;
        crawl.archive = Some(crawl.open_archive(unix_micros)?);
        crawl.play()?;
        crawl.resume(unix_micros)?;
        Ok(crawl)
    }

    pub(crate) fn store_of(dir: &Path, config: &Config) -> Result<Store, StoreError> {
        let (cache, sieve) = (config.cache_mb << 20, (config.sieve_mb as usize) << 20);
        Store::open(dir, Memory { cache, sieve })
    }

    /// Opens the archive for more, and cuts off what a crash left half.
    fn open_archive(&self, unix_micros: i64) -> Result<Archive, CrawlError> {
        let whole = self.store.tables()?.meta(ARCHIVED)?.and_then(|bytes| mark(&bytes));
        let (dir, most) = (self.store.dir().join("archive"), self.config.archive_file_mb << 20);
        Ok(Archive::open(&dir, most, unix_micros, whole)?.0)
    }

    /// All the parts of a crawl but its archive, its frontier still empty.
    pub(crate) fn assemble(
        config: Config,
        store: Store,
        unix_micros: i64,
    ) -> Result<Crawl, CrawlError> {
        let mut batch = Batch::default();
        let epoch = begin(&store, &config, unix_micros, &mut batch)?;
        let pace = store.tables()?.meta("pace")?.and_then(|bytes| bytes.try_into().ok());
        let pace = pace.map_or(1.0, f64::from_le_bytes);
        let frontier = anew(policy(&config)?);
        let host = |row: HostRow| Host::new(row.origin, row.absent);
        let hosts = store.tables()?.hosts().map(|row| Ok(host(row?.1)));
        let hosts = hosts.collect::<Result<Vec<Host>, StoreError>>()?;
        Ok(Crawl {
            config,
            store,
            archive: None,
            frontier,
            hosts,
            batch,
            tally: Tally::default(),
            epoch,
            pace,
            year: warc_date(unix_micros)[..4].parse().unwrap_or(u16::MAX),
            servers: FxHashMap::default(),
            with_robots: VecDeque::new(),
            seed_hosts: FxHashSet::default(),
            last: Time::ZERO,
            unsaved: 0,
            unsaved_took: Duration::ZERO,
            save_took: Duration::ZERO,
        })
    }

    /// The policy and seed that a crawl was begun with, if it was.
    pub(crate) fn begun_with(store: &Store) -> Result<Option<(String, u64)>, StoreError> {
        let Some(policy) = store.tables()?.meta("policy")? else { return Ok(None) };
        let seed = store.tables()?.meta("seed")?.and_then(|bytes| bytes.try_into().ok());
        let policy = String::from_utf8_lossy(&policy).into_owned();
        Ok(Some((policy, seed.map_or(0, u64::from_le_bytes))))
    }

    /// Brings the frontier back: from the snapshot, if there is one, and the tape after it.
    pub(crate) fn play(&mut self) -> Result<(), CrawlError> {
        let next = self.store.next_tape();
        let policy = policy(&self.config)?;
        let mut from = 0;
        if let Some(found) = snapshot::read(self.store.dir(), policy, next) {
            (self.frontier, from, self.last) = (found.frontier, found.batch, found.last);
            let pages = self.frontier.pages_by_host();
            self.hosts.iter_mut().zip(pages).for_each(|(host, pages)| host.pages = pages);
        }
        self.play_from(from).map(|_| ())
    }

    /// Plays the tape from a batch on. Every decision on it is taken again and must come out the same.
    pub(crate) fn play_from(&mut self, batch: u64) -> Result<Replayed, CrawlError> {
        let mut replayed = Replayed::default();
        let began = Instant::now();
        let first = self.frontier.next_page();
        let mut names = StoredUrls {
            hosts: &mut self.hosts,
            rows: Box::new(self.store.tables()?.pages_from(first)),
            failed: None,
        };
        for input in self.store.tape(batch)? {
            let input = input?;
            self.unsaved += 1;
            replayed.inputs += 1;
            replayed.decisions += u64::from(matches!(input, Input::Asked { decided: Some(_), .. }));
            self.last = self.last.max(input.at().unwrap_or(self.last));
            self.frontier.play(&input, &mut names)?;
            if let Some(error) = names.failed.take() {
                return Err(error.into());
            }
        }
        self.unsaved_took = began.elapsed();
        Ok(replayed)
    }

    /// Starts anew from where the tape ends.
    fn resume(&mut self, unix_micros: i64) -> Result<(), CrawlError> {
        // A clock that was set back must not make time run backwards.
        let now = self.time(unix_micros).max(self.last);
        if self.unix_micros(self.last) > unix_micros {
            let lived = (self.last.as_micros() as f64 / self.pace) as u64;
            self.epoch = unix_micros.saturating_sub_unsigned(lived);
        }
        self.tally.restore(&self.store)?;
        let lost: Vec<PageId> = self.frontier.under_way().collect();
        for page in lost {
            self.tell_failed(page, Reason::Interrupted, now)?;
        }
        let (politeness, limits) = (self.config.politeness, self.config.limits);
        self.tell(Input::Rules { politeness, limits }, "")?;
        self.tell(Input::Resumed { at: now }, "")?;
        let budget = self.config.budget;
        self.tell(Input::Budget { budget, at: now }, "")?;
        self.commit()
    }
}

fn policy(config: &Config) -> Result<Box<dyn Policy>, CrawlError> {
    let found = registry::find(&config.policy);
    let unknown = || CrawlError::UnknownPolicy(config.policy.clone());
    Ok((found.ok_or_else(unknown)?.make)(Setup::seeded(config.seed)))
}

/// A frontier that has heard nothing. The tape sets rules and budget as they
/// were, and `resume` as they are now.
fn anew(policy: Box<dyn Policy>) -> Frontier<'static> {
    let (rules, limits) = (Politeness::default(), Limits { requests: 1, jobs: 1 });
    Frontier::new(policy, rules, limits, Rate::ZERO, Time::ZERO)
}

/// The file and length up to which the archive is known to be whole.
fn mark(bytes: &[u8]) -> Option<(u32, u64)> {
    let (file, length) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*file), u64::from_le_bytes(length.try_into().ok()?)))
}

/// Reads or sets when the crawl began and with which policy.
fn begin(
    store: &Store,
    config: &Config,
    unix_micros: i64,
    batch: &mut Batch,
) -> Result<i64, CrawlError> {
    let number = |bytes: Vec<u8>| bytes.try_into().map(i64::from_le_bytes).ok();
    let epoch = store.tables()?.meta("epoch")?.and_then(number);
    let Some(epoch) = epoch else {
        batch.meta.insert("epoch".into(), unix_micros.to_le_bytes().to_vec());
        batch.meta.insert("policy".into(), config.policy.clone().into_bytes());
        batch.meta.insert("seed".into(), config.seed.to_le_bytes().to_vec());
        return Ok(unix_micros);
    };
    let (was, was_seed) = Crawl::begun_with(store)?.unwrap_or_default();
    if was != config.policy || was_seed != config.seed {
        return Err(CrawlError::OtherPolicy { was, was_seed });
    }
    Ok(epoch)
}

/// Addresses of pages in the order of their numbers, as a tape wants them;
/// counts the pages of hosts on the way.
struct StoredUrls<'s> {
    hosts: &'s mut [Host],
    rows: Box<dyn Iterator<Item = Result<(PageId, PageRow), StoreError>> + 's>,
    failed: Option<StoreError>,
}

impl Names for StoredUrls<'_> {
    fn next_url(&mut self) -> String {
        let missing = Err(StoreError::Damaged { table: "pages", key: 0 });
        match self.rows.next().unwrap_or(missing) {
            Ok((_, row)) => {
                let Some(host) = self.hosts.get_mut(row.host.index()) else {
                    self.failed = Some(StoreError::Damaged { table: "hosts", key: 0 });
                    return String::new();
                };
                host.pages += 1;
                format!("{}{}", host.origin, row.path)
            }
            Err(error) => {
                self.failed = Some(error);
                String::new()
            }
        }
    }
}
