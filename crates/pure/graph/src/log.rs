//! The link log: what every fetch showed, appended and never changed.
//!
//! A record is one page's links at one time; the last record of a page is what
//! it shows now. Targets are gaps in a variable-length code, about one and a
//! half bytes a link where neighbours in number are neighbours on the web. Each
//! record ends in a checksum, so a log cut off in the middle of a write is read
//! up to the last whole record. The bytes in memory are the bytes on disk.
//!
//! Outdated records are dropped once they are more than half of the log
//! ([`LinkLog::append`] then rewrites it), so the log stays within about twice
//! the size of what it says, and appending costs a constant number of bytes
//! moved for each byte written.

use serde::{Deserialize, Serialize};

use crate::GraphError;
use crate::bits::{natural, whole};
use crate::csr::{Csr, Graph};

/// Below this size a log is not worth rewriting.
const SMALL: usize = 1 << 16;
/// No page links to more; what claims to is damaged.
const MOST_LINKS: u64 = 1 << 26;
const NONE: u64 = u64::MAX;

/// All links known so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LinkLog {
    bytes: Vec<u8>,
    /// Where the last record of each page begins.
    last: Vec<u64>,
    outdated: usize,
    links: u64,
    nodes: u32,
    #[serde(skip)]
    scratch: Vec<u32>,
    #[serde(skip)]
    payload: Vec<u8>,
}

/// The result of reading a log from disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Whole records.
    pub records: u64,
    /// Bytes behind the last whole record: a write that was cut off.
    pub torn: u64,
}

impl LinkLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a record: `page` now links to `targets`, given in any order.
    pub fn append(&mut self, page: u32, targets: impl IntoIterator<Item = u32>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(targets.into_iter().filter(|&to| to != page));
        scratch.sort_unstable();
        scratch.dedup();
        self.note(page, &scratch);
        self.push_record(page, &scratch);
        self.scratch = scratch;
        if self.bytes.len() > SMALL && self.outdated > self.bytes.len() / 2 {
            self.rewrite();
        }
    }

    /// Bookkeeping for a record that is about to be at the end of the log.
    fn note(&mut self, page: u32, targets: &[u32]) {
        let highest = targets.last().copied().unwrap_or(0).max(page);
        self.nodes = self.nodes.max(highest.saturating_add(1));
        if self.last.len() <= page as usize {
            self.last.resize(page as usize + 1, NONE);
        }
        if let Some((was, size)) = self.record(page) {
            self.outdated += size;
            self.links -= was;
        }
        self.links += targets.len() as u64;
        self.last[page as usize] = self.bytes.len() as u64;
    }

    fn push_record(&mut self, page: u32, targets: &[u32]) {
        self.payload.clear();
        put(&mut self.payload, page.into());
        put(&mut self.payload, targets.len() as u64);
        let mut last = None;
        for &to in targets {
            let step = match last {
                None => natural(i64::from(to) - i64::from(page)),
                Some(last) => u64::from(to - last) - 1,
            };
            put(&mut self.payload, step);
            last = Some(to);
        }
        put(&mut self.bytes, self.payload.len() as u64);
        self.bytes.extend_from_slice(&self.payload);
        self.bytes.extend_from_slice(&checksum(&self.payload));
    }

    /// Number of links and size in bytes of a page's record.
    fn record(&self, page: u32) -> Option<(u64, usize)> {
        let start = self.last.get(page as usize).filter(|&&at| at != NONE)?;
        let rest = &self.bytes[*start as usize..];
        let mut cursor = rest;
        let length = take(&mut cursor)? as usize;
        let size = rest.len() - cursor.len() + length + 4;
        take(&mut cursor)?;
        Some((take(&mut cursor)?, size))
    }

    /// The links that a page showed last, ascending; none for a page never appended.
    pub fn links_of(&self, page: u32) -> impl Iterator<Item = u32> + '_ {
        let start = self.last.get(page as usize).filter(|&&at| at != NONE);
        let mut cursor = start.map_or(&[][..], |&at| &self.bytes[at as usize..]);
        let count =
            take(&mut cursor).and_then(|_| take(&mut cursor)).and_then(|_| take(&mut cursor));
        let mut last = None;
        (0..count.unwrap_or(0)).map_while(move |_| {
            let to = next_target(&mut cursor, page, last)?;
            last = Some(to);
            Some(to)
        })
    }

    /// Whether a page's links are known.
    pub fn knows(&self, page: u32) -> bool {
        self.last.get(page as usize).is_some_and(|&at| at != NONE)
    }

    /// One more than the highest page named.
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Links shown now.
    pub const fn links(&self) -> u64 {
        self.links
    }

    /// The log as it would be on disk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The graph of all links shown now, with `nodes` nodes at least.
    pub fn graph(&self, nodes: u32) -> Graph {
        let nodes = nodes.max(self.nodes);
        let mut builder = Csr::builder(nodes, self.links as usize);
        let mut list = Vec::new();
        for page in 0..nodes {
            list.clear();
            list.extend(self.links_of(page));
            builder.push(&list);
        }
        Graph::from(builder.finish())
    }

    /// Reads a log from disk. A record cut off at the end is left out; damage
    /// anywhere else is an error.
    pub fn read(bytes: &[u8]) -> Result<(Self, Recovered), GraphError> {
        let mut log = LinkLog::new();
        let mut records = 0;
        let mut cursor = bytes;
        let mut torn = 0;
        while !cursor.is_empty() {
            let at = (bytes.len() - cursor.len()) as u64;
            let damaged = |problem| GraphError::Log { at, problem };
            let mut ahead = cursor;
            let Some(length) = take(&mut ahead).filter(|&l| l + 4 <= ahead.len() as u64) else {
                torn = cursor.len() as u64;
                break;
            };
            let (payload, rest) = ahead.split_at(length as usize);
            if rest[..4] != checksum(payload) {
                return Err(damaged("the checksum does not match"));
            }
            let (page, targets) = parse(payload).ok_or(damaged("the record makes no sense"))?;
            log.note(page, &targets);
            log.bytes.extend_from_slice(&cursor[..cursor.len() - rest.len() + 4]);
            cursor = &rest[4..];
            records += 1;
        }
        Ok((log, Recovered { records, torn }))
    }

    fn rewrite(&mut self) {
        let mut new = LinkLog { nodes: self.nodes, ..LinkLog::default() };
        for page in 0..self.last.len() as u32 {
            if self.knows(page) {
                let list: Vec<u32> = self.links_of(page).collect();
                new.note(page, &list);
                new.push_record(page, &list);
            }
        }
        *self = new;
    }
}

