//! What one owner holds of a crawl: its hosts and pages, their tape, tables and archive.
//!
//! # The life of a report
//!
//! [`Partition::next`] asks the frontier and makes a [`Job`] of its command. Whoever carries the job
//! out hands a [`Report`](crate::work::Report) to [`Partition::take_in`], which
//!
//! 1. appends the record to the archive (`shelf`),
//! 2. tells the frontier how the request went (`taped` notes every input for the tape),
//! 3. makes links into pages, or sends them to the partition that owns their host (`member`),
//! 4. replaces the copy and tells the policy what came back.
//!
//! All of it joins the next commit. [`Partition::commit`] syncs the archive and then writes rows and
//! tape as one; [`Partition::sync`] makes that survive the machine. Only then is a copy *stored*.
//!
//! # What is always true
//!
//! - The tables are never ahead of the archive: a copy is committed after its record was synced.
//! - The tape in the tables leads to the pages in the tables: both are one commit.
//! - Everything the frontier hears is on the tape, so a replay takes the same decisions.
//! - Page and host numbers mean something inside one partition only; outside, a page is its
//!   [`PageKey`](tidewatch_core::PageKey).
//!
//! # Opening
//!
//! [`Partition::open`] plays the tape, from the last snapshot on, and tells the policy that pages under
//! way were interrupted. [`Partition::look`] opens a crawl without going on with it.

mod admit;
mod aim;
mod forms;
mod hint;
mod hygiene;
mod judge;
mod look;
mod member;
mod open;
mod operate;
mod rebuild;
mod reread;
mod setback;
mod settle;
mod status;

use std::net::IpAddr;
use std::path::PathBuf;

use tidewatch_archive::ArchiveError;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, HostId, PageId, Rate, Reason, Span, Time};
use tidewatch_frontier::tape::{Came as Told, Diverged, Fetched, Input};
use tidewatch_frontier::{Command, Frontier, Next as Asked};
use tidewatch_store::{CopyRow, Hops, PageRow, Store, StoreError, is_full};

use self::aim::Aim;
pub use self::aim::{Suits, SuitsBy};
use self::forms::Forms;
use self::judge::Judge;
pub use self::judge::Suspicion;
use self::member::Member;
pub use self::member::Seat;
pub use self::operate::{Heard, HostView, Portrait, SourceView};
pub use self::rebuild::Rebuilt;
use self::reread::Reread;
use self::setback::Hopeless;
pub use self::settle::Settled;
pub(crate) use self::settle::overloaded;
pub use self::status::Status;
use crate::announced::Notes;
use crate::hints::Senders;
use crate::pages::Pages;
use crate::robots::RobotsCache;
use crate::scope::Scope;
use crate::shelf::Shelf;
use crate::spending::Spending;
use crate::tally::Tally;
use crate::taped::Taped;
use crate::timeline::Timeline;
use crate::topic::BadExample;
use crate::work::{Held, Job};
use crate::{BadConfig, Config};

/// Name under which the store keeps how far the archive is synced.
pub(crate) const ARCHIVED: &str = "archived";
/// Name under which the store keeps the hosts of the seeds, one a line.
const SEEDS: &str = "seeds";
/// Name under which the store keeps the operator's own hosts, one a line.
const OWN: &str = "own";
/// Name under which the store keeps the scope, as TOML.
const SCOPE: &str = "scope";
/// Most rows that wait for a commit: bounds memory and the length of a commit.
const MOST_WAITING: usize = 50_000;

