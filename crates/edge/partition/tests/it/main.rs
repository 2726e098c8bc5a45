//! Crawls without a network: a small web that answers jobs on its own clock.
#![allow(clippy::unwrap_used)]

mod archived;
mod cuts;
mod disk;
mod forms;
mod hints;
mod hygiene;
mod isolation;
mod living;
mod memory;
mod partitions;
mod politeness;
mod requisites;
mod revisit;
mod rules;
mod scope;
mod sent_on;
mod small;
mod snapshots;
mod spam;
mod topic;
mod usage;
mod walls;

use std::collections::BTreeSet;
use std::path::Path;

use tidewatch_archive::{check, digest, read_at};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, PageId, Rate, Reason, Span, Time};
use tidewatch_frontier::tape::Input;
use tidewatch_partition::work::{Came, Content, Job, Report};
use tidewatch_partition::{Config, CrawlError, Next, Partition};

use self::small::{HOSTS, PAGES, START, TOOK, answer, config, pack, run, run_on, seconds, url};

/// What a page says whose words are `text` alone: pages of equal text say the same.
fn says(text: &str, links: impl IntoIterator<Item = CanonicalUrl>) -> Content {
    let digest = digest(text.as_bytes());
    let identity = u64::from_le_bytes(digest[..8].try_into().unwrap());
    let sketch = (0..8).map(|n| identity.wrapping_add(n)).collect();
    let links = links.into_iter().map(|url| (url, String::new())).collect();
    Content { status: 200, digest, identity, links, sketch, ..Content::default() }
}

/// The answer of a page that has moved.
fn moved(job: &Job, to: CanonicalUrl, for_good: bool) -> Report {
    let Job::Page { host, page, .. } = job else { panic!("only pages move") };
    let (host, page, came) = (*host, *page, Came::Moved { to, for_good });
    let status = Some(if for_good { 301 } else { 302 });
    let (body_bytes, packed, unix_micros, took) = (0, None, START, TOOK);
    Report::Page { host, page, came, status, body_bytes, packed, unix_micros, took }
}

fn open(dir: &Path, at: Time) -> Partition {
    Partition::open(dir, config(), START + at.as_micros().cast_signed()).unwrap()
}

#[test]
fn a_crawl_finds_every_page_it_may_and_keeps_each_readable() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let stored = run(&mut crawl, Time::ZERO, seconds(120));
    let pages: BTreeSet<PageId> = stored.iter().copied().collect();
    assert_eq!(pages.len(), (HOSTS * PAGES) as usize, "every page of every host");
    let archive = dir.path().join("archive/tidewatch-00001.warc.gz");
    for page in pages {
        let copy = crawl.store().tables().unwrap().copy(page).unwrap().unwrap();
        let record = read_at(&archive, copy.place.offset).unwrap();
        let number = record.field("WARC-Target-URI").unwrap().rsplit('/').next().unwrap();
        assert_eq!(record.message().1, number.as_bytes(), "{page:?}");
    }
    assert!(check(&archive).unwrap().is_good());
    assert!(crawl.tally().dropped[&DropReason::Disallowed] > 0);
    assert!(crawl.tally().changes > 0, "the front pages change");
}

#[test]
fn a_crawl_that_is_stopped_and_one_that_is_not_know_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let mut stored = run(&mut crawl, Time::ZERO, seconds(20));
    let first = stored.len();
    drop(crawl);
    for part in 1..6 {
        let (begin, end) = (seconds(20 * part), seconds(20 * (part + 1)));
        let mut crawl = open(dir.path(), begin);
        stored.extend(run(&mut crawl, begin, end));
    }
    assert!(first > 0 && stored.len() > first, "it goes on");
    let crawl = open(dir.path(), seconds(120));
    for page in &stored {
        assert!(
            crawl.store().tables().unwrap().copy(*page).unwrap().is_some(),
            "{page:?} is still there"
        );
    }
    assert_eq!(crawl.store().pages(), HOSTS * PAGES);
    assert_eq!(crawl.tally().all_fetches(), stored.len() as u64);
}

#[test]
fn no_host_is_asked_again_within_its_gap_of_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(10));
    drop(crawl);
    let begin = seconds(10);
    let mut crawl = open(dir.path(), begin);
    let mut now = begin;
    let job = loop {
        match crawl.next(now).unwrap() {
            Next::Job(Job::Resolve { host, .. }) => {
                let address = std::net::Ipv4Addr::from(0xcb00_7100 + host.0);
                let found = Ok((address.into(), Span::HOUR));
                crawl.take_in(Report::Resolved { host, found, took: Span::ZERO }, now).unwrap();
            }
            Next::Job(job) => break job,
            Next::WaitUntil(until) => now = until,
        }
    };
    assert!(now.since(begin) >= Span::SECOND, "{job:?} after {}", now.since(begin));
}

#[test]
fn another_policy_or_a_broken_name_is_refused_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), Time::ZERO));
    let other = Config { policy: "bfs".into(), ..config() };
    let error = Partition::open(dir.path(), other, START).err().unwrap();
    assert!(matches!(error, CrawlError::OtherPolicy { .. }), "{error}");
    let none = Config { policy: "best".into(), ..config() };
    let fresh = tempfile::tempdir().unwrap();
    let error = Partition::open(fresh.path(), none, START).err().unwrap();
    assert!(error.to_string().contains("no policy `best`"), "{error}");
}

