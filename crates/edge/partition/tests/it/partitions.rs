//! Several partitions of one crawl: together they do what one does, and each replays alone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_partition::{Config, CrawlError, Ended, Next, Partition, Partitions, Reach, Stop};
use tidewatch_web::{LoggedRequest, WebHabits};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};
use crate::{HOSTS, PAGES, START, TOOK, answer, config, seconds, url};

pub(crate) const COUNT: u32 = 3;

fn open(dir: &Path, at: Time) -> Partitions {
    let at = START + at.as_micros().cast_signed();
    Partitions::open(dir, &config(), Some(COUNT), None, at).unwrap()
}

/// Adds the seed at the beginning of the crawl's own time, which is not today's.
fn seed(all: &mut Partitions) {
    all.owner_mut(&url(0, 0)).seed(&url(0, 0), Time::ZERO).unwrap();
}

/// Runs all partitions on one clock, each with its own jobs.
fn run(all: &mut Partitions, begin: Time, end: Time) {
    run_on(all, begin, end, answer);
}

/// The same with answers of its own.
fn run_on(all: &mut Partitions, begin: Time, end: Time, answer: impl Fn(&Job, Time) -> Report) {
    let mut ends: BTreeMap<(Time, u32), (usize, Job)> = BTreeMap::new();
    let (mut now, mut serial, mut turns) = (begin, 0, 0);
    while now < end {
        turns += 1;
        let mut wait = now + Span::SECOND;
        for (number, part) in all.parts_mut().iter_mut().enumerate() {
            part.meet(now).unwrap();
            let until = loop {
                match part.next(now).unwrap() {
                    Next::Job(job) => {
                        serial += 1;
                        ends.insert((now + TOOK, serial), (number, job));
                    }
                    Next::WaitUntil(until) => break until,
                }
            };
            wait = wait.min(until);
        }
        now = match ends.first_entry() {
            Some(entry) if entry.key().0 <= wait => {
                let at = entry.key().0;
                let (number, job) = entry.remove();
                all.parts_mut()[number].take_in(answer(&job, at), at).unwrap();
                at
            }
            _ => wait,
        };
        if turns % 8 == 0 {
            all.parts_mut().iter_mut().for_each(|part| part.sync().unwrap());
        }
    }
}

/// URLs of pages with a copy.
fn held(parts: &[Partition]) -> BTreeSet<String> {
    let mut held = BTreeSet::new();
    for part in parts {
        for row in part.store().tables().unwrap().copies() {
            let url = part.address(row.unwrap().0).unwrap().into_string();
            assert!(held.insert(url.clone()), "{url} has two owners");
        }
    }
    held
}

fn every_page() -> BTreeSet<String> {
    let pages = (0..HOSTS).flat_map(|host| (0..PAGES).map(move |page| url(host, page)));
    pages.map(CanonicalUrl::into_string).collect()
}

/// The only seed is on one host; all others are found through links between partitions.
#[test]
fn links_reach_the_partition_that_owns_their_host() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = open(dir.path(), Time::ZERO);
    seed(&mut all);
    run(&mut all, Time::ZERO, seconds(200));
    assert_eq!(held(all.parts()), every_page());
    let pages: Vec<u32> = all.parts().iter().map(|part| part.store().pages()).collect();
    assert!(
        pages.iter().filter(|&&pages| pages >= PAGES).count() > 1,
        "several take part: {pages:?}"
    );
    let status = all.status();
    assert_eq!(status.pages, pages.iter().sum::<u32>());
    assert_eq!(status.tally.held, u64::from(HOSTS * PAGES));
    for part in all.parts() {
        assert_eq!(part.store().tables().unwrap().outbox().count(), 0, "everything arrived");
    }
    drop(all);
    let replayed = Partitions::dirs(dir.path()).unwrap();
    let replayed = replayed.iter().map(|dir| Partition::replay(dir, START).unwrap().decisions);
    assert!(replayed.sum::<u64>() >= u64::from(HOSTS * PAGES), "every fetch was a decision");
}

/// The partition that owns the seeds' domain goes on taking in its links when the crawl is resumed without
/// seeds.
#[test]
fn partitions_resumed_without_seeds_go_on_taking_in_links() {
    let (dir, shown) = (tempfile::tempdir().unwrap(), std::cell::Cell::new(1));
    let site =
        |number: u32| CanonicalUrl::parse(&format!("http://s{number}.site.example/p/0")).unwrap();
    let page = |job: &Job, now: Time| {
        let mut report = answer(job, now);
        if let Report::Page { came: Came::Content(content), .. } = &mut report {
            content.links = (0..shown.get()).map(|number| (site(number), String::new())).collect();
        }
        report
    };
    let mut near = config();
    near.scope.reach = Reach::Domain;
    let open = |at: Time| {
        let at = START + at.as_micros().cast_signed();
        Partitions::open(dir.path(), &near, Some(COUNT), None, at).unwrap()
    };
    let mut all = open(Time::ZERO);
    all.parts_mut().iter_mut().for_each(|part| part.seed_or_allow(&site(0), Time::ZERO).unwrap());
    run_on(&mut all, Time::ZERO, seconds(30), page);
    assert_eq!(held(all.parts()).len(), 1);
    drop(all);
    shown.set(12);
    let mut all = open(seconds(30));
    run_on(&mut all, seconds(30), seconds(600), page);
    assert_eq!(held(all.parts()).len(), 12);
}

