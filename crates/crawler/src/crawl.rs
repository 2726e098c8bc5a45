//! The state of a crawl: what is known, what is next, what came back.
//!
//! # The life of a crawl
//!
//! [`Crawl::open`] opens the directory and plays its tape, which brings the
//! frontier and its policy back as they were; pages that were under way are told
//! to the policy as interrupted. Seeds are added. Then the loop asks
//! [`Crawl::next`] for jobs and hands every report to [`Crawl::settle`], which
//! tells the frontier, makes links into pages, appends to the archive and
//! commits everything the report brought as one.
//!
//! Everything the frontier hears goes through [`Crawl::tell`], which writes it to
//! the tape of the same commit. So the tape on disk is always one that leads to
//! what the tables say.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::path::Path;

use rustc_hash::FxHashMap;
use tidewatch_archive::{Archive, ArchiveError, warc_date};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{FetchKind, HostId, PageId, Rate, Time};
use tidewatch_frontier::tape::{Came as Told, Diverged, Fetched, Input, Names};
use tidewatch_frontier::{Command, Frontier, Limits, Next, Politeness, ServerId};
use tidewatch_parse::robots::Robots;
use tidewatch_policy::registry;
use tidewatch_store::{Batch, HostRow, Memory, PageRow, Store, StoreError};

use crate::tally::Tally;
use crate::work::{Held, Job};
use crate::{Config, reason};

/// Hosts whose robots.txt is kept in memory.
const MOST_ROBOTS: usize = 20_000;

/// Why a crawl cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The configuration names no policy.
    #[error("there is no policy `{0}`; `tidewatch lab list` names them all")]
    UnknownPolicy(String),
    /// The crawl was begun with another policy.
    #[error(
        "this crawl was begun with policy `{was}` and seed {was_seed}, and its history fits no \
         other; set these again, or begin a new crawl in another --dir"
    )]
    OtherPolicy {
        /// The policy then.
        was: String,
        /// Its seed.
        was_seed: u64,
    },
    /// The tape does not fit.
    #[error("the crawl's history cannot be played back: {0}")]
    Diverged(#[from] Diverged),
}

/// A host as the loop knows it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) origin: String,
    /// Pages known of it.
    pub(crate) pages: u32,
    /// Its rules, while they are in memory.
    pub(crate) robots: Option<Robots>,
}

/// A crawl in one directory.
pub struct Crawl {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) archive: Archive,
    pub(crate) frontier: Frontier,
    pub(crate) hosts: Vec<Host>,
    pub(crate) batch: Batch,
    pub(crate) tally: Tally,
    /// Unix time of the crawl's time zero, microseconds.
    epoch: i64,
    /// The calendar year at the start.
    year: u16,
    servers: FxHashMap<IpAddr, ServerId>,
    /// Hosts whose rules are in memory, oldest first.
    with_robots: VecDeque<HostId>,
    /// Hosts of the seeds, where no other may be crawled.
    pub(crate) seed_hosts: rustc_hash::FxHashSet<String>,
}

/// What the tape leaves out, when a page becomes known.
struct Url<'u>(&'u str);

impl Names for Url<'_> {
    fn next_url(&mut self) -> String {
        self.0.to_owned()
    }

    fn reason(&self, number: u16) -> &'static str {
        reason::name(number)
    }
}

