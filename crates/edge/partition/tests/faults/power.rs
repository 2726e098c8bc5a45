//! Power cuts: every state that one may leave holds what was reported as stored.
//!
//! A crawl runs with a library (`faults.c`) that logs its changes to files. From the log the states are
//! made that a cut at some moment may leave ([`crate::disk`]); the two kinds of [`Names`] take turns.
//! More states: `TIDEWATCH_CUTS=5000 cargo test -p tidewatch-partition --test faults power --
//! --nocapture`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidewatch_testing::living::size;

use crate::child::{crawl_with, library, loss_of, root_of, stored_in};
use crate::disk::{Dice, Disk, Names, read_log};

/// States that are judged at once.
const THREADS: usize = 2;

fn contents(dir: &Path, below: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = below.join(path.file_name().unwrap());
        if path.is_dir() {
            contents(&path, &name, found);
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
}

#[test]
fn every_state_that_a_power_cut_leaves_holds_what_was_reported_stored() {
    let folder = tempfile::tempdir().unwrap();
    let root = root_of(&folder);
    let (library, dir, log) = (library(&root), root.join("whole"), root.join("log"));
    let out = crawl_with(&library, &dir, &[("FAULT_LOG", log.display().to_string())]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let changes = read_log(&fs::read(&log).unwrap(), &dir);
    // The log is whole: it makes the directory that is there.
    Disk::after(&changes, Names::Strict).write(&root.join("again"), None);
    let (mut there, mut made) = (BTreeMap::new(), BTreeMap::new());
    contents(&dir, Path::new(""), &mut there);
    contents(&root.join("again"), Path::new(""), &mut made);
    assert_eq!(there.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>());
    let other: Vec<_> = there.keys().filter(|path| there[*path] != made[*path]).collect();
    assert!(other.is_empty(), "the log does not make {other:?}");
    let states = size("TIDEWATCH_CUTS", 200);
    let (next, most, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let judge = || {
        loop {
            let state = next.fetch_add(1, Ordering::Relaxed);
            if state >= states {
                return;
            }
            let kind = [Names::Ordered, Names::Strict][state % 2];
            let mut dice = Dice(state as u64);
            let cut = dice.below(changes.len() + 1);
            let disk = Disk::after(&changes[..cut], kind);
            let (output, dir) = (disk.output.clone(), root.join(format!("cut-{state}")));
            disk.write(&dir, Some(&mut dice));
            let stored = stored_in(&output);
            most.fetch_max(stored.len(), Ordering::Relaxed);
            let lost = loss_of(&library, &dir, &stored);
            let lost = lost.map(|lost| format!("{kind:?} {state}, after change {cut}: {lost}"));
            wrong.lock().unwrap().extend(lost);
            fs::remove_dir_all(&dir).unwrap();
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(judge))));
    let (wrong, most) = (wrong.into_inner().unwrap(), most.into_inner());
    let count = changes.len();
    eprintln!("{count} changes, {states} states, up to {most} stored, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(most > 20, "only {most} copies were stored");
}
