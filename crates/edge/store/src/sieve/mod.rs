//! The sieve: has this URL been seen, and which page is it?
//!
//! Every link of every page asks this, so it must answer from little memory however many URLs are
//! known. Recent fingerprints are in a table in memory. They are written out as sorted runs
//! ([`run`]), and runs of similar size are merged in the background, so that few remain: the idea
//! of Mercator and IRLbot, with immediate answers. When the table is full, its older half, by then
//! written out, is evicted. A look-up reads at most one block of each run; [`Found`] caches the
//! latest hits, because pages of a site share links.
//!
//! Fingerprints have 96 bits: among 10⁹ URLs two of them agree with a chance of
//! 6·10⁻¹², which is what "exact" means here.
//!
//! The sieve is an index of the table of pages and can be rebuilt from it at any time. The runs
//! hold the pages up to a number in the manifest; the store adds the others when it opens. A
//! missing or damaged run costs a rebuild, never a page: a run that cannot be opened is
//! rebuilt at once, and one with a damaged block at the next start ([`forget`]).

mod manifest;
mod merge;
mod run;

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use tidewatch_core::PageId;
use xxhash_rust::xxh3::xxh3_128;

use self::manifest::Manifest;
use self::merge::Merge;
use self::run::Run;

/// Identifies a URL: a 64-bit key, upper half first, and 32 check bits. Stored as 32-bit words, so
/// that it takes 12 bytes, and 16 with its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u32; 3]);

impl Fingerprint {
    /// The fingerprint of a canonical URL.
    pub fn of(url: &str) -> Self {
        let hash = xxh3_128(url.as_bytes());
        Fingerprint::new((hash >> 64) as u64, hash as u32)
    }

    const fn new(key: u64, check: u32) -> Self {
        Fingerprint([(key >> 32) as u32, key as u32, check])
    }

    const fn key(self) -> u64 {
        (self.0[0] as u64) << 32 | self.0[1] as u64
    }

    const fn check(self) -> u32 {
        self.0[2]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    fingerprint: Fingerprint,
    page: PageId,
}

/// Bytes per slot of the table in memory: an entry and the table's control byte.
const PLACE_BYTES: usize = size_of::<Entry>() + 1;

/// Entries that a table of at most `memory` bytes may have. A table has a power of two of slots and
/// doubles when seven eighths are full, keeping the old slots meanwhile. An eighth is left free,
/// for pages that come between two checks of [`Sieve::is_full`].
fn most_entries(memory: usize) -> usize {
    let places = (2 * memory / (3 * PLACE_BYTES)).max(16);
    (1 << places.ilog2()) / 4 * 3
}

/// Slots of [`Found`]: links of a few thousand sites' menus, in 2 MB.
const MOST_FOUND: usize = 1 << 16;

/// A direct-mapped cache of entries found in the runs.
struct Found(Box<[Cell<Option<Entry>>]>);

impl Found {
    fn place(&self, fingerprint: Fingerprint) -> &Cell<Option<Entry>> {
        &self.0[fingerprint.key() as usize % MOST_FOUND]
    }

    fn get(&self, fingerprint: Fingerprint) -> Option<PageId> {
        let entry = self.place(fingerprint).get()?;
        (entry.fingerprint == fingerprint).then_some(entry.page)
    }

    fn keep(&self, entry: Entry) {
        self.place(entry.fingerprint).set(Some(entry));
    }
}

impl Default for Found {
    fn default() -> Self {
        Found(vec![Cell::new(None); MOST_FOUND].into_boxed_slice())
    }
}

/// Forgets the runs in `dir`, so that the next start rebuilds them.
pub(crate) fn forget(dir: &Path) -> io::Result<()> {
    manifest::remove(dir)
}

/// Reads all runs in `dir` and returns the files that are missing or damaged. Changes nothing.
pub(crate) fn check(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let runs = Manifest::read(dir)?.runs.into_iter().map(|name| dir.join(name));
    Ok(runs.filter(|path| Run::open(path).and_then(|run| run.check()).is_err()).collect())
}

/// The set of seen URLs.
pub struct Sieve {
    dir: PathBuf,
    /// The newest pages: all from `covers` on, and some before.
    recent: FxHashMap<Fingerprint, PageId>,
    most_recent: usize,
    /// The page after the newest.
    next: PageId,
    found: Found,
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
            // Whatever is wrong with a run, all of them can be rebuilt.
            Err(_) => (Vec::new(), PageId(0)),
        };
        manifest::remove_others(dir, &runs)?;
        Ok(Sieve {
            dir: dir.to_owned(),
            recent: FxHashMap::default(),
            most_recent: most_entries(memory),
            next: covers,
            found: Found::default(),
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
        let unwritten = u64::from(self.next.0 - self.covers.0);
        unwritten + self.runs.iter().map(Run::len).sum::<u64>()
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
        if let Some(page) = self.found.get(fingerprint) {
            return Ok(Some(page));
        }
        for run in self.runs.iter().rev() {
            if let Some(page) = run.get(fingerprint)? {
                self.found.keep(Entry { fingerprint, page });
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Adds a URL that has not been seen, as the next page.
    pub fn add(&mut self, fingerprint: Fingerprint, page: PageId) {
        self.next = PageId(page.0 + 1);
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
        let is_written = self.covers..stored;
        let mut entries: Vec<Entry> = self
            .recent
            .iter()
            .filter(|&(_, page)| is_written.contains(page))
            .map(|(&fingerprint, &page)| Entry { fingerprint, page })
            .collect();
        if !entries.is_empty() {
            entries.sort_unstable();
            let path = self.next_path();
            self.runs.push(Run::write(&path, entries.into_iter().map(Ok))?);
            self.covers = stored;
            self.write_manifest()?;
            self.start_merge();
        }
        if self.is_full() {
            self.forget_older_half();
        }
        Ok(())
    }

    /// Evicts pages that the runs have, except the newest.
    fn forget_older_half(&mut self) {
        let newest = PageId(self.next.0.saturating_sub(self.most_recent as u32 / 2));
        let from = self.covers.min(newest);
        self.recent.retain(|_, page| *page >= from);
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
