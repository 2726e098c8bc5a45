//! Power cuts and lost records: no copy stays without its record.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use tidewatch_archive::{path_of, read_at};
use tidewatch_core::{Span, Time};
use tidewatch_partition::Partition;
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_store::{Batch, Memory, Store};

use crate::{answer, open, run, run_on, seconds, url};

/// Copies whose record cannot be read, or is that of another page.
fn without_record(crawl: &Partition, dir: &Path) -> Vec<String> {
    let mut lost = Vec::new();
    for row in crawl.store().tables().unwrap().copies() {
        let (page, copy) = row.unwrap();
        let url = crawl.address(page).unwrap().into_string();
        let record = read_at(&path_of(&dir.join("archive"), copy.place.file), copy.place.offset);
        let is_there =
            record.is_ok_and(|record| record.field("WARC-Target-URI") == Some(url.as_str()));
        if !is_there {
            lost.push(url);
        }
    }
    lost
}

fn cut(warc: &Path, length: u64) {
    OpenOptions::new().write(true).open(warc).unwrap().set_len(length).unwrap();
}

fn warc(dir: &Path) -> PathBuf {
    path_of(&dir.join("archive"), 1)
}

/// The engine may sync its journal at any commit, so every commit must leave the archive synced first.
/// Here the machine stops right after a commit that nobody synced, and the archive keeps what was synced.
#[test]
fn no_commit_is_ahead_of_the_synced_archive() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(30));
    let mark = crawl.store().tables().unwrap().meta("archived").unwrap();
    let synced = mark.map_or(0, |mark| u64::from_le_bytes(mark[4..].try_into().unwrap()));
    drop(crawl);
    cut(&warc(dir.path()), synced);
    let crawl = open(dir.path(), seconds(30));
    assert!(crawl.tally().held > 100, "{} copies", crawl.tally().held);
    assert_eq!(without_record(&crawl, dir.path()), Vec::<String>::new());
}

/// The server says of every page that it has not changed, if asked whether it has.
fn unchanged(job: &Job, now: Time) -> Report {
    let mut report = answer(job, now);
    if let (Job::Page { held: Some(_), .. }, Report::Page { came, status, packed, .. }) =
        (job, &mut report)
    {
        (*came, *status, *packed) = (Came::Same, Some(304), None);
    }
    report
}

#[test]
fn a_page_whose_record_is_lost_is_archived_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(60));
    crawl.sync().unwrap();
    drop(crawl);
    let path = warc(dir.path());
    cut(&path, std::fs::metadata(&path).unwrap().len() / 2);
    let mut crawl = open(dir.path(), seconds(60));
    let before = without_record(&crawl, dir.path()).len();
    assert!(before > 50, "{before} records are lost");
    run_on(&mut crawl, seconds(60), seconds(60) + Span::HOUR, unchanged);
    crawl.sync().unwrap();
    assert_eq!(without_record(&crawl, dir.path()), Vec::<String>::new());
}

/// A version that did not sync the archive first could leave copies whose place another record took.
#[test]
fn a_copy_whose_place_is_another_pages_record_is_archived_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(60));
    crawl.sync().unwrap();
    drop(crawl);
    let mut store = Store::open(dir.path(), Memory::default()).unwrap();
    let copies: Vec<_> = store.tables().unwrap().copies().map(Result::unwrap).collect();
    let mut batch = Batch::default();
    for pair in copies.chunks_exact(2).take(20) {
        let (page, mut copy) = pair[0].clone();
        copy.place = pair[1].1.place;
        batch.copies.insert(page, copy);
    }
    store.commit(&batch).unwrap();
    store.sync().unwrap();
    drop(store);
    let mut crawl = open(dir.path(), seconds(60));
    assert_eq!(without_record(&crawl, dir.path()).len(), 20);
    run_on(&mut crawl, seconds(60), seconds(60) + Span::HOUR, unchanged);
    crawl.sync().unwrap();
    assert_eq!(without_record(&crawl, dir.path()), Vec::<String>::new());
}
