//! What a crawl takes in, and what it leaves out.

use std::fmt::Write as _;
use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, Reason, Span, Time};
use tidewatch_partition::config::Site;
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

/// A feed that a page names lies on a host that the first scope left out.
#[test]
fn a_wider_scope_finds_feeds_too() {
    let feed = CanonicalUrl::parse("http://feeds.example/news").unwrap();
    let named = |job: &Job, now: Time| {
        let mut report = archived(job, now);
        if let (Job::Page { url, .. }, Report::Page { packed, .. }) = (job, &mut report) {
            let link = format!("<link rel=alternate type=application/rss+xml href={feed}>");
            *packed = Some(pack(url, link.as_bytes()));
        }
        report
    };
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Reach::Host), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, seconds(20), named);
    assert!(crawl.store().page_of(feed.as_str()).unwrap().is_none());
    drop(crawl);
    let mut crawl = open(dir.path(), scoped(Reach::Everything), seconds(20));
    while crawl.rereading().is_some() {
        crawl.reread(seconds(20)).unwrap();
    }
    let found = crawl.portrait(&feed, seconds(20)).unwrap().expect("the feed is known");
    assert!(found.row.is_source, "{:?}", found.row);
}

/// `why` of a page that is not known begins with what keeps it out.
#[test]
fn why_of_an_unknown_page_says_what_keeps_it_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Reach::Host), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(20));
    let mut error = |text: &str| {
        let url = CanonicalUrl::parse(text).unwrap();
        crawl.answer_why(&url, seconds(20)).unwrap()["error"].as_str().unwrap().to_owned()
    };
    let elsewhere = error("http://elsewhere.example/");
    assert!(elsewhere.contains("does not know") && elsewhere.contains("scope"), "{elsewhere}");
    // A page that was fetched links there, so nothing may deny that.
    let linked = error(url(1, 0).as_str());
    let told = "this crawl does not know http://h1.example/p/0. It is out of scope";
    assert!(linked.starts_with(told), "{linked}");
    let private = error("http://h0.example/private/new");
    assert!(private.contains("robots.txt disallows it"), "{private}");
    let within = error("http://h0.example/never-linked");
    assert!(!within.contains("scope") && !within.contains("robots"), "{within}");
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

/// Pages that a narrow scope barred are fetched once the scope is wide again, whatever the policy.
#[test]
fn pages_that_a_narrow_scope_barred_are_fetched_when_it_widens() {
    for policy in ["price", "random", "uniform", "bfs", "nutch-adaptive", "cgm", "curve-fit"] {
        widen(policy);
    }
}

fn widen(name: &str) {
    let policy = |reach| Config { policy: name.into(), ..scoped(reach) };
    let (dir, everything) = (tempfile::tempdir().unwrap(), HOSTS * PAGES);
    let mut crawl = open(dir.path(), policy(Reach::Everything), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    // Known by its links, and not fetched yet.
    for page in 0..PAGES {
        crawl.know(&url(1, page), Time::ZERO).unwrap();
    }
    run(&mut crawl, Time::ZERO, seconds(1));
    drop(crawl);
    let mut crawl = open(dir.path(), policy(Reach::Host), seconds(1));
    run(&mut crawl, seconds(1), seconds(200));
    let barred = crawl.tally().dropped[&DropReason::OtherHost];
    assert!(barred > 0, "{name}: nothing was barred");
    drop(crawl);
    let mut crawl = open(dir.path(), policy(Reach::Everything), seconds(200));
    while crawl.rereading().is_some() {
        crawl.reread(seconds(200)).unwrap();
    }
    run(&mut crawl, seconds(200), seconds(1_000));
    let copies = (0..PAGES).filter(|page| {
        let page = crawl.store().page_of(url(1, *page).as_str()).unwrap().unwrap();
        crawl.copy(page).unwrap().is_some()
    });
    assert_eq!(copies.count(), PAGES as usize, "{name}, of {everything} in all");
    drop(crawl);
    Partition::replay(dir.path(), START).unwrap();
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

/// Robots.txt disallows everything.
fn closed(job: &Job, now: Time) -> Report {
    match answer(job, now) {
        Report::Robots { host, retry_after, took, .. } => {
            let body = b"User-agent: *\nDisallow: /\nCrawl-delay: 7".to_vec();
            Report::Robots { host, found: Ok((200, body)), retry_after, took }
        }
        report => report,
    }
}

#[test]
fn robots_txt_is_not_obeyed_on_own_hosts_and_why_says_so() {
    let mut own = scoped(Reach::Everything);
    own.sites = vec![Site::new("h0.example").unwrap().owned()];
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), own, Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    // The pages below /private answer here too.
    let answers = |job: &Job, now: Time| match job {
        Job::Page { url, .. } if url.path().starts_with("/private") => moved_home(job),
        _ => closed(job, now),
    };
    let stored = run_on(&mut crawl, Time::ZERO, seconds(120), answers);
    assert!(!stored.is_empty());
    for page in stored {
        assert_eq!(crawl.address(page).unwrap().host(), "h0.example");
    }
    let now = seconds(120);
    let foreign = crawl.obstacle(&url(1, 0), now).unwrap().unwrap();
    assert!(foreign.starts_with("robots.txt disallows it"), "{foreign}");
    crawl.sync().unwrap();
    drop(crawl);
    let mut crawl = Partition::look(dir.path(), START).unwrap();
    assert_eq!(crawl.obstacle(&url(0, 0), now).unwrap(), None);
    let told = crawl.remark(&url(0, 0)).unwrap().unwrap();
    assert!(told.contains("your own host"), "{told}");
    assert!(Partition::replay(dir.path(), START).unwrap().decisions > 5);
}

/// Links that robots.txt disallowed were stored nowhere but in their pages.
#[test]
fn disallowed_links_of_a_host_are_found_again_once_it_is_ones_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Reach::Host), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let answers = |job: &Job, now: Time| match job {
        Job::Page { url, .. } if url.path().starts_with("/private") => moved_home(job),
        _ => archived(job, now),
    };
    run_on(&mut crawl, Time::ZERO, seconds(120), answers);
    assert_eq!(size(&crawl), (1, PAGES));
    drop(crawl);
    let mut own = scoped(Reach::Host);
    own.sites = vec![Site::new("h0.example").unwrap().owned()];
    let mut crawl = open(dir.path(), own.clone(), seconds(120));
    assert_eq!(crawl.rereading(), Some((0, PAGES)));
    let fetches = crawl.tally().all_fetches();
    while crawl.rereading().is_some() {
        crawl.reread(seconds(120)).unwrap();
    }
    assert_eq!(crawl.tally().all_fetches(), fetches, "it is read again without a request");
    assert_eq!(size(&crawl), (1, 2 * PAGES), "each page links to one that is disallowed");
    crawl.commit().unwrap();
    drop(crawl);
    assert!(open(dir.path(), own, seconds(121)).rereading().is_none());
}

