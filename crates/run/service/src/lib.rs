//! A crawl with its search index, clicks and server, as one object that a program can embed.
//!
//! # The life of a service
//!
//! [`Service::open`] opens or creates the crawl's directory, adds the seeds, starts the indexer and,
//! if asked, the server. [`Service::run`] crawls on the calling thread until its time is up, its
//! fetches are made or [`Handle::stop`] is called; everything fetched is stored when it returns.
//! Opening the same directory again goes on where it stopped. [`Service::open_to_read`] serves and
//! searches a crawl without fetching anything.
//!
//! # Example
//!
//! ```no_run
//! use std::path::Path;
//! use tidewatch_core::url::CanonicalUrl;
//! use tidewatch_service::{Service, ServiceConfig};
//!
//! let mut config = ServiceConfig::new(Path::new("news"));
//! config.seeds = vec![CanonicalUrl::parse("https://example.com/")?];
//! let mut service = Service::open(&config)?;
//! let handle = service.handle();
//! let crawl = std::thread::spawn(move || service.run());
//! std::thread::sleep(std::time::Duration::from_secs(60));
//! println!("{} pages known", handle.status()?.pages);
//! for hit in handle.search("tide tables", 10)?.hits {
//!     println!("{}", hit.url);
//! }
//! handle.stop();
//! crawl.join().expect("the crawl does not panic")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it is not
//!
//! It parses no arguments and prints nothing: the `tidewatch` command does.

mod check;
mod clicks;
mod config;
mod error;
mod export;
mod files;
mod handle;
mod partitioned;
mod search;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidewatch_core::{PageId, Time};
use tidewatch_parse::document::Parsed;
use tidewatch_partition::{Clock, CrawlError, Ended, Net, Partition, Settled, Status, Stop, Watch};
use tidewatch_search::clicks::Desk;
use tidewatch_search::{IndexHealth, MOST_TEXT, Searcher};
use tidewatch_server::ask::{self, Questions};
use tidewatch_server::{Extra, Figures, Options, Server};
use tokio::runtime::{self, Runtime};

pub use self::check::{CheckedPart, Problem, Remedy, check};
use self::clicks::ClickReader;
pub use self::config::{Listen, ServiceConfig};
pub use self::error::ServiceError;
pub use self::export::{Export, ExportedPage, ExportedVisit};
pub use self::files::{count_partitions, import_clicks, look, look_at_owner, read_status, replay};
pub use self::handle::Handle;
pub use self::partitioned::PartitionedCrawl;
use self::search::Search;

/// How long a service that only reads waits for a question.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long requests under way may take to end when the service is dropped.
const LAST_WAIT: Duration = Duration::from_millis(100);

/// Follows a service while it runs. Every method does nothing by default.
pub trait Observer: Watch {
    /// Figures of its own to show on the dashboard.
    fn extra(&self) -> Option<Extra> {
        None
    }
    /// The crawl's figures, twice a second.
    fn progress(&mut self, _status: &Status) {}
}

/// Follows nothing.
struct Nobody;

impl Watch for Nobody {}
impl Observer for Nobody {}

/// A crawl with its index, clicks and server.
pub struct Service {
    crawl: Partition,
    /// `None` if the service only reads.
    net: Option<Arc<Net>>,
    stop: Stop,
    wiring: Wiring,
    handle: Handle,
    runtime: runtime::Handle,
    // Dropped last: the server's tasks run on it.
    _own_runtime: Option<OwnRuntime>,
}

/// What follows the crawl on behalf of searchers and readers.
struct Wiring {
    search: Option<Search>,
    clicks: Option<ClickReader>,
    server: Option<Server>,
    questions: Questions,
}

impl Service {
    /// Opens a crawl, or starts one where there is none.
    pub fn open(config: &ServiceConfig) -> Result<Service, ServiceError> {
        if count_partitions(&config.dir)? > 1 || config.partitions.is_some_and(|count| count > 1) {
            let what = "an index or a server";
            return Err(ServiceError::Several { dir: config.dir.clone(), what });
        }
        let (own, runtime) = runtime_of(config)?;
        let mut crawl = Partition::open(&config.dir, config.crawl.clone(), now_micros())?;
        if let Some(pace) = config.pace {
            crawl.set_pace(pace);
        }
        let now = Clock::of(&crawl).now();
        config.seeds.iter().try_for_each(|seed| crawl.seed(seed, now))?;
        let net = net_of(config, &runtime, if config.index { MOST_TEXT } else { 0 })?;
        Self::assemble(config, crawl, Some(net), own, runtime)
    }

