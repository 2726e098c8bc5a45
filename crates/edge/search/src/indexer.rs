//! The thread that indexes copies.
//!
//! Its queue is bounded, and waiting pages are committed within seconds, however slowly they
//! arrive. Anchor texts are kept, within bounds, until their target is indexed: a page is mostly
//! fetched after the page that links to it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustc_hash::FxHashMap;
use tidewatch_archive::{Record, read_at};
use tidewatch_core::PageKey;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_parse::document::{Wanted, parse_response};
use tidewatch_parse::extract::Extract;
use tidewatch_parse::reading::Scope;

use crate::document::{MOST_ANCHORS, MOST_TEXT, cut};
use crate::feeder::{Put, Task};
use crate::handed::{Handed, Waiting};
use crate::index::COMMIT_AFTER;
use crate::{Feeder, Index, IndexDocument, SearchError, Searcher, Writer};

/// Pages in the queue; others wait as one bit each.
const QUEUE: usize = 4_096;
/// How long the thread sleeps while nothing waits for a commit.
const PAUSE: Duration = Duration::from_secs(1);
/// Most bytes of anchor texts in each of two generations.
const MOST_LINK_WORDS: usize = 16 << 20;
/// Bytes that one target page costs besides its words.
const ENTRY: usize = 64;

/// The indexer's figures.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct IndexHealth {
    /// Searchable pages.
    pub pages: u64,
    /// Pages put into the index since the start.
    pub put: u64,
    /// Pages removed.
    pub removed: u64,
    /// Copies without words to index: feeds, images, pages with `noindex`.
    pub wordless: u64,
    /// Copies read back from the archive and parsed again.
    pub read_back: u64,
    /// Copies that could not be read from the archive.
    pub unreadable: u64,
    /// Commits.
    pub commits: u64,
    /// Longest time from taking a page to its commit, in seconds.
    pub slowest_s: f64,
    /// Why indexing has stopped, if it has.
    pub failed: Option<String>,
}

/// A handle on the indexing thread.
pub struct Indexer {
    searcher: Searcher,
    health: Arc<Mutex<IndexHealth>>,
    thread: Option<JoinHandle<()>>,
}

impl Indexer {
    /// Opens the index in a crawl's directory and starts the thread. The pages come from the
    /// partitions in `parts`, each of which gets a feeder. `memory` bounds the bytes of unwritten
    /// pages.
    pub fn start(
        dir: &Path,
        parts: &[PathBuf],
        memory: usize,
        agent: &str,
    ) -> Result<(Indexer, Vec<Feeder>), SearchError> {
        Self::start_from(0, dir, parts, memory, agent, COMMIT_AFTER)
    }

    /// The same for one partition with an index of its own, in its directory. Changes wait for at most
    /// `patience`: a machine with many indexes should not sync them all the time.
    pub fn start_one(
        dir: &Path,
        partition: u32,
        memory: usize,
        agent: &str,
        patience: Duration,
    ) -> Result<(Indexer, Feeder), SearchError> {
        let parts = [dir.to_owned()];
        let (indexer, feeders) = Self::start_from(partition, dir, &parts, memory, agent, patience)?;
        let none = || SearchError::io(dir)(std::io::ErrorKind::NotFound.into());
        Ok((indexer, feeders.into_iter().next().ok_or_else(none)?))
    }

    /// Starts an indexer of partitions with numbers from `first` on.
    fn start_from(
        first: u32,
        dir: &Path,
        parts: &[PathBuf],
        memory: usize,
        agent: &str,
        patience: Duration,
    ) -> Result<(Indexer, Vec<Feeder>), SearchError> {
        let index = Index::open(&dir.join("index"))?;
        let searcher = index.searcher();
        let writer = index.writer(memory)?.with_patience(patience);
        let mut marks = if index.is_new() { Vec::new() } else { writer.marks() };
        marks.resize(parts.len(), 0);
        let (tasks, queue) = mpsc::sync_channel(QUEUE);
        let waiting = Waiting::new(dir);
        let feeder = |((number, part), up_to): ((u32, &PathBuf), &u64)| {
            let held = writer.held().of(number);
            Feeder::new(tasks.clone(), number, part, Waiting::beside(&waiting), held, *up_to)
        };
        let feeders = (first..).zip(parts).zip(&marks).map(feeder).collect();
        let pages = searcher.pages();
        let health = Arc::new(Mutex::new(IndexHealth { pages, ..IndexHealth::default() }));
        let worker = Worker {
            writer,
            searcher: searcher.clone(),
            agent: agent.to_owned(),
            links: LinkWords::default(),
            health: Arc::clone(&health),
            first,
            marks,
        };
        let run = move || worker.run(&queue);
        let thread = std::thread::Builder::new().name("indexer".into()).spawn(run);
        let thread = Some(thread.map_err(SearchError::io(dir))?);
        Ok((Indexer { searcher, health, thread }, feeders))
    }

    /// A searcher over the committed pages.
    pub fn searcher(&self) -> Searcher {
        self.searcher.clone()
    }

    /// Its figures.
    pub fn health(&self) -> IndexHealth {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Commits what was handed over and ends the thread. The feeders must be dropped first.
    pub fn finish(mut self) -> IndexHealth {
        self.join();
        self.health()
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
            health.failed = Some("the indexer ended unexpectedly".to_owned());
        }
    }
}

struct Worker {
    writer: Writer,
    searcher: Searcher,
    agent: String,
    links: LinkWords,
    health: Arc<Mutex<IndexHealth>>,
    /// The number of the first partition.
    first: u32,
    /// Up to which time each partition has handed over its changes, in microseconds.
    marks: Vec<u64>,
}