/// An answer of a page without links.
fn moved_home(job: &Job) -> Report {
    crate::moved(job, url(0, 0), false)
}

#[test]
fn a_host_has_a_delay_of_its_own_and_changes_go_on_the_tape() {
    let fetches = |crawl: &Partition| crawl.tally().all_fetches();
    let with_delay = |delay: &str| {
        let text = format!("[host.\"h0.example\"]\ndelay = \"{delay}\"");
        Config { sites: Config::parse(&text).unwrap().sites, ..scoped(Reach::Host) }
    };
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), with_delay("200ms"), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(6));
    let fast = fetches(&crawl);
    // Answers take 50 ms, so patience alone asks for a gap of 500 ms.
    assert!((8..=30).contains(&fast), "{fast} fetches in 6 s");
    drop(crawl);
    let mut crawl = open(dir.path(), with_delay("3s"), seconds(6));
    run(&mut crawl, seconds(6), seconds(36));
    let slow = fetches(&crawl) - fast;
    assert!((8..=11).contains(&slow), "{slow} fetches in 30 s");
    drop(crawl);
    let mut crawl = open(dir.path(), scoped(Reach::Host), seconds(36));
    let before = fetches(&crawl);
    run(&mut crawl, seconds(36), seconds(66));
    let usual = fetches(&crawl) - before;
    assert!((20..=31).contains(&usual), "{usual} fetches in 30 s");
    drop(crawl);
    assert!(Partition::replay(dir.path(), START).unwrap().decisions > 30);
}

#[test]
fn what_is_in_the_way_of_a_page_is_told_until_it_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), scoped(Reach::Everything), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let unknown = |job: &Job, now: Time| match answer(job, now) {
        Report::Resolved { host, took, .. } => {
            Report::Resolved { host, found: Err(Reason::NoAddress), took }
        }
        report => report,
    };
    run_on(&mut crawl, Time::ZERO, seconds(10), unknown);
    let told = crawl.obstacle(&url(0, 0), seconds(10)).unwrap().unwrap();
    assert!(told.contains("The name h0.example does not exist"), "{told}");
    assert_eq!(crawl.in_the_way(seconds(10)).unwrap().len(), 1);
    // The host answers, the page does not.
    let refused = |job: &Job, now: Time| match answer(job, now) {
        Report::Page { host, page, packed, unix_micros, took, .. } => {
            let (came, status) = (Came::Refused(Reason::Forbidden), Some(401));
            Report::Page { host, page, came, status, body_bytes: 0, packed, unix_micros, took }
        }
        report => report,
    };
    let end = seconds(10) + Span::HOUR;
    run_on(&mut crawl, seconds(10), end, refused);
    let told = crawl.obstacle(&url(0, 0), end).unwrap().unwrap();
    assert!(told.contains("refused it with status 401"), "{told}");
    let portrait = crawl.portrait(&url(0, 0), end).unwrap().unwrap();
    assert_eq!(portrait.in_the_way, Some(told));
    run(&mut crawl, end, end + Span::DAY);
    assert_eq!(crawl.obstacle(&url(0, 0), end + Span::DAY).unwrap(), None);
    assert_eq!(crawl.portrait(&url(0, 0), end + Span::DAY).unwrap().unwrap().in_the_way, None);
}
