//! A write, sync, rename or creation fails, each in its turn: the crawl ends with a sentence and has
//! lost nothing.
//!
//! Every change fails with EIO and with ENOSPC; with `TIDEWATCH_FAULTS=3` also with the ENOSPC that lasts,
//! or does not, whichever was not its turn.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidewatch_testing::living::size;

use crate::child::{crawl_with, library, loss_of, root_of, stored_in};

/// A failure.
struct Failure {
    name: &'static str,
    errno: i32,
    /// Whether all later changes fail too.
    lasts: bool,
}

const BROKEN: Failure = Failure { name: "EIO", errno: 5, lasts: false };
const FULL: [Failure; 2] = [
    Failure { name: "ENOSPC", errno: 28, lasts: false },
    Failure { name: "ENOSPC that lasts", errno: 28, lasts: true },
];
/// Crawls at once.
const THREADS: usize = 2;

/// What is wrong after a crawl: it panicked, lost something stored, or cannot go on.
fn fault_of(library: &Path, dir: &Path, out: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&out.stdout);
    if !out.status.success() || !text.lines().any(|line| line == "ended" || is_failed(line)) {
        let told = String::from_utf8_lossy(&out.stderr);
        return Some(format!("it died: {}", told.chars().take(600).collect::<String>()));
    }
    loss_of(library, dir, &stored_in(&text))
}

fn is_failed(line: &str) -> bool {
    line.starts_with("failed: ")
}

#[test]
fn every_failed_change_ends_in_a_sentence_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = root_of(&folder);
    let (library, count, whole) = (library(&root), root.join("count"), root.join("whole"));
    let out = crawl_with(&library, &whole, &[("FAULT_COUNT", count.display().to_string())]);
    assert_eq!(fault_of(&library, &whole, &out), None);
    let changes: usize = fs::read_to_string(&count).unwrap().trim().parse().unwrap();
    assert!(changes > 100, "only {changes} changes were seen");
    let kinds = size("TIDEWATCH_FAULTS", 2);
    let runs = changes * kinds;
    let (next, said, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let fail = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= runs {
                return;
            }
            let (at, kind) = (number / kinds + 1, number % kinds);
            let failure = if kind == 0 { &BROKEN } else { &FULL[(at + kind) % 2] };
            let dir = root.join(number.to_string());
            let mut settings =
                vec![("FAULT_AT", at.to_string()), ("FAULT_ERRNO", failure.errno.to_string())];
            settings.extend(failure.lasts.then(|| ("FAULT_LASTS", String::new())));
            let out = crawl_with(&library, &dir, &settings);
            let has_failed = String::from_utf8_lossy(&out.stdout).lines().any(is_failed);
            said.fetch_add(usize::from(has_failed), Ordering::Relaxed);
            let fault = fault_of(&library, &dir, &out);
            let fault = fault.map(|fault| format!("{} at change {at}: {fault}", failure.name));
            wrong.lock().unwrap().extend(fault);
            fs::remove_dir_all(&dir).unwrap();
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(fail))));
    let (wrong, said) = (wrong.into_inner().unwrap(), said.into_inner());
    eprintln!("{changes} changes, {runs} failures, {said} ended the crawl, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(said > runs / 4, "only {said} of {runs} failures were noticed");
}