fn parse(mut payload: &[u8]) -> Option<(u32, Vec<u32>)> {
    let page = u32::try_from(take(&mut payload)?).ok().filter(|&page| page != u32::MAX)?;
    let count = take(&mut payload).filter(|&n| n <= MOST_LINKS.min(payload.len() as u64))?;
    let mut targets = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let to = next_target(&mut payload, page, targets.last().copied())?;
        targets.push(to);
    }
    payload.is_empty().then_some((page, targets))
}

fn next_target(cursor: &mut &[u8], page: u32, last: Option<u32>) -> Option<u32> {
    let step = take(cursor)?;
    let to = match last {
        None => i64::from(page).checked_add(whole(step))?,
        Some(last) => i64::from(last).checked_add(i64::try_from(step).ok()?)?.checked_add(1)?,
    };
    u32::try_from(to).ok().filter(|&to| to != u32::MAX)
}

fn checksum(payload: &[u8]) -> [u8; 4] {
    (xxhash_rust::xxh3::xxh3_64(payload) as u32).to_le_bytes()
}

/// Seven bits a byte, lowest first; the highest bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut x: u64) {
    while x >= 0x80 {
        bytes.push(x as u8 | 0x80);
        x >>= 7;
    }
    bytes.push(x as u8);
}

#[inline]
fn take(cursor: &mut &[u8]) -> Option<u64> {
    let mut x = 0;
    for (i, &byte) in cursor.iter().enumerate().take(9) {
        x |= u64::from(byte & 0x7F) << (7 * i);
        if byte < 0x80 {
            *cursor = &cursor[i + 1..];
            return Some(x);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_word_counts_and_survives_the_disk(
            shown in prop::collection::vec(
                (0..20_u32, prop::collection::vec(0..90_u32, 0..30)), 0..60),
        ) {
            let mut log = LinkLog::new();
            let mut model = vec![Vec::new(); 90];
            for (page, targets) in &shown {
                log.append(*page, targets.iter().copied());
                model[*page as usize] = targets.clone();
            }
            let links: Vec<(u32, u32)> = (0..90_u32)
                .flat_map(|a| model[a as usize].iter().map(move |&b| (a, b)))
                .collect();
            let want = Graph::from_links(90, &links).unwrap();
            prop_assert_eq!(&log.graph(90), &want);
            prop_assert_eq!(log.links(), want.out.links());
            let (read, found) = LinkLog::read(log.bytes()).unwrap();
            prop_assert_eq!((found.records, found.torn), (shown.len() as u64, 0));
            prop_assert_eq!(&read.graph(90), &want);
            let mut tight = log.clone();
            tight.rewrite();
            prop_assert_eq!(tight.graph(90), want);
            prop_assert_eq!(tight.bytes().len(), log.bytes().len() - log.outdated);
        }

        #[test]
        fn a_torn_end_is_left_out_and_noise_refused(
            targets in prop::collection::vec(0..500_u32, 1..40),
            cut in any::<prop::sample::Index>(),
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut log = LinkLog::new();
            log.append(3, [1, 2]);
            let whole = log.bytes().len();
            log.append(7, targets);
            let torn = whole + 1 + cut.index(log.bytes().len() - whole - 1);
            let (read, found) = LinkLog::read(&log.bytes()[..torn]).unwrap();
            prop_assert_eq!((found.records, found.torn), (1, (torn - whole) as u64));
            prop_assert!(read.links_of(3).eq([1, 2]) && !read.knows(7));
            let _ = LinkLog::read(&noise);
        }
    }

    #[test]
    fn pages_that_change_often_do_not_fill_the_log() {
        let mut log = LinkLog::new();
        for round in 0..4000_u32 {
            log.append(round % 10, (0..50).map(|i| 100 + i * 7 + round % 3));
        }
        assert!(log.bytes().len() < 2 * SMALL, "{}", log.bytes().len());
        assert_eq!(log.links(), 500);
    }
}