    /// Opens a crawl to search and serve it. Nothing is fetched and its history stays as it is; an
    /// index that is missing is made from the archive.
    pub fn open_to_read(config: &ServiceConfig) -> Result<Service, ServiceError> {
        let (own, runtime) = runtime_of(config)?;
        let crawl = look(&config.dir, "serve")?;
        Self::assemble(config, crawl, None, own, runtime)
    }

    fn assemble(
        config: &ServiceConfig,
        crawl: Partition,
        net: Option<Arc<Net>>,
        own: Option<OwnRuntime>,
        runtime: runtime::Handle,
    ) -> Result<Service, ServiceError> {
        let dir = &config.dir;
        let search = config.index.then(|| Search::open(dir, &config.crawl)).transpose()?;
        let searcher = search.as_ref().map(|search| search.searcher.clone());
        let clicks = if config.learn_from_clicks && net.is_some() {
            Some(ClickReader::open(dir, &config.crawl, &crawl, searcher.clone())?)
        } else {
            None
        };
        let (asker, questions) = ask::channel();
        let listen = |listen: &Listen| {
            let options = Options {
                token: listen.token.clone(),
                names: listen.names.clone(),
                is_proxied: listen.is_proxied,
                search: search.as_ref().map(|s| (s.searcher.clone(), Arc::clone(&s.desk))),
                reports: Some(dir.join("reports")),
            };
            let _inside = runtime.enter();
            Server::open(listen.address, asker.clone(), options)
        };
        let server = config.listen.as_ref().map(listen).transpose()?;
        let stop = stop_of(config);
        let handle = Handle { asker, stop: Arc::clone(&stop.flag), searcher };
        let wiring = Wiring { search, clicks, server, questions };
        Ok(Service { crawl, net, stop, wiring, handle, runtime, _own_runtime: own })
    }

    /// Asks and stops the service from other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Where the server listens, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.wiring.server.as_ref().map(|server| server.address)
    }

    /// The crawl, while the service does not run.
    pub fn crawl(&mut self) -> &mut Partition {
        &mut self.crawl
    }

    /// The crawl's figures, while the service does not run.
    pub fn status(&self) -> Status {
        self.crawl.status()
    }

    /// Finds pages and logs searches and clicks, if there is an index.
    pub fn searcher(&self) -> Option<(Searcher, Arc<Desk>)> {
        let search = self.wiring.search.as_ref()?;
        Some((search.searcher.clone(), Arc::clone(&search.desk)))
    }

    /// Stops the service as cleanly on SIGINT (Ctrl-C) and SIGTERM as [`Handle::stop`] does.
    pub fn stop_on_signals(&self) {
        stop_on_signals(&self.runtime, Arc::clone(&self.stop.flag));
    }

    /// Runs until told to stop, and says why it ended.
    pub fn run(&mut self) -> Result<Ended, ServiceError> {
        self.run_observed(&mut Nobody)
    }

    /// The same, followed by an observer.
    pub fn run_observed(&mut self, observer: &mut dyn Observer) -> Result<Ended, ServiceError> {
        let Some(net) = &self.net else { return Ok(self.read(observer)) };
        if self.crawl.store().pages() == 0 {
            return Err(ServiceError::NoSeed(self.crawl.store().dir().to_owned()));
        }
        allow_many_sockets();
        let mut watch = Both { wiring: &mut self.wiring, observer };
        let crawl = &mut self.crawl;
        Ok(tidewatch_partition::run(crawl, net, &self.runtime, &self.stop, &mut watch)?)
    }

    /// Answers questions and feeds the index until told to stop.
    fn read(&mut self, observer: &dyn Observer) -> Ended {
        let clock = Clock::of(&self.crawl);
        // The figures that the crawl wrote last; one that never ran has none.
        let dir = self.crawl.store().dir();
        let status = Status::read(dir).unwrap_or_else(|_| self.crawl.status());
        while !self.stop.flag.load(Ordering::Relaxed) {
            self.wiring.questions.wait_and_answer(&mut self.crawl, clock.now(), PATIENCE);
            self.wiring.feed(&self.crawl);
            self.wiring.publish(status.clone(), false, observer.extra());
        }
        Ended::Told
    }

    /// Publishes final figures and commits the index. The server goes on until the service is
    /// dropped.
    pub fn finish(&mut self, extra: Option<Extra>) -> Option<IndexHealth> {
        let health = self.wiring.search.as_mut().and_then(Search::finish);
        self.wiring.publish(self.crawl.status(), false, extra);
        health
    }
}

