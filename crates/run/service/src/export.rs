//! What a crawl knows, row by row, for other tools.

mod trace;

use std::path::{Path, PathBuf};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, PageId, Time};
use tidewatch_frontier::tape::{Came, Fetched, Input};
use tidewatch_partition::{CrawlError, owner};
use tidewatch_store::{CopyRow, Memory, PageRow, Store, StoreError};
use tidewatch_trace::Trace;

use crate::{ServiceError, files};

/// A crawl that is not running, opened for export. Pages are numbered through all partitions: those of
/// the first come first.
pub struct Export {
    parts: Vec<ExportPart>,
}

/// One partition.
struct ExportPart {
    store: Store,
    /// Its directory, relative to the crawl's.
    dir: PathBuf,
    /// Origins of the hosts, by number.
    origins: Vec<String>,
    /// Pages of the partitions before it.
    pages_before: u32,
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
    /// Its address and how it was found, as its partition has it.
    pub row: PageRow,
    /// The page whose link named it first.
    pub via: Option<PageId>,
    /// Its newest copy, if there is one. Its links have the numbers of its partition.
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

/// Rows, each of which may be damaged.
type Rows<'r, T> = Box<dyn Iterator<Item = Result<T, ServiceError>> + 'r>;

impl Export {
    /// Opens the crawl in `dir`.
    pub fn open(dir: &Path) -> Result<Export, ServiceError> {
        let (mut parts, mut pages_before) = (Vec::new(), 0);
        for part in files::parts(dir)? {
            let store = of_store(Store::read(&part, Memory::default()))?;
            let hosts = of_store(store.tables())?.hosts().map(|row| Ok(of_store(row)?.1.origin));
            let origins = hosts.collect::<Result<_, ServiceError>>()?;
            let pages = store.pages();
            let dir = part.strip_prefix(dir).unwrap_or(&part).to_owned();
            parts.push(ExportPart { store, dir, origins, pages_before });
            pages_before += pages;
        }
        Ok(Export { parts })
    }

    /// All known pages, by number.
    pub fn pages(&self) -> impl Iterator<Item = Result<ExportedPage, ServiceError>> {
        self.rows(move |part| {
            let tables = of_store(part.store.tables())?;
            Ok(Box::new(tables.pages_from(PageId(0)).map(move |row| {
                let (page, row) = of_store(row)?;
                let copy = of_store(tables.copy(page))?;
                let (url, origin) = (part.url(&row)?, part.origin(row.host)?.to_owned());
                let archive = copy.as_ref().filter(|copy| copy.place.bytes > 0);
                let archive = archive.map(|copy| part.archive_name(copy.place.file));
                let via = match row.via {
                    Some(via) => Some(part.number(via)),
                    None => self.foreign_via(part, page)?,
                };
                Ok(ExportedPage { page: part.number(page), url, origin, row, via, copy, archive })
            })))
        })
    }

    /// Links on the newest copies: the page that shows one, and where it leads. Of the links between
    /// partitions, only those are kept that made a page known.
    pub fn links(&self) -> impl Iterator<Item = Result<(PageId, PageId), ServiceError>> {
        self.rows(move |part| {
            let copies = of_store(part.store.tables())?.copies();
            let own = copies.flat_map(|row| match row {
                Ok((source, copy)) => {
                    let link = |page| Ok((part.number(source), part.number(page)));
                    copy.links.into_iter().map(link).collect()
                }
                Err(error) => vec![of_store(Err(error))],
            });
            let foreign = self.foreign_links(part)?.into_iter().map(Ok);
            Ok(Box::new(own.chain(foreign)))
        })
    }

    /// Every visit: partition by partition, and each in order.
    pub fn visits(&self) -> impl Iterator<Item = Result<ExportedVisit, ServiceError>> {
        self.rows(move |part| {
            let tape = of_store(part.store.tape(0))?;
            Ok(Box::new(tape.filter_map(|input| match of_store(input) {
                Ok(Input::Fetched(fetched)) => Some(Ok(part.visit(&fetched))),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })))
        })
    }

    /// The web as the crawl saw it, for the lab.
    pub fn trace(&self) -> Result<Trace, ServiceError> {
        trace::build(self)
    }

    /// The rows of all partitions, in order.
    fn rows<'e, T: 'e>(
        &'e self,
        of: impl Fn(&'e ExportPart) -> Result<Rows<'e, T>, ServiceError> + 'e,
    ) -> impl Iterator<Item = Result<T, ServiceError>> + 'e {
        let failed = |error| -> Rows<'e, T> { Box::new(std::iter::once(Err(error))) };
        self.parts.iter().flat_map(move |part| of(part).unwrap_or_else(failed))
    }

    /// The page of another partition whose link named a page of `part` first.
    fn foreign_via(&self, part: &ExportPart, page: PageId) -> Result<Option<PageId>, ServiceError> {
        let Some(url) = of_store(part.store.tables().and_then(|tables| tables.via(page)))? else {
            return Ok(None);
        };
        let Ok(url) = CanonicalUrl::parse(&url) else { return Ok(None) };
        let from = &self.parts[owner(&url, self.parts.len() as u32) as usize];
        Ok(of_store(from.store.page_of(url.as_str()))?.map(|page| from.number(page)))
    }

    /// Links of other partitions that made pages of `part` known.
    fn foreign_links(&self, part: &ExportPart) -> Result<Vec<(PageId, PageId)>, ServiceError> {
        if self.parts.len() == 1 {
            return Ok(Vec::new());
        }
        let mut links = Vec::new();
        for page in (0..part.store.pages()).map(PageId) {
            links.extend(self.foreign_via(part, page)?.map(|via| (via, part.number(page))));
        }
        Ok(links)
    }
}

impl ExportPart {
    /// The number of a page among those of all partitions.
    fn number(&self, page: PageId) -> PageId {
        PageId(self.pages_before + page.0)
    }

    fn origin(&self, host: HostId) -> Result<&str, ServiceError> {
        let damaged = StoreError::Damaged { table: "hosts", key: u64::from(host.0) };
        let origin = self.origins.get(host.index()).map(String::as_str);
        of_store(origin.ok_or(damaged))
    }

    fn url(&self, row: &PageRow) -> Result<String, ServiceError> {
        Ok(format!("{}{}", self.origin(row.host)?, row.path))
    }

    /// Where a file of the archive lies in the crawl's directory.
    fn archive_name(&self, file: u32) -> String {
        tidewatch_archive::path_of(&self.dir.join("archive"), file).display().to_string()
    }

    fn visit(&self, fetched: &Fetched) -> ExportedVisit {
        let (changed, last_modified, outcome) = match fetched.outcome {
            Came::Content { changed: None, last_modified, .. } => (None, last_modified, "first"),
            Came::Content { changed, last_modified, .. } => (changed, last_modified, "again"),
            Came::Gone => (None, None, "gone"),
            Came::Failed(_) => (None, None, "failed"),
        };
        let (page, at) = (self.number(fetched.page), fetched.at);
        ExportedVisit { page, at, changed, last_modified, outcome }
    }
}

fn of_store<T>(read: Result<T, StoreError>) -> Result<T, ServiceError> {
    read.map_err(|error| CrawlError::from(error).into())
}
