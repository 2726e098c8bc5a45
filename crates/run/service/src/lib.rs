//! A crawl with its search index, clicks and server, as one object that a program can embed.
//!
//! # The life of a service
//!
//! [`Service::open`] opens or creates the crawl's directory, adds the seeds, starts the indexer and,
//! if asked, the server. [`Service::run`] crawls on the calling thread, or on one thread for each of
//! several partitions, until its time is up, its
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
//! A crawl on several machines runs a [`NodeService`] on each of them.
//!
//! # What it is not
//!
//! It parses no arguments and prints nothing: the `tidewatch` command does.

mod check;
mod clicks;
mod cluster;
mod config;
mod descriptors;
mod error;
mod export;
mod files;
mod follow;
mod handle;
mod hearer;
mod repair;
mod search;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidewatch_partition::{Clock, Ended, Net, Partition, Partitions, Status, Stop, Watch};
use tidewatch_push::{Push, PushOptions};
use tidewatch_search::clicks::Desk;
use tidewatch_search::{IndexHealth, MOST_TEXT, Searcher};
use tidewatch_server::ask::{self, Asker};
use tidewatch_server::{Extra, Finder, Options, Server};
use tokio::runtime::{self, Runtime};

pub use self::check::{CheckedPart, Problem, Remedy, check};
use self::clicks::ClickReader;
pub use self::cluster::{NodeService, NodeServiceConfig, nodes_table, partitions_table, summary};
pub use self::config::{Listen, Publishers, ServiceConfig};
use self::descriptors::Uses;
pub use self::descriptors::{Descriptors, raise_open_files};
pub use self::error::ServiceError;
pub use self::export::{Export, ExportedPage, ExportedVisit};
pub use self::files::{
    RulesAnswer, WhatIfAnswer, WhyAnswer, decide, import_clicks, label, labels, look, read_status,
    replay, rules, what_if, why,
};
use self::follow::{Common, Follow, Part, Whole};
pub use self::handle::Handle;
pub use self::repair::{repair, repaired_dir};
use self::search::Search;
pub use tidewatch_server::rule_table;

/// How long a service that only reads waits for a question.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long requests under way may take to end when the service is dropped.
const LAST_WAIT: Duration = Duration::from_millis(100);
/// How long a crawl that ends waits until its parsed pages are indexed. The next start reads those
/// left back from the archive.
const LAST_FEED: Duration = Duration::from_secs(10);

/// Follows a service while it runs. Every method does nothing by default. Partitions take turns to
/// call it.
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

/// A crawl with its index, clicks and server, in one partition or in several.
pub struct Service {
    crawl: Partitions,
    dir: PathBuf,
    /// `None` if the service only reads.
    net: Option<Arc<Net>>,
    descriptors: Option<Descriptors>,
    stop: Stop,
    // Dropped before the index, which ends when all its feeders are gone.
    parts: Vec<Part>,
    whole: Whole,
    push: Option<Push>,
    handle: Handle,
    runtime: runtime::Handle,
    // Dropped last: the server's tasks run on it.
    _own_runtime: Option<OwnRuntime>,
}

impl Service {
    /// Opens a crawl, or starts one where there is none.
    pub fn open(config: &ServiceConfig) -> Result<Service, ServiceError> {
        let (own, runtime) = runtime_of(config)?;
        let mut config = config.clone();
        let descriptors = claim(&mut config)?;
        let config = &config;
        let (dir, count, pace) = (&config.dir, config.partitions, config.pace);
        let mut crawl = Partitions::open(dir, &config.crawl, count, pace, now_micros())?;
        config.seeds.iter().try_for_each(|seed| crawl.seed(seed))?;
        config.crawl.topic.urls().try_for_each(|example| crawl.seed(&example))?;
        let net = net_of(config, &runtime)?;
        Self::assemble(config, crawl, Some(net), own, runtime, Some(descriptors))
    }

    /// Opens a crawl to search and serve it. Nothing is fetched and its history stays as it is; an
    /// index that is missing is made from the archive.
    pub fn open_to_read(config: &ServiceConfig) -> Result<Service, ServiceError> {
        let (own, runtime) = runtime_of(config)?;
        let crawl = look(&config.dir)?;
        Self::assemble(config, crawl, None, own, runtime, None)
    }