/// The first page of a host is linked from a page of the host before it, which another partition may own.
#[test]
fn a_page_found_through_another_partition_says_which_page_links_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = open(dir.path(), Time::ZERO);
    seed(&mut all);
    run(&mut all, Time::ZERO, seconds(100));
    let check = |all: &mut Partitions| {
        let mut foreign = 0;
        for host in 1..HOSTS {
            let own = all.owner_mut(&url(host, 0));
            let found = own.portrait(&url(host, 0), seconds(100)).unwrap().unwrap();
            let via = found.via.unwrap_or_else(|| panic!("{} was linked", url(host, 0)));
            assert!(via.starts_with(&format!("http://h{}.example/", host - 1)), "{via}");
            foreign += u32::from(found.row.via.is_none());
        }
        assert!(foreign > 0, "some hosts belong to another partition than the host before them");
    };
    check(&mut all);
    all.parts_mut().iter_mut().for_each(|part| part.sync().unwrap());
    drop(all);
    check(&mut Partitions::look(dir.path(), START).unwrap());
}

/// A prediction for the crawl's own budget adds up to what its partitions expect of their shares.
#[test]
fn what_if_divides_the_budget_and_adds_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = open(dir.path(), Time::ZERO);
    seed(&mut all);
    run(&mut all, Time::ZERO, seconds(300));
    all.parts_mut().iter_mut().for_each(|part| part.save().unwrap());
    let now = all.budget();
    let live = all.what_if(now).unwrap();
    assert!((live.budget - 20.0).abs() < 1e-6 && (all.status().budget_per_s - 20.0).abs() < 1e-6);
    drop(all);
    let looked = Partitions::look(dir.path(), START).unwrap();
    let per_s = looked.budget().as_per_second();
    assert!((per_s - 20.0).abs() < 0.5, "the last grants add up to the budget: {per_s}");
    let (now, half) = (looked.what_if(now).unwrap(), now.as_per_second() / 2.0);
    let half = looked.what_if(tidewatch_core::Rate::per_second(half).unwrap()).unwrap();
    assert!(
        (half.budget - 10.0).abs() < 1e-6 && half.price >= now.price * (1.0 - 1e-9),
        "{half:?} {now:?}"
    );
    let spent = |found: &tidewatch_policy::WhatIf| found.fetches.iter().sum::<f64>();
    assert!(spent(&half) <= spent(&now) + 1e-9 && spent(&now) <= 20.0 + 1e-6);
}

#[test]
fn partitions_that_are_killed_go_on_and_lose_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = open(dir.path(), Time::ZERO);
    seed(&mut all);
    all.parts_mut().iter_mut().for_each(|part| part.sync().unwrap());
    for part in 0..20 {
        run(&mut all, seconds(20 * part), seconds(20 * (part + 1)));
        // Whatever was not committed is gone, and parcels under way with it.
        drop(all);
        all = open(dir.path(), seconds(20 * (part + 1)));
    }
    assert_eq!(held(all.parts()), every_page());
}

#[test]
fn another_number_of_partitions_is_refused_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), Time::ZERO));
    let error = Partitions::open(dir.path(), &config(), Some(2), None, START).err().unwrap();
    assert!(matches!(error, CrawlError::OtherPartitions { was: 3, asked: 2, .. }), "{error}");
    assert_eq!(
        Partitions::open(dir.path(), &config(), None, None, START).unwrap().parts().len(),
        3
    );
    let single = tempfile::tempdir().unwrap();
    drop(Partitions::open(single.path(), &config(), None, None, START).unwrap());
    let error = Partitions::open(single.path(), &config(), Some(4), None, START).err().unwrap();
    assert!(error.to_string().contains("1 partition, not 4"), "{error}");
}

