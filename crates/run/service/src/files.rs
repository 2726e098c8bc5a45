//! A crawl's directory, read or added to without running the crawl.

use std::io::{BufRead, ErrorKind};
use std::path::Path;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::{CrawlError, Partition, Partitions, Replayed, Status, owner};
use tidewatch_search::clicks::{Desk, Imported, Log, import};

use crate::{ServiceError, now_micros, now_s};

/// A crawl's directory has this file.
const FORMAT: &str = "format";
/// One with several partitions has this.
const PARTITIONS: &str = "partitions";

/// Fails unless `dir` holds a crawl in one partition, which `what` needs.
pub(crate) fn ensure_one(dir: &Path, what: &'static str) -> Result<(), ServiceError> {
    if count_partitions(dir)? > 1 {
        return Err(ServiceError::Several { dir: dir.to_owned(), what });
    }
    ensure_crawl(dir)
}

pub(crate) fn ensure_crawl(dir: &Path) -> Result<(), ServiceError> {
    // Opening a store would make one.
    let is_crawl = dir.join(FORMAT).exists();
    is_crawl.then_some(()).ok_or_else(|| ServiceError::NoCrawl(dir.to_owned()))
}

/// How many partitions the crawl in `dir` has; one if there is none yet.
pub fn count_partitions(dir: &Path) -> Result<usize, ServiceError> {
    Ok(Partitions::dirs(dir).map_err(CrawlError::from)?.len())
}

/// Opens the partition that owns a URL's host, as it was when the crawl ended.
pub fn look_at_owner(dir: &Path, url: &CanonicalUrl) -> Result<Partition, ServiceError> {
    let mut dirs = Partitions::dirs(dir).map_err(CrawlError::from)?;
    let number = owner(url, dirs.len() as u32) as usize;
    let dir = dirs.swap_remove(number);
    ensure_crawl(&dir)?;
    Ok(Partition::look(&dir, now_micros())?)
}

/// Opens a crawl as it was when it ended, for the command `what`. It must not be running.
pub fn look(dir: &Path, what: &'static str) -> Result<Partition, ServiceError> {
    ensure_one(dir, what)?;
    Ok(Partition::look(dir, now_micros())?)
}

/// Takes every decision of a crawl again, with the policy of today. An error if one differs.
pub fn replay(dir: &Path) -> Result<Replayed, ServiceError> {
    let mut all = Replayed::default();
    for dir in Partitions::dirs(dir).map_err(CrawlError::from)? {
        ensure_crawl(&dir)?;
        let part = Partition::replay(&dir, now_micros())?;
        all.inputs += part.inputs;
        all.decisions += part.decisions;
    }
    Ok(all)
}

/// The figures that a crawl, running or not, wrote last.
pub fn read_status(dir: &Path) -> Result<Status, ServiceError> {
    Status::read(dir).map_err(|source| match source.kind() {
        ErrorKind::NotFound if dir.join(FORMAT).exists() || dir.join(PARTITIONS).exists() => {
            ServiceError::NoFigures(dir.to_owned())
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => ServiceError::NoCrawl(dir.to_owned()),
        ErrorKind::InvalidData => ServiceError::DamagedFigures { dir: dir.to_owned(), source },
        _ => ServiceError::Unreadable { path: dir.join("status.json"), source },
    })
}

/// Adds views and clicks from another search engine's log, which the crawl reads within seconds, or
/// when it next runs.
pub fn import_clicks(dir: &Path, log: impl BufRead) -> Result<Imported, ServiceError> {
    ensure_one(dir, "clicks import")?;
    let mut own = Log::open(&Desk::log_dir(dir))?;
    Ok(import(log, &mut own, now_s())?)
}
