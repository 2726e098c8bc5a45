//! Whether a crawl's tables and sieve hold together. Nothing here writes.

use std::fmt;
use std::path::PathBuf;

use tidewatch_core::{HostId, PageId};

use crate::{CopyRow, Store, StoreError, sieve};

/// Faults that are listed; more are only counted.
const MOST_FAULTS: usize = 1_000;

/// What a check of a store found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Rows in the table of hosts.
    pub hosts: u64,
    /// Rows in the table of pages.
    pub pages: u64,
    /// Rows in the table of copies.
    pub copies: u64,
    /// Inputs on the tape.
    pub inputs: u64,
    /// What is wrong, as far as it is listed.
    pub faults: Vec<Fault>,
    /// Faults that are not listed.
    pub more_faults: u64,
}

/// Something wrong with a store.
#[derive(Debug)]
pub enum Fault {
    /// A table cannot be read, or not from some row on.
    Table(StoreError),
    /// A row names another row that does not exist.
    Dangling {
        /// The row's table.
        table: &'static str,
        /// The row's number.
        key: u64,
        /// What it names, such as `host 7`.
        missing: String,
    },
    /// A run of the sieve is missing or damaged.
    Run(PathBuf),
    /// The sieve does not find a page by its URL.
    Unfound {
        /// The page.
        page: PageId,
        /// The page that it finds instead.
        found: Option<PageId>,
    },
}

impl Fault {
    /// Whether the next start rebuilds what is wrong. Everything else is lost.
    pub const fn is_rebuilt(&self) -> bool {
        matches!(self, Fault::Run(_) | Fault::Unfound { .. })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Table(error) => error.fmt(f),
            Fault::Dangling { table, key, missing } => {
                write!(f, "row {key} of table {table} names {missing}, which does not exist")
            }
            Fault::Run(path) => write!(f, "{} is missing or damaged", path.display()),
            Fault::Unfound { page, found: Some(found) } => {
                write!(f, "the sieve takes page {} for page {}", page.0, found.0)
            }
            Fault::Unfound { page, found: None } => {
                write!(f, "the sieve does not know page {}", page.0)
            }
        }
    }
}

impl Store {
    /// Reads every row, follows every reference between rows, and calls `copy` with each page that
    /// has a copy, its URL and the copy.
    pub fn check(
        &self,
        mut copy: impl FnMut(PageId, &str, &CopyRow),
    ) -> Result<Checked, StoreError> {
        let (tables, mut checked) = (self.tables()?, Checked::default());
        let mut origins = Vec::new();
        for row in tables.hosts() {
            let Some((host, row)) = checked.read(row) else { break };
            if host.index() != origins.len() {
                checked.dangle("hosts", host.0, format!("host {}", origins.len()));
            }
            origins.resize(host.index(), String::new());
            origins.push(row.origin);
        }
        checked.hosts = origins.len() as u64;
        let url_of =
            |host: HostId, path: &str| Some(format!("{}{path}", origins.get(host.index())?));
        for row in tables.pages_from(PageId(0)) {
            let Some((page, row)) = checked.read(row) else { break };
            checked.pages += 1;
            match url_of(row.host, &row.path) {
                None => checked.dangle("pages", page.0, format!("host {}", row.host.0)),
                Some(url) => match self.page_of(&url) {
                    Ok(Some(found)) if found == page => {}
                    Ok(found) => checked.push(Fault::Unfound { page, found }),
                    // Its file is named below.
                    Err(_) => {}
                },
            }
            if let Some(via) = row.via.filter(|via| via.0 >= self.pages()) {
                checked.dangle("pages", page.0, format!("page {}", via.0));
            }
        }
        for row in tables.copies() {
            let Some((page, row)) = checked.read(row) else { break };
            checked.copies += 1;
            if let Some(link) = row.links.iter().find(|link| link.0 >= self.pages()) {
                checked.dangle("copies", page.0, format!("page {}", link.0));
            }
            let address = tables.page(page)?;
            match address.and_then(|address| url_of(address.host, &address.path)) {
                Some(url) => copy(page, &url, &row),
                None => checked.dangle("copies", page.0, format!("page {}", page.0)),
            }
        }
        for input in tables.tape(0) {
            let Some(_) = checked.read(input) else { break };
            checked.inputs += 1;
        }
        let path = self.dir().join("sieve");
        let runs = sieve::check(&path).map_err(|source| StoreError::Io { path, source })?;
        runs.into_iter().for_each(|run| checked.push(Fault::Run(run)));
        Ok(checked)
    }
}

impl Checked {
    /// The row, or a fault if it cannot be read.
    fn read<T>(&mut self, row: Result<T, StoreError>) -> Option<T> {
        row.map_err(|error| self.push(Fault::Table(error))).ok()
    }

    fn dangle(&mut self, table: &'static str, key: u32, missing: String) {
        self.push(Fault::Dangling { table, key: u64::from(key), missing });
    }

    fn push(&mut self, fault: Fault) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(fault);
        } else {
            self.more_faults += 1;
        }
    }
}
