//! `check` names every damage by which a crawl holds less than before, and changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use tidewatch_service::{CheckedPart, Remedy, Service, ServiceConfig, check};
use tokio::runtime::Runtime;

use crate::{config, wait_until, web};

/// Bits flipped in each file, at equal distances.
const FLIPS: usize = 5;
/// Most of the damages hit the archive, the journal, the sieve, the index or the snapshot.
const LEAST_NAMED: usize = 50;

pub(crate) fn crawled(dir: &Path) {
    let runtime = Runtime::new().unwrap();
    let web = web(&runtime);
    let mut config = config(dir, &web);
    config.stop_after_fetches = Some(60);
    let mut service = Service::open(&config).unwrap();
    service.run().unwrap();
    service.finish(None);
}

pub(crate) fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// The file's bytes after every kind of damage, with the damage's name; `None` deletes it.
pub(crate) fn damages(whole: &[u8], flips: usize) -> Vec<(String, Option<Vec<u8>>)> {
    let mut damages = vec![
        ("deleted".to_owned(), None),
        ("emptied".to_owned(), Some(Vec::new())),
        ("halved".to_owned(), Some(whole[..whole.len() / 2].to_vec())),
        ("cut".to_owned(), Some(whole[..whole.len().saturating_sub(100)].to_vec())),
    ];
    for flip in 0..flips.min(whole.len()) {
        let at = (2 * flip + 1) * whole.len() / (2 * flips);
        let mut bytes = whole.to_vec();
        bytes[at] ^= 1 << (flip % 8);
        damages.push((format!("bit {} of byte {at} flipped", flip % 8), Some(bytes)));
    }
    damages
}

fn checked(dir: &Path) -> Vec<CheckedPart> {
    check(dir, &|_| {}).unwrap()
}

fn problems(parts: Vec<CheckedPart>) -> Vec<CheckedPart> {
    parts.into_iter().filter(|part| !part.problems.is_empty()).collect()
}

/// What the parts hold: rows of each table, readable copies.
fn held(parts: &[CheckedPart]) -> Vec<&str> {
    parts.iter().map(|part| part.holds.as_str()).filter(|holds| !holds.is_empty()).collect()
}

#[test]
fn every_damage_that_loses_something_is_named_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    crawled(dir.path());
    let before = checked(dir.path());
    let mut all = Vec::new();
    files(dir.path(), &mut all);
    all.sort();
    let (mut silent, mut named) = (Vec::new(), 0);
    for path in all {
        let name = path.strip_prefix(dir.path()).unwrap().display().to_string();
        let whole = fs::read(&path).unwrap();
        for (damage, bytes) in damages(&whole, FLIPS) {
            match &bytes {
                None => fs::remove_file(&path).unwrap(),
                Some(bytes) => fs::write(&path, bytes).unwrap(),
            }
            let told = check(dir.path(), &|_| {});
            assert_eq!(fs::read(&path).ok(), bytes, "{name} {damage}: the check wrote to it");
            fs::write(&path, &whole).unwrap();
            let is_named =
                |parts: &[CheckedPart]| parts.iter().any(|part| !part.problems.is_empty());
            match told {
                Ok(parts) if !is_named(&parts) && held(&parts) == held(&before) => {}
                Ok(parts) if !is_named(&parts) => silent.push(format!("{name} {damage}")),
                _ => named += 1,
            }
        }
    }
    let after = checked(dir.path());
    assert_eq!(held(&after), held(&before));
    assert!(problems(after).is_empty(), "the mended crawl is whole");
    assert!(silent.is_empty(), "not noticed: {silent:#?}");
    assert!(named > LEAST_NAMED, "only {named} damages were named");
}

/// Every file of a segment, deleted one at a time, is noticed, and the next start rebuilds the index.
#[test]
fn a_lost_file_of_the_index_is_no_loss() {
    let dir = tempfile::tempdir().unwrap();
    crawled(dir.path());
    let mut all = Vec::new();
    files(&dir.path().join("index"), &mut all);
    for kind in ["idx", "pos", "term", "store", "fast", "fieldnorm"] {
        let is_kind = |path: &&PathBuf| path.extension().is_some_and(|ext| ext == kind);
        fs::remove_file(all.iter().find(is_kind).unwrap()).unwrap();
        let found = problems(checked(dir.path()));
        assert!(found.len() == 1 && found[0].path == "index" && !found[0].has_loss(), "{found:?}");
        let mut reading = Service::open_to_read(&ServiceConfig::new(dir.path())).unwrap();
        let handle = reading.handle();
        let thread = std::thread::spawn(move || (reading.run(), reading));
        wait_until(|| handle.search("water", 50).unwrap().total >= 10);
        handle.stop();
        let (ended, mut reading) = thread.join().unwrap();
        ended.unwrap();
        reading.finish(None);
        drop(reading);
        all.clear();
        files(&dir.path().join("index"), &mut all);
    }
}

#[test]
fn the_pages_of_a_lost_archive_file_are_named() {
    let dir = tempfile::tempdir().unwrap();
    crawled(dir.path());
    fs::remove_file(dir.path().join("archive/tidewatch-00001.warc.gz")).unwrap();
    let found = problems(checked(dir.path()));
    let archive = found.iter().find(|part| part.path == "archive").unwrap();
    assert!(archive.has_loss() && archive.holds == "0 readable copies", "{archive:?}");
    assert!(archive.problems.iter().all(|problem| problem.remedy == Remedy::FetchedAgain));
    assert!(archive.problems[0].what.contains("tidewatch-00001.warc.gz is missing"));
    assert!(archive.problems[1].what.starts_with("the copy of http://"));
}
