//! Merges several runs into one, in the background.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use super::Entry;
use super::run::Run;

/// A merge under way.
#[derive(Debug)]
pub(super) struct Merge {
    /// Index of the first merged run, and the number of merged runs.
    pub(super) from: usize,
    pub(super) count: usize,
    thread: JoinHandle<io::Result<Run>>,
}

impl Merge {
    pub(super) fn start(from: usize, parts: Vec<PathBuf>, into: PathBuf) -> Merge {
        let count = parts.len();
        let thread = std::thread::spawn(move || merge(&parts, &into));
        Merge { from, count, thread }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    pub(super) fn join(self) -> io::Result<Run> {
        let panicked = |_| Err(io::Error::other("the merge of the sieve's runs panicked"));
        self.thread.join().unwrap_or_else(panicked)
    }
}

fn merge(parts: &[PathBuf], into: &Path) -> io::Result<Run> {
    let mut parts: Vec<_> =
        parts.iter().map(|path| Ok(Run::open(path)?.entries())).collect::<io::Result<_>>()?;
    let mut heads: BinaryHeap<Reverse<(Entry, usize)>> = BinaryHeap::new();
    for (part, entries) in parts.iter_mut().enumerate() {
        if let Some(first) = entries.next() {
            heads.push(Reverse((first?, part)));
        }
    }
    let merged = std::iter::from_fn(|| {
        let mut head = heads.peek_mut()?;
        let Reverse((entry, part)) = *head;
        match parts[part].next() {
            Some(Ok(next)) => *head = Reverse((next, part)),
            Some(Err(error)) => return Some(Err(error)),
            None => {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
        Some(Ok(entry))
    });
    Run::write(into, merged)
}
