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
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use tidewatch_archive::{Archive, ArchiveError};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, FetchKind, HostId, PageId, Reason, Time};
use tidewatch_frontier::tape::{Came as Told, Diverged, Fetched, Input, Names};
use tidewatch_frontier::{Command, Frontier, Next, ServerId};
use tidewatch_robots::Robots;
use tidewatch_store::{Absent, Batch, CopyRow, HostRow, PageRow, Store, StoreError, is_full};

use crate::tally::Tally;
use crate::work::{Held, Job};
use crate::{Config, snapshot};

/// Under which name the store keeps how far the archive is known to be whole.
pub(crate) const ARCHIVED: &str = "archived";
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
    /// There is nothing to look at.
    #[error("no crawl was ever begun in this directory; begin one with tidewatch crawl")]
    NotBegun,
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

impl CrawlError {
    /// Whether the disk is full, so that there is no reason to stop: what could not be written is
    /// kept, and [`Crawl::sync`] writes it once there is room.
    pub fn is_full_disk(&self) -> bool {
        match self {
            CrawlError::Store(error) => error.is_full_disk(),
            CrawlError::Archive(ArchiveError::Io { source, .. }) => is_full(source),
            _ => false,
        }
    }
}

/// A host as the loop knows it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) origin: String,
    /// Pages known of it.
    pub(crate) pages: u32,
    /// Its rules, while they are in memory.
    pub(crate) robots: Option<Robots>,
    /// What it says where there is no page, once asked.
    pub(crate) absent: Option<Absent>,
}

impl Host {
    pub(crate) fn new(origin: String, absent: Option<Absent>) -> Host {
        Host { origin, pages: 0, robots: None, absent }
    }
}

/// A crawl in one directory.
pub struct Crawl {
    pub(crate) config: Config,
    pub(crate) store: Store,
    /// `None` where a crawl is only looked at.
    pub(crate) archive: Option<Archive>,
    pub(crate) frontier: Frontier<'static>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) batch: Batch,
    pub(crate) tally: Tally,
    /// Unix time of the crawl's time zero, microseconds.
    pub(crate) epoch: i64,
    /// Seconds of its time in one of ours; exact where it is one.
    pub(crate) pace: f64,
    /// The calendar year at the start.
    pub(crate) year: u16,
    pub(crate) servers: FxHashMap<IpAddr, ServerId>,
    /// Hosts whose rules are in memory, oldest first.
    pub(crate) with_robots: VecDeque<HostId>,
    /// Hosts of the seeds, where no other may be crawled.
    pub(crate) seed_hosts: FxHashSet<String>,
    /// The latest time on the tape.
    pub(crate) last: Time,
    /// Inputs on the tape since the last snapshot.
    pub(crate) unsaved: u64,
    /// How long they took to take in, which is how long the next start would.
    pub(crate) unsaved_took: Duration,
    /// How long the last snapshot took.
    pub(crate) save_took: Duration,
}

/// How a page became known.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The page whose link named it.
    pub(crate) via: Option<PageId>,
    /// Links from a seed.
    pub(crate) depth: u16,
    /// Redirects since that link.
    pub(crate) hops: u8,
    /// Whether it is watched for new links.
    pub(crate) is_source: bool,
    pub(crate) weight: f64,
}

impl Found {
    /// As the operator, a host or its robots.txt names it.
    pub(crate) const fn named(is_source: bool) -> Found {
        Found { via: None, depth: 0, hops: 0, is_source, weight: 1.0 }
    }
}

/// What the tape leaves out, when a page becomes known.
struct Url<'u>(&'u str);

impl Names for Url<'_> {
    fn next_url(&mut self) -> String {
        self.0.to_owned()
    }
}

impl Crawl {
    /// The crawl's time at a moment of Unix time.
    pub fn time(&self, unix_micros: i64) -> Time {
        let passed = u64::try_from(unix_micros - self.epoch).unwrap_or(0);
        Time::from_micros((passed as f64 * self.pace) as u64)
    }

    /// The moment of Unix time, in microseconds, of a crawl's time.
    pub fn unix_micros(&self, time: Time) -> i64 {
        self.epoch.saturating_add_unsigned((time.as_micros() as f64 / self.pace) as u64)
    }

    /// Seconds of the crawl in one of ours.
    pub fn pace(&self) -> f64 {
        self.pace
    }

    /// Lets the crawl's time run faster from its beginning, and remembers that: for a web that lives
    /// faster, whose seconds a crawl must count for its rates to mean anything.
    pub fn set_pace(&mut self, pace: f64) {
        self.pace = if pace > 0.0 && pace.is_finite() { pace } else { 1.0 };
        self.batch.meta.insert("pace".into(), self.pace.to_le_bytes().to_vec());
    }

    /// The calendar year, by which endless calendars are told.
    pub(crate) fn year(&self) -> u16 {
        self.year
    }

    /// Makes a page known that the operator names; it is watched for new links.
    pub fn seed(&mut self, url: &CanonicalUrl, now: Time) -> Result<(), CrawlError> {
        self.seed_as(url, true, 1.0, now)
    }

