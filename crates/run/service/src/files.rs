//! A crawl's directory, read or added to without running the crawl.

use std::io::{BufRead, ErrorKind};
use std::path::Path;

use tidewatch_partition::{CrawlError, Partition, Replayed, Status};
use tidewatch_search::clicks::{Desk, Imported, Log, import};
use tidewatch_store::{Memory, Store};

use crate::{ServiceError, now_micros, now_s};

/// A crawl's directory has this file.
const FORMAT: &str = "format";

fn ensure_crawl(dir: &Path) -> Result<(), ServiceError> {
    // Opening a store would make one.
    let is_crawl = dir.join(FORMAT).exists();
    is_crawl.then_some(()).ok_or_else(|| ServiceError::NoCrawl(dir.to_owned()))
}

/// Opens a crawl as it was when it ended. It must not be running.
pub fn look(dir: &Path) -> Result<Partition, ServiceError> {
    ensure_crawl(dir)?;
    Ok(Partition::look(dir, now_micros())?)
}

/// Takes every decision of a crawl again, with the policy of today. An error if one differs.
pub fn replay(dir: &Path) -> Result<Replayed, ServiceError> {
    ensure_crawl(dir)?;
    Ok(Partition::replay(dir, now_micros())?)
}

/// The tables of a crawl that is not running, for reading.
pub fn open_store(dir: &Path) -> Result<Store, ServiceError> {
    ensure_crawl(dir)?;
    Ok(Store::read(dir, Memory::default()).map_err(CrawlError::from)?)
}

/// The figures that a crawl, running or not, wrote last.
pub fn read_status(dir: &Path) -> Result<Status, ServiceError> {
    Status::read(dir).map_err(|source| match source.kind() {
        ErrorKind::NotFound if dir.join(FORMAT).exists() => ServiceError::NoFigures(dir.to_owned()),
        ErrorKind::NotFound | ErrorKind::NotADirectory => ServiceError::NoCrawl(dir.to_owned()),
        ErrorKind::InvalidData => ServiceError::DamagedFigures { dir: dir.to_owned(), source },
        _ => ServiceError::Unreadable { path: dir.join("status.json"), source },
    })
}

/// Adds views and clicks from another search engine's log, which the crawl reads within seconds, or
/// when it next runs.
pub fn import_clicks(dir: &Path, log: impl BufRead) -> Result<Imported, ServiceError> {
    ensure_crawl(dir)?;
    let mut own = Log::open(&Desk::log_dir(dir))?;
    Ok(import(log, &mut own, now_s())?)
}
