//! `repair` rebuilds a damaged crawl and tells what is lost.

use std::fs;
use std::path::Path;

use tidewatch_archive::{Location, is_readable};
use tidewatch_service::{Service, ServiceConfig, repair};
use tidewatch_store::{Memory, Place, Store};

use crate::damage::crawled;

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
