//! Durable state: pages, hosts, seen URLs, the tape, the newest copies.
//!
//! # What lies where
//!
//! ```text
//! DIR/lock     held by the one process that uses the directory
//! DIR/format   the version of everything below
//! DIR/db/      tables: pages, copies, twins, hosts, tape, meta, outbox, vias, setbacks
//! DIR/sieve/   fingerprints of all known URLs, an index of the table of pages
//! DIR/synced   how much the last sync made durable
//! ```
//!
//! # The life of a fetch
//!
//! What a fetch brought (new pages and hosts, the copy, the tape's new inputs)
//! is collected in a [`Batch`] and committed as one: after a crash all of it is
//! there or nothing. Batches are committed in order, so the tape that is there
//! is a prefix of the tape that was. A commit survives the process; with
//! [`Store::sync`] it survives the machine too, and only then may a page be
//! reported as stored.
//!
//! # Damage
//!
//! [`Store::open`] reads the engine's journals by their checksums before the engine does, and `DIR/synced`
//! tells how much the last sync made durable. If less is there, the store is refused and left as it is.
//! [`Store::read`] changes nothing in any case.
//!
//! # Failed writes
//!
//! After a failed write the engine refuses all others. So the store closes the tables, and the next
//! commit opens them again and finds all earlier commits. A caller that keeps a batch until it is
//! committed, and commits it again, loses nothing.

mod check;
mod dir;
mod error;
pub mod guard;
mod journal;
mod rows;
mod salvage;
pub mod sieve;
mod synced;
mod tables;
mod view;

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use tempfile::TempDir;
use tidewatch_core::{HostId, PageId};
use tidewatch_frontier::tape::Input;

pub use self::check::{Checked, Fault};
use self::dir::Claim;
pub use self::dir::{free_bytes, sync_dirs};
pub use self::error::{StoreError, is_full};
pub use self::rows::{
    Absent, Batch, Capture, CopyRow, Hops, HostRow, PageRow, Parcel, Place, RobotsRow, SentLink,
    Setback, SetbackCause, SetbackOf, TwinKey,
};
pub use self::salvage::Salvage;
use self::sieve::{Fingerprint, Sieve};
use self::synced::{Mark, Synced};
pub use self::tables::Tables;

/// The engine's number of the table of the tape.
const TAPE_TABLE: u64 = 5;

/// How much memory a store may use for itself.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Cache of the tables' blocks, bytes.
    pub cache: u64,
    /// Recent entries of the sieve, bytes.
    pub sieve: usize,
    /// Files of the tables that are kept open.
    pub files: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { cache: 64 << 20, sieve: 128 << 20, files: 512 }
    }
}

/// How many batches of the tape the tables in `db` hold.
fn batches_in(db: &Path) -> Result<u64, StoreError> {
    Tables::open(db, Memory { cache: 0, ..Memory::default() })?.next_tape()
}

/// The state of a crawl in one directory.
pub struct Store {
    dir: PathBuf,
    memory: Memory,
    /// Closed after a failed write.
    tables: Option<Tables>,
    sieve: Sieve,
    hosts: FxHashMap<Box<str>, HostId>,
    next_page: PageId,
    /// The number of the next batch on the tape. Kept here, so that a batch that reached the disk
    /// although its commit failed has the same number when it is committed again.
    next_tape: u64,
    /// Pages before this one are committed.
    committed: PageId,
    /// Where the last sync is noted; none in a store that is only read.
    mark: Option<Mark>,
    // Dropped last, after the tables are closed.
    _view: Option<TempDir>,
    _claim: Claim,
}

impl Store {
    /// Opens the directory, or makes a new crawl in it.
    pub fn open(dir: &Path, memory: Memory) -> Result<Store, StoreError> {
        let claim = Claim::take(dir)?;
        guard::check_and_cut(dir, TAPE_TABLE, batches_in)?;
        Tables::create(&dir.join("db"))?;
        let mark = Mark::open(dir)
            .map_err(|source| StoreError::Io { path: dir.join(synced::NAME), source })?;
        Self::assemble(dir, memory, claim, Some(mark), None)
    }

