//! What owners say about the use of their pages.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use tidewatch_archive::Records;
use tidewatch_core::{DropReason, Span, Time};
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_partition::{Config, Partition};
use tidewatch_robots::{Use, Wishes};

use crate::{START, TOOK, answer, config, run_on, seconds, url};

/// robots.txt denies training on even pages, headers on pages that 3 divides.
fn reply(job: &Job, now: Time) -> Report {
    let mut report = answer(job, now);
    match (job, &mut report) {
        (Job::Robots { host, .. }, _) => {
            let body = (0..40)
                .step_by(2)
                .map(|page| format!("Content-Signal: /p/{page}$ search=yes, ai-train=no\n"));
            let body = format!("User-agent: *\n{}Disallow: /private\n", body.collect::<String>());
            let found = Ok((200, body.into_bytes()));
            return Report::Robots { host: *host, found, retry_after: None, took: TOOK };
        }
        (Job::Page { url, wishes, .. }, Report::Page { came: Came::Content(content), .. }) => {
            content.capture.wishes = *wishes;
            if number(url.path()).is_multiple_of(3) {
                let said = Wishes::of_usage("train-ai=n");
                content.capture.wishes = content.capture.wishes.and(said);
            }
        }
        _ => {}
    }
    report
}

fn number(path: &str) -> u32 {
    path.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(1)
}

/// Crawls host 0 from page 1, which is odd, and returns the pages requested.
fn crawl(uses: Vec<Use>) -> (tempfile::TempDir, Partition, Vec<u32>) {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { uses, ..config() };
    let mut crawl = Partition::open(dir.path(), config, START).unwrap();
    (0..40).for_each(|page| {
        crawl.seed(&url(0, page), Time::ZERO).unwrap();
    });
    let requested = RefCell::new(Vec::new());
    run_on(&mut crawl, Time::ZERO, seconds(200), |job, now| {
        if let Job::Page { url, .. } = job
            && url.host() == "h0.example"
        {
            requested.borrow_mut().push(number(url.path()));
        }
        reply(job, now)
    });
    (dir, crawl, requested.into_inner())
}

fn wishes(crawl: &Partition, page: u32) -> Option<Wishes> {
    let page = crawl.store().page_of(url(0, page).as_str()).unwrap().unwrap();
    let copy = crawl.store().tables().unwrap().copy(page).unwrap();
    copy.map(|copy| copy.capture.unwrap_or_default().wishes)
}

/// Pages of which the archive holds an answer.
fn archived(dir: &Path) -> BTreeSet<u32> {
    let file = File::open(dir.join("archive/tidewatch-00001.warc.gz")).unwrap();
    let records = Records::new(BufReader::new(file)).map(|record| record.unwrap());
    let answers = records.filter(|record| record.kind() == "response");
    answers.map(|answer| number(answer.field("WARC-Target-URI").unwrap())).collect()
}

#[test]
fn pages_denied_for_every_declared_use_are_neither_requested_nor_kept() {
    let (dir, mut crawl, requested) = crawl(vec![Use::TrainAi]);
    let denied_by_robots: Vec<_> = requested.iter().filter(|page| page.is_multiple_of(2)).collect();
    assert_eq!(denied_by_robots, Vec::<&u32>::new(), "robots.txt denies them");
    assert!(requested.contains(&3) && requested.contains(&5));
    assert_eq!(wishes(&crawl, 3), None, "its header denies it, so no copy is kept");
    assert_eq!(wishes(&crawl, 5), Some(Wishes::NONE));
    assert!(crawl.tally().dropped[&DropReason::UseDenied] >= 20);
    let why = crawl.obstacle(&url(0, 4), Time::ZERO + Span::HOUR).unwrap().unwrap();
    assert_eq!(why, "Its owner denies the use of its content for train-ai.");
    drop(crawl);
    let archived = archived(dir.path());
    assert!(archived.contains(&5) && archived.len() > 10, "{archived:?}");
    assert!(archived.iter().all(|page| page % 2 != 0 && page % 3 != 0), "{archived:?}");
}

#[test]
fn a_denied_use_that_is_not_declared_is_only_noted() {
    let (dir, crawl, requested) = crawl(vec![Use::Search, Use::TrainAi]);
    assert!((0..40).all(|page| requested.contains(&page)), "{requested:?}");
    let noted = |page| wishes(&crawl, page).unwrap().to_string();
    assert_eq!([noted(4), noted(3)], ["search=y, train-ai=n", "train-ai=n"]);
    assert_eq!(noted(6), "search=y, train-ai=n", "both say so");
    assert_eq!(crawl.tally().dropped.get(&DropReason::UseDenied), None);
    drop(crawl);
    assert!(archived(dir.path()).is_superset(&(0..40).collect()));
}
