//! The handle: requests to the thread that owns the queues.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use tidewatch_core::{PageId, Rate, Span};
use tidewatch_queues::{Figures, Input, Worth};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::engine::{Act, Engine, Lent, date};
use crate::names::crawl_name;
use crate::tables::Tables;
use crate::{KeeperError, Refused, open};

/// Requests that wait for the thread; further ones wait for their turn.
const MOST_WAITING: usize = 4_096;

/// Bytes of URLs and payloads after which a part of an answer ends.
const PART_BYTES: usize = 256 << 10;

/// How to keep URLs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Holds all state.
    pub dir: PathBuf,
    /// The order in which URLs are given out.
    pub order: Order,
    /// Cache of the tables' blocks, bytes.
    pub cache: u64,
}

/// The order in which URLs are given out.
#[derive(Clone, Debug)]
pub enum Order {
    /// The dates that clients give.
    Strict,
    /// A policy.
    Managed {
        /// Its name.
        policy: String,
        /// All its randomness follows from it.
        seed: u64,
        /// URLs per second.
        budget: Rate,
    },
}

/// A URL that a client puts.
#[derive(Clone, Debug)]
pub struct Item {
    /// The crawl; blank for the usual one.
    pub crawl: String,
    /// The queue; empty for the URL's host.
    pub key: String,
    /// The URL, as it will be given out.
    pub url: String,
    /// Whether it was discovered or fetched.
    pub said: Said,
    /// Kept with it, and given out with it.
    pub payload: Vec<u8>,
    /// Facts for the policy.
    pub told: Option<Box<Telling>>,
}

/// Whether a client has discovered or fetched a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It exists.
    Discovered,
    /// It was fetched and is due again at this second since 1970; 0 for never.
    Fetched(u64),
}

/// Facts for a policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telling {
    /// Importance.
    pub weight: Option<f64>,
    /// Clicks since the URL was last put.
    pub clicks: Option<f64>,
    /// Whether it is watched for new links.
    pub is_source: bool,
    /// The URL that revealed it.
    pub via: Option<String>,
    /// The kind of a hint that it may have changed.
    pub hint: Option<String>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Whether its content changed.
    pub changed: Option<bool>,
    /// A digest of its content.
    pub digest: Option<String>,
    /// URLs that it links to.
    pub links: Vec<String>,
}

/// Result of putting a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Added,
    /// It was known, and its row was replaced.
    Updated,
    /// It was known, and nothing changed.
    Known,
    /// It is refused.
    Refused(Refused),
}

/// A fetcher's request for URLs.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Of which crawl; `None` for any.
    pub crawl: Option<String>,
    /// Of which queue; `None` for any.
    pub key: Option<String>,
    /// From at most this many queues.
    pub queues: u32,
    /// At most this many URLs of each.
    pub urls: u32,
    /// For how long.
    pub lease: Span,
}

/// A URL that a fetcher got.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its queue.
    pub queue: Arc<QueueName>,
    /// The URL.
    pub url: String,
    /// The payload it was put with.
    pub payload: Vec<u8>,
    /// The policy's estimate of its worth.
    pub worth: Option<Worth>,
}

/// URLs that a fetcher got, most of them not read from disk yet.
pub struct Taken {
    keeper: Keeper,
    left: VecDeque<Lent>,
}

impl Taken {
    /// The next of them, some 256 KiB; empty after the last.
    pub async fn next(&mut self) -> Result<Vec<Given>, KeeperError> {
        let (tables, mut left) = (Arc::clone(&self.keeper.tables), std::mem::take(&mut self.left));
        let read = move || {
            let (mut given, mut bytes) = (Vec::new(), 0);
            while bytes < PART_BYTES
                && let Some((queue, page, name, worth)) = left.pop_front()
            {
                // A URL that was dropped in between is not given.
                if let Some(row) = tables.row(queue, page)? {
                    bytes += row.url.len() + row.payload.len();
                    given.push(Given { queue: name, url: row.url, payload: row.payload, worth });
                }
            }
            Ok((given, left))
        };
        let (given, left) = self.keeper.read(read).await?;
        self.left = left;
        Ok(given)
    }
}

/// A queue as clients name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueName {
    /// The crawl.
    pub crawl: String,
    /// The key.
    pub key: String,
}

/// A URL as it is kept.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its queue.
    pub queue: Arc<QueueName>,
    /// The URL.
    pub url: String,
    /// Seconds since 1970 from which it is due; 0 for never again.
    pub due: u64,
    /// When it was first put, seconds since 1970.
    pub put: u64,
    /// The payload it was put with.
    pub payload: Vec<u8>,
}

/// A directory of URLs, and the thread that owns it. Clones are further handles; when the last one is
/// dropped, the thread saves its state and ends.
#[derive(Clone)]
pub struct Keeper {
    requests: Arc<Requests>,
    tables: Arc<Tables>,
}

