//! Every place that shows a figure shows the same one, and history outlives the process.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;
use tidewatch_core::PageId;
use tidewatch_lab::generate::renewal::{self, Rates};
use tidewatch_partition::Sample;
use tidewatch_service::{Listen, Service, ServiceConfig};
use tidewatch_testing::living;
use tidewatch_web::{WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::{ask, config, get, wait_until};

/// A small web whose figures differ from 0 and 1: every second page changes every ten seconds, some fail, and
/// some have moved.
fn web(runtime: &Runtime) -> WebServer {
    let rates = Rates::Fixed(vec![8_640.0, 1.0]);
    let web = renewal::Config { rates, ..living::web(4, 40) };
    let habits = WebHabits { failure: 0.2, moved: 0.2, ..WebHabits::faultless() };
    living::serve(runtime, &web, 1, habits)
}

/// Crawls the small web for a while, until some pages were visited again.
fn crawl(runtime: &Runtime, dir: &Path, partitions: u32) {
    let web = web(runtime);
    let mut config =
        ServiceConfig { partitions: Some(partitions), listen: Some(listen()), ..config(dir, &web) };
    // Gaps grow with the time of an answer, and a busy machine answers late.
    config.crawl.politeness.most_gap = config.crawl.politeness.least_gap;
    let mut service = Service::open(&config).unwrap();
    let (handle, enough) = (service.handle(), service.status().tally.revisits + 100);
    let thread = std::thread::spawn(move || service.run().unwrap());
    wait_until(|| handle.status().is_ok_and(|status| status.tally.revisits >= enough));
    handle.stop();
    thread.join().unwrap();
}

fn listen() -> Listen {
    Listen::at("127.0.0.1:0".parse().unwrap())
}

/// Serves the crawl in `dir` while `look` looks.
fn serve(dir: &Path, look: impl FnOnce(SocketAddr) + Send) {
    let config = ServiceConfig { listen: Some(listen()), ..ServiceConfig::new(dir) };
    let mut service = Service::open_to_read(&config).unwrap();
    let (handle, at) = (service.handle(), service.address().unwrap());
    std::thread::scope(|scope| {
        let looking = scope.spawn(move || {
            let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                // The first figures are published a moment after the server listens.
                wait_until(|| ask(at, "/status.json").0.starts_with("HTTP/1.1 200"));
                look(at);
            }));
            handle.stop();
            looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        service.run().unwrap();
        looking.join().unwrap();
    });
}

/// The value and the note of a tile of the dashboard.
fn tile<'d>(dashboard: &'d str, label: &str) -> (&'d str, &'d str) {
    let (_, rest) = dashboard.split_once(&format!("<dt>{label}</dt>")).unwrap();
    let within = |class: &str| {
        let (_, rest) = rest.split_once(&format!("<span class=\"{class}\">")).unwrap();
        rest.split_once("</span>").unwrap().0
    };
    (within("value"), within("note"))
}

/// The value of a metric.
fn metric(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("tidewatch_{name} ")));
    line.unwrap_or_else(|| panic!("{name} in {metrics}")).parse().unwrap()
}

