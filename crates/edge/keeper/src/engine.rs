//! The thread that owns the queues: applies, commits, syncs, answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidewatch_core::{HostId, PageId, Span, Time};
use tidewatch_queues::{CrawlId, Effect, Facts, Input, News, Print, Queues, State, Want, Worth};
use tidewatch_store::guard::{Mark, Synced};
use tokio::sync::OwnedSemaphorePermit;

use crate::dir::Claim;
use crate::keeper::{Ask, Item, Put, QueueName, Said, Telling};
use crate::names::{crawl_name, usual_key};
use crate::snapshot;
use crate::tables::{Changes, Row, Tables};
use crate::{KeeperError, Refused};

/// Most rows in a commit, before its last request.
const FULL_COMMIT: usize = 20_000;
/// Most requests in a commit.
const MOST_REQUESTS: usize = 4_096;
/// URLs of dropped queues that are removed at a time.
const CLEANED_AT_ONCE: usize = 5_000;
/// An idle engine looks for URLs of dropped queues this often.
const LOOK: Duration = Duration::from_millis(100);
/// A snapshot is written after this many inputs, or a quarter of the number of URLs if that is more.
const SNAPSHOT_INPUTS: usize = 1_000_000;

const MOST_CRAWLS: usize = 1_000;
const MOST_QUEUES: u64 = 20_000_000;
const MOST_NAME_BYTES: usize = 255;
const MOST_URL_BYTES: usize = 8_192;
const MOST_PAYLOAD_BYTES: usize = 65_536;

/// Answers a request after its commit.
pub(crate) type Tell = Box<dyn FnOnce(bool) + Send>;
/// A request.
pub(crate) type Act = Box<dyn FnOnce(&mut Engine) -> Tell + Send>;

/// The queues and the changes to be committed.
pub(crate) struct Engine {
    queues: Queues,
    tables: Arc<Tables>,
    changes: Changes,
    files: Files,
    /// Keys the hashes of URLs.
    seed: u64,
    next_tape: u64,
    /// Inputs since the last snapshot.
    unsaved: usize,
    has_doomed: bool,
    /// URLs of the first dropped queue before this one are removed.
    cleaned_to: PageId,
}

/// Where snapshots go, held until the engine ends.
pub(crate) struct Files {
    dir: PathBuf,
    order: String,
    mark: Mark,
    _claim: Claim,
}

/// A URL given to a client: queue, page, the queue's name and what it is worth.
pub(crate) type Lent = (HostId, PageId, Arc<QueueName>, Option<Worth>);

impl Files {
    pub(crate) const fn new(dir: PathBuf, order: String, mark: Mark, claim: Claim) -> Files {
        Files { dir, order, mark, _claim: claim }
    }

    /// Notes how long the synced tape is, so that a start notices if less is there.
    fn note(&self, tape: u64) -> Result<(), KeeperError> {
        let noted = self.mark.write(Synced { tape, pages: 0 });
        noted.map_err(|source| KeeperError::Io { path: self.dir.clone(), source })
    }
}

impl Engine {
    /// The engine at the end of its tape, of which `unsaved` inputs are in no snapshot.
    pub(crate) fn new(
        queues: Queues,
        tables: Tables,
        files: Files,
        (seed, next_tape, unsaved): (u64, u64, usize),
    ) -> Engine {
        let (tables, changes) = (Arc::new(tables), Changes::default());
        let (has_doomed, cleaned_to) = (true, PageId(0));
        Engine { queues, tables, changes, files, seed, next_tape, unsaved, has_doomed, cleaned_to }
    }

    pub(crate) const fn queues(&self) -> &Queues {
        &self.queues
    }