impl Worker {
    fn run(mut self, queue: &Receiver<Task>) {
        let done = self.work(queue).and_then(|()| self.commit());
        if let Err(error) = done.and_then(|()| self.writer.finish()) {
            let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
            health.failed = Some(error.to_string());
        }
    }

    fn work(&mut self, queue: &Receiver<Task>) -> Result<(), SearchError> {
        loop {
            match queue.recv_timeout(self.writer.due_in().unwrap_or(PAUSE)) {
                Ok(task) => self.take(task)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if self.writer.due_in() == Some(Duration::ZERO) {
                self.commit()?;
            }
        }
    }

    fn take(&mut self, task: Task) -> Result<(), SearchError> {
        match task {
            Task::Put(put) => self.put(*put)?,
            Task::Remove(page) => {
                self.writer.remove(page);
                self.note(|health| health.removed += 1);
            }
            Task::UpTo(partition, micros) => {
                let mark = &mut self.marks[(partition - self.first) as usize];
                *mark = micros.max(*mark);
            }
        }
        Ok(())
    }

    fn put(&mut self, mut put: Put) -> Result<(), SearchError> {
        let found = if let Some(found) = put.handed.take().and_then(Handed::take) {
            found
        } else if let Ok(record) = read_at(&put.file, put.offset) {
            self.note(|health| health.read_back += 1);
            extract(&record, &put.url, &self.agent)
        } else {
            self.writer.remove(put.page);
            self.note(|health| health.unreadable += 1);
            return Ok(());
        };
        let Extract { title, text: Some(text), language, anchors } = found else {
            self.writer.remove(put.page);
            self.note(|health| health.wordless += 1);
            return Ok(());
        };
        let own = PageKey::of(put.url.as_str());
        for (to, words) in anchors.iter().filter(|(to, _)| *to != own) {
            self.links.add(*to, words);
        }
        let document = IndexDocument { title, text, language, ..self.document(put, own)? };
        self.writer.put(&document)?;
        self.note(|health| health.put += 1);
        Ok(())
    }

    /// What is known of a page besides its words. `own` is its key.
    fn document(&self, put: Put, own: PageKey) -> Result<IndexDocument, SearchError> {
        let Put { page, url, changed_s, sketch, .. } = put;
        let is_held = self.writer.held().has(page);
        let before = if is_held { self.searcher.page(page)? } else { None };
        let linked = self.links.of(own);
        Ok(IndexDocument {
            page,
            host: url.host().to_owned(),
            url: url.into_string(),
            anchors: linked.words.clone(),
            first_seen_s: before.map_or(changed_s, |before| before.first_seen_s),
            changed_s,
            sketch,
            links: linked.links,
            ..IndexDocument::default()
        })
    }

    fn commit(&mut self) -> Result<(), SearchError> {
        let oldest = self.writer.oldest();
        if oldest.is_none() && self.marks == self.writer.marks() {
            return Ok(());
        }
        self.writer.commit(&self.marks)?;
        let took_s = oldest.map_or(0.0, |oldest| oldest.elapsed().as_secs_f64());
        let pages = self.searcher.pages();
        self.note(|health| {
            health.pages = pages;
            health.commits += 1;
            health.slowest_s = health.slowest_s.max(took_s);
        });
        Ok(())
    }

    fn note(&self, change: impl FnOnce(&mut IndexHealth)) {
        change(&mut self.health.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Parses an archived response again.
fn extract(record: &Record, url: &CanonicalUrl, agent: &str) -> Extract {
    let Ok(base) = Base::of(url) else { return Extract::default() };
    let wanted = Wanted { agent, shingling: None, text_bytes: MOST_TEXT, scope: Scope::Content };
    let headers = |name: &str| record.http_headers(name);
    Extract::take(&mut parse_response(&base, headers, record.message().1, &wanted))
}

/// Anchor texts of links to a page.
#[derive(Clone, Debug, Default)]
struct Linked {
    words: String,
    links: u32,
}

/// Anchor texts by target, in two generations: the older one is dropped when the younger is full.
#[derive(Default)]
struct LinkWords {
    young: FxHashMap<PageKey, Linked>,
    old: FxHashMap<PageKey, Linked>,
    bytes: usize,
    none: Linked,
}

impl LinkWords {
    fn add(&mut self, page: PageKey, words: &str) {
        if self.bytes >= MOST_LINK_WORDS {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        let linked = self.young.entry(page).or_insert_with(|| {
            let linked = self.old.remove(&page).unwrap_or_default();
            self.bytes += ENTRY + linked.words.len();
            linked
        });
        linked.links = linked.links.saturating_add(1);
        let words = cut(words, 256);
        let is_new = !linked.words.split('\n').any(|known| known == words);
        if !words.is_empty() && is_new && linked.words.len() + words.len() < MOST_ANCHORS {
            if !linked.words.is_empty() {
                linked.words.push('\n');
            }
            linked.words.push_str(words);
            self.bytes += words.len() + 1;
        }
    }

    fn of(&self, page: PageKey) -> &Linked {
        self.young.get(&page).or_else(|| self.old.get(&page)).unwrap_or(&self.none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_words_are_kept_within_bounds() {
        let mut links = LinkWords::default();
        let key = |n: u32| PageKey::of(&format!("https://a.example/{n}"));
        links.add(key(0), "tide tables");
        links.add(key(0), "tide tables");
        links.add(key(0), "moon");
        assert_eq!(
            (links.of(key(0)).words.as_str(), links.of(key(0)).links),
            ("tide tables\nmoon", 3)
        );
        for n in 1..2_000_000 {
            links.add(key(n % 600_000), "a few words about this and that page");
        }
        assert!(links.bytes <= MOST_LINK_WORDS + MOST_ANCHORS + ENTRY);
        assert!(links.young.len() + links.old.len() < 2 * MOST_LINK_WORDS / ENTRY);
    }
}
