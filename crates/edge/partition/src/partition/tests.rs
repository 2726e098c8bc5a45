//! A policy that panics is replaced, and the crawl goes on.

use std::net::Ipv4Addr;
use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Event, PageId, Rate, Span, Time};
use tidewatch_policy::order::Uniform;
use tidewatch_policy::{Choice, Explanation, Gate, Policy};

use super::{Next, Partition};
use crate::Config;
use crate::work::{Came, Content, Job, Report};

const START: i64 = 1_794_821_400_000_000;
const PAGES: usize = 30;

/// Visits every page in turn, and panics at its n-th choice or event.
struct Fragile {
    inner: Uniform,
    choices: u32,
    events: u32,
}

impl Policy for Fragile {
    fn learn(&mut self, event: &Event<'_>) {
        self.events = self.events.checked_sub(1).expect("one event too many");
        self.inner.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.choices = self.choices.checked_sub(1).expect("one choice too many");
        self.inner.choose(now, gate)
    }

    fn why(&self, _: PageId, _: Time) -> Option<Explanation> {
        panic!("no explanation")
    }
}

/// The policies that only tests know: `fragile-choices` and `fragile-events`.
pub(super) fn policy(name: &str) -> Option<Box<dyn Policy>> {
    let (choices, events) = match name {
        "fragile-choices" => (25, u32::MAX),
        "fragile-events" => (u32::MAX, 60),
        _ => return None,
    };
    Some(Box::new(Fragile { inner: Uniform::fixed_order(1), choices, events }))
}

fn open(dir: &Path, policy: &str, at: Time) -> Partition {
    let mut config = Config { policy: policy.into(), probe_pages: 0, ..Config::default() };
    config.budget = Rate::per_second(10.0).unwrap();
    config.politeness.least_gap = Span::from_micros(100_000);
    config.revisit.usual = Span::ZERO;
    Partition::open(dir, config, START + at.as_micros().cast_signed()).unwrap()
}

fn url(page: usize) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://a.example/{page}")).unwrap()
}

/// Answers at once.
fn answer(job: &Job) -> Report {
    let took = Span::ZERO;
    match *job {
        Job::Resolve { host, .. } => {
            Report::Resolved { host, found: Ok((Ipv4Addr::LOCALHOST.into(), Span::HOUR)), took }
        }
        Job::Robots { host, .. } => {
            Report::Robots { host, found: Ok((404, Vec::new())), retry_after: None, took }
        }
        Job::Page { host, page, .. } => {
            let links = (0..PAGES).map(|page| (url(page), String::new())).collect();
            let identity = u64::from(page.0) + 1;
            let content = Content {
                status: 200,
                identity,
                sketch: vec![identity],
                links,
                ..Content::default()
            };
            let came = Came::Content(Box::new(content));
            let (status, unix_micros) = (Some(200), START);
            Report::Page {
                host,
                page,
                came,
                status,
                body_bytes: 9,
                packed: None,
                unix_micros,
                took,
            }
        }
    }
}

/// Crawls on until `end`, and returns the pages fetched.
fn crawl(partition: &mut Partition, end: Time) -> Vec<PageId> {
    let (mut now, mut fetched) = (partition.last(), Vec::new());
    while now < end {
        match partition.next(now).unwrap() {
            Next::WaitUntil(until) => now = until.min(end),
            Next::Job(job) => fetched.extend(partition.take_in(answer(&job), now).unwrap().held()),
        }
    }
    partition.sync().unwrap();
    fetched
}

#[test]
fn a_panicking_policy_is_replaced_now_and_at_every_start() {
    for (policy, said) in
        [("fragile-choices", "one choice too many"), ("fragile-events", "one event too many")]
    {
        let dir = tempfile::tempdir().unwrap();
        let at = |seconds: u64| Time::ZERO + Span::SECOND.times(seconds);
        let mut partition = open(dir.path(), policy, at(0));
        partition.seed(&url(0), at(0)).unwrap();
        let mut fetched = crawl(&mut partition, at(60));
        let (panic, fetches) = (partition.status().panic, fetched.len());
        assert_eq!(panic.as_deref(), Some(said));
        fetched.sort_unstable();
        fetched.dedup();
        assert!(fetches > 2 * PAGES && fetched.len() == PAGES, "{policy}: {fetches} fetches");
        drop(partition);
        // The next start does not ask the broken policy again, and goes on.
        let mut partition = open(dir.path(), policy, at(60));
        assert_eq!(partition.status().panic.as_deref(), Some(said));
        assert!(crawl(&mut partition, at(80)).len() > PAGES, "{policy}");
        drop(partition);
        // The lab reproduces the panic, and every decision.
        let replayed = Partition::replay(dir.path(), START).unwrap();
        assert_eq!((replayed.panics, replayed.reproduced), (1, 1), "{policy}");
        assert!(replayed.decisions > fetches as u64);
    }
}

/// A policy that cannot explain itself does not end the crawl, and is not replaced.
#[test]
fn a_panic_over_an_explanation_is_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mut partition = open(dir.path(), "fragile-choices", Time::ZERO);
    partition.seed(&url(0), Time::ZERO).unwrap();
    assert_eq!(partition.why(&url(0)).unwrap(), None);
    assert_eq!(partition.status().panic, None);
}
