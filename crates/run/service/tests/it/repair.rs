//! `repair` rebuilds a damaged crawl and tells what is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tidewatch_archive::{Location, is_readable};
use tidewatch_core::PageId;
use tidewatch_partition::Rebuilt;
use tidewatch_service::{Remedy, Service, ServiceConfig, check, repair, replay};
use tidewatch_store::{Memory, Place, Store};

use crate::damage::{crawled, damages, files};

/// Bits flipped in each file, at equal distances.
const FLIPS: usize = 5;
/// Parts into which flipped bits divide a journal.
const PLACES: usize = 6;

/// Pages known, and copies that can be read.
fn held(dir: &Path) -> (u32, u64) {
    let store = Store::read(dir, Memory::default()).unwrap();
    let (archive, mut readable) = (dir.join("archive"), 0);
    let checked = store.check(|_, url, copy| {
        let Place { file, offset, bytes } = copy.place;
        readable += u64::from(is_readable(&archive, Location { file, offset, bytes }, url));
    });
    let faults = checked.unwrap().faults;
    assert!(faults.is_empty(), "{faults:?}");
    (store.pages(), readable)
}

#[test]
fn a_crawl_without_tables_is_rebuilt_from_its_archive_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    crawled(dir.path());
    let before = held(dir.path());
    for lost in ["db", "sieve"] {
        fs::remove_dir_all(dir.path().join(lost)).unwrap();
    }
    fs::remove_file(dir.path().join("frontier.snapshot")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new");
    let rebuilt = repair(dir.path(), &to, &|_| {}).unwrap().remove(0);
    let (pages, copies) = held(&to);
    assert!(copies >= before.1, "{copies} of {} copies: {rebuilt:?}", before.1);
    assert_eq!(
        rebuilt.pages_before, before.0,
        "the note of the last sync tells how many there were"
    );
    assert!(rebuilt.unreadable_tables.is_some() && rebuilt.copies_from_archive == copies);
    assert!(
        pages > before.0 / 2,
        "links of archived pages are known again: {pages} of {}",
        before.0
    );
    let error = repair(dir.path(), &to, &|_| {}).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
    // It can be opened and has its frontier.
    let service = Service::open_to_read(&ServiceConfig::new(&to)).unwrap();
    assert_eq!(service.status().pages, pages);
}

/// Everything that a crawl holds: the URLs of its pages, and of those with a copy its digest and place.
#[derive(Debug, PartialEq)]
struct Contents {
    pages: BTreeSet<String>,
    copies: BTreeMap<String, ([u8; 20], Place)>,
}

fn contents(dir: &Path) -> Contents {
    let store = Store::read(dir, Memory::default()).unwrap();
    let tables = store.tables().unwrap();
    let urls = tables.pages_from(PageId(0)).map(Result::unwrap).map(|(_, row)| {
        let host = tables.host(row.host).unwrap().unwrap();
        format!("{}{}", host.origin, row.path)
    });
    let (pages, mut copies) = (urls.collect(), BTreeMap::new());
    store
        .check(|_, url, copy| {
            copies.insert(url.to_owned(), (copy.digest, copy.place));
        })
        .unwrap();
    Contents { pages, copies }
}

/// Whether the archive of a crawl holds a copy's record.
fn has_record(dir: &Path, url: &str, place: Place) -> bool {
    let Place { file, offset, bytes } = place;
    is_readable(&dir.join("archive"), Location { file, offset, bytes }, url)
}

/// What is wrong with a crawl that was repaired as `to` from the damaged `from`, which held `before`.
fn faults(
    from: &Path,
    to: &Path,
    before: &Contents,
    told: &Rebuilt,
    is_table: bool,
) -> Vec<String> {
    let (after, mut faults) = (contents(to), Vec::new());
    let mut lost = Vec::new();
    for (url, (digest, place)) in &before.copies {
        match after.copies.get(url) {
            None if has_record(from, url, *place) => {
                faults.push(format!("lacks the copy of {url}"));
            }
            None => lost.push(url.clone()),
            Some((other, _)) if other != digest && has_record(from, url, *place) => {
                faults.push(format!("has another copy of {url}"));
            }
            Some(_) => {}
        }
    }
    for (url, (_, place)) in &after.copies {
        if !before.copies.contains_key(url) || !has_record(from, url, *place) {
            faults.push(format!("invents the copy of {url}"));
        }
    }
    let mut said = told.lost.clone();
    said.sort();
    if said != lost || told.copies_lost != lost.len() as u64 {
        faults.push(format!("says {} lost copies of {}: {said:?}", told.copies_lost, lost.len()));
    }
    faults.extend(after.pages.difference(&before.pages).map(|url| format!("invents {url}")));
    let missing: Vec<&String> = before.pages.difference(&after.pages).collect();
    if !missing.is_empty() && !is_table {
        faults.push(format!("lacks pages: {missing:?}"));
    }
    if told.pages_lost() as usize != missing.len() {
        faults.push(format!("says {} lost pages of {missing:?}", told.pages_lost()));
    }
    for part in check(to, &|_| {}).unwrap() {
        let is_fault = |remedy| remedy == Remedy::Restore || told.archive_damage.is_empty();
        let found = part.problems.into_iter().filter(|problem| is_fault(problem.remedy));
        faults.extend(found.map(|problem| format!("check: {}: {}", part.path, problem.what)));
    }
    if let Err(error) = replay(to) {
        faults.push(format!("replay: {error}"));
    }
    faults
}