struct Requests {
    outbox: Option<SyncSender<(Act, OwnedSemaphorePermit)>>,
    places: Arc<Semaphore>,
    failure: Arc<OnceLock<String>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.outbox = None;
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was already told, and all that was answered is on disk.
            let _ = thread.join();
        }
    }
}

impl Keeper {
    /// Opens the directory, or makes a new one, and starts the thread.
    pub fn open(settings: &Settings) -> Result<Keeper, KeeperError> {
        let engine = open::open(settings)?;
        let tables = Arc::clone(engine.tables());
        let (outbox, inbox) = sync_channel(MOST_WAITING);
        let failure = Arc::new(OnceLock::new());
        let tell = Arc::clone(&failure);
        let run = move || {
            if let Err(error) = engine.run(&inbox) {
                let _ = tell.set(error.to_string());
            }
        };
        let thread = std::thread::Builder::new().name("keeper".to_owned()).spawn(run);
        let failed = |source| KeeperError::Io { path: settings.dir.clone(), source };
        let requests = Requests {
            outbox: Some(outbox),
            places: Arc::new(Semaphore::new(MOST_WAITING)),
            failure,
            thread: Mutex::new(Some(thread.map_err(failed)?)),
        };
        Ok(Keeper { requests: Arc::new(requests), tables })
    }

    fn stopped(&self) -> KeeperError {
        let why = self.requests.failure.get().map_or("see its last message", String::as_str);
        KeeperError::Stopped(why.to_owned())
    }

