//! What a crawl knows, row by row, for other tools.

mod trace;

use std::path::Path;

use tidewatch_core::{HostId, PageId, Time};
use tidewatch_frontier::tape::{Came, Input};
use tidewatch_partition::CrawlError;
use tidewatch_store::{CopyRow, Memory, PageRow, Store, StoreError};
use tidewatch_trace::Trace;

use crate::ServiceError;
use crate::files::ensure_one;

/// A crawl that is not running, opened for export.
pub struct Export {
    store: Store,
    /// Origins of the hosts, by number.
    origins: Vec<String>,
}

/// A known page. Times are crawl time.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedPage {
    /// Its number.
    pub page: PageId,
    /// Its URL.
    pub url: String,
    /// Scheme, name and port of its host.
    pub origin: String,
    /// Its address and how it was found.
    pub row: PageRow,
    /// Its newest copy, if there is one.
    pub copy: Option<CopyRow>,
    /// The file of the archive with the copy's response, relative to the crawl's directory.
    pub archive: Option<String>,
}

/// A fetch of a page that told something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExportedVisit {
    /// The page.
    pub page: PageId,
    /// When, in crawl time.
    pub at: Time,
    /// Whether it saw a change; `None` for a first visit and for one that brought no content.
    pub changed: Option<bool>,
    /// Last-Modified, in crawl time.
    pub last_modified: Option<Time>,
    /// `first`, `again`, `gone` or `failed`.
    pub outcome: &'static str,
}

impl Export {
    /// Opens the crawl in `dir`.
    pub fn open(dir: &Path) -> Result<Export, ServiceError> {
        ensure_one(dir, "export")?;
        let store = of_store(Store::read(dir, Memory::default()))?;
        let hosts = of_store(store.tables())?.hosts().map(|row| Ok(of_store(row)?.1.origin));
        let origins = hosts.collect::<Result<_, ServiceError>>()?;
        Ok(Export { store, origins })
    }

    /// All known pages, by number.
    pub fn pages(
        &self,
    ) -> Result<impl Iterator<Item = Result<ExportedPage, ServiceError>>, ServiceError> {
        let tables = of_store(self.store.tables())?;
        Ok(tables.pages_from(PageId(0)).map(move |row| {
            let (page, row) = of_store(row)?;
            let copy = of_store(tables.copy(page))?;
            let (url, origin) = (self.url(&row)?, self.origin(row.host)?.to_owned());
            let archive = copy.as_ref().filter(|copy| copy.place.bytes > 0);
            let archive = archive.map(|copy| archive_name(copy.place.file));
            Ok(ExportedPage { page, url, origin, row, copy, archive })
        }))
    }

    /// Links on the newest copies: the page that shows one, and where it leads.
    pub fn links(
        &self,
    ) -> Result<impl Iterator<Item = Result<(PageId, PageId), ServiceError>>, ServiceError> {
        let copies = of_store(self.store.tables())?.copies();
        Ok(copies.flat_map(|row| match row {
            Ok((source, copy)) => copy.links.into_iter().map(|page| Ok((source, page))).collect(),
            Err(error) => vec![of_store(Err(error))],
        }))
    }

    /// Every visit, in order.
    pub fn visits(
        &self,
    ) -> Result<impl Iterator<Item = Result<ExportedVisit, ServiceError>>, ServiceError> {
        let tape = of_store(self.store.tape(0))?;
        Ok(tape.filter_map(|input| match of_store(input) {
            Ok(Input::Fetched(fetched)) => {
                let (changed, last_modified, outcome) = match fetched.outcome {
                    Came::Content { changed: None, last_modified, .. } => {
                        (None, last_modified, "first")
                    }
                    Came::Content { changed, last_modified, .. } => {
                        (changed, last_modified, "again")
                    }
                    Came::Gone => (None, None, "gone"),
                    Came::Failed(_) => (None, None, "failed"),
                };
                let (page, at) = (fetched.page, fetched.at);
                Some(Ok(ExportedVisit { page, at, changed, last_modified, outcome }))
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }))
    }

    /// The web as the crawl saw it, for the lab.
    pub fn trace(&self) -> Result<Trace, ServiceError> {
        trace::build(self)
    }

    fn origin(&self, host: HostId) -> Result<&str, ServiceError> {
        let damaged = StoreError::Damaged { table: "hosts", key: u64::from(host.0) };
        let origin = self.origins.get(host.index()).map(String::as_str);
        of_store(origin.ok_or(damaged))
    }

    fn url(&self, row: &PageRow) -> Result<String, ServiceError> {
        Ok(format!("{}{}", self.origin(row.host)?, row.path))
    }
}

/// Where a file of the archive lies in the crawl's directory.
fn archive_name(file: u32) -> String {
    tidewatch_archive::path_of(Path::new("archive"), file).display().to_string()
}

fn of_store<T>(read: Result<T, StoreError>) -> Result<T, ServiceError> {
    read.map_err(|error| CrawlError::from(error).into())
}
