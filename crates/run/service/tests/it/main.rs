//! A service against the living web on loopback.
#![allow(clippy::unwrap_used)]

mod damage;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Rate, Span};
use tidewatch_fetch::Hosts;
use tidewatch_partition::{CrawlError, Ended, Partition, Status, Watch};
use tidewatch_service::{
    Handle, Listen, Observer, PartitionedCrawl, Service, ServiceConfig, ServiceError,
};
use tidewatch_testing::living;
use tidewatch_web::{Habits, Server};
use tokio::runtime::Runtime;

/// A busy machine needs this long to fetch and index a small web.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pages of the small web, most of which three partitions have to find.
const ENOUGH: u64 = 30;

fn web(runtime: &Runtime) -> Server {
    living::serve(runtime, &living::web(4, 40), 1, Habits::faultless())
}

fn config(dir: &Path, web: &Server) -> ServiceConfig {
    let mut config = ServiceConfig::new(dir);
    let seed = |name: &str| CanonicalUrl::parse(&format!("http://{name}/")).unwrap();
    config.seeds = web.names().iter().map(|(name, _)| seed(name)).collect();
    config.hosts = Some(Hosts::of(web.names().iter()));
    config.crawl.allow_private = true;
    config.crawl.budget = Rate::per_second(100.0).unwrap();
    config.crawl.politeness.least_gap = Span::from_micros(20_000);
    config
}

fn wait_until(is_done: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_done() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_running_service_answers_and_stops_and_resumes() {
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    let web = web(&runtime);
    let mut service = Service::open(&config(dir.path(), &web)).unwrap();
    let handle = service.handle();
    let thread = std::thread::spawn(move || (service.run(), service));
    wait_until(|| handle.search("water", 5).unwrap().total >= 10);
    let status = handle.status().unwrap();
    assert!(status.tally.held >= 10, "{status:?}");
    let hit = handle.search("water", 1).unwrap().hits.remove(0);
    let url = CanonicalUrl::parse(&hit.url).unwrap();
    let known = handle.why(&url).unwrap().unwrap();
    assert!(known.copy.is_some_and(|copy| copy.visits >= 1));
    let elsewhere = CanonicalUrl::parse("http://nowhere.example/").unwrap();
    assert!(handle.why(&elsewhere).unwrap().is_none());
    let twice = Rate::per_second(200.0).unwrap();
    assert!(handle.what_if(twice).unwrap().is_some_and(|found| found.budget > 199.0));
    handle.stop();
    let (ended, service) = thread.join().unwrap();
    assert_eq!(ended.unwrap(), Ended::Told);
    let held = service.status().tally.held;
    drop(service);
    assert!(matches!(handle.status(), Err(ServiceError::NotRunning)));
    // The directory alone is enough to go on, and to search without crawling.
    let again = Service::open(&ServiceConfig { seeds: Vec::new(), ..config(dir.path(), &web) });
    assert_eq!(again.unwrap().status().tally.held, held);
    let mut reading = Service::open_to_read(&ServiceConfig::new(dir.path())).unwrap();
    let handle = reading.handle();
    let asker = std::thread::spawn(move || {
        let found = (handle.search("water", 5).unwrap().total, handle.status().unwrap().pages);
        handle.stop();
        found
    });
    assert_eq!(reading.run().unwrap(), Ended::Told);
    let (found, pages) = asker.join().unwrap();
    assert!(found >= 10 && pages >= 40, "{found} found of {pages}");
}

/// What searchers see of every page that has one of some common words.
fn contents(handle: &Handle) -> BTreeSet<(String, String, String, i64, String)> {
    let words = ["water", "the", "city", "harbour", "council", "river", "market"];
    let hits = words.iter().flat_map(|word| handle.search(word, 200).unwrap().hits);
    hits.map(|hit| {
        let snippet = hit.snippet.text();
        (hit.url, hit.title, hit.language, hit.changed_s, snippet)
    })
    .collect()
}

#[test]
fn a_stored_page_is_parsed_once_and_its_index_equals_a_rebuilt_one() {
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    let web = web(&runtime);
    let mut service = Service::open(&config(dir.path(), &web)).unwrap();
    let handle = service.handle();
    let thread = std::thread::spawn(move || (service.run(), service));
    wait_until(|| handle.search("water", 50).unwrap().total >= 20);
    handle.stop();
    let (ended, mut service) = thread.join().unwrap();
    ended.unwrap();
    let health = service.finish(None).unwrap();
    assert!(health.put >= 20 && health.read_back == 0, "{health:?}");
    let live = contents(&handle);
    assert!(live.len() >= 20, "{live:?}");
    drop(service);
    std::fs::remove_dir_all(dir.path().join("index")).unwrap();
    let mut rebuilt = Service::open_to_read(&ServiceConfig::new(dir.path())).unwrap();
    let handle = rebuilt.handle();
    let reader = handle.clone();
    let thread = std::thread::spawn(move || (rebuilt.run(), rebuilt));
    wait_until(|| contents(&reader).len() >= live.len());
    handle.stop();
    let mut rebuilt = thread.join().unwrap().1;
    let health = rebuilt.finish(None).unwrap();
    assert!(health.read_back >= health.put && health.put >= 20, "{health:?}");
    assert_eq!(contents(&handle), live);
}

#[test]
fn a_service_ends_by_time_and_by_fetches() {
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    let web = web(&runtime);
    let by_time = ServiceConfig {
        stop_after: Some(Duration::from_millis(300)),
        index: false,
        ..config(dir.path(), &web)
    };
    let mut service = Service::open(&by_time).unwrap();
    assert!(matches!(service.handle().search("x", 1), Err(ServiceError::NoIndex)));
    assert_eq!(service.run().unwrap(), Ended::Time);
    drop(service);
    let by_fetches = ServiceConfig { stop_after_fetches: Some(5), ..config(dir.path(), &web) };
    assert_eq!(Service::open(&by_fetches).unwrap().run().unwrap(), Ended::Fetches);
}

#[test]
fn what_cannot_start_is_said_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let error = |config: &ServiceConfig| {
        Service::open(config).and_then(|mut service| service.run()).unwrap_err()
    };
    let no_seed = error(&ServiceConfig::new(dir.path()));
    assert!(matches!(no_seed, ServiceError::NoSeed(_)), "{no_seed}");
    let mut unknown = ServiceConfig::new(&dir.path().join("other"));
    unknown.crawl.policy = "best".to_owned();
    let unknown = error(&unknown);
    assert!(matches!(unknown, ServiceError::Crawl(CrawlError::UnknownPolicy(_))), "{unknown}");
    let mut open = ServiceConfig::new(&dir.path().join("third"));
    open.listen = Some(Listen::at("0.0.0.0:0".parse().unwrap()));
    let open = error(&open);
    assert!(matches!(open, ServiceError::Server(_)), "{open}");
    let nothing = dir.path().join("nothing");
    let none = tidewatch_service::read_status(&nothing).unwrap_err();
    assert!(matches!(none, ServiceError::NoCrawl(_)), "{none}");
    let none = Service::open_to_read(&ServiceConfig::new(&nothing)).err().unwrap();
    assert!(matches!(none, ServiceError::NoCrawl(_)) && !nothing.exists(), "{none}");
}