    fn assemble(
        config: &ServiceConfig,
        crawl: Partitions,
        net: Option<Arc<Net>>,
        own: Option<OwnRuntime>,
        runtime: runtime::Handle,
        descriptors: Option<Descriptors>,
    ) -> Result<Service, ServiceError> {
        let dirs = Partitions::dirs(&config.dir)?;
        let open = || Search::open(&config.dir, &dirs, &config.crawl);
        let (search, feeders) = config.index.then(open).transpose()?.unzip();
        let searcher = search.as_ref().map(Search::searcher);
        let (asker, questions) = ask::channel(dirs.len());
        let push = push_of(config, net.as_deref(), &asker, &runtime, descriptors)?;
        let publishers = push.as_ref().map(hearer::publishers);
        let server = server_of(config, search.as_ref(), &asker, &runtime, descriptors, publishers)?;
        let mut feeders = feeders.unwrap_or_default().into_iter();
        let learns = config.learn_from_clicks && net.is_some();
        let mut parts = Vec::with_capacity(dirs.len());
        for (crawl, questions) in crawl.parts().iter().zip(questions) {
            let reader = || ClickReader::open(&config.dir, crawl, searcher.clone());
            let clicks = learns.then(reader).transpose()?;
            parts.push(Part { feeder: feeders.next(), clicks, questions });
        }
        let stop = Stop {
            after: config.stop_after,
            fetches: config.stop_after_fetches,
            flag: Arc::new(AtomicBool::new(false)),
            once: config.once.then(Arc::default),
            ..Stop::default()
        };
        let handle = Handle::new(asker, Arc::clone(&stop.flag), searcher, runtime.clone());
        let history =
            crawl.parts().first().map(Partition::history).transpose()?.unwrap_or_default();
        let (dir, whole) = (config.dir.clone(), Whole::new(server, search, history));
        Ok(Service {
            crawl,
            dir,
            net,
            descriptors,
            stop,
            parts,
            whole,
            push,
            handle,
            runtime,
            _own_runtime: own,
        })
    }

    /// Asks and stops the service from other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Where the server listens, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.whole.server.as_ref().map(|server| server.address)
    }

    /// Where publishers are listened to, if they are.
    pub fn publishers_at(&self) -> Option<SocketAddr> {
        self.push.as_ref().map(Push::address)
    }

    /// What the limit of open files allows; `None` if the service only reads.
    pub const fn descriptors(&self) -> Option<Descriptors> {
        self.descriptors
    }

    /// The crawl, while the service does not run.
    pub fn crawl(&mut self) -> &mut Partitions {
        &mut self.crawl
    }

    /// The crawl's figures, while the service does not run.
    pub fn status(&self) -> Status {
        self.crawl.status()
    }

    /// Finds pages and logs searches and clicks, if there is an index.
    pub fn searcher(&self) -> Option<(Searcher, Arc<Desk>)> {
        let search = self.whole.search.as_ref()?;
        Some((search.searcher(), search.desk()))
    }

    /// Stops the service as cleanly on SIGINT (Ctrl-C) and SIGTERM as [`Handle::stop`] does.
    pub fn stop_on_signals(&self) {
        let flag = Arc::clone(&self.stop.flag);
        self.runtime.spawn(async move {
            use tokio::signal::unix::{SignalKind, signal};
            let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => if interrupted.is_err() { return },
                _ = terminate.recv() => {}
            }
            flag.store(true, Ordering::Relaxed);
        });
    }

    /// Runs until told to stop, and says why it ended.
    pub fn run(&mut self) -> Result<Ended, ServiceError> {
        self.run_observed(&mut Nobody)
    }

    /// The same, followed by an observer.
    pub fn run_observed(
        &mut self,
        observer: &mut (dyn Observer + Send),
    ) -> Result<Ended, ServiceError> {
        let Some(net) = &self.net else { return Ok(self.read(observer)) };
        if self.crawl.pages() == 0 {
            return Err(ServiceError::NoSeed(self.dir.clone()));
        }
        let common = Common::new(&mut self.whole, observer, self.crawl.parts());
        let follow = |part| Follow { part, common: &common };
        let mut watches: Vec<Follow<'_, '_>> = self.parts.iter_mut().map(follow).collect();
        let ended = self.crawl.run(net, &self.runtime, &self.stop, &mut watches)?;
        let status = self.crawl.status();
        self.whole.sample_last(&status);
        if let Some(first) = self.crawl.parts_mut().first_mut() {
            self.whole.store_history(first);
            first.sync()?;
        }
        Ok(ended)
    }

    /// Answers questions and feeds the index until told to stop.
    fn read(&mut self, observer: &dyn Observer) -> Ended {
        // The figures that the crawl wrote last; one that never ran has none.
        let status = Status::read(&self.dir).unwrap_or_else(|_| self.crawl.status());
        let clocks: Vec<Clock> = self.crawl.parts().iter().map(Clock::of).collect();
        let patience = PATIENCE / self.parts.len() as u32;
        while !self.stop.flag.load(Ordering::Relaxed) {
            let crawl = self.crawl.parts_mut().iter_mut();
            for ((crawl, part), clock) in crawl.zip(&mut self.parts).zip(&clocks) {
                part.questions.wait_and_answer(crawl, clock.now(), patience);
                part.feed(crawl);
            }
            self.whole.publish(status.clone(), false, observer.extra());
        }
        Ended::Told
    }

    /// Publishes final figures and commits the index. The server goes on until the service is
    /// dropped.
    pub fn finish(&mut self, extra: Option<Extra>) -> Option<IndexHealth> {
        if self.net.is_some() {
            let until = Instant::now() + LAST_FEED;
            let parts = self.crawl.parts().iter().zip(&mut self.parts);
            parts.for_each(|(crawl, part)| part.drain(crawl, until));
        }
        self.parts.iter_mut().for_each(|part| part.feeder = None);
        let health = self.whole.search.as_mut().and_then(Search::finish);
        self.whole.publish(self.crawl.status(), false, extra);
        health
    }
}