/// A new, empty partition in its place would forget its pages without a word.
#[test]
fn a_partition_that_is_gone_is_a_loss_and_not_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = open(dir.path(), Time::ZERO);
    seed(&mut all);
    run(&mut all, Time::ZERO, seconds(10));
    drop(all);
    let gone = dir.path().join("partition-1");
    std::fs::remove_dir_all(&gone).unwrap();
    let opened = Partitions::open(dir.path(), &config(), Some(COUNT), None, START);
    for error in [opened.err(), Partitions::look(dir.path(), START).err()] {
        let error = error.expect("a partition is lost");
        assert!(matches!(&error, CrawlError::LostPartition(lost) if *lost == gone), "{error}");
        assert!(error.to_string().contains("tidewatch repair"), "{error}");
    }
    assert!(!gone.exists());
}

#[test]
fn a_first_start_that_fails_binds_no_number_of_partitions() {
    let dir = tempfile::tempdir().unwrap();
    let mut unknown = config();
    unknown.policy = "best".to_owned();
    let error = Partitions::open(dir.path(), &unknown, Some(2), None, START).err().unwrap();
    assert!(matches!(error, CrawlError::UnknownPolicy(_)), "{error}");
    // Killed before all partitions were there.
    drop(Partition::open(&dir.path().join("partition-0"), config(), START).unwrap());
    let mut all = open(dir.path(), Time::ZERO);
    seed(&mut all);
    run(&mut all, Time::ZERO, seconds(300));
    assert_eq!(held(all.parts()), every_page());
}

/// Settings that keep these gaps to hosts and to addresses.
pub(crate) fn gaps(host: Duration, address: Duration) -> Config {
    let mut config = living::config(host);
    config.politeness.address_gap = Span::from_micros(address.as_micros() as u64);
    config
}

/// Runs `count` partitions on threads over real sockets for `length`.
pub(crate) fn crawl(
    runtime: &Runtime,
    server: &tidewatch_web::WebServer,
    count: u32,
    config: &Config,
    other: impl Fn(&str) -> Option<SocketAddr>,
    length: Duration,
) -> (tempfile::TempDir, Partitions) {
    let net = living::network(runtime, config, living::hosts(server, other));
    let dir = tempfile::tempdir().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_micros()).unwrap();
    let mut all = Partitions::open(dir.path(), config, Some(count), None, now).unwrap();
    for seed in living::seeds(server) {
        all.seed(&seed).unwrap();
    }
    let stop = Stop { after: Some(length), ..Stop::default() };
    let mut stored: Vec<Stored> = (0..count).map(|_| Stored::default()).collect();
    let ended = all.run(&net, runtime.handle(), &stop, &mut stored).unwrap();
    assert_eq!(ended, Ended::Time);
    for (part, stored) in all.parts().iter().zip(&stored) {
        for page in &stored.0 {
            assert!(part.address(*page).is_ok());
        }
    }
    (dir, all)
}

#[test]
fn three_partitions_on_threads_find_every_page_that_one_finds() {
    let length = Duration::from_secs(5);
    let runtime = Runtime::new().unwrap();
    let find = |count| {
        let server = living::serve(&runtime, 12, 240, WebHabits::faultless());
        let config = gaps(Duration::from_millis(20), Duration::from_millis(1));
        let (dir, all) = crawl(&runtime, &server, count, &config, |_| None, length);
        let found = held(all.parts());
        drop(all);
        for dir in Partitions::dirs(dir.path()).unwrap() {
            Partition::replay(&dir, START).unwrap();
        }
        found
    };
    let (one, three) = (find(1), find(COUNT));
    let missing: Vec<_> = one.difference(&three).collect();
    assert!(one.len() > 150, "{} pages", one.len());
    assert!(missing.is_empty(), "{missing:?} of {}", one.len());
}

/// All hosts have one address, which sees one request at a time and the gap between them.
#[test]
fn an_address_keeps_its_gap_across_partitions() {
    const GAP: Duration = Duration::from_millis(20);
    /// The server notes what it sees, which is no shorter than what the client kept.
    const GRAIN: Duration = Duration::from_millis(1);
    let runtime = Runtime::new().unwrap();
    let server = living::serve(&runtime, 12, 240, WebHabits::faultless());
    let address = server.names().iter().next().map(|(_, address)| address);
    let (config, length) = (gaps(GAP, GAP), Duration::from_secs(4));
    let (_dir, all) = crawl(&runtime, &server, COUNT, &config, |_| address, length);
    let active = all.parts().iter().filter(|part| part.tally().all_fetches() > 0).count();
    assert!(active > 1, "several partitions ask");
    let mut requests: Vec<LoggedRequest> = server.log().requests();
    requests.sort_by_key(|request| request.began);
    assert!(requests.len() > 50, "{} requests", requests.len());
    for pair in requests.windows(2) {
        let gap = pair[1].began.checked_sub(pair[0].ended);
        assert!(gap.is_some_and(|gap| gap + GRAIN >= GAP), "{gap:?} between {pair:?}");
    }
}