fn contents_of_files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    files(dir, &mut all);
    all.sort();
    all.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// What was learnt about a topic names pages by their numbers, which are others in the repaired crawl.
#[test]
fn fits_of_pages_are_not_given_to_others() {
    let dir = tempfile::tempdir().unwrap();
    crawled(dir.path());
    fs::write(dir.path().join("topic.snapshot"), "learnt").unwrap();
    let to = dir.path().with_extension("repaired");
    repair(dir.path(), &to, &|_| {}).unwrap();
    assert!(!to.join("topic.snapshot").exists());
    fs::remove_dir_all(to).unwrap();
}

/// Every kind of damage to every file: whatever can still be read is in the repaired crawl, nothing is
/// invented, what is lost is told exactly, and the damaged directory stays as it is.
#[test]
fn every_damage_is_repaired_as_far_as_anything_is_readable() {
    let dir = tempfile::tempdir().unwrap();
    crawled(dir.path());
    let (before, whole) = (contents(dir.path()), contents_of_files(dir.path()));
    assert!(before.copies.len() >= 20, "{before:?}");
    let (mut wrong, mut with_loss) = (Vec::new(), 0);
    for (path, bytes) in &whole {
        let name = path.strip_prefix(dir.path()).unwrap().display().to_string();
        // The index is rebuilt whatever it holds: one damage of each of its files is enough.
        let most = if name.starts_with("index/") { 1 } else { usize::MAX };
        for (damage, damaged) in damages(bytes, FLIPS).into_iter().take(most) {
            match &damaged {
                None => fs::remove_file(path).unwrap(),
                Some(bytes) => fs::write(path, bytes).unwrap(),
            }
            let found = contents_of_files(dir.path());
            let folder = tempfile::tempdir().unwrap();
            let to = folder.path().join("new");
            match repair(dir.path(), &to, &|_| {}) {
                Err(error) => wrong.push(format!("{name} {damage}: {error}")),
                Ok(told) => {
                    with_loss += usize::from(told[0].has_loss());
                    let is_table = name.starts_with("db/");
                    let faults = faults(dir.path(), &to, &before, &told[0], is_table);
                    wrong.extend(faults.iter().map(|fault| format!("{name} {damage}: {fault}")));
                }
            }
            assert!(contents_of_files(dir.path()) == found, "{name} {damage}: repair wrote there");
            fs::write(path, bytes).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} faults, {wrong:#?}", wrong.len());
    assert!(with_loss > 0, "no damage lost anything");
}

/// Where tape, rows and archive all lost a copy, the last snapshot still tells that there was one.
#[test]
fn the_snapshot_tells_of_copies_that_nothing_else_knows() {
    let dir = tempfile::tempdir().unwrap();
    crawled(dir.path());
    let (before, whole) = (contents(dir.path()), contents_of_files(dir.path()));
    let ends_with =
        |end: &str| whole.iter().find(|(path, _)| path.to_string_lossy().ends_with(end)).unwrap();
    let (journal, archive) = (ends_with(".jnl"), ends_with(".warc.gz"));
    let end = journal.1.iter().rposition(|&byte| byte != 0).unwrap();
    fs::write(&archive.0, []).unwrap();
    let (mut told, mut alone) = (0, 0);
    for place in 1..PLACES {
        let mut bytes = journal.1.clone();
        bytes[end * place / PLACES] ^= 1;
        fs::write(&journal.0, bytes).unwrap();
        let repaired = || {
            let folder = tempfile::tempdir().unwrap();
            let to = folder.path().join("new");
            let told = repair(dir.path(), &to, &|_| {}).unwrap().remove(0);
            (told.lost.into_iter().collect::<BTreeSet<_>>(), contents(&to))
        };
        let (lost, after) = repaired();
        let held = before.copies.keys().filter(|url| after.pages.contains(*url));
        assert_eq!(lost, held.cloned().collect(), "every copy of a page that is still known");
        let snapshot = dir.path().join("frontier.snapshot");
        let kept = fs::read(&snapshot).unwrap();
        fs::remove_file(&snapshot).unwrap();
        (told, alone) = (told + lost.len(), alone + repaired().0.len());
        fs::write(&snapshot, kept).unwrap();
    }
    assert!(told > alone, "{told} with the snapshot, {alone} without it");
}