/// Why a crawl cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The settings do not fit together.
    #[error(transparent)]
    Config(#[from] BadConfig),
    /// An example page of the topic cannot be used.
    #[error(transparent)]
    Example(#[from] BadExample),
    /// The configuration names no policy.
    #[error("there is no policy `{0}`; `tidewatch lab list` names them all")]
    UnknownPolicy(String),
    /// The directory holds no crawl.
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
    /// A replayed decision differs from the tape.
    #[error("the crawl's history cannot be played back: {0}")]
    Diverged(#[from] Diverged),
    /// The policy panics over the history.
    #[error(
        "the policy panics while the crawl's history is played back ({0}), which it did not when it was \
         recorded; run the version that recorded it, or begin a new crawl in another --dir"
    )]
    Panicked(String),
    /// The directory has another number of partitions.
    #[error(
        "{dir} holds a crawl in {was} {}, not {asked}; run it with --partitions {was}, or begin a new \
         crawl in another --dir with the same seeds and --partitions {asked}",
        if *was == 1 { "partition" } else { "partitions" }
    )]
    OtherPartitions {
        /// The crawl's directory.
        dir: String,
        /// How many partitions it has.
        was: u32,
        /// How many were asked for.
        asked: u32,
    },
    /// A partition of the crawl is gone.
    #[error(
        "{} is gone, and its pages with it; put it back from a backup, or run `tidewatch repair` to \
         rebuild the crawl from the partitions that are left",
        .0.display()
    )]
    LostPartition(PathBuf),
    /// The budget is more than the clock can pace.
    #[error("a budget of {0:.0} fetches a second is too large; give at most 1000000/s")]
    LargeBudget(f64),
}

/// Most fetches a second: one a microsecond, the unit of a crawl's time.
const MOST_BUDGET: f64 = 1e6;

/// Checks that a budget, per second of the operator's clock, can be paced.
pub fn check_budget(budget: Rate) -> Result<(), CrawlError> {
    let per_second = budget.as_per_second();
    if per_second > MOST_BUDGET { Err(CrawlError::LargeBudget(per_second)) } else { Ok(()) }
}

impl CrawlError {
    /// Whether the disk is full. The crawl then pauses: what could not be written is kept, and
    /// [`Partition::sync`] writes it once there is room.
    pub fn is_full_disk(&self) -> bool {
        match self {
            CrawlError::Store(error) => error.is_full_disk(),
            CrawlError::Archive(ArchiveError::Io { source, .. }) => is_full(source),
            _ => false,
        }
    }
}

/// What to do now.
#[derive(Clone, Debug)]
pub enum Next {
    /// Carry out this job, and ask again.
    Job(Job),
    /// There is nothing before this time, unless a report comes in earlier.
    WaitUntil(Time),
}

/// One owner's part of a crawl, in one directory.
pub struct Partition {
    config: Config,
    timeline: Timeline,
    taped: Taped,
    pages: Pages,
    shelf: Shelf,
    robots: RobotsCache,
    tally: Tally,
    scope: Scope,
    /// The copies that are still to be read again because the scope has changed.
    reread: Option<Reread>,
    hopeless: Hopeless,
    judge: Judge,
    /// The wanted topic, if there is one.
    aim: Option<Aim>,
    /// The forms that are asked.
    forms: Forms,
    spending: Spending,
    senders: Senders,
    announced: Notes,
    /// The other partitions, where there are any.
    member: Option<Member>,
}

/// How a page became known.
#[derive(Clone, Copy)]
struct Found {
    /// The page whose link named it.
    via: Option<PageId>,
    /// Links from a seed.
    depth: u16,
    /// Redirects since that link.
    hops: Hops,
    /// Whether it is watched for new links.
    is_source: bool,
    weight: f64,
}

impl Found {
    /// Named by the operator, a host or its robots.txt.
    const fn named(is_source: bool) -> Found {
        Found { via: None, depth: 0, hops: Hops::NONE, is_source, weight: 1.0 }
    }
}

impl Partition {
    /// The crawl's time at a moment of Unix time.
    pub fn time(&self, unix_micros: i64) -> Time {
        self.timeline.time(unix_micros)
    }

    /// Unix time of a crawl's time, in microseconds.
    pub fn unix_micros(&self, time: Time) -> i64 {
        self.timeline.unix_micros(time)
    }

    /// Seconds of crawl time in one second of real time.
    pub fn pace(&self) -> f64 {
        self.timeline.pace()
    }

    /// Sets the pace of crawl time from its beginning, and stores it. Meant for a simulated web
    /// that runs faster: the crawl's rates are then per second of that web.
    pub fn set_pace(&mut self, pace: f64) {
        self.timeline.set_pace(pace);
        self.pages.put_meta("pace", self.timeline.pace().to_le_bytes().to_vec());
    }

    /// Adds a seed, which is watched for new links. It joins the next commit.
    pub fn seed(&mut self, url: &CanonicalUrl, now: Time) -> Result<(), CrawlError> {
        self.seed_as(url, true, 1.0, now)
    }

