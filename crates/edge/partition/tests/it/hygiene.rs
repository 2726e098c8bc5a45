//! Pages that say nothing of their own.

use tidewatch_core::{DropReason, Span, Time};
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_partition::{Config, Partition};
use tidewatch_store::Absent;

use crate::small::brought;
use crate::{START, answer, config, run_on, says, seconds, url};

/// Real pages of the host; the others say with status 200 that there is no such page.
const REAL: u32 = 12;
const LINKED: u32 = 60;

/// A host that never says 404, with a front page that links to `LINKED` pages.
fn reply(job: &Job, now: Time) -> Report {
    let Job::Page { host, page, url, .. } = job else { return answer(job, now) };
    let number = url.path().strip_prefix("/p/").and_then(|number| number.parse().ok());
    let content = match number {
        Some(0) => says("front", (0..LINKED).map(|page| crate::url(0, page))),
        // Page 2 says what page 1 says.
        Some(2) => says("page 1", vec![]),
        Some(number @ 1..REAL) => says(&format!("page {number}"), vec![]),
        _ => says("there is no such page", vec![]),
    };
    brought(*host, *page, content)
}

/// The same host, but for its root, where it says 404.
fn reply_but_root(job: &Job, now: Time) -> Report {
    let mut report = reply(job, now);
    if let (Job::Page { url, .. }, Report::Page { came, .. }) = (job, &mut report)
        && !url.path().starts_with("/p/")
    {
        *came = Came::Gone;
    }
    report
}

fn crawl(config: Config, end: Time) -> (tempfile::TempDir, Partition) {
    crawl_from(reply, config, end)
}

fn crawl_from(
    reply: fn(&Job, Time) -> Report,
    config: Config,
    end: Time,
) -> (tempfile::TempDir, Partition) {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Partition::open(dir.path(), config, START).unwrap();
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, end, reply);
    (dir, crawl)
}

#[test]
fn soft_404s_and_duplicates_are_left_out_and_counted() {
    let wary = Config { probe_pages: 20, ..config() };
    let (dir, wary) = crawl(wary, seconds(200));
    let dropped = &wary.tally().dropped;
    // Page 2, and what was fetched before the host was known to say it of any page.
    assert!((1..20 - REAL + 2).contains(&(dropped[&DropReason::Duplicate] as u32)), "{dropped:?}");
    assert_eq!(wary.tally().held, u64::from(REAL - 1), "{dropped:?}");
    assert!(dropped[&DropReason::Soft404] >= u64::from(LINKED - 20), "{dropped:?}");
    for page in REAL..LINKED {
        let page = wary.store().page_of(url(0, page).as_str()).unwrap().unwrap();
        assert!(wary.store().tables().unwrap().copy(page).unwrap().is_none());
    }
    // What the host says where there is no page is known after a restart too.
    drop(wary);
    let at = START + (Span::SECOND.times(200)).as_micros().cast_signed();
    let wary = Partition::open(dir.path(), Config { probe_pages: 20, ..config() }, at).unwrap();
    let row = wary.store().tables().unwrap().hosts().next().unwrap().unwrap().1;
    assert!(row.absent.is_some() && row.robots.is_some(), "{row:?}");
}

/// Each folder may have an application of its own, which says in its own way that there is no such page.
#[test]
fn a_folder_is_probed_once_two_of_its_pages_say_the_same() {
    let wary = Config { probe_pages: 20, ..config() };
    let (dir, wary) = crawl_from(reply_but_root, wary, seconds(200));
    let dropped = &wary.tally().dropped;
    assert!(dropped[&DropReason::Soft404] >= u64::from(LINKED - 20), "{dropped:?}");
    assert_eq!(wary.tally().held, u64::from(REAL - 1), "{dropped:?}");
    let hosts = |crawl: &Partition| crawl.store().tables().unwrap().hosts().next().unwrap();
    let row = hosts(&wary).unwrap().1;
    assert_eq!(row.absent, Some(Absent::Told));
    assert!(matches!(&row.folders[..], [(folder, Absent::Page { .. })] if folder == "/p/"));
    drop(wary);
    let at = START + (Span::SECOND.times(200)).as_micros().cast_signed();
    let wary = Partition::open(dir.path(), Config { probe_pages: 20, ..config() }, at).unwrap();
    assert_eq!(hosts(&wary).unwrap().1.folders, row.folders);
}

#[test]
fn without_hygiene_all_of_it_is_kept() {
    let (_dir, all) = crawl(Config { drop_duplicates: false, ..config() }, seconds(200));
    assert_eq!(all.tally().held, u64::from(LINKED));
    assert!(!all.tally().dropped.contains_key(&DropReason::Duplicate));
}

#[test]
fn no_more_pages_become_known_than_memory_allows() {
    let (_dir, small) = crawl(Config { pages_mb: 0, ..config() }, seconds(20));
    assert_eq!(small.store().pages(), 1, "the seed");
    assert!(small.tally().dropped[&DropReason::MemoryFull] >= u64::from(LINKED - 1));
}
