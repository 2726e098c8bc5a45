//! A service against the living web on loopback.
#![allow(clippy::unwrap_used)]

mod damage;
mod figures;
mod repair;

use std::collections::{BTreeSet, HashSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Rate, Span};
use tidewatch_fetch::Hosts;
use tidewatch_partition::hints::Sender;
use tidewatch_partition::{CrawlError, Ended, Partition, Watch};
use tidewatch_service::{
    Export, ExportedPage, Handle, Listen, Observer, Service, ServiceConfig, ServiceError,
};
use tidewatch_testing::living;
use tidewatch_web::{WebHabits, WebServer};
use tokio::runtime::Runtime;

/// A busy machine needs this long to fetch and index a small web.
const PATIENCE: Duration = Duration::from_mins(1);

fn web(runtime: &Runtime) -> WebServer {
    living::serve(runtime, &living::web(4, 40), 1, WebHabits::faultless())
}

fn config(dir: &Path, web: &WebServer) -> ServiceConfig {
    let mut config = ServiceConfig::new(dir);
    let seed = |name: &str| CanonicalUrl::parse(&format!("http://{name}/")).unwrap();
    config.seeds = web.names().iter().map(|(name, _)| seed(name)).collect();
    config.hosts = Some(Hosts::of(web.names().iter()));
    config.crawl.allow_private = true;
    config.crawl.budget = Rate::per_second(100.0).unwrap();
    config.crawl.politeness.least_gap = Span::from_micros(20_000);
    config.crawl.revisit.usual = Span::ZERO;
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

/// Collects the URLs of stored pages.
#[derive(Default)]
struct Stored(HashSet<String>);

impl Watch for Stored {
    fn stored(&mut self, partition: &Partition, pages: &[PageId]) {
        self.0.extend(pages.iter().map(|&page| partition.address(page).unwrap().into_string()));
    }
}

impl Observer for Stored {}

/// The body of an answer of the service's server.
fn get(at: SocketAddr, path: &str) -> String {
    let (head, body) = ask(at, path);
    assert!(head.starts_with("HTTP/1.1 200") || head.starts_with("HTTP/1.1 303"), "{path}: {head}");
    body
}

/// An answer of the service's server: what precedes the body, and the body.
fn ask(at: SocketAddr, path: &str) -> (String, String) {
    let mut socket = TcpStream::connect(at).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// A crawl in three partitions has all that a crawl in one has: index, search page, clicks, dashboard,
/// API, export, what-if, `serve`.
#[test]
fn several_partitions_do_all_that_one_does() {
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    let web = web(&runtime);
    let several = ServiceConfig {
        partitions: Some(3),
        listen: Some(Listen::at("127.0.0.1:0".parse().unwrap())),
        ..config(dir.path(), &web)
    };
    let mut service = Service::open(&several).unwrap();
    let (handle, at) = (service.handle(), service.address().unwrap());
    let thread = std::thread::spawn(move || {
        let mut stored = Stored::default();
        let ended = service.run_observed(&mut stored);
        (ended.unwrap(), stored, service)
    });
    wait_until(|| handle.search("water", 50).unwrap().total >= 20);
    let hits = handle.search("water", 50).unwrap().hits;
    let owners: HashSet<u32> = hits.iter().map(|hit| hit.page.partition()).collect();
    assert!(owners.len() > 1, "results come from several partitions: {owners:?}");
    for hit in &hits {
        let url = CanonicalUrl::parse(&hit.url).unwrap();
        assert!(handle.why(&url).unwrap().unwrap().copy.is_some(), "{url}");
        assert!(get(at, &format!("/api/why?url={url}")).contains("\"price\""));
    }
    let clicks = |url: &str| {
        let told = get(at, &format!("/api/why?url={url}"));
        let told: Value = serde_json::from_str(&told).unwrap();
        told["value"]["clicks_per_s"].as_f64()
    };
    let before = hits.iter().filter_map(|hit| Some((hit, clicks(&hit.url)?)));
    let before: Vec<_> = before.collect();
    // A click on a page of each partition reaches the policy of its owner.
    let shown = get(at, "/search?q=water");
    let links: Vec<&str> = shown.split("href=\"/go?t=").skip(1).collect();
    assert!(links.len() >= 5, "{shown}");
    for link in &links {
        get(at, &format!("/go?t={}", link.split('"').next().unwrap()));
    }
    let hosts = get(at, "/dashboard/hosts");
    assert!(web.names().iter().all(|(name, _)| hosts.contains(name)), "{hosts}");
    for path in ["/dashboard", "/dashboard/sources", "/dashboard/rules", "/metrics", "/status.json"]
    {
        get(at, path);
    }
    let status = handle.status().unwrap();
    assert!(status.hosts == 4 && status.tally.held >= 20 && status.price.is_some(), "{status:?}");
    assert!((status.budget_per_s - 100.0).abs() < 1e-6, "{status:?}");
    // The ledger may divide the budget anew between the answers of two partitions: ask again then.
    let ask = |_| handle.what_if(Rate::per_second(50.0).unwrap()).unwrap().unwrap();
    let halves: Vec<_> = (0..20).map(ask).collect();
    assert!(halves.iter().any(|half| (half.budget - 50.0).abs() < 1e-6), "{halves:?}");
    let seed = CanonicalUrl::parse("http://unknown.example/seed").unwrap();
    handle.add_seeds(vec![seed.clone()]).unwrap();
    assert!(handle.why(&seed).unwrap().is_some());
    // A hint about a page of each partition, a page that is new, and one that no seed's host has.
    let pages = hits.iter().map(|hit| CanonicalUrl::parse(&hit.url).unwrap());
    let strange = ["http://unknown.example/new", "http://strange.example/"];
    let pages = pages.chain(strange.map(|url| CanonicalUrl::parse(url).unwrap())).collect();
    let received = handle.take_hints(Sender::default(), pages).unwrap();
    assert_eq!((received.new, received.dropped, received.refused), (1, 1, 0), "{received:?}");
    assert_eq!((received.hinted + received.waiting) as usize, hits.len(), "{received:?}");
    let hinted: Value = serde_json::from_str(&get(at, "/api/hints")).unwrap();
    let hinted = hinted["hints"].as_array().unwrap();
    assert!(hinted.iter().any(|hint| hint["kind"] == "push:api"), "{hinted:?}");
    assert!(get(at, "/dashboard/hints").contains("push:api"));
    // The search log is read every two seconds. Without clicks no page is thought to be clicked more often.
    wait_until(|| {
        let heard = before.iter().filter(|(hit, before)| clicks(&hit.url) > Some(*before));
        heard.map(|(hit, _)| hit.page.partition()).collect::<HashSet<u32>>().len() > 1
    });
    handle.stop();
    let (ended, stored, mut service) = thread.join().unwrap();
    assert_eq!(ended, Ended::Told);
    let held = service.status().tally.held;
    assert_eq!(stored.0.len() as u64, held, "every page held was told to be stored");
    service.finish(None);
    drop(service);
    check_at_rest(dir.path(), held, links.len());
    let other = Service::open(&ServiceConfig { partitions: Some(2), listen: None, ..several });
    assert!(other.err().unwrap().to_string().contains("--partitions 3"));
}

/// The files of a crawl in three partitions after its end.
fn check_at_rest(dir: &Path, held: u64, clicks: usize) {
    assert_eq!(tidewatch_service::read_status(dir).unwrap().tally.held, held);
    assert!(tidewatch_service::replay(dir).unwrap().decisions >= held);
    let looked = tidewatch_service::look(dir).unwrap();
    assert!(looked.what_if(looked.budget()).is_some());
    drop(looked);
    let export = Export::open(dir).unwrap();
    let pages: Vec<ExportedPage> = export.pages().map(Result::unwrap).collect();
    let numbers: Vec<u32> = pages.iter().map(|page| page.page.0).collect();
    assert_eq!(numbers, (0..pages.len() as u32).collect::<Vec<_>>(), "numbered through");
    let urls: HashSet<&str> = pages.iter().map(|page| page.url.as_str()).collect();
    assert_eq!(urls.len(), pages.len());
    assert_eq!(pages.iter().filter(|page| page.copy.is_some()).count() as u64, held);
    for file in pages.iter().filter_map(|page| page.archive.as_ref()) {
        assert!(dir.join(file).is_file(), "{file}");
    }
    assert!(
        export
            .links()
            .map(Result::unwrap)
            .all(|(from, to)| from.index().max(to.index()) < pages.len())
    );
    assert!(export.visits().count() as u64 >= held);
    let trace = export.trace().unwrap();
    assert_eq!(trace.pages.len(), pages.len());
    let counted = trace.clicks.iter().flatten().map(|row| row.count).sum::<f64>();
    assert!(counted > 0.0 && counted <= clicks as f64, "{counted} clicks of {clicks}");
    let clicked: HashSet<&str> =
        trace.clicks.iter().flatten().map(|row| &*trace.pages[row.page as usize].url).collect();
    assert!(clicked.len() > 1, "{clicked:?}");
    let mut reading = Service::open_to_read(&ServiceConfig::new(dir)).unwrap();
    let handle = reading.handle();
    let asker = std::thread::spawn(move || {
        let found = handle.search("water", 5).unwrap().total;
        let known = handle.status().unwrap().pages;
        let half = handle.what_if(Rate::per_second(50.0).unwrap()).unwrap();
        handle.stop();
        (found, known, half)
    });
    assert_eq!(reading.run().unwrap(), Ended::Told);
    let (found, known, half) = asker.join().unwrap();
    assert!(found >= 20 && known as usize == pages.len() && half.is_some());
}
