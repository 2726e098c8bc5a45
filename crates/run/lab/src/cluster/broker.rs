//! A virtual broker: buckets with revisions and compare-and-set, a stream with message ids, and reads that
//! may be old.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use tidewatch_cluster::node::Answer;
use tidewatch_core::{Span, Time};

/// Message ids are recognised for this long.
const WINDOW: Span = Span::MINUTE.times(2);

/// A bucket of keys. Values are bytes, as on the wire.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    revision: u64,
    keys: BTreeMap<String, Entry>,
    /// Key by revision, for watchers.
    log: BTreeMap<u64, String>,
}

/// A value of a key.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) revision: u64,
    pub(super) value: Vec<u8>,
    written: Time,
    /// Revision and value before, which a lagging replica still shows.
    before: Option<(u64, Vec<u8>)>,
}

impl Bucket {
    /// Writes a key if it has the expected revision; 0 if it must not be there.
    pub(super) fn put(&mut self, now: Time, key: &str, expected: u64, value: Vec<u8>) -> Answer {
        let found = self.keys.get(key);
        if found.map_or(0, |found| found.revision) != expected {
            return Answer::Refused;
        }
        let before = found.map(|found| (found.revision, found.value.clone()));
        if expected > 0 {
            self.log.remove(&expected);
        }
        self.revision += 1;
        self.log.insert(self.revision, key.to_owned());
        let entry = Entry { revision: self.revision, value, written: now, before };
        self.keys.insert(key.to_owned(), entry);
        Answer::Done(self.revision)
    }

    /// Reads a key. With `stale`, from a replica that has not heard of the last write.
    pub(super) fn get(&self, now: Time, key: &str, stale: bool) -> Option<(u64, Vec<u8>)> {
        let entry = self.keys.get(key)?;
        if stale && now.since(entry.written) < Span::SECOND.times(20) {
            return entry.before.clone();
        }
        Some((entry.revision, entry.value.clone()))
    }

    /// The keys written after a revision, in the order of their last revisions, and the last of these.
    pub(super) fn since(&self, revision: u64) -> Vec<(String, u64, Vec<u8>)> {
        let new = self.log.range(revision + 1..).filter_map(|(revision, key)| {
            Some((key.clone(), *revision, self.keys.get(key)?.value.clone()))
        });
        new.collect()
    }

    pub(super) const fn revision(&self) -> u64 {
        self.revision
    }
}

/// The links of all partitions: one sequence, a subject a partition.
#[derive(Debug, Default)]
pub(super) struct Stream {
    sequence: u64,
    subjects: BTreeMap<u32, VecDeque<(u64, Vec<u8>)>>,
    ids: FxHashMap<String, u64>,
    recent: VecDeque<(Time, String)>,
}

impl Stream {
    /// Appends a message, unless its id was seen lately. Returns its sequence and whether it is new.
    pub(super) fn publish(&mut self, now: Time, to: u32, id: &str, bytes: Vec<u8>) -> (u64, bool) {
        while self.recent.front().is_some_and(|(at, _)| now.since(*at) > WINDOW) {
            if let Some((_, id)) = self.recent.pop_front() {
                self.ids.remove(&id);
            }
        }
        if let Some(known) = self.ids.get(id) {
            return (*known, false);
        }
        self.sequence += 1;
        self.subjects.entry(to).or_default().push_back((self.sequence, bytes));
        self.ids.insert(id.to_owned(), self.sequence);
        self.recent.push_back((now, id.to_owned()));
        (self.sequence, true)
    }

    /// Some messages of a partition after a position.
    pub(super) fn read(&self, to: u32, position: u64, most: usize) -> Vec<(u64, Vec<u8>)> {
        let Some(messages) = self.subjects.get(&to) else { return Vec::new() };
        let begin = messages.partition_point(|(sequence, _)| *sequence <= position);
        messages.range(begin..).take(most).cloned().collect()
    }

    /// Deletes the messages of a partition up to a position, and returns them.
    pub(super) fn purge(&mut self, to: u32, position: u64) -> Vec<(u64, Vec<u8>)> {
        let Some(messages) = self.subjects.get_mut(&to) else { return Vec::new() };
        let end = messages.partition_point(|(sequence, _)| *sequence <= position);
        messages.drain(..end).collect()
    }

    /// Loses a message that was acknowledged.
    pub(super) fn lose(&mut self, to: u32, sequence: u64) {
        if let Some(messages) = self.subjects.get_mut(&to) {
            messages.retain(|(number, _)| *number != sequence);
        }
    }

    /// Messages that wait, of all partitions.
    pub(super) fn waiting(&self) -> usize {
        self.subjects.values().map(VecDeque::len).sum()
    }
}