    /// Opens the crawl in the directory for reading. Nothing in the directory is changed; no crawl may
    /// run there meanwhile.
    pub fn read(dir: &Path, memory: Memory) -> Result<Store, StoreError> {
        let claim = Claim::share(dir)?;
        let view = guard::view(dir, TAPE_TABLE, batches_in)?;
        Self::assemble(dir, memory, claim, None, Some(view))
    }

    fn assemble(
        dir: &Path,
        memory: Memory,
        claim: Claim,
        mark: Option<Mark>,
        view: Option<TempDir>,
    ) -> Result<Store, StoreError> {
        let files = view.as_ref().map_or(dir, TempDir::path);
        let tables = Tables::open(&files.join("db"), memory)?;
        let path = files.join("sieve");
        let io = |source| StoreError::Io { path: path.clone(), source };
        let mut sieve = Sieve::open(&path, memory.sieve).map_err(io)?;
        let next_page = tables.next_page()?;
        let synced = Synced::read(dir);
        if tables.next_tape()? < synced.tape || next_page.0 < synced.pages {
            return Err(StoreError::Lost { path: dir.join("db") });
        }
        if sieve.covers() > next_page {
            // A crash lost pages that were never synced: rebuild the index.
            std::fs::remove_dir_all(&path).map_err(io)?;
            sieve = Sieve::open(&path, memory.sieve).map_err(io)?;
        }
        let mut hosts = FxHashMap::default();
        let mut origins = Vec::new();
        for row in tables.hosts() {
            let (host, row) = row?;
            origins.push(row.origin.clone());
            hosts.insert(row.origin.into_boxed_str(), host);
        }
        let next_tape = tables.next_tape()?;
        let mut store = Store {
            dir: dir.to_owned(),
            memory,
            tables: Some(tables),
            sieve,
            hosts,
            next_page,
            next_tape,
            committed: next_page,
            mark,
            _view: view,
            _claim: claim,
        };
        store.fill_sieve(&origins)?;
        Ok(store)
    }

    /// Adds the pages that the sieve's runs do not cover.
    fn fill_sieve(&mut self, origins: &[String]) -> Result<(), StoreError> {
        let tables = self.tables.as_ref().ok_or(StoreError::Closed)?;
        for row in tables.pages_from(self.sieve.covers()) {
            let (page, row) = row?;
            let damaged = || StoreError::Damaged { table: "pages", key: u64::from(page.0) };
            let origin = origins.get(row.host.index()).ok_or_else(damaged)?;
            let url = format!("{origin}{}", row.path);
            self.sieve.add(Fingerprint::of(&url), page);
            if self.sieve.is_full() {
                let io = |source| StoreError::Io { path: self.dir.join("sieve"), source };
                self.sieve.spill(page).map_err(io)?;
            }
        }
        Ok(())
    }

    /// Explains a failure of the sieve. A damaged one is forgotten, so that the next start rebuilds it.
    fn sieve_error(&self, source: std::io::Error) -> StoreError {
        let path = self.dir.join("sieve");
        if source.kind() != std::io::ErrorKind::InvalidData {
            return StoreError::Io { path, source };
        }
        match self.mark.as_ref().map_or(Ok(()), |_| sieve::forget(&path)) {
            Ok(()) => StoreError::DamagedSieve { path },
            Err(source) => StoreError::Io { path, source },
        }
    }

    /// Fails if the store was opened with [`Store::read`].
    pub fn check_writable(&self) -> Result<(), StoreError> {
        match self.mark {
            Some(_) => Ok(()),
            None => Err(StoreError::ReadOnly { dir: self.dir.clone() }),
        }
    }

    /// Where the crawl's files are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Pages known, committed or not.
    pub const fn pages(&self) -> u32 {
        self.next_page.0
    }

    /// Hosts known, committed or not.
    pub fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The page of a URL, if it has been seen.
    pub fn page_of(&self, url: &str) -> Result<Option<PageId>, StoreError> {
        self.sieve.get(Fingerprint::of(url)).map_err(|source| self.sieve_error(source))
    }