/// The listener for publishers, if the settings ask for one.
fn push_of(
    config: &ServiceConfig,
    net: Option<&Net>,
    asker: &Asker,
    runtime: &runtime::Handle,
    descriptors: Option<Descriptors>,
) -> Result<Option<Push>, ServiceError> {
    let (Some(Publishers { address, indexnow, websub }), Some(net)) = (&config.publishers, net)
    else {
        return Ok(None);
    };
    let (address, indexnow, websub) = (*address, *indexnow, websub.clone());
    let gap = Duration::from_micros(config.crawl.politeness.least_gap.as_micros());
    let connections = descriptors.map_or(usize::MAX, |descriptors| descriptors.publishers);
    let file = config.dir.join("push.json");
    let options = PushOptions { address, indexnow, websub, file, gap, connections };
    let _inside = runtime.enter();
    Ok(Some(Push::open(&options, &net.fetcher(), hearer::Crawl::new(asker.clone()))?))
}

/// The server, if the settings ask for one.
fn server_of(
    config: &ServiceConfig,
    search: Option<&Search>,
    asker: &Asker,
    runtime: &runtime::Handle,
    descriptors: Option<Descriptors>,
    publishers: Option<tidewatch_server::Publishers>,
) -> Result<Option<Server>, ServiceError> {
    let Some(listen) = &config.listen else { return Ok(None) };
    let options = Options {
        token: listen.token.clone(),
        names: listen.names.clone(),
        is_proxied: listen.is_proxied,
        search: search.map(|search| (Finder::Index(search.searcher()), search.desk())),
        cluster: None,
        publishers,
        reports: Some(config.dir.join("reports")),
        connections: descriptors.map(|descriptors| descriptors.server),
    };
    let _inside = runtime.enter();
    Ok(Some(Server::open(listen.address, asker.clone(), options)?))
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

/// The way to the network, with the text of every document if there is an index.
fn net_of(config: &ServiceConfig, runtime: &runtime::Handle) -> Result<Arc<Net>, ServiceError> {
    let _inside = runtime.enter();
    let net = match &config.hosts {
        Some(hosts) => Net::with_hosts(&config.crawl, hosts.clone())?,
        None => Net::of(&config.crawl)?,
    };
    Ok(Arc::new(net.keep_text(if config.index { MOST_TEXT } else { 0 })))
}

/// Cuts the settings to what the limit of open files allows.
fn claim(config: &mut ServiceConfig) -> Result<Descriptors, ServiceError> {
    let there = Partitions::dirs(&config.dir).map_or(1, |dirs| dirs.len());
    let partitions = there.max(config.partitions.unwrap_or(1) as usize);
    let uses = Uses {
        partitions,
        has_server: config.listen.is_some(),
        has_publishers: config.publishers.is_some(),
        has_index: config.index,
    };
    Descriptors::claim(&mut config.crawl, uses)
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