    pub(crate) const fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// Serves requests until no more can come.
    pub(crate) fn run(
        mut self,
        inbox: &Receiver<(Act, OwnedSemaphorePermit)>,
    ) -> Result<(), KeeperError> {
        let mut tells = Vec::new();
        loop {
            match inbox.recv_timeout(LOOK) {
                Ok((act, _permit)) => tells.push(act(&mut self)),
                Err(RecvTimeoutError::Timeout) => self.clean()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while self.changes.rows.len() < FULL_COMMIT && tells.len() < MOST_REQUESTS {
                let Ok((act, _permit)) = inbox.try_recv() else { break };
                tells.push(act(&mut self));
            }
            let kept = self.commit();
            tells.drain(..).for_each(|tell| tell(kept.is_ok()));
            kept?;
            let urls = self.queues.next_page().index();
            if self.unsaved > SNAPSHOT_INPUTS.max(urls / 4) {
                self.save()?;
            }
        }
        self.save()
    }

    fn commit(&mut self) -> Result<(), KeeperError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let inputs = self.changes.tape.len();
        self.tables.commit(&mut self.changes, self.next_tape)?;
        self.next_tape += u64::from(inputs > 0);
        self.unsaved += inputs;
        self.files.note(self.next_tape)
    }

    pub(crate) fn save(&mut self) -> Result<(), KeeperError> {
        if self.unsaved > 0 {
            let Files { dir, order, .. } = &self.files;
            snapshot::write(dir, order, self.next_tape, &self.queues)?;
            self.unsaved = 0;
        }
        Ok(())
    }

    /// Removes some URLs of dropped queues.
    fn clean(&mut self) -> Result<(), KeeperError> {
        if !self.has_doomed {
            return Ok(());
        }
        let Some(queue) = self.tables.first_doomed()? else {
            self.has_doomed = false;
            return Ok(());
        };
        let pages = self.tables.some_pages(queue, self.cleaned_to, CLEANED_AT_ONCE)?;
        self.cleaned_to = match pages.last() {
            Some(page) if pages.len() == CLEANED_AT_ONCE => PageId(page.0.saturating_add(1)),
            _ => {
                self.changes.cleaned.push(queue);
                PageId(0)
            }
        };
        pages.into_iter().for_each(|page| self.remove(queue, page));
        Ok(())
    }

    /// Removes a dropped URL. A policy that takes its decisions again must be told its name again.
    fn remove(&mut self, queue: HostId, page: PageId) {
        let Changes { removed, named, .. } = &mut self.changes;
        let into = if self.queues.policy().is_some() { named } else { removed };
        into.push((queue, page));
    }

