//! A crawl's directory as its users see it.
#![allow(clippy::unwrap_used)]

mod damage;

use std::fs;
use std::path::Path;

use tidewatch_core::{HostId, PageId, Span, Time};
use tidewatch_frontier::tape::Input;
use tidewatch_store::{Batch, CopyRow, HostRow, Memory, PageRow, Store, StoreError};

fn open(dir: &Path) -> Store {
    Store::open(dir, Memory::default()).unwrap()
}

fn host(origin: &str) -> HostRow {
    HostRow { origin: origin.into(), robots: None, absent: None, folders: vec![] }
}

fn add_page(store: &mut Store, batch: &mut Batch, number: u32) -> PageId {
    let host = store.host_of("https://a.example");
    let host = host.unwrap_or_else(|| store.add_host(self::host("https://a.example"), batch));
    let path = format!("/{number}");
    let row = PageRow {
        host,
        path: path.clone(),
        depth: 1,
        hops: tidewatch_store::Hops::NONE,
        via: None,
        is_source: false,
    };
    store.add_page(&format!("https://a.example{path}"), row, batch).unwrap()
}

#[test]
fn what_was_committed_is_there_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut batch = Batch::default();
    let mut store = open(dir.path());
    for number in 0..100 {
        assert_eq!(add_page(&mut store, &mut batch, number), PageId(number));
    }
    let copy = CopyRow { at: Time::ZERO + Span::DAY, status: 200, visits: 3, ..CopyRow::default() };
    batch.copies.insert(PageId(7), copy.clone());
    batch.tape.push(Input::Host);
    batch.tape.push(Input::Resumed { at: Time::ZERO });
    batch.meta.insert("epoch".into(), vec![1, 2, 3]);
    store.commit(&batch).unwrap();
    store.commit(&Batch { tape: vec![Input::Host], ..Batch::default() }).unwrap();
    store.sync().unwrap();
    drop(store);

    let store = open(dir.path());
    assert_eq!((store.pages(), store.hosts()), (100, 1));
    assert_eq!(store.page_of("https://a.example/42").unwrap(), Some(PageId(42)));
    assert_eq!(store.page_of("https://a.example/100").unwrap(), None);
    assert_eq!(store.tables().unwrap().copy(PageId(7)).unwrap(), Some(copy));
    assert_eq!(store.tables().unwrap().host(HostId(0)).unwrap(), Some(host("https://a.example")));
    assert_eq!(store.tables().unwrap().meta("epoch").unwrap(), Some(vec![1, 2, 3]));
    let tape: Result<Vec<Input>, _> = store.tape(0).unwrap().collect();
    assert_eq!(tape.unwrap(), [Input::Host, Input::Resumed { at: Time::ZERO }, Input::Host]);
}

#[test]
fn a_batch_that_is_committed_again_is_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let batch = |inputs: usize| Batch { tape: vec![Input::Host; inputs], ..Batch::default() };
    store.commit(&batch(1)).unwrap();
    let inputs = |store: &Store| store.tape(0).unwrap().count();
    assert_eq!((inputs(&store), store.next_tape()), (1, 1));
    drop(store);
    let mut store = open(dir.path());
    store.commit(&batch(2)).unwrap();
    assert_eq!((inputs(&store), store.next_tape()), (3, 2));
}

#[test]
fn what_was_not_committed_is_forgotten_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    add_page(&mut store, &mut Batch::default(), 0);
    drop(store);
    let store = open(dir.path());
    assert_eq!((store.pages(), store.hosts()), (0, 0));
    assert_eq!(store.page_of("https://a.example/0").unwrap(), None);
}

#[test]
fn a_sieve_smaller_than_the_crawl_spills_and_still_knows_every_page() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory { sieve: 10_000, ..Memory::default() };
    let mut store = Store::open(dir.path(), memory).unwrap();
    for round in 0..20 {
        let mut batch = Batch::default();
        for number in round * 100..(round + 1) * 100 {
            add_page(&mut store, &mut batch, number);
        }
        store.commit(&batch).unwrap();
        store.tidy().unwrap();
    }
    assert!(fs::read_dir(dir.path().join("sieve")).unwrap().count() > 1, "runs were written");
    store.settle().unwrap();
    drop(store);
    let store = Store::open(dir.path(), memory).unwrap();
    for number in 0..2_000 {
        let url = format!("https://a.example/{number}");
        assert_eq!(store.page_of(&url).unwrap(), Some(PageId(number)), "{url}");
    }
    drop(store);
    fs::remove_dir_all(dir.path().join("sieve")).unwrap();
    let store = Store::open(dir.path(), memory).unwrap();
    assert_eq!(store.page_of("https://a.example/1999").unwrap(), Some(PageId(1_999)));
}

#[test]
fn a_directory_in_use_of_another_version_or_of_another_kind_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let error = Store::open(dir.path(), Memory::default()).err().unwrap();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    drop(store);
    fs::write(dir.path().join("format"), "99\n").unwrap();
    let error = Store::open(dir.path(), Memory::default()).err().unwrap();
    assert!(error.to_string().contains("format 99"), "{error}");
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.txt"), "years of work").unwrap();
    let error = Store::open(other.path(), Memory::default()).err().unwrap();
    assert!(matches!(error, StoreError::NotACrawl { .. }), "{error}");
}