    /// Adds a seed with a weight, watched for new links or not. It joins the next commit.
    pub fn seed_as(
        &mut self,
        url: &CanonicalUrl,
        is_source: bool,
        weight: f64,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.allow_host(url);
        self.trust(url);
        if self.pages.page_of(url.as_str())?.is_none() {
            self.add_page(url, Found { weight, ..Found::named(is_source) }, now)?;
        }
        Ok(())
    }

    /// Counts a URL's host among those of the seeds.
    pub(crate) fn allow_host(&mut self, url: &CanonicalUrl) {
        self.scope.add_seed(url);
    }

    /// Makes a page known as a link to it would, if it is in scope. It joins the next commit.
    pub fn know(&mut self, url: &CanonicalUrl, now: Time) -> Result<(), CrawlError> {
        self.link(url, Found { depth: 1, ..Found::named(false) }, now)?;
        Ok(())
    }

    /// Which URLs are taken in.
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What to do now.
    pub fn next(&mut self, now: Time) -> Result<Next, CrawlError> {
        loop {
            let command = match self.taped.next(now) {
                Asked::Wait(until) => return Ok(Next::WaitUntil(until)),
                Asked::Do(command) => command,
            };
            if let Some(job) = self.job(command, now)? {
                return Ok(Next::Job(job));
            }
        }
    }

