//! A damaged journal is refused and left as it is; it is never taken for a shorter or empty crawl.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tidewatch_frontier::tape::Input;
use tidewatch_store::{Batch, Memory, Store, StoreError};

use crate::{add_page, open};

const BATCHES: u32 = 40;

/// A crawl of synced batches, whose journal has its real length.
fn filled(dir: &Path) -> PathBuf {
    let mut store = open(dir);
    for number in 0..BATCHES {
        let mut batch = Batch { tape: vec![Input::Host; 3], ..Batch::default() };
        add_page(&mut store, &mut batch, number);
        store.commit(&batch).unwrap();
    }
    store.sync().unwrap();
    drop(store);
    // The engine cuts the room that it had reserved.
    drop(open(dir));
    let journals = fs::read_dir(dir.join("db")).unwrap().map(|file| file.unwrap().path());
    let mut journals = journals.filter(|path| path.extension().is_some_and(|ext| ext == "jnl"));
    let journal = journals.next().unwrap();
    assert!(journals.next().is_none());
    journal
}

fn refuses(dir: &Path, what: &str) {
    for opened in [Store::open(dir, Memory::default()), Store::read(dir, Memory::default())] {
        match opened {
            Err(error @ StoreError::Lost { .. }) => {
                let told = error.to_string();
                assert!(told.contains("is damaged") && !told.contains("Fjall"), "{told}");
            }
            Err(error) => panic!("{what}: {error}"),
            Ok(store) => panic!("{what}: {} of {BATCHES} pages", store.pages()),
        }
    }
}

#[test]
fn one_flipped_bit_is_refused_and_nothing_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    let whole = fs::read(&journal).unwrap();
    // What a flip in the very last batch does is below: its number is in no checksum.
    for at in (0..whole.len() - 300).step_by(whole.len() / 60) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&journal, &damaged).unwrap();
        refuses(dir.path(), &format!("bit {} of byte {at}", at % 8));
        assert_eq!(fs::read(&journal).unwrap(), damaged, "byte {at}");
    }
    fs::write(&journal, &whole).unwrap();
    assert_eq!(open(dir.path()).pages(), BATCHES);
}

/// The number of the last batch is in no checksum, so a flip there may go unnoticed if it changes
/// nothing that is read.
#[test]
fn a_flipped_bit_in_the_last_batch_is_refused_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    let whole = fs::read(&journal).unwrap();
    for at in whole.len() - 260..whole.len() {
        for bit in [at % 8, 7] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            fs::write(&journal, &damaged).unwrap();
            match Store::read(dir.path(), Memory::default()) {
                Err(StoreError::Lost { .. }) => {}
                Err(error) => panic!("bit {bit} of byte {at}: {error}"),
                Ok(store) => {
                    let inputs = store.tape(0).unwrap().flatten().count();
                    let found = (store.pages(), inputs);
                    assert_eq!(found, (BATCHES, 3 * BATCHES as usize), "bit {bit} of byte {at}");
                }
            }
        }
    }
    fs::write(&journal, &whole).unwrap();
    let mut store = open(dir.path());
    store.commit(&Batch { tape: vec![Input::Host], ..Batch::default() }).unwrap();
}

/// Flushes every table and puts an empty journal in the place of the old one, as the engine does when
/// the old one is full.
fn rotate(dir: &Path, journal: &Path) -> PathBuf {
    let db = fjall::Database::builder(dir.join("db")).open().unwrap();
    for name in db.list_keyspace_names() {
        let table = db.keyspace(&name, fjall::KeyspaceCreateOptions::default).unwrap();
        table.rotate_memtable_and_wait().unwrap();
    }
    drop(db);
    let number: u64 = journal.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let new = journal.with_file_name(format!("{}.jnl", number + 1));
    fs::rename(journal, &new).unwrap();
    new
}

#[test]
fn a_torn_first_batch_of_a_new_journal_is_what_a_crash_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    let torn = fs::read(&journal).unwrap()[..90].to_vec();
    let new = rotate(dir.path(), &journal);
    fs::write(&new, &torn).unwrap();
    assert_eq!(Store::read(dir.path(), Memory::default()).unwrap().pages(), BATCHES);
    assert_eq!(fs::read(&new).unwrap(), torn, "a reader changes nothing");
    assert_eq!(open(dir.path()).pages(), BATCHES);
}