    /// The same, saying whether it is watched and how much it matters.
    pub fn seed_as(
        &mut self,
        url: &CanonicalUrl,
        is_source: bool,
        weight: f64,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.seed_hosts.insert(url.host().to_owned());
        if self.store.page_of(url.as_str())?.is_none() {
            self.add_page(url, Found { weight, ..Found::named(is_source) }, now)?;
        }
        self.commit()
    }

    /// Makes a page known as a link to it would, without a commit of its own.
    pub fn know(&mut self, url: &CanonicalUrl, now: Time) -> Result<(), CrawlError> {
        if self.store.page_of(url.as_str())?.is_none() {
            self.add_page(url, Found { depth: 1, ..Found::named(false) }, now)?;
        }
        Ok(())
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
                self.note(Input::Asked { at: now, decided });
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
            self.tally.drop(DropReason::Disallowed);
            self.tell(Input::GivenUp { host, answer: None, at: now }, "")?;
            // As good as gone: its rules may change, and what was held is asked for again some day.
            self.tell_outcome(page, Told::Gone, now)?;
            return Ok(None);
        }
        let url = self.url(host, &row.path)?;
        let copy = self.copy(page)?;
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
        self.note(input);
        Ok(())
    }

    /// Puts on the tape what the frontier has heard.
    fn note(&mut self, input: Input) {
        self.last = self.last.max(input.at().unwrap_or(self.last));
        self.unsaved += 1;
        self.batch.tape.push(input);
    }

    /// Tells the policy how a page's fetch ended.
    pub(crate) fn tell_outcome(
        &mut self,
        page: PageId,
        outcome: Told,
        now: Time,
    ) -> Result<(), CrawlError> {
        let copy = self.copy(page)?;
        let kind = self.kind(&self.page_row(page)?, copy.is_some())?;
        let previous = copy.map(|copy| copy.at);
        self.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }), "")
    }

    pub(crate) fn tell_failed(
        &mut self,
        page: PageId,
        reason: Reason,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.tell_outcome(page, Told::Failed(reason), now)
    }

    pub(crate) fn kind(&self, row: &PageRow, is_held: bool) -> Result<FetchKind, CrawlError> {
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
        found: Found,
        now: Time,
    ) -> Result<PageId, CrawlError> {
        let Found { via, depth, hops, is_source, weight } = found;
        let host = self.host_of(url)?;
        self.hosts[host.index()].pages += 1;
        let path = url.path_and_query().to_owned();
        let row = PageRow { host, path, depth, hops, via, is_source };
        let page = self.store.add_page(url.as_str(), row, &mut self.batch)?;
        self.tell(Input::Page { host, at: now, via, is_source, weight }, url.as_str())?;
        Ok(page)
    }

    fn host_of(&mut self, url: &CanonicalUrl) -> Result<HostId, CrawlError> {
        if let Some(host) = self.store.host_of(url.origin()) {
            return Ok(host);
        }
        let origin = url.origin().to_owned();
        let row = HostRow { origin: origin.clone(), robots: None, absent: None };
        let host = self.store.add_host(row, &mut self.batch);
        self.hosts.push(Host::new(origin, None));
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
            self.store.tables()?.page(page)?
        };
        let damaged = StoreError::Damaged { table: "pages", key: u64::from(page.0) };
        Ok(row.ok_or(damaged)?)
    }

    /// A page's copy, committed or about to be.
    pub(crate) fn copy(&self, page: PageId) -> Result<Option<CopyRow>, CrawlError> {
        match self.batch.copies.get(&page) {
            Some(copy) => Ok(Some(copy.clone())),
            None if self.batch.gone.contains(&page) => Ok(None),
            None => Ok(self.store.tables()?.copy(page)?),
        }
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
            && let Some(row) = self.store.tables()?.host(host)?.and_then(|row| row.robots)
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

    /// Commits what has come together. What cannot be written stays, and is tried again next time.
    pub fn commit(&mut self) -> Result<(), CrawlError> {
        // Records first: a copy in the tables must be in the archive, whenever the process ends.
        self.archive.as_mut().map_or(Ok(()), Archive::flush)?;
        if !self.batch.is_empty() {
            self.tally.keep(&mut self.batch);
            self.store.commit(&self.batch)?;
            self.batch = Batch::default();
        }
        Ok(self.store.tidy()?)
    }

    /// Makes everything committed survive the machine. Only now is it stored.
    pub fn sync(&mut self) -> Result<(), CrawlError> {
        if let Some(archive) = &mut self.archive {
            archive.sync()?;
            let (file, length) = archive.end();
            let mark = [&file.to_le_bytes()[..], &length.to_le_bytes()].concat();
            self.batch.meta.insert(ARCHIVED.to_owned(), mark);
        }
        self.commit()?;
        Ok(self.store.sync()?)
    }

    /// Keeps the frontier in a file, so that the next start need not play the tape up to here.
    pub fn save(&mut self) -> Result<(), CrawlError> {
        self.sync()?;
        let began = Instant::now();
        let batch = self.store.next_tape();
        // Without it the next start takes longer and comes to the same.
        let _ = snapshot::write(self.store.dir(), &self.frontier, batch, self.last);
        (self.unsaved, self.unsaved_took) = (0, Duration::ZERO);
        self.save_took = began.elapsed();
        Ok(self.store.spill()?)
    }

    /// Inputs that the next start would have to play.
    pub const fn unsaved(&self) -> u64 {
        self.unsaved
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