    /// Makes a job of a command; `None` if it was settled without one.
    fn job(&mut self, command: Command, now: Time) -> Result<Option<Job>, CrawlError> {
        match command {
            Command::Resolve(host) => {
                let url = self.pages.url(host, "/")?;
                let (name, port) = (url.host().to_owned(), url.port());
                Ok(Some(Job::Resolve { host, name, port }))
            }
            Command::ReadRobots(host) => {
                let url = self.pages.url(host, "/robots.txt")?;
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
        let row = self.pages.page_row(page)?;
        let url = self.pages.url(host, &row.path)?;
        if let Some(barred) = self.barred(host, &url, &row)? {
            self.tally.drop(barred);
            self.note_drop(page, barred, now);
            self.bar_forms(host, &url, now);
            self.taped.tell(Input::GivenUp { host, answer: None, at: now })?;
            // A robots.txt may change, so the page is retried later; only then is the file read again. A
            // crawl that fetches everything once does not wait for that.
            let may_change = matches!(barred, DropReason::Disallowed | DropReason::UseDenied)
                && self.config.revisit.attempts == 0;
            let told = if may_change { Told::Failed(Reason::Forbidden) } else { Told::Gone };
            self.tell_outcome(page, told, now)?;
            return Ok(None);
        }
        // Without its record a copy can be neither confirmed nor named by a revisit.
        let copy = self.pages.copy(page)?;
        let copy = copy.filter(|copy| self.shelf.holds(page, copy.place, url.as_str()));
        let held = copy.map(|copy| Held {
            etag: copy.etag,
            last_modified: copy.last_modified,
            digest: copy.digest,
            unix_micros: copy.capture.map_or_else(
                || self.timeline.unix_micros(copy.changed_at),
                |capture| capture.unix_micros,
            ),
        });
        let (requisites, gist) = (self.config.scope.requisites, self.has_topic());
        let wishes = self.wishes(host, &row.path)?;
        let (shape, forms) = (self.wants_shape(&url), self.forms_wanted(host, &url));
        Ok(Some(Job::Page { host, page, url, held, requisites, gist, wishes, shape, forms }))
    }

    /// The address that a host resolved to last.
    pub(crate) fn address_of(&self, host: HostId) -> Option<IpAddr> {
        self.pages.address_of(host)
    }

    /// Tells the policy how a page's fetch ended.
    fn tell_outcome(&mut self, page: PageId, outcome: Told, now: Time) -> Result<(), CrawlError> {
        let kind = self.taped.fetch_kind(page);
        let previous = self.pages.copy(page)?.map(|copy| copy.at);
        self.taped.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }))?;
        Ok(())
    }

    fn tell_failed(&mut self, page: PageId, reason: Reason, now: Time) -> Result<(), CrawlError> {
        self.tell_outcome(page, Told::Failed(reason), now)
    }

    /// Gives a new URL its page number.
    fn add_page(
        &mut self,
        url: &CanonicalUrl,
        found: Found,
        now: Time,
    ) -> Result<PageId, CrawlError> {
        let Found { via, depth, hops, is_source, weight } = found;
        let host = self.host_of(url)?;
        let path = url.path_and_query().to_owned();
        let row = PageRow { host, path, depth, hops, via, is_source };
        let page = self.pages.add_page(url.as_str(), row)?;
        let input = Input::Page { host, at: now, via, is_source, weight };
        self.taped.tell_page(input, url.as_str())?;
        Ok(page)
    }

    fn host_of(&mut self, url: &CanonicalUrl) -> Result<HostId, CrawlError> {
        if let Some(host) = self.pages.host_of(url.origin()) {
            return Ok(host);
        }
        let host = self.pages.add_host(url.origin());
        self.taped.tell(Input::Host)?;
        if let Some(gap) = self.config.delay_of(url) {
            self.taped.tell(Input::HostGap { host, gap: Some(gap) })?;
        }
        Ok(host)
    }

    /// A page's copy, committed or about to be.
    pub fn copy(&self, page: PageId) -> Result<Option<CopyRow>, CrawlError> {
        Ok(self.pages.copy(page)?)
    }

    /// A page's URL.
    pub fn address(&self, page: PageId) -> Result<CanonicalUrl, CrawlError> {
        Ok(self.pages.address(page)?)
    }

    /// Whether nothing can be fetched now nor within `patience`. Looks at all pages.
    pub fn is_done(&self, patience: Span, now: Time) -> bool {
        self.reread.is_none() && self.taped.is_done(patience, now)
    }

    /// Checks that the crawl can be changed.
    pub fn check_writable(&self) -> Result<(), CrawlError> {
        Ok(self.pages.store().check_writable()?)
    }

    /// Commits all inputs and reports taken in. What cannot be written stays, and is tried again
    /// next time.
    pub fn commit(&mut self) -> Result<(), CrawlError> {
        // Records first: after a crash at any point, every copy in the tables is in the archive.
        if let Some(mark) = self.shelf.sync()? {
            self.pages.put_meta(ARCHIVED, mark);
        }
        if let Some(hosts) = self.scope.take_new_seeds() {
            self.pages.put_meta(SEEDS, hosts.into_bytes());
        }
        self.taped.drain_into(self.pages.tape_mut());
        if let Some(member) = &mut self.member {
            member.pack(&mut self.pages);
        }
        if !self.pages.is_clean() {
            self.tally.keep(&mut self.pages);
        }
        Ok(self.pages.commit()?)
    }

    /// Writes records to the archive's file, so that they do not fill memory, and commits if more than
    /// [`MOST_WAITING`] rows wait.
    pub(crate) fn relieve(&mut self) -> Result<(), CrawlError> {
        self.shelf.flush()?;
        if self.pages.waiting() > MOST_WAITING { self.commit() } else { Ok(()) }
    }

    /// Commits everything and syncs it to disk. Only now is it stored.
    pub fn sync(&mut self) -> Result<(), CrawlError> {
        self.commit()?;
        self.pages.sync()?;
        if let Some(member) = &mut self.member {
            member.synced();
        }
        Ok(())
    }

    /// Syncs and writes a snapshot of the frontier, so that the next start plays only what comes
    /// after, and sorts the archive's index, so that replay tools can read it.
    pub fn save(&mut self) -> Result<(), CrawlError> {
        self.sync()?;
        self.shelf.finish()?;
        let store = self.pages.store();
        self.taped.save(store.dir(), store.next_tape());
        self.judge.save(store.dir());
        if let Some(aim) = &self.aim {
            aim.save(store.dir());
        }
        self.forms.save(store.dir());
        Ok(self.pages.spill()?)
    }

    /// Inputs that the next start would have to play.
    pub const fn unsaved(&self) -> u64 {
        self.taped.unsaved()
    }

    /// The store, for reading what is committed.
    pub const fn store(&self) -> &Store {
        self.pages.store()
    }

    /// Counts of the whole crawl.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The settings it was opened with.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The frontier, for [audits](tidewatch_frontier::audit) of what it says and does.
    pub const fn frontier(&self) -> &Frontier<'static> {
        self.taped.frontier()
    }

    /// The frontier and its tape, for the loop that paces snapshots.
    pub(crate) const fn taped_mut(&mut self) -> &mut Taped {
        &mut self.taped
    }
}

#[cfg(test)]
mod tests;