#[test]
fn an_emptied_halved_or_missing_journal_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    let whole = fs::read(&journal).unwrap();
    for (length, what) in [(whole.len() / 2, "halved"), (whole.len() - 100, "cut")] {
        fs::write(&journal, &whole[..length]).unwrap();
        refuses(dir.path(), what);
    }
    for (bytes, what) in [(vec![0; whole.len()], "zeros"), (Vec::new(), "emptied")] {
        fs::write(&journal, &bytes).unwrap();
        refuses(dir.path(), what);
        fs::write(&journal, &whole).unwrap();
        assert_eq!(open(dir.path()).pages(), BATCHES, "{what}, restored");
    }
}

#[test]
fn a_torn_tail_is_what_a_crash_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    let whole = fs::read(&journal).unwrap();
    for torn in [1, 50, 150] {
        fs::write(&journal, [&whole[..], &whole[..torn]].concat()).unwrap();
        assert_eq!(Store::read(dir.path(), Memory::default()).unwrap().pages(), BATCHES);
        assert_eq!(open(dir.path()).pages(), BATCHES);
    }
}

#[test]
fn a_hole_in_a_batch_that_was_never_synced_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    let whole = fs::read(&journal).unwrap().len();
    let mut store = open(dir.path());
    let mut batch = Batch { tape: vec![Input::Host; 3], ..Batch::default() };
    add_page(&mut store, &mut batch, BATCHES);
    store.commit(&batch).unwrap();
    drop(store);
    // The beginning and the end of the batch reached the disk, a block between them did not.
    let mut bytes = fs::read(&journal).unwrap();
    let third = bytes[whole..].iter().rposition(|&byte| byte != 0).unwrap() / 3;
    bytes[whole + third..whole + 2 * third].fill(0);
    fs::write(&journal, &bytes).unwrap();
    assert_eq!(Store::read(dir.path(), Memory::default()).unwrap().pages(), BATCHES);
    assert_eq!(open(dir.path()).pages(), BATCHES);
}

/// The engine syncs a journal before it begins another, so what cannot be read in it was stored.
#[test]
fn a_damaged_journal_before_the_last_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    let whole = fs::read(&journal).unwrap();
    let number: u64 = journal.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    fs::write(journal.with_file_name(format!("{}.jnl", number + 1)), &whole).unwrap();
    let mut damaged = whole;
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    fs::write(&journal, &damaged).unwrap();
    refuses(dir.path(), "a journal before the last");
}

/// All files of a directory.
fn files(dir: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for file in fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.insert(path.clone(), fs::read(path).unwrap());
        }
    }
}

#[test]
fn a_reader_changes_no_file_and_sees_every_row() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path());
    // A torn tail, which a writer would cut.
    let whole = fs::read(&journal).unwrap();
    fs::write(&journal, [&whole[..], &whole[..60]].concat()).unwrap();
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(dir.path(), &mut before);
    let mut store = Store::read(dir.path(), Memory::default()).unwrap();
    assert_eq!(store.pages(), BATCHES);
    assert_eq!(store.tape(0).unwrap().count(), 3 * BATCHES as usize);
    assert_eq!(store.page_of("https://a.example/7").unwrap().unwrap().0, 7);
    let second = Store::read(dir.path(), Memory::default()).unwrap();
    assert_eq!(second.hosts(), 1, "readers do not exclude each other");
    let batch = Batch { tape: vec![Input::Host], ..Batch::default() };
    assert!(matches!(store.commit(&batch), Err(StoreError::ReadOnly { .. })));
    drop((store, second));
    files(dir.path(), &mut after);
    assert_eq!(before, after);
    let empty = tempfile::tempdir().unwrap();
    let error = Store::read(empty.path(), Memory::default()).err().unwrap();
    assert!(matches!(error, StoreError::NoCrawl { .. }), "{error}");
}

#[test]
fn a_table_without_its_newest_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    for table in fs::read_dir(dir.path().join("db/keyspaces")).unwrap() {
        let current = table.unwrap().path().join("current");
        let whole = fs::read(&current).unwrap();
        fs::remove_file(&current).unwrap();
        refuses(dir.path(), &current.display().to_string());
        fs::write(&current, whole).unwrap();
    }
    assert_eq!(open(dir.path()).pages(), BATCHES);
}