/// Collects the URLs of stored pages, and stops the crawl when there are enough.
#[derive(Default)]
struct Stored {
    urls: HashSet<String>,
    stop: Arc<AtomicBool>,
}

impl Watch for Stored {
    fn stored(&mut self, partition: &Partition, pages: &[PageId]) {
        self.urls.extend(pages.iter().map(|&page| partition.address(page).unwrap().into_string()));
    }
}

impl Observer for Stored {
    fn progress(&mut self, status: &Status) {
        self.stop.store(status.tally.held >= ENOUGH, Ordering::Relaxed);
    }
}

#[test]
fn several_partitions_crawl_together_and_refuse_what_they_cannot_do() {
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    let web = web(&runtime);
    let several = ServiceConfig {
        partitions: Some(3),
        stop_after: Some(PATIENCE),
        ..config(dir.path(), &web)
    };
    let mut crawl = PartitionedCrawl::open(&several).unwrap();
    let mut stored = Stored { stop: crawl.stop_flag(), ..Stored::default() };
    assert_eq!(crawl.run(&mut stored).unwrap(), Ended::Told, "{} stored", stored.urls.len());
    let held = crawl.status().tally.held;
    assert_eq!(stored.urls.len() as u64, held, "every page held was told to be stored");
    drop(crawl);
    assert_eq!(tidewatch_service::read_status(dir.path()).unwrap().tally.held, held);
    assert!(tidewatch_service::replay(dir.path()).unwrap().decisions >= ENOUGH);
    let url = CanonicalUrl::parse(stored.urls.iter().next().unwrap()).unwrap();
    let owner = tidewatch_service::look_at_owner(dir.path(), &url).unwrap();
    assert!(owner.why(&url).unwrap().is_some());
    drop(owner);
    let refused = [
        Service::open(&config(dir.path(), &web)).err(),
        Service::open_to_read(&ServiceConfig::new(dir.path())).err(),
        tidewatch_service::look(dir.path(), "what-if").err(),
        tidewatch_service::Export::open(dir.path()).err(),
    ];
    for error in refused {
        assert!(matches!(error, Some(ServiceError::Several { .. })), "{error:?}");
    }
    let other = PartitionedCrawl::open(&ServiceConfig { partitions: Some(2), ..several }).err();
    assert!(other.unwrap().to_string().contains("--partitions 3"));
}
