//! The sieve: has this URL been seen, and which page is it?
//!
//! Every link of every page asks this, so it must answer from little memory
//! however many URLs are known. Recent fingerprints lie in a table in memory;
//! when that is full it is written out as a sorted run ([`run`]), and runs of
//! like size are merged in the background, so that a few remain: Mercator's
//! and IRLbot's idea, with immediate answers. A look-up costs one block of each
//! run at most, and the links of a page are looked up in order.
//!
//! Fingerprints have 96 bits: among 10⁹ URLs two of them agree with a chance of
//! 6·10⁻¹², which is what "exact" means here.
//!
//! The sieve is an index of the table of pages and can be made from it at any
//! time. Pages up to a number that the manifest names are in the runs; the
//! store adds the others when it opens. A missing or damaged run costs a
//! rebuild, never a page.

mod manifest;
mod merge;
mod run;

use std::io;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use tidewatch_core::PageId;
use xxhash_rust::xxh3::xxh3_128;

use self::manifest::Manifest;
use self::merge::Merge;
use self::run::Run;

/// What a URL is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint {
    key: u64,
    check: u32,
}

impl Fingerprint {
    /// The fingerprint of a canonical URL.
    pub fn of(url: &str) -> Self {
        let hash = xxh3_128(url.as_bytes());
        Fingerprint { key: (hash >> 64) as u64, check: hash as u32 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    fingerprint: Fingerprint,
    page: PageId,
}

/// Bytes that an entry takes in memory: 16, at the load that a hash table
/// has on average between two doublings.
const MEMORY_PER_ENTRY: usize = 28;

/// The set of seen URLs.
#[derive(Debug)]
pub struct Sieve {
    dir: PathBuf,
    recent: FxHashMap<Fingerprint, PageId>,
    most_recent: usize,
    runs: Vec<Run>,
    covers: PageId,
    serial: u64,
    merge: Option<Merge>,
}

impl Sieve {
    /// Opens the sieve in `dir`, with at most about `memory` bytes for recent
    /// entries. Pages from [`Sieve::covers`] on are to be added by the caller.
    pub fn open(dir: &Path, memory: usize) -> io::Result<Sieve> {
        std::fs::create_dir_all(dir)?;
        let manifest = Manifest::read(dir)?;
        let runs: io::Result<Vec<Run>> =
            manifest.runs.iter().map(|name| Run::open(&dir.join(name))).collect();
        let (runs, covers) = match runs {
            Ok(runs) => (runs, manifest.covers),
            // Whatever is wrong with a run, all of them can be made again.
            Err(_) => (Vec::new(), PageId(0)),
        };
        manifest::remove_others(dir, &runs)?;
        Ok(Sieve {
            dir: dir.to_owned(),
            recent: FxHashMap::default(),
            most_recent: (memory / MEMORY_PER_ENTRY).max(1),
            runs,
            covers,
            serial: manifest.serial,
            merge: None,
        })
    }

    /// Pages before this one are in the runs.
    pub const fn covers(&self) -> PageId {
        self.covers
    }

    /// URLs known.
    pub fn len(&self) -> u64 {
        self.recent.len() as u64 + self.runs.iter().map(Run::len).sum::<u64>()
    }

    /// Whether no URL is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The page of a URL, if it has been seen.
    pub fn get(&self, fingerprint: Fingerprint) -> io::Result<Option<PageId>> {
        if let Some(&page) = self.recent.get(&fingerprint) {
            return Ok(Some(page));
        }
        for run in self.runs.iter().rev() {
            if let Some(page) = run.get(fingerprint)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Adds a URL that has not been seen.
    pub fn add(&mut self, fingerprint: Fingerprint, page: PageId) {
        self.recent.insert(fingerprint, page);
    }

    /// Whether it is time to [`Sieve::spill`].
    pub fn is_full(&self) -> bool {
        self.recent.len() >= self.most_recent
    }

    /// Writes recent entries out. Only pages before `stored` may be written:
    /// those that the table of pages is certain to have after a crash.
    pub fn spill(&mut self, stored: PageId) -> io::Result<()> {
        self.finish_merge(false)?;
        let is_stored = |page: PageId| page < stored;
        let mut entries: Vec<Entry> = self
            .recent
            .iter()
            .filter(|&(_, &page)| is_stored(page))
            .map(|(&fingerprint, &page)| Entry { fingerprint, page })
            .collect();
        if entries.is_empty() {
            return Ok(());
        }
        entries.sort_unstable();
        let path = self.next_path();
        self.runs.push(Run::write(&path, entries.into_iter().map(Ok))?);
        self.covers = stored;
        self.write_manifest()?;
        self.recent.retain(|_, page| !is_stored(*page));
        self.start_merge();
        Ok(())
    }

    /// Waits for a merge under way.
    pub fn settle(&mut self) -> io::Result<()> {
        self.finish_merge(true)
    }

    fn next_path(&mut self) -> PathBuf {
        self.serial += 1;
        self.dir.join(format!("run-{:08}", self.serial))
    }

    fn write_manifest(&self) -> io::Result<()> {
        let name = |run: &Run| run.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let runs = self.runs.iter().filter_map(name).collect();
        Manifest { runs, covers: self.covers, serial: self.serial }.write(&self.dir)
    }

    /// Merges the newest runs as long as each is not much smaller than what
    /// comes after it, which keeps their number logarithmic.
    fn start_merge(&mut self) {
        if self.merge.is_some() {
            return;
        }
        let mut from = self.runs.len().saturating_sub(1);
        let mut size = self.runs.last().map_or(0, Run::len);
        while from > 0 && self.runs[from - 1].len() < 2 * size {
            from -= 1;
            size += self.runs[from].len();
        }
        if from + 1 < self.runs.len() {
            let path = self.next_path();
            let parts = self.runs[from..].iter().map(|run| run.path.clone()).collect();
            self.merge = Some(Merge::start(from, parts, path));
        }
    }

    fn finish_merge(&mut self, wait: bool) -> io::Result<()> {
        let Some(merge) = self.merge.take_if(|merge| wait || merge.is_finished()) else {
            return Ok(());
        };
        let (from, count) = (merge.from, merge.count);
        let merged = merge.join()?;
        let old: Vec<Run> = self.runs.splice(from..from + count, [merged]).collect();
        self.write_manifest()?;
        for run in old {
            std::fs::remove_file(&run.path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
