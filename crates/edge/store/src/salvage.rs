//! What can still be read of a damaged store.
//!
//! Everything is read through a temporary view ([`crate::view`]); the directory stays as it is. A table
//! that the engine cannot open has no rows. A row that cannot be read counts as missing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tempfile::TempDir;
use tidewatch_core::{HostId, PageId};
use tidewatch_frontier::tape::Input;

use crate::dir::{Claim, check_format};
use crate::synced::Synced;
use crate::{
    CopyRow, HostRow, Memory, PageRow, Parcel, StoreError, TAPE_TABLE, Tables, journal, view,
};

/// The readable rows of a damaged store.
pub struct Salvage {
    tables: Option<Tables>,
    /// Why the tables cannot be opened.
    why: Option<String>,
    synced: Synced,
    /// Journals that hold more than can be read.
    cut_journals: Vec<String>,
    // Dropped after the tables.
    _view: TempDir,
    _claim: Option<Claim>,
}

impl Salvage {
    /// Opens what is readable of the store in `dir`. No crawl may run there.
    pub fn of(dir: &Path) -> Result<Salvage, StoreError> {
        let claim = match Claim::share_damaged(dir) {
            Err(error @ StoreError::InUse { .. }) => return Err(error),
            // The lock file may be missing.
            claim => claim.ok(),
        };
        if let Err(error @ StoreError::OtherFormat { .. }) = check_format(dir) {
            return Err(error);
        }
        let db = dir.join("db");
        let journals = journal::read(&db, TAPE_TABLE)
            .map_err(|source| StoreError::Io { path: db.clone(), source })?;
        let failed = |source| StoreError::Io { path: std::env::temp_dir(), source };
        let view = view::of_damaged(dir, &journals).map_err(failed)?;
        let path = view.path().join("db");
        // The engine panics over some damage.
        let open = || Tables::open(&path, Memory::default());
        let opened = if db.exists() { catch_unwind(AssertUnwindSafe(open)).ok() } else { None };
        let (tables, why) = match opened {
            Some(Ok(tables)) => (Some(tables), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None if db.exists() => (None, Some("the engine cannot read the tables".to_owned())),
            None => (None, Some("the tables in db are missing".to_owned())),
        };
        let cut = journals.iter().filter(|journal| journal.has_rest);
        let cut_journals = cut.map(|journal| journal.path.display().to_string()).collect();
        let synced = Synced::read(dir);
        Ok(Salvage { tables, why, synced, cut_journals, _view: view, _claim: claim })
    }

    /// Why the tables cannot be opened, if they cannot.
    pub fn why_unreadable(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Journals of which a part cannot be read.
    pub fn cut_journals(&self) -> &[String] {
        &self.cut_journals
    }

    /// Batches on the tape and pages, as the last sync noted them; zeros if the note is lost.
    pub const fn synced(&self) -> (u64, u32) {
        (self.synced.tape, self.synced.pages)
    }

    /// One more than the highest page number that is readable or was noted.
    pub fn page_bound(&self) -> u32 {
        let last = self.tables.as_ref().and_then(|tables| tables.next_page().ok());
        last.map_or(0, |page| page.0).max(self.synced.pages)
    }

    /// A page's row.
    pub fn page(&self, page: PageId) -> Option<PageRow> {
        self.tables.as_ref()?.page(page).ok()?
    }

    /// A page's newest copy.
    pub fn copy(&self, page: PageId) -> Option<CopyRow> {
        self.tables.as_ref()?.copy(page).ok()?
    }

    /// A host's row.
    pub fn host(&self, host: HostId) -> Option<HostRow> {
        self.tables.as_ref()?.host(host).ok()?
    }

    /// The URL of the page of another partition whose link named a page first.
    pub fn via(&self, page: PageId) -> Option<String> {
        self.tables.as_ref()?.via(page).ok()?
    }

    /// Named facts about the crawl.
    pub fn meta(&self) -> Vec<(String, Vec<u8>)> {
        self.tables.as_ref().map_or_else(Vec::new, |tables| tables.all_meta().flatten().collect())
    }

    /// Parcels that were not delivered.
    pub fn outbox(&self) -> Vec<Parcel> {
        let parcels =
            |tables: &Tables| tables.outbox().flatten().map(|(_, parcel)| parcel).collect();
        self.tables.as_ref().map_or_else(Vec::new, parcels)
    }

    /// The inputs on the tape up to the first that cannot be read.
    pub fn tape(&self) -> impl Iterator<Item = Input> {
        let tape = self.tables.as_ref().map(|tables| tables.tape(0));
        tape.into_iter().flatten().map_while(Result::ok)
    }

    /// How many batches of the tape can be read from its beginning.
    pub fn batches(&self) -> u64 {
        self.tables.as_ref().map_or(0, Tables::whole_batches)
    }
}