#[test]
fn other_rules_and_budgets_may_be_set_at_every_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(10));
    drop(crawl);
    let mut slower = config();
    slower.budget = Rate::per_second(0.5).unwrap();
    slower.politeness.least_gap = Span::MINUTE;
    slower.limits.requests = 2;
    let begin = seconds(10);
    let mut crawl =
        Partition::open(dir.path(), slower, START + begin.as_micros().cast_signed()).unwrap();
    let stored = run(&mut crawl, begin, seconds(70));
    assert!(stored.len() <= 31, "{} pages in a minute at one in two seconds", stored.len());
    drop(crawl);
    drop(open(dir.path(), seconds(70)));
}

#[test]
fn a_clock_that_was_set_back_does_not_stop_a_crawl() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(30));
    drop(crawl);
    let an_hour_ago = START - Span::HOUR.as_micros().cast_signed();
    let mut crawl = Partition::open(dir.path(), config(), an_hour_ago).unwrap();
    let begin = crawl.time(an_hour_ago);
    assert!(begin >= seconds(29), "time goes on from {begin}");
    assert!(!run(&mut crawl, begin, begin + Span::SECOND.times(30)).is_empty());
}

#[test]
fn a_chain_of_redirects_without_end_is_left_after_ten() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let onward = |job: &Job, now: Time| {
        let Job::Page { url: from, .. } = job else { return answer(job, now) };
        let number: u32 = from.path().rsplit('/').next().unwrap().parse().unwrap();
        moved(job, url(0, number + 1), true)
    };
    run_on(&mut crawl, Time::ZERO, seconds(60), onward);
    let tally = crawl.tally();
    assert_eq!(tally.reasons[&Reason::Redirect], 10);
    assert!(tally.reasons[&Reason::TooManyRedirects] >= 1, "{:?}", tally.reasons);
    assert_eq!(crawl.store().pages(), 11, "no more became known");
}

#[test]
fn a_page_that_moved_for_good_leaves_the_collection() {
    for for_good in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut crawl = open(dir.path(), Time::ZERO);
        let (old, new) = (url(0, 0), url(0, PAGES - 1));
        crawl.seed(&old, Time::ZERO).unwrap();
        run(&mut crawl, Time::ZERO, seconds(30));
        let is_held = |crawl: &Partition, url: &CanonicalUrl| {
            let page = crawl.store().page_of(url.as_str()).unwrap();
            page.is_some_and(|page| crawl.store().tables().unwrap().copy(page).unwrap().is_some())
        };
        assert!(is_held(&crawl, &old));
        let elsewhere = |job: &Job, now: Time| match job {
            Job::Page { url, .. } if *url == old => moved(job, new.clone(), for_good),
            _ => answer(job, now),
        };
        run_on(&mut crawl, seconds(30), seconds(600), elsewhere);
        assert!(crawl.tally().reasons[&Reason::Redirect] >= 1, "it was asked for again");
        assert_eq!(crawl.tally().failures(), 0, "a redirect is no failure");
        assert_eq!(is_held(&crawl, &old), !for_good);
        assert!(is_held(&crawl, &new));
    }
}

#[test]
fn looking_at_a_crawl_leaves_its_archive_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(10));
    crawl.sync().unwrap();
    drop(crawl);
    let path = dir.path().join("archive/tidewatch-00001.warc.gz");
    let whole = std::fs::read(&path).unwrap();
    let torn = [&whole[..], &whole[..100]].concat();
    std::fs::write(&path, &torn).unwrap();
    drop(Partition::look(dir.path(), START).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), torn, "looked at");
    drop(open(dir.path(), seconds(10)));
    assert_eq!(std::fs::read(&path).unwrap(), whole, "opened to go on");
}

/// A front page that says, each time, that its first link has changed since.
#[test]
fn what_a_list_says_has_changed_is_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), seconds(0));
    (0..HOSTS).for_each(|host| crawl.seed(&url(host, 0), seconds(0)).unwrap());
    let said = |job: &Job, now: Time| {
        let mut report = answer(job, now);
        if let Report::Page { came: Came::Content(content), .. } = &mut report {
            content.dated = vec![(0, START + now.as_micros().cast_signed())];
            content.list = "sitemap";
        }
        report
    };
    run_on(&mut crawl, seconds(0), seconds(600), said);
    let is_hint = |input: &Input| matches!(input, Input::Hint { kind, .. } if kind == "sitemap");
    let hints = crawl.store().tape(0).unwrap().filter(|input| is_hint(input.as_ref().unwrap()));
    assert!(hints.count() > 0);
    drop(crawl);
    let replayed = Partition::replay(dir.path(), START).unwrap();
    assert!(replayed.decisions > 100, "{replayed:?}");
}

#[test]
fn a_host_that_cannot_be_reached_is_named_by_its_reason_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let mut now = Time::ZERO;
    for _ in 0..1_000 {
        match crawl.next(now).unwrap() {
            Next::Job(Job::Robots { host, .. }) => {
                let found = Err(Reason::BlockedAddress);
                let report = Report::Robots { host, found, retry_after: None, took: TOOK };
                crawl.take_in(report, now).unwrap();
            }
            Next::Job(job) => {
                assert!(matches!(job, Job::Resolve { .. }), "no page without robots.txt: {job:?}");
                crawl.take_in(answer(&job, now), now).unwrap();
            }
            Next::WaitUntil(until) => now = until,
        }
    }
    assert!(crawl.tally().reasons[&Reason::BlockedAddress] >= 1);
    let hours = now.seconds() / 3_600.0;
    assert!(crawl.tally().robots as f64 <= hours + 1.0, "asked again within an hour");
}