/// Figures of one run, wherever they are shown: card, status file, API, metrics, what-if at the current
/// budget.
#[test]
fn every_place_shows_the_same_figures() {
    for partitions in [1, 3] {
        let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
        crawl(&runtime, dir.path(), partitions);
        let file = tidewatch_service::read_status(dir.path()).unwrap();
        assert!(file.failures > 0 && file.failures < file.tally.reasons.values().sum());
        assert!(file.tally.changes > 0, "{file:?}");
        let file = serde_json::to_value(&file).unwrap();
        serve(dir.path(), |at| {
            let status: Value = serde_json::from_str(&get(at, "/status.json")).unwrap();
            for name in ["failures", "tally", "pages", "hosts"] {
                assert_eq!(status[name], file[name], "{name}");
            }
            assert_eq!(status["freshness"]["by"], file["freshness"]["by"]);
            // A number read from a file may differ in its last digit.
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            for name in ["/price", "/freshness/share", "/budget_per_s"] {
                let of = |json: &Value| json.pointer(name).and_then(Value::as_f64).unwrap();
                assert!(close(of(&status), of(&file)), "{name}");
            }
            let share = status["freshness"]["share"].as_f64().unwrap();
            let price = status["price"].as_f64().unwrap();
            let dashboard = get(at, "/dashboard");
            let (shown, note) = tile(&dashboard, "Freshness");
            assert_eq!(shown, format!("{:.1}%", 100.0 * share));
            let margin = status["freshness"]["margin"].as_f64().unwrap();
            let words = format!("± {:.1}% by change rates and random probes", 100.0 * margin);
            assert_eq!(note, words);
            let (failed, _) = tile(&dashboard, "Failed fetches");
            assert_eq!(failed, status["failures"].to_string());
            let metrics = get(at, "/metrics");
            assert!(close(metric(&metrics, "freshness_estimate"), share));
            assert!(close(metric(&metrics, "price"), price));
            let failures: Vec<&str> = metrics
                .lines()
                .filter(|line| line.starts_with("tidewatch_failures_total{"))
                .collect();
            let all: u64 = failures
                .iter()
                .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
                .sum();
            assert_eq!(all, status["failures"].as_u64().unwrap(), "{failures:?}");
            let same: Value = serde_json::from_str(&get(at, "/api/what-if?times=1")).unwrap();
            for column in ["now", "then"] {
                let (shown, known) = (same[column]["price"].as_f64().unwrap(), price);
                assert!(close(shown, known), "price {column}: {shown} and {known}");
                let shown = same[column]["freshness"].as_f64().unwrap();
                assert!(close(shown, share), "freshness {column}: {shown} and {share}");
            }
            let twice: Value = serde_json::from_str(&get(at, "/api/what-if?times=2")).unwrap();
            // Prices are found to a relative 1e-10.
            let (cheaper, fresher) = (&twice["then"]["price"], &twice["then"]["freshness"]);
            assert!(cheaper.as_f64().unwrap() <= price * (1.0 + 1e-9), "{cheaper} above {price}");
            assert!(fresher.as_f64().unwrap() >= share - 1e-9, "{fresher} below {share}");
        });
    }
}

/// A page of the crawl whose visits saw a change, or one whose visits saw none.
fn page_with(dir: &Path, changes: bool) -> String {
    let crawl = tidewatch_service::look(dir).unwrap();
    let part = &crawl.parts()[0];
    let is_wanted = |page: &PageId| {
        let copy = part.copy(*page).unwrap();
        copy.is_some_and(|copy| (copy.changes > 0) == changes)
    };
    let found = (0..part.store().pages()).map(PageId).find(is_wanted);
    part.address(found.expect("such a page")).unwrap().into_string()
}

/// Nobody knows when a page changed before its first fetch.
#[test]
fn a_first_fetch_is_no_change() {
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    crawl(&runtime, dir.path(), 1);
    let (same, changed) = (page_with(dir.path(), false), page_with(dir.path(), true));
    serve(dir.path(), |at| {
        let of = |url: &str| get(at, &format!("/dashboard/page?url={url}"));
        let none = "<dt>last change seen</dt><dd>none</dd>";
        assert!(of(&same).contains(none), "{same}: {}", of(&same));
        assert!(!of(&changed).contains(none), "{changed}: {}", of(&changed));
    });
}

/// The first sample of a crawl's history.
fn first_sample(dir: &Path) -> Option<Sample> {
    let crawl = tidewatch_service::look(dir).unwrap();
    crawl.parts()[0].history().unwrap().samples().first().cloned()
}

/// The charts of the dashboard go back to the start of the crawl: after a restart, and under `serve`.
#[test]
fn history_survives_a_restart_and_is_served() {
    for partitions in [1, 3] {
        let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
        crawl(&runtime, dir.path(), partitions);
        let first = first_sample(dir.path());
        assert!(first.is_some());
        crawl(&runtime, dir.path(), partitions);
        assert_eq!(first_sample(dir.path()), first, "a restart goes on with it");
        for _ in 0..2 {
            serve(dir.path(), |at| {
                // Nothing is sampled while a crawl is only served, so a chart shows stored samples.
                assert!(get(at, "/dashboard").contains("Fetches by kind"));
            });
        }
    }
}