impl Crawl {
    /// Opens a crawl at a moment of Unix time, in microseconds.
    pub fn open(dir: &Path, config: Config, unix_micros: i64) -> Result<Crawl, CrawlError> {
        let memory =
            Memory { cache: config.cache_mb << 20, sieve: (config.sieve_mb as usize) << 20 };
        let store = Store::open(dir, memory)?;
        let archive_dir = dir.join("archive");
        let archive = Archive::open(&archive_dir, config.archive_file_mb << 20, unix_micros)?;
        let mut batch = Batch::default();
        let epoch = begin(&store, &config, unix_micros, &mut batch)?;
        let policy = registry::find(&config.policy)
            .ok_or_else(|| CrawlError::UnknownPolicy(config.policy.clone()))?;
        // The tape sets rules and budget as they were, and `resume` as they are now.
        let (rules, limits) = (Politeness::default(), Limits { requests: 1, jobs: 1 });
        let policy = (policy.make)(config.seed);
        let frontier = Frontier::new(policy, rules, limits, Rate::ZERO, Time::ZERO);
        let host = |row: HostRow| Host { origin: row.origin, pages: 0, robots: None };
        let hosts = store.tables().hosts().map(|row| Ok(host(row?.1)));
        let hosts = hosts.collect::<Result<Vec<Host>, StoreError>>()?;
        let mut crawl = Crawl {
            config,
            store,
            archive,
            frontier,
            hosts,
            batch,
            tally: Tally::default(),
            epoch,
            year: warc_date(unix_micros)[..4].parse().unwrap_or(u16::MAX),
            servers: FxHashMap::default(),
            with_robots: VecDeque::new(),
            seed_hosts: rustc_hash::FxHashSet::default(),
        };
        crawl.resume(unix_micros)?;
        Ok(crawl)
    }

    /// The crawl's time at a moment of Unix time.
    pub fn time(&self, unix_micros: i64) -> Time {
        Time::from_micros(u64::try_from(unix_micros - self.epoch).unwrap_or(0))
    }

    /// The moment of Unix time, in microseconds, of a crawl's time.
    pub fn unix_micros(&self, time: Time) -> i64 {
        self.epoch.saturating_add_unsigned(time.as_micros())
    }

    /// The calendar year, by which endless calendars are told.
    pub(crate) fn year(&self) -> u16 {
        self.year
    }

    /// Plays the tape, then starts anew from where it ends.
    fn resume(&mut self, unix_micros: i64) -> Result<(), CrawlError> {
        let mut names = StoredUrls {
            hosts: &mut self.hosts,
            rows: Box::new(self.store.tables().pages_from(PageId(0))),
            failed: None,
        };
        let mut last = Time::ZERO;
        for input in self.store.tape() {
            let input = input?;
            last = last.max(input.at().unwrap_or(last));
            self.frontier.play(&input, &mut names)?;
            if let Some(error) = names.failed.take() {
                return Err(error.into());
            }
        }
        drop(names);
        // A clock that was set back must not make time run backwards.
        let now = self.time(unix_micros).max(last);
        if self.epoch.saturating_add_unsigned(last.as_micros()) > unix_micros {
            self.epoch = unix_micros.saturating_sub_unsigned(last.as_micros());
        }
        self.tally.restore(&self.store)?;
        let lost: Vec<PageId> = self.frontier.under_way().collect();
        for page in lost {
            self.tell_failed(page, reason::number("interrupted"), now)?;
        }
        let (politeness, limits) = (self.config.politeness, self.config.limits);
        self.tell(Input::Rules { politeness, limits }, "")?;
        self.tell(Input::Resumed { at: now }, "")?;
        let budget = self.config.budget;
        self.tell(Input::Budget { budget, at: now }, "")?;
        self.commit()
    }

    /// Makes a page known that the operator names; it is watched for new links.
    pub fn seed(&mut self, url: &CanonicalUrl, now: Time) -> Result<(), CrawlError> {
        self.seed_hosts.insert(url.host().to_owned());
        if self.store.page_of(url.as_str())?.is_none() {
            self.add_page(url, None, 0, true, now)?;
        }
        self.commit()
    }

    /// What to do now: a job, or a time before which there is none.
    pub fn next(&mut self, now: Time) -> Result<Result<Job, Time>, CrawlError> {
        loop {
            let before = self.frontier.moves();
            let next = self.frontier.next(now);
            let decided = match next {
                Next::Do(command) => Some(command),
                Next::Wait(_) => None,
            };
            if self.frontier.moves() != before {
                self.batch.tape.push(Input::Asked { at: now, decided });
            }
            match next {
                Next::Wait(until) => return Ok(Err(until)),
                Next::Do(command) => {
                    if let Some(job) = self.job(command, now)? {
                        return Ok(Ok(job));
                    }
                }
            }
        }
    }

