//! A crawl's directory, read or added to without running the crawl.

use std::io::{BufRead, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::{
    CrawlError, Partition, Partitions, Replayed, Status, ask_running, owner,
};
use tidewatch_search::clicks::{Desk, Imported, Log, import};

use crate::{ServiceError, now_micros, now_s};

/// A crawl's directory has this file, and that of every partition.
const FORMAT: &str = "format";

/// The directories of a crawl's partitions. An error unless there is a crawl.
pub(crate) fn parts(dir: &Path) -> Result<Vec<PathBuf>, ServiceError> {
    let parts = Partitions::dirs(dir).map_err(CrawlError::from)?;
    // Opening a store would make one.
    let is_crawl = parts.iter().all(|part| part.join(FORMAT).exists());
    is_crawl.then_some(parts).ok_or_else(|| ServiceError::NoCrawl(dir.to_owned()))
}

/// Why a page is fetched when it is, as JSON and in sentences.
#[derive(Clone, Debug)]
pub struct WhyAnswer {
    /// As `tidewatch why --json` prints it.
    pub json: Json,
    /// In sentences.
    pub told: String,
}

impl WhyAnswer {
    /// Reads what a running crawl answered.
    pub fn read(mut answer: Json) -> Result<WhyAnswer, ServiceError> {
        if let Some(error) = answer["error"].as_str() {
            return Err(ServiceError::Refused(error.to_owned()));
        }
        let told = answer["told"].as_str().unwrap_or_default().to_owned();
        Ok(WhyAnswer { json: answer["why"].take(), told })
    }
}

/// Explains a page of a crawl: asks the crawl if it runs, and otherwise opens its directory as it was
/// when the crawl ended.
pub fn why(dir: &Path, url: &CanonicalUrl) -> Result<WhyAnswer, ServiceError> {
    let mut parts = parts(dir)?;
    let number = owner(url, parts.len() as u32) as usize;
    let dir = parts.swap_remove(number);
    let unreadable = |source| ServiceError::Unreadable { path: dir.join("ask.sock"), source };
    let running = ask_running(&dir, url).map_err(unreadable)?;
    WhyAnswer::read(if let Some(answer) = running {
        answer
    } else {
        let mut crawl = Partition::look(&dir, now_micros())?;
        let now = crawl.last();
        crawl.answer_why(url, now)?
    })
}

/// Opens a crawl as it was when it ended. It must not be running.
pub fn look(dir: &Path) -> Result<Partitions, ServiceError> {
    parts(dir)?;
    Ok(Partitions::look(dir, now_micros())?)
}

/// Takes every decision of a crawl again, with the policy of today. An error if one differs.
pub fn replay(dir: &Path) -> Result<Replayed, ServiceError> {
    let mut all = Replayed::default();
    for dir in parts(dir)? {
        let part = Partition::replay(&dir, now_micros())?;
        all.inputs += part.inputs;
        all.decisions += part.decisions;
        all.panics += part.panics;
        all.reproduced += part.reproduced;
    }
    Ok(all)
}

/// The figures that a crawl, running or not, wrote last.
pub fn read_status(dir: &Path) -> Result<Status, ServiceError> {
    Status::read(dir).map_err(|source| match source.kind() {
        ErrorKind::NotFound if parts(dir).is_ok() => ServiceError::NoFigures(dir.to_owned()),
        ErrorKind::NotFound | ErrorKind::NotADirectory => ServiceError::NoCrawl(dir.to_owned()),
        ErrorKind::InvalidData => ServiceError::DamagedFigures { dir: dir.to_owned(), source },
        _ => ServiceError::Unreadable { path: dir.join("status.json"), source },
    })
}

/// Adds views and clicks from another search engine's log, which the crawl reads within seconds, or
/// when it next runs.
pub fn import_clicks(dir: &Path, log: impl BufRead) -> Result<Imported, ServiceError> {
    parts(dir)?;
    let mut own = Log::open(&Desk::log_dir(dir))?;
    Ok(import(log, &mut own, now_s())?)
}
