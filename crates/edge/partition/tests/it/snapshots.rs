//! A start from a snapshot comes to the same as one from the whole history.

use std::fs;
use std::path::Path;

use tidewatch_core::{Rate, Time};

use crate::{open, run, seconds, url};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_snapshot_is_a_short_cut_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let (short, long) = (root.path().join("short"), root.path().join("long"));
    let mut crawl = open(&short, Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(60));
    crawl.save().unwrap();
    assert_eq!(crawl.unsaved(), 0);
    // Under way at the end: the snapshot must know nothing of it, and the tape all.
    run(&mut crawl, seconds(60), seconds(80));
    drop(crawl);
    copy(&short, &long);
    fs::remove_file(long.join("frontier.snapshot")).unwrap();
    let go_on = |dir: &Path| {
        let mut crawl = open(dir, seconds(80));
        let played = crawl.unsaved();
        let stored = run(&mut crawl, seconds(80), seconds(120));
        (played, stored, crawl.tally().clone())
    };
    let (from_snapshot, from_start) = (go_on(&short), go_on(&long));
    assert!(from_snapshot.0 < from_start.0 / 2, "{} of {}", from_snapshot.0, from_start.0);
    assert_eq!(from_snapshot.1, from_start.1, "the same decisions");
    assert_eq!(from_snapshot.2, from_start.2);
    assert!(!from_start.1.is_empty());
}

#[test]
fn a_damaged_or_foreign_snapshot_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(30));
    crawl.save().unwrap();
    let pages = crawl.store().pages();
    drop(crawl);
    let file = dir.path().join("frontier.snapshot");
    let good = fs::read(&file).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let mut later = good.clone();
    later[16] = u8::MAX;
    for bad in [&flipped[..], &later, &good[..good.len() - 1], &good[..5], b""] {
        fs::write(&file, bad).unwrap();
        let crawl = open(dir.path(), seconds(30));
        assert_eq!(crawl.store().pages(), pages);
        assert!(crawl.unsaved() > u64::from(pages), "all of the tape was played");
    }
}

/// A crawl of a web that lives faster counts that web's seconds, also when it is opened again.
#[test]
fn a_faster_web_has_its_own_time() {
    const PACE: f64 = 1440.0;
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    let began = crawl.unix_micros(Time::ZERO);
    crawl.set_pace(PACE);
    crawl.commit().unwrap();
    drop(crawl);
    let mut crawl = open(dir.path(), Time::ZERO);
    let minute = began + 60_000_000;
    assert_eq!(crawl.time(minute), seconds(86_400));
    assert_eq!(crawl.unix_micros(seconds(86_400)), minute);
    let per_s = crawl.status().budget_per_s;
    let plain = open(tempfile::tempdir().unwrap().path(), Time::ZERO);
    assert!((per_s / plain.status().budget_per_s - PACE).abs() < 1e-6, "{per_s}");
    // What an operator sets and is told is by the operator's second.
    let asked = Rate::per_second(25.0).unwrap();
    crawl.set_budget(asked, Time::ZERO).unwrap();
    let told = [crawl.status().budget_per_s, crawl.budget().as_per_second()];
    let what_if = crawl.what_if(asked).map(|found| found.budget);
    for told in told.into_iter().chain(what_if) {
        assert!((told - 25.0).abs() < 1e-6, "{told}");
    }
}