impl Wiring {
    fn feed(&mut self, crawl: &Partition) {
        if let Some(search) = &mut self.search {
            search.feed(crawl);
        }
    }

    fn publish(&self, status: Status, is_running: bool, extra: Option<Extra>) {
        if let Some(server) = &self.server {
            let index = self.search.as_ref().and_then(Search::health);
            server.publish(Figures { status, index, is_running, extra });
        }
    }
}

/// The service's own parts and the caller's observer, in this order.
struct Both<'b> {
    wiring: &'b mut Wiring,
    observer: &'b mut dyn Observer,
}

impl Watch for Both<'_> {
    fn stored(&mut self, crawl: &Partition, pages: &[PageId]) {
        if let Some(search) = &mut self.wiring.search {
            search.stored(crawl, pages);
        }
        self.observer.stored(crawl, pages);
    }

    fn turn(&mut self, crawl: &mut Partition, now: Time) -> Result<(), CrawlError> {
        self.wiring.questions.answer(crawl, now);
        if let Some(clicks) = &mut self.wiring.clicks {
            clicks.turn(crawl, now)?;
        }
        self.observer.turn(crawl, now)
    }

    fn parsed(&mut self, page: PageId, parsed: Box<Parsed>) {
        if let Some(search) = &mut self.wiring.search {
            search.parsed(page, parsed);
        }
    }

    fn settled(&mut self, crawl: &Partition, settled: Settled, now: Time) {
        if let Some(search) = &mut self.wiring.search {
            search.settled(settled);
        }
        self.observer.settled(crawl, settled, now);
    }

    fn tick(&mut self, crawl: &Partition, now: Time) {
        let status = crawl.status();
        self.observer.tick(crawl, now);
        self.observer.progress(&status);
        self.wiring.feed(crawl);
        self.wiring.publish(status, true, self.observer.extra());
    }

    fn disk(&mut self, is_full: bool) {
        self.observer.disk(is_full);
    }
}

/// A runtime that ends without waiting for requests that do not end; their pages are retried.
struct OwnRuntime(Option<Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Within another runtime a thread must not be blocked.
            match runtime::Handle::try_current() {
                Ok(_) => runtime.shutdown_background(),
                Err(_) => runtime.shutdown_timeout(LAST_WAIT),
            }
        }
    }
}

fn runtime_of(
    config: &ServiceConfig,
) -> Result<(Option<OwnRuntime>, runtime::Handle), ServiceError> {
    if let Some(handle) = &config.runtime {
        return Ok((None, handle.clone()));
    }
    let runtime = Runtime::new().map_err(ServiceError::Threads)?;
    let handle = runtime.handle().clone();
    Ok((Some(OwnRuntime(Some(runtime))), handle))
}

/// The way to the network, with `text_bytes` of every document for an index.
fn net_of(
    config: &ServiceConfig,
    runtime: &runtime::Handle,
    text_bytes: usize,
) -> Result<Arc<Net>, ServiceError> {
    let _inside = runtime.enter();
    let net = match &config.hosts {
        Some(hosts) => Net::with_hosts(&config.crawl, hosts.clone())?,
        None => Net::of(&config.crawl)?,
    };
    Ok(Arc::new(net.keep_text(text_bytes)))
}

fn stop_of(config: &ServiceConfig) -> Stop {
    let (after, fetches) = (config.stop_after, config.stop_after_fetches);
    Stop { after, fetches, flag: Arc::new(AtomicBool::new(false)) }
}

/// Sets the flag on SIGINT and SIGTERM.
fn stop_on_signals(runtime: &runtime::Handle, flag: Arc<AtomicBool>) {
    runtime.spawn(async move {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => if interrupted.is_err() { return },
            _ = terminate.recv() => {}
        }
        flag.store(true, Ordering::Relaxed);
    });
}

/// Raises the limit of open files as far as the system lets this process: every host may keep a
/// connection.
fn allow_many_sockets() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // With fewer the crawl is slower and as good.
    let _ = setrlimit(Resource::Nofile, most);
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Seconds of Unix time.
fn now_s() -> i64 {
    i64::try_from(now().as_secs()).unwrap_or(i64::MAX)
}

/// Microseconds of Unix time.
fn now_micros() -> i64 {
    i64::try_from(now().as_micros()).unwrap_or(i64::MAX)
}