    /// Time now: later than any before.
    pub(crate) fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock = Time::from_micros(since.as_micros() as u64);
        clock.max(self.queues.now() + Span::from_micros(1))
    }

    /// Applies an input and puts it on the tape.
    pub(crate) fn apply(&mut self, input: Input, url: &str) -> Effect {
        let effect = self.queues.apply(&input, url);
        self.changes.tape.push(input);
        effect
    }

    /// Ends leases that are over, so that figures are right.
    pub(crate) fn tick(&mut self) {
        let at = self.now();
        if self.queues.has_ended_leases(at) {
            self.apply(Input::Tick { at }, "");
        }
    }

    fn open_crawl(&mut self, name: &str) -> Result<CrawlId, Refused> {
        let name = crawl_name(name);
        if let Some(crawl) = self.queues.crawl(name) {
            return Ok(crawl);
        }
        if name.len() > MOST_NAME_BYTES {
            return Err(Refused::LongCrawl);
        }
        if self.queues.crawls().count() >= MOST_CRAWLS {
            return Err(Refused::ManyCrawls);
        }
        let crawl = self.queues.next_crawl();
        self.apply(Input::Crawl { name: name.into() }, "");
        Ok(crawl)
    }

    /// The queue of that name; it is made if there is none.
    pub(crate) fn open_queue(&mut self, crawl: &str, key: &str) -> Result<HostId, Refused> {
        if key.len() > MOST_NAME_BYTES {
            return Err(Refused::LongKey);
        }
        let crawl = self.open_crawl(crawl)?;
        if let Some(queue) = self.queues.queue(crawl, key) {
            return Ok(queue);
        }
        if self.queues.queue_count() >= MOST_QUEUES {
            return Err(Refused::ManyQueues);
        }
        let queue = self.queues.next_queue();
        self.apply(Input::Queue { crawl, key: key.into() }, "");
        Ok(queue)
    }

    /// The queue of that name, if there is one.
    pub(crate) fn find_queue(&self, crawl: &str, key: &str) -> Option<HostId> {
        self.queues.queue(self.queues.crawl(crawl_name(crawl))?, key)
    }

    /// The URL, if it is known.
    pub(crate) fn find(&self, crawl: &str, key: &str, url: &str) -> Option<(HostId, PageId)> {
        let key = if key.is_empty() { usual_key(url)? } else { key };
        let queue = self.find_queue(crawl, key)?;
        Some((queue, self.find_in(queue, url)?))
    }

    /// The page of a URL in a queue.
    pub(crate) fn find_in(&self, queue: HostId, url: &str) -> Option<PageId> {
        self.queues.find(Print::of(self.seed, queue, url))
    }

    pub(crate) fn put(&mut self, item: Item) -> Put {
        match self.try_put(item) {
            Ok(put) => put,
            Err(refused) => Put::Refused(refused),
        }
    }

    fn try_put(&mut self, item: Item) -> Result<Put, Refused> {
        let Item { crawl, key, url, said, payload, told } = item;
        check(&url, &payload)?;
        if !self.queues.has_room() {
            return Err(Refused::ManyUrls);
        }
        let key = if key.is_empty() { usual_key(&url).ok_or(Refused::NoQueue)? } else { &key };
        let queue = self.open_queue(&crawl, key)?;
        let print = Print::of(self.seed, queue, &url);
        let known = self.queues.find(print);
        let told = told.filter(|_| self.queues.policy().is_some());
        if known.is_some() && matches!(said, Said::Discovered) && told.is_none() {
            return Ok(Put::Known);
        }
        let at = self.now();
        let facts = told.map(|told| Box::new(self.facts(&crawl, *told)));
        let (news, due) = match said {
            Said::Discovered => (News::Discovered, at.as_micros() / 1_000_000),
            Said::Fetched(0) => (News::Fetched(Time::NEVER), 0),
            Said::Fetched(due) => (News::Fetched(date(due)), due),
        };
        let effect = self.apply(Input::Put { at, queue, print, news, facts }, &url);
        let Effect::Put { page, is_new } = effect else { return Ok(Put::Known) };
        if !is_new && news == News::Discovered {
            return Ok(Put::Known);
        }
        let put = self.queues.put_at(page).unwrap_or(1).max(1);
        self.changes.rows.push((queue, page, Row { due, put, url, payload }));
        Ok(if is_new { Put::Added } else { Put::Updated })
    }

    /// A client's metadata with page numbers in place of URLs; unknown URLs are left out.
    fn facts(&self, crawl: &str, told: Telling) -> Facts {
        let page = |url: &String| self.find(crawl, "", url).map(|(_, page)| page);
        Facts {
            weight: told.weight,
            clicks: told.clicks,
            is_source: told.is_source,
            via: told.via.as_ref().and_then(page),
            hint: told.hint.map(Into::into),
            status: told.status,
            changed: told.changed,
            digest: told.digest.map(|digest| xxhash_rust::xxh3::xxh3_64(digest.as_bytes())),
            links: told.links.iter().filter_map(page).collect(),
        }
    }

    pub(crate) fn drop_queue(&mut self, crawl: &str, key: &str) -> u64 {
        let Some(queue) = self.find_queue(crawl, key) else { return 0 };
        let at = self.now();
        let effect = self.apply(Input::DropQueue { at, queue }, "");
        self.doom(effect)
    }

    pub(crate) fn drop_crawl(&mut self, name: &str) -> u64 {
        let Some(crawl) = self.queues.crawl(crawl_name(name)) else { return 0 };
        let at = self.now();
        let effect = self.apply(Input::DropCrawl { at, crawl }, "");
        self.doom(effect)
    }

    fn doom(&mut self, effect: Effect) -> u64 {
        let Effect::Dropped { queues, urls } = effect else { return 0 };
        self.changes.doomed.extend(queues);
        self.has_doomed = true;
        urls
    }

    /// Drops some old URLs; returns how many, and where to go on.
    pub(crate) fn purge(
        &mut self,
        crawl: &str,
        key: &str,
        before: Time,
        from: PageId,
    ) -> (u64, Option<PageId>) {
        let Some(crawl) = self.queues.crawl(crawl_name(crawl)) else { return (0, None) };
        let queue = self.queues.queue(crawl, key);
        if queue.is_none() && !key.is_empty() {
            return (0, None);
        }
        let (at, most) = (self.now(), FULL_COMMIT as u32);
        let effect = self.apply(Input::Purge { at, crawl, queue, before, from, most }, "");
        let Effect::Purged { pages, next } = effect else { return (0, None) };
        for &page in &pages {
            if let Some((queue, _)) = self.queues.state(page) {
                self.remove(queue, page);
            }
        }
        (pages.len() as u64, next)
    }

    pub(crate) fn name_of(&self, queue: HostId) -> Option<Arc<QueueName>> {
        let (crawl, key) = self.queues.name_of(queue)?;
        Some(Arc::new(QueueName { crawl: crawl.to_owned(), key: key.to_owned() }))
    }

    pub(crate) fn queues_of(&self, crawl: &str, key: &str) -> Vec<(HostId, Arc<QueueName>)> {
        let Some(crawl) = self.queues.crawl(crawl_name(crawl)) else { return Vec::new() };
        let all = self.queues.queues(crawl);
        let wanted = all.filter(|(of, _)| key.is_empty() || *of == key);
        wanted.filter_map(|(_, queue)| Some((queue, self.name_of(queue)?))).collect()
    }

    pub(crate) fn take(&mut self, ask: &Ask) -> Vec<Lent> {
        let Ask { crawl, key, queues, urls, lease } = ask;
        let name = crawl.as_deref().map(crawl_name);
        let crawl = name.map(|name| self.queues.crawl(name));
        let queue = key.as_ref().map(|key| self.queues.queue(crawl??, key));
        if crawl == Some(None) || queue == Some(None) {
            return Vec::new();
        }
        let (crawl, queue) = (crawl.flatten(), queue.flatten());
        let want = Want { crawl, queue, queues: *queues, urls: *urls, lease: *lease };
        let at = self.now();
        let mut input = Input::Take { at, want, taken: Vec::new() };
        let Effect::Taken(pages) = self.queues.apply(&input, "") else { return Vec::new() };
        let taken = self.describe(&pages);
        if let Input::Take { taken, .. } = &mut input {
            *taken = pages;
        }
        self.changes.tape.push(input);
        taken
    }

    fn describe(&self, pages: &[PageId]) -> Vec<Lent> {
        let mut last: Option<(HostId, Arc<QueueName>)> = None;
        let describe = |&page: &PageId| {
            let (queue, State::Held) = self.queues.state(page)? else { return None };
            let name = match &last {
                Some((of, name)) if *of == queue => Arc::clone(name),
                _ => self.name_of(queue)?,
            };
            last = Some((queue, Arc::clone(&name)));
            Some((queue, page, name, self.queues.worth(page)))
        };
        pages.iter().filter_map(describe).collect()
    }
}

fn check(url: &str, payload: &[u8]) -> Result<(), Refused> {
    if url.is_empty() {
        Err(Refused::NoUrl)
    } else if url.len() > MOST_URL_BYTES {
        Err(Refused::LongUrl)
    } else if payload.len() > MOST_PAYLOAD_BYTES {
        Err(Refused::LargeMetadata)
    } else {
        Ok(())
    }
}

/// A date in seconds since 1970.
pub(crate) fn date(seconds: u64) -> Time {
    Time::from_micros(seconds.saturating_mul(1_000_000).min(u64::MAX - 1))
}