    /// Makes a job of a command; `None` if it was settled without one.
    fn job(&mut self, command: Command, now: Time) -> Result<Option<Job>, CrawlError> {
        match command {
            Command::Resolve(host) => {
                let url = self.url(host, "/")?;
                let (name, port) = (url.host().to_owned(), url.port());
                Ok(Some(Job::Resolve { host, name, port }))
            }
            Command::ReadRobots(host) => {
                let url = self.url(host, "/robots.txt")?;
                Ok(Some(Job::Robots { host, url }))
            }
            Command::Fetch(host, page) => self.page_job(host, page, now),
        }
    }

    fn page_job(
        &mut self,
        host: HostId,
        page: PageId,
        now: Time,
    ) -> Result<Option<Job>, CrawlError> {
        let row = self.page_row(page)?;
        if !self.allows(host, &row.path)? {
            self.tally.count("disallowed");
            self.tell(Input::GivenUp { host, answer: None, at: now }, "")?;
            // As good as gone: its rules may change, but then it is found again.
            self.tell_outcome(page, Told::Gone, now)?;
            return Ok(None);
        }
        let url = self.url(host, &row.path)?;
        let copy = self.store.tables().copy(page)?;
        let held = copy.map(|copy| Held {
            etag: copy.etag,
            last_modified: copy.last_modified,
            digest: copy.digest,
            unix_micros: self.unix_micros(copy.changed_at),
        });
        Ok(Some(Job::Page { host, page, url, held }))
    }

    /// Tells the frontier something and keeps it for the tape.
    pub(crate) fn tell(&mut self, input: Input, url: &str) -> Result<(), CrawlError> {
        self.frontier.play(&input, &mut Url(url))?;
        self.batch.tape.push(input);
        Ok(())
    }

