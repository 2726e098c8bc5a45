//! Whether a crawl's directory is whole: every file, and what the files say of each other. Nothing here
//! writes.

use std::path::Path;

use serde::Serialize;
use tidewatch_archive::{Damage, Location, is_readable};
use tidewatch_partition::{CrawlError, check_archive, check_snapshot};
use tidewatch_search::check_index;
use tidewatch_store::{Memory, Place, Store, StoreError};

use crate::{ServiceError, files};

/// Problems of a part that are listed; more are only counted.
const MOST_LISTED: usize = 20;

/// One part of a crawl's directory, and what is wrong with it.
#[derive(Debug, Serialize)]
pub struct CheckedPart {
    /// Its path within the crawl's directory.
    pub path: String,
    /// What it holds.
    pub holds: String,
    /// What is wrong, as far as it is listed.
    pub problems: Vec<Problem>,
    /// Problems that are not listed.
    pub more: u64,
}

/// Something wrong with a part.
#[derive(Debug, Serialize)]
pub struct Problem {
    /// What is wrong, as a sentence without its end.
    pub what: String,
    /// What becomes of it.
    pub remedy: Remedy,
}

/// What becomes of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// The next start rebuilds it from other parts; nothing is lost.
    Rebuilt,
    /// A stored copy is lost; the crawl fetches the page again when it is due.
    FetchedAgain,
    /// Only a copy of the directory brings it back.
    Restore,
}

impl CheckedPart {
    fn new(path: String) -> CheckedPart {
        CheckedPart { path, holds: String::new(), problems: Vec::new(), more: 0 }
    }

    fn add(&mut self, what: String, remedy: Remedy) {
        if self.problems.len() < MOST_LISTED {
            self.problems.push(Problem { what, remedy });
        } else {
            self.more += 1;
        }
    }

    /// Whether something stored is lost.
    pub fn has_loss(&self) -> bool {
        self.problems.iter().any(|problem| problem.remedy != Remedy::Rebuilt)
    }
}

/// Checks the directory of a crawl that is not running, one part after the other; `say` is told which.
pub fn check(dir: &Path, say: &dyn Fn(&str)) -> Result<Vec<CheckedPart>, ServiceError> {
    let mut parts = Vec::new();
    for partition in files::parts(dir)? {
        let within = partition.strip_prefix(dir).unwrap_or(Path::new(""));
        let name = |part: &str| within.join(part).display().to_string();
        say(&format!("reading {} and {}", name("db"), name("archive")));
        let store = match Store::read(&partition, Memory::default()) {
            Ok(store) => store,
            Err(error @ (StoreError::InUse { .. } | StoreError::OtherFormat { .. })) => {
                return Err(CrawlError::from(error).into());
            }
            Err(error) => {
                let mut tables = CheckedPart::new(name("db"));
                tables.add(error.to_string(), Remedy::Restore);
                parts.push(tables);
                continue;
            }
        };
        parts.extend(check_store(&store, &name)?);
        if let Some(is_good) = check_snapshot(&partition) {
            let mut snapshot = CheckedPart::new(name("frontier.snapshot"));
            if !is_good {
                let what = "the snapshot is damaged or of another version; the tape is replayed";
                snapshot.add(what.to_owned(), Remedy::Rebuilt);
            }
            parts.push(snapshot);
        }
    }
    say("reading index");
    if let Some(damaged) = check_index(&dir.join("index")) {
        let mut index = CheckedPart::new("index".to_owned());
        for path in damaged {
            index.add(format!("{} is damaged or missing", path.display()), Remedy::Rebuilt);
        }
        parts.push(index);
    }
    Ok(parts)
}

/// Checks tables, sieve and archive.
fn check_store(
    store: &Store,
    name: &dyn Fn(&str) -> String,
) -> Result<[CheckedPart; 3], ServiceError> {
    let mut archive = CheckedPart::new(name("archive"));
    let findings = check_archive(store)?;
    for damage in &findings.damage {
        let is_index = matches!(damage, Damage::Index { .. });
        archive
            .add(damage.to_string(), if is_index { Remedy::Rebuilt } else { Remedy::FetchedAgain });
    }
    if findings.torn_bytes > 0 {
        let what = format!("{} bytes at the end are a record cut by a crash", findings.torn_bytes);
        archive.add(what, Remedy::Rebuilt);
    }
    let (dir, mut readable) = (store.dir().join("archive"), 0);
    let checked = store.check(|_, url, copy| {
        let Place { file, offset, bytes } = copy.place;
        if bytes > 0 && is_readable(&dir, Location { file, offset, bytes }, url) {
            readable += 1;
        } else {
            archive.add(format!("the copy of {url} cannot be read"), Remedy::FetchedAgain);
        }
    });
    let checked = checked.map_err(CrawlError::from)?;
    archive.holds = format!("{readable} readable copies");
    let (mut tables, mut sieve) = (CheckedPart::new(name("db")), CheckedPart::new(name("sieve")));
    tables.holds = format!(
        "{} hosts, {} pages, {} copies, {} inputs on the tape",
        checked.hosts, checked.pages, checked.copies, checked.inputs
    );
    for fault in &checked.faults {
        let is_rebuilt = fault.is_rebuilt();
        let remedy = if is_rebuilt { Remedy::Rebuilt } else { Remedy::Restore };
        let part = if is_rebuilt { &mut sieve } else { &mut tables };
        part.add(fault.to_string(), remedy);
    }
    tables.more += checked.more_faults;
    Ok([tables, sieve, archive])
}