    /// Runs `act` on the thread. The answer comes after its commit.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Engine) -> R + Send + 'static,
    ) -> Result<R, KeeperError> {
        let places = Arc::clone(&self.requests.places);
        let place = places.acquire_owned().await.map_err(|_| self.stopped())?;
        let (tell, told) = oneshot::channel();
        let act: Act = Box::new(move |engine| {
            let answer = act(engine);
            Box::new(move |is_kept| {
                if is_kept {
                    // The client may have gone; the change stands.
                    let _ = tell.send(answer);
                }
            })
        });
        let outbox = self.requests.outbox.as_ref().ok_or_else(|| self.stopped())?;
        outbox.send((act, place)).map_err(|_| self.stopped())?;
        told.await.map_err(|_| self.stopped())
    }

    /// Saves a snapshot, so that the next start need not replay the tape. Dropping the last handle does the
    /// same; whoever cannot wait for all of them calls this.
    pub async fn save(&self) -> Result<(), KeeperError> {
        self.ask(Engine::save).await?
    }

    /// Puts URLs; answers in their order.
    pub async fn put(&self, items: Vec<Item>) -> Result<Vec<Put>, KeeperError> {
        let put = |engine: &mut Engine| items.into_iter().map(|item| engine.put(item)).collect();
        self.ask(put).await
    }

    /// Takes URLs, those of a queue together.
    pub async fn take(&self, ask: Ask) -> Result<Vec<Given>, KeeperError> {
        let (mut taken, mut all) = (self.take_in_parts(ask).await?, Vec::new());
        loop {
            let part = taken.next().await?;
            if part.is_empty() {
                return Ok(all);
            }
            all.extend(part);
        }
    }

    /// The same, read in parts as the fetcher takes them.
    pub async fn take_in_parts(&self, ask: Ask) -> Result<Taken, KeeperError> {
        let taken = self.ask(move |engine| engine.take(&ask)).await?;
        Ok(Taken { keeper: self.clone(), left: taken.into() })
    }

    /// Reads from the tables without keeping others waiting.
    async fn read<R: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<R, KeeperError> + Send + 'static,
    ) -> Result<R, KeeperError> {
        tokio::task::spawn_blocking(read).await.map_err(|_| self.stopped())?
    }

    /// Sets the least time between two answers from a queue, or without a key from any queue that has
    /// none of its own.
    pub async fn set_gap(
        &self,
        crawl: String,
        key: String,
        gap: Span,
    ) -> Result<Result<(), Refused>, KeeperError> {
        self.ask(move |engine| {
            let queue = match &*key {
                "" => None,
                key => Some(engine.open_queue(&crawl, key)?),
            };
            let at = engine.now();
            engine.apply(Input::Gap { at, queue, gap }, "");
            Ok(())
        })
        .await
    }

    /// Closes a queue until a second since 1970.
    pub async fn block(
        &self,
        crawl: String,
        key: String,
        until: u64,
    ) -> Result<Result<(), Refused>, KeeperError> {
        self.ask(move |engine| {
            let queue = engine.open_queue(&crawl, &key)?;
            let at = engine.now();
            engine.apply(Input::Block { at, queue, until: date(until) }, "");
            Ok(())
        })
        .await
    }

    /// Sets the number of done URLs after which a queue is closed; 0 for none.
    pub async fn set_limit(
        &self,
        crawl: String,
        key: String,
        limit: u32,
    ) -> Result<Result<(), Refused>, KeeperError> {
        self.ask(move |engine| {
            let queue = engine.find_queue(&crawl, &key).ok_or(Refused::UnknownQueue)?;
            let at = engine.now();
            engine.apply(Input::Limit { at, queue, limit }, "");
            Ok(())
        })
        .await
    }

    /// Stops or starts giving out URLs.
    pub async fn set_active(&self, is_active: bool) -> Result<(), KeeperError> {
        self.ask(move |engine| {
            let at = engine.now();
            engine.apply(Input::Active { at, is_active }, "");
        })
        .await
    }

    /// Whether URLs are given out.
    pub async fn is_active(&self) -> Result<bool, KeeperError> {
        self.ask(|engine| engine.queues().is_active()).await
    }

    /// Drops a queue; returns how many URLs it had.
    pub async fn drop_queue(&self, crawl: String, key: String) -> Result<u64, KeeperError> {
        self.ask(move |engine| engine.drop_queue(&crawl, &key)).await
    }

    /// Drops a crawl; returns how many URLs it had.
    pub async fn drop_crawl(&self, crawl: String) -> Result<u64, KeeperError> {
        self.ask(move |engine| engine.drop_crawl(&crawl)).await
    }

    /// Drops URLs that were put more than `days` ago; returns how many.
    pub async fn purge(&self, crawl: String, key: String, days: u32) -> Result<u64, KeeperError> {
        let (mut dropped, mut from) = (0, Some(PageId(0)));
        let age = Span::DAY.times(days.into());
        while let Some(at) = from {
            let (crawl, key) = (crawl.clone(), key.clone());
            let some =
                self.ask(move |engine| engine.purge(&crawl, &key, engine.now() - age, at)).await?;
            (dropped, from) = (dropped + some.0, some.1);
        }
        Ok(dropped)
    }

    /// The names of all crawls.
    pub async fn crawls(&self) -> Result<Vec<String>, KeeperError> {
        self.ask(|engine| engine.queues().crawls().map(str::to_owned).collect()).await
    }

    /// Keys of queues, from a position on.
    pub async fn queues(
        &self,
        crawl: String,
        start: usize,
        size: usize,
        with_idle: bool,
    ) -> Result<Vec<String>, KeeperError> {
        self.ask(move |engine| {
            engine.tick();
            let now = engine.now();
            let queues = engine.queues();
            let Some(crawl) = queues.crawl(crawl_name(&crawl)) else { return Vec::new() };
            let all = queues.queues(crawl);
            let wanted = all.filter(|&(_, queue)| with_idle || queues.is_in_use(queue, now));
            wanted.skip(start).take(size).map(|(key, _)| key.to_owned()).collect()
        })
        .await
    }

    /// The figures of a crawl, or of one of its queues.
    pub async fn figures(&self, crawl: String, key: String) -> Result<Figures, KeeperError> {
        self.ask(move |engine| {
            engine.tick();
            let queues = engine.queues();
            match (queues.crawl(crawl_name(&crawl)), &*key) {
                (None, _) => Figures::default(),
                (Some(crawl), "") => queues.crawl_figures(crawl),
                (Some(crawl), key) => {
                    let queue = queues.queue(crawl, key);
                    queue.map(|queue| queues.queue_figures(queue)).unwrap_or_default()
                }
            }
        })
        .await
    }

    /// The row of a URL; `None` if it is not known.
    pub async fn url(
        &self,
        crawl: String,
        key: String,
        url: String,
    ) -> Result<Option<Listed>, KeeperError> {
        let found = self.ask(move |engine| {
            let (queue, page) = engine.find(&crawl, &key, &url)?;
            Some((queue, page, engine.name_of(queue)?))
        });
        let Some((queue, page, name)) = found.await? else { return Ok(None) };
        let tables = Arc::clone(&self.tables);
        let row = self.read(move || tables.row(queue, page)).await?;
        Ok(row.map(|row| Listed::new(name, row)))
    }

    /// All URLs of a crawl, or of one of its queues. The iterator reads the disk.
    pub async fn urls(
        &self,
        crawl: String,
        key: String,
    ) -> Result<impl Iterator<Item = Result<Listed, KeeperError>> + Send + use<>, KeeperError> {
        let names = self.ask(move |engine| engine.queues_of(&crawl, &key)).await?;
        let tables = Arc::clone(&self.tables);
        Ok(names.into_iter().flat_map(move |(queue, name)| {
            let rows = tables.rows(queue);
            rows.map(move |row| row.map(|(_, row)| Listed::new(Arc::clone(&name), row)))
        }))
    }
}

impl Listed {
    fn new(queue: Arc<QueueName>, row: crate::tables::Row) -> Listed {
        let crate::tables::Row { due, put, url, payload } = row;
        Listed { queue, url, due, put: put.into(), payload }
    }
}