    /// The host of an origin such as `https://a.example`, if it is known.
    pub fn host_of(&self, origin: &str) -> Option<HostId> {
        self.hosts.get(origin).copied()
    }

    /// Gives the next host its number; `batch` carries it to the disk.
    pub fn add_host(&mut self, row: HostRow, batch: &mut Batch) -> HostId {
        let host = HostId(self.hosts.len() as u32);
        self.hosts.insert(row.origin.clone().into_boxed_str(), host);
        batch.hosts.insert(host, row);
        host
    }

    /// Gives the next page its number; `batch` carries it to the disk. The
    /// page's URL is `url`, and it has not been seen before.
    pub fn add_page(
        &mut self,
        url: &str,
        row: PageRow,
        batch: &mut Batch,
    ) -> Result<PageId, StoreError> {
        let page = self.next_page;
        self.next_page = PageId(page.0.checked_add(1).ok_or(StoreError::TooManyPages)?);
        self.sieve.add(Fingerprint::of(url), page);
        batch.pages.push((page, row));
        Ok(page)
    }

    /// Commits a batch as one: after a crash of this process all of it is there. If this fails,
    /// commit the same batch, or one that extends it, before anything else.
    pub fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if !batch.is_empty() {
            let tape = self.next_tape;
            self.write(|tables| tables.commit(batch, tape))?;
            self.next_tape += u64::from(!batch.tape.is_empty());
        }
        if let Some((page, _)) = batch.pages.last() {
            self.committed = PageId(page.0 + 1);
        }
        Ok(())
    }

    /// Spills the sieve if it is full. Can be retried after a failure.
    pub fn tidy(&mut self) -> Result<(), StoreError> {
        if self.sieve.is_full() { self.spill() } else { Ok(()) }
    }

    /// Syncs everything committed to disk.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.write(Tables::sync)?;
        let synced = Synced { tape: self.next_tape, pages: self.committed.0 };
        let path = || self.dir.join(synced::NAME);
        let noted = self.mark.as_ref().map_or(Ok(()), |mark| mark.write(synced));
        noted.map_err(|source| StoreError::Io { path: path(), source })
    }

    /// Writes to the tables, opened again if they were closed, and closes them if that fails.
    fn write(
        &mut self,
        write: impl FnOnce(&Tables) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.check_writable()?;
        let tables = match self.tables.take() {
            Some(tables) => tables,
            None => Tables::open(&self.dir.join("db"), self.memory)?,
        };
        write(&tables).map_err(|error| self.explain(error))?;
        self.tables = Some(tables);
        Ok(())
    }

    /// The cause of a failed write, which the engine does not tell: another write shows it.
    fn explain(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Engine(fjall::Error::Poisoned)) {
            return error;
        }
        let path = self.dir.join("db");
        match dir::try_write(&self.dir) {
            Err(source) => StoreError::Io { path, source },
            Ok(()) if free_bytes(&self.dir).is_ok_and(|free| free < tables::FLUSH_BYTES) => {
                StoreError::Io { path, source: std::io::ErrorKind::StorageFull.into() }
            }
            Ok(()) => error,
        }
    }

    /// The tables, for reading; closed between a failed write and the next.
    pub fn tables(&self) -> Result<&Tables, StoreError> {
        self.tables.as_ref().ok_or(StoreError::Closed)
    }

    /// The number of the next batch on the tape.
    pub const fn next_tape(&self) -> u64 {
        self.next_tape
    }

    /// Plays the tape back from a batch on; from 0 it is the whole history.
    pub fn tape(
        &self,
        from: u64,
    ) -> Result<impl Iterator<Item = Result<Input, StoreError>>, StoreError> {
        Ok(self.tables()?.tape(from))
    }

    /// Writes the sieve's recent entries out, so that the next start need not collect them.
    pub fn spill(&mut self) -> Result<(), StoreError> {
        self.sieve.spill(self.committed).map_err(|source| self.sieve_error(source))
    }

    /// Waits until the sieve's background work is done.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        let settled = self.sieve.settle();
        settled.map_err(|source| self.sieve_error(source))
    }
}
