//! What a crawl takes in, and what it leaves out.

use std::fmt::Write as _;
use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, Time};
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_partition::{Config, Partition, Reach};

use crate::{HOSTS, PAGES, START, answer, config, pack, run, run_on, seconds, url};

fn scoped(reach: Reach) -> Config {
    let mut config = config();
    config.scope.reach = reach;
    config
}

fn open(dir: &Path, config: Config, at: Time) -> Partition {
    Partition::open(dir, config, START + at.as_micros().cast_signed()).unwrap()
}

fn size(crawl: &Partition) -> (u32, u32) {
    (crawl.store().hosts(), crawl.store().pages())
}

/// The usual answer, with its links in the archived body too.
fn archived(job: &Job, now: Time) -> Report {
    let mut report = answer(job, now);
    if let (Job::Page { url, .. }, Report::Page { came: Came::Content(content), packed, .. }) =
        (job, &mut report)
    {
        let mut body = String::from("<!doctype html><title>page</title>");
        for (to, words) in &content.links {
            write!(body, "<a href='{to}'>{words}</a>").unwrap();
        }
        *packed = Some(pack(url, body.as_bytes()));
    }
    report
}

#[test]
fn a_crawl_keeps_to_the_domains_of_its_seeds() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Config::default().scope.reach), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(120));
    assert_eq!(size(&crawl), (1, PAGES));
    assert!(crawl.tally().dropped[&DropReason::OtherHost] > 0);
}

#[test]
fn a_crawl_resumed_without_seeds_goes_on_taking_in_links() {
    for reach in [Reach::Host, Reach::Domain] {
        let dir = tempfile::tempdir().unwrap();
        let mut crawl = open(dir.path(), scoped(reach), Time::ZERO);
        crawl.seed(&url(0, 0), Time::ZERO).unwrap();
        run(&mut crawl, Time::ZERO, seconds(5));
        assert!(crawl.store().pages() < PAGES);
        drop(crawl);
        let begin = seconds(5);
        let mut crawl = open(dir.path(), scoped(Reach::default()), begin);
        run(&mut crawl, begin, seconds(120));
        assert_eq!(size(&crawl), (1, PAGES));
    }
}

#[test]
fn a_click_outside_the_scope_adds_neither_page_nor_host() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Reach::Domain), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let elsewhere = CanonicalUrl::parse("http://elsewhere.example/offer").unwrap();
    crawl.know(&elsewhere, seconds(1)).unwrap();
    crawl.know(&url(0, 7), seconds(1)).unwrap();
    assert_eq!(size(&crawl), (1, 2));
}

#[test]
fn a_wider_scope_finds_the_links_that_a_narrower_one_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Reach::Host), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, seconds(120), archived);
    assert_eq!(size(&crawl), (1, PAGES));
    drop(crawl);
    // It is read again without a request, and over two starts.
    let begin = seconds(120);
    let crawl = open(dir.path(), scoped(Reach::Everything), begin);
    assert_eq!(crawl.rereading(), Some((0, PAGES)));
    drop(crawl);
    let mut crawl = open(dir.path(), scoped(Reach::Everything), begin);
    while crawl.rereading().is_some() {
        crawl.reread(begin).unwrap();
    }
    assert_eq!(size(&crawl), (2, PAGES + 1));
    let front = crawl.store().page_of(url(0, 0).as_str()).unwrap().unwrap();
    let next_door = crawl.store().page_of(url(1, 0).as_str()).unwrap().unwrap();
    assert!(crawl.copy(front).unwrap().unwrap().links.contains(&next_door));
    run(&mut crawl, begin, seconds(400));
    assert_eq!(size(&crawl), (HOSTS, HOSTS * PAGES));
    crawl.sync().unwrap();
    drop(crawl);
    assert!(open(dir.path(), scoped(Reach::default()), seconds(400)).rereading().is_none());
    assert!(Partition::replay(dir.path(), START).unwrap().decisions > 100);
}

#[test]
fn a_narrower_scope_stops_fetches_of_pages_it_does_not_cover() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Reach::Everything), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(120));
    drop(crawl);
    let mut narrow = config();
    narrow.set("scope.reach", &"host".into()).unwrap();
    let mut crawl = open(dir.path(), narrow, seconds(120));
    let stored = run(&mut crawl, seconds(120), seconds(400));
    for page in stored {
        assert_eq!(crawl.address(page).unwrap().host(), "h0.example");
    }
    drop(crawl);
    assert!(Partition::replay(dir.path(), START).unwrap().decisions > 100);
}

#[test]
fn patterns_depth_and_host_size_bound_a_crawl_and_each_drop_has_its_reason() {
    let cases: [(&str, &str, u32, DropReason); 5] = [
        ("scope.exclude", "[\"/p/3*\"]", 23, DropReason::Excluded),
        ("scope.include", "[\"/p/1\", \"/p/2\", \"/p/5\"]", 4, DropReason::NotIncluded),
        ("hygiene.depth", "2", 7, DropReason::FarFromSeed),
        ("hygiene.pages_per_host", "5", 5, DropReason::HostFull),
        ("scope.reach", "\"host\"", PAGES, DropReason::OtherHost),
    ];
    for (key, value, pages, reason) in cases {
        let dir = tempfile::tempdir().unwrap();
        let mut config = scoped(Reach::Domain);
        let table: toml::Table = format!("value = {value}").parse().unwrap();
        config.set(key, &table["value"]).unwrap();
        let mut crawl = open(dir.path(), config, Time::ZERO);
        crawl.seed(&url(0, 0), Time::ZERO).unwrap();
        run(&mut crawl, Time::ZERO, seconds(150));
        assert_eq!(size(&crawl), (1, pages), "{key}");
        assert!(crawl.tally().dropped[&reason] > 0, "{key}");
    }
}