    /// Tells the policy how a page's fetch ended.
    pub(crate) fn tell_outcome(
        &mut self,
        page: PageId,
        outcome: Told,
        now: Time,
    ) -> Result<(), CrawlError> {
        let copy = self.store.tables().copy(page)?;
        let kind = self.kind(page, copy.is_some())?;
        let previous = copy.map(|copy| copy.at);
        self.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }), "")
    }

    pub(crate) fn tell_failed(
        &mut self,
        page: PageId,
        reason: u16,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.tell_outcome(page, Told::Failed(reason), now)
    }

    pub(crate) fn kind(&self, page: PageId, is_held: bool) -> Result<FetchKind, CrawlError> {
        let row = self.page_row(page)?;
        let shown = row.via.map(|via| self.page_row(via)).transpose()?;
        Ok(match (is_held, row.is_source) {
            (true, true) => FetchKind::Source,
            (true, false) => FetchKind::Refresh,
            (false, false) if shown.is_some_and(|via| via.is_source) => FetchKind::New,
            (false, _) => FetchKind::Frontier,
        })
    }

    /// Gives a URL that is not known its number.
    pub(crate) fn add_page(
        &mut self,
        url: &CanonicalUrl,
        via: Option<PageId>,
        depth: u16,
        is_source: bool,
        now: Time,
    ) -> Result<PageId, CrawlError> {
        let host = self.host_of(url)?;
        self.hosts[host.index()].pages += 1;
        let path = url.path_and_query().to_owned();
        let row = PageRow { host, path, depth, via, is_source };
        let page = self.store.add_page(url.as_str(), row, &mut self.batch)?;
        let weight = 1.0;
        self.tell(Input::Page { host, at: now, via, is_source, weight }, url.as_str())?;
        Ok(page)
    }

    fn host_of(&mut self, url: &CanonicalUrl) -> Result<HostId, CrawlError> {
        if let Some(host) = self.store.host_of(url.origin()) {
            return Ok(host);
        }
        let origin = url.origin().to_owned();
        let row = HostRow { origin: origin.clone(), robots: None };
        let host = self.store.add_host(row, &mut self.batch);
        self.hosts.push(Host { origin, pages: 0, robots: None });
        self.tell(Input::Host, "")?;
        Ok(host)
    }

    /// A page's row, committed or about to be.
    pub(crate) fn page_row(&self, page: PageId) -> Result<PageRow, CrawlError> {
        let first = self.batch.pages.first().map_or(PageId(u32::MAX), |(page, _)| *page);
        let row = if page >= first {
            let at = (page.0 - first.0) as usize;
            self.batch.pages.get(at).map(|(_, row)| row.clone())
        } else {
            self.store.tables().page(page)?
        };
        let damaged = StoreError::Damaged { table: "pages", key: u64::from(page.0) };
        Ok(row.ok_or(damaged)?)
    }

    /// A page's URL.
    pub fn address(&self, page: PageId) -> Result<CanonicalUrl, CrawlError> {
        let row = self.page_row(page)?;
        self.url(row.host, &row.path)
    }

    pub(crate) fn url(&self, host: HostId, path: &str) -> Result<CanonicalUrl, CrawlError> {
        let text = format!("{}{path}", self.hosts[host.index()].origin);
        let damaged = |_| StoreError::Damaged { table: "hosts", key: u64::from(host.0) };
        Ok(CanonicalUrl::parse(&text).map_err(damaged)?)
    }

    /// Whether the host's robots.txt, which has been read, allows a path.
    fn allows(&mut self, host: HostId, path: &str) -> Result<bool, CrawlError> {
        if self.hosts[host.index()].robots.is_none()
            && let Some(row) = self.store.tables().host(host)?.and_then(|row| row.robots)
        {
            let robots = Robots::of_response(row.status, &row.body, &self.config.agent);
            self.keep_robots(host, robots);
        }
        let robots = self.hosts[host.index()].robots.as_ref();
        Ok(robots.is_none_or(|robots| robots.allows(path)))
    }

    /// Whether the host's robots.txt, if it is in memory, forbids a path. A page
    /// that it forbids and that is not told here is told when its turn comes.
    pub(crate) fn is_known_to_forbid(&self, host: HostId, path: &str) -> bool {
        self.hosts[host.index()].robots.as_ref().is_some_and(|robots| !robots.allows(path))
    }

    pub(crate) fn keep_robots(&mut self, host: HostId, robots: Robots) {
        if self.hosts[host.index()].robots.replace(robots).is_none() {
            self.with_robots.push_back(host);
        }
        if self.with_robots.len() > MOST_ROBOTS
            && let Some(oldest) = self.with_robots.pop_front()
        {
            self.hosts[oldest.index()].robots = None;
        }
    }

    pub(crate) fn server(&mut self, address: IpAddr) -> ServerId {
        let next = ServerId(self.servers.len() as u32);
        *self.servers.entry(address).or_insert(next)
    }

    /// Commits what has come together.
    pub fn commit(&mut self) -> Result<(), CrawlError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.tally.keep(&mut self.batch);
        self.store.tables().commit(&self.batch)?;
        if let Some((page, _)) = self.batch.pages.last() {
            self.store.note_committed(PageId(page.0 + 1));
        }
        self.batch = Batch::default();
        Ok(())
    }

    /// Makes everything committed survive the machine. Only now is it stored.
    pub fn sync(&mut self) -> Result<(), CrawlError> {
        self.commit()?;
        self.archive.sync()?;
        self.store.tables().sync()?;
        Ok(())
    }

    /// The store, for reading.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Counts of the whole crawl.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Hosts with a job, and requests under way.
    pub const fn activity(&self) -> (usize, usize) {
        self.frontier.activity()
    }
}

/// Reads or sets when the crawl began and with which policy.
fn begin(
    store: &Store,
    config: &Config,
    unix_micros: i64,
    batch: &mut Batch,
) -> Result<i64, CrawlError> {
    let number = |bytes: Vec<u8>| bytes.try_into().map(i64::from_le_bytes).ok();
    let epoch = store.tables().meta("epoch")?.and_then(number);
    let Some(epoch) = epoch else {
        batch.meta.insert("epoch".into(), unix_micros.to_le_bytes().to_vec());
        batch.meta.insert("policy".into(), config.policy.clone().into_bytes());
        batch.meta.insert("seed".into(), config.seed.to_le_bytes().to_vec());
        return Ok(unix_micros);
    };
    let was = store.tables().meta("policy")?.unwrap_or_default();
    let was = String::from_utf8_lossy(&was).into_owned();
    let seed = store.tables().meta("seed")?.and_then(|bytes| bytes.try_into().ok());
    let was_seed = seed.map_or(0, u64::from_le_bytes);
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

    fn reason(&self, number: u16) -> &'static str {
        reason::name(number)
    }
}
