//! Views and clicks of all nodes, in one log.
//!
//! # The life of a click
//!
//! The node that shows results logs views and clicks on its own disk first, as a single machine does
//! ([`Desk`](tidewatch_search::clicks::Desk)). [`ClickLog::publish`] then appends them to a log at the
//! brokers and records its position. Every partition reads that log, takes the entries about its own pages,
//! and commits its position with them. So the owner of a page, or a later owner, hears of a click once,
//! wherever it was made.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidewatch_node::{Entry as Message, Follower, SharedLog};
use tidewatch_search::SearchError;
use tidewatch_search::clicks::{Entries, Entry, Mark, Rows};
use tokio::runtime::Handle;

/// Entries read at once.
const AT_ONCE: usize = 200;
/// How often to look for new ones, and how long to wait before a message is sent again.
const LOOK: Duration = Duration::from_secs(1);
/// The file beside a node's own log that says how far it is published.
const PUBLISHED: &str = "published";

/// The log of all nodes. Cheap to clone.
#[derive(Clone)]
pub(super) struct ClickLog {
    log: SharedLog,
    runtime: Handle,
}

impl ClickLog {
    /// Must be called within a runtime.
    pub(super) fn new(log: SharedLog) -> ClickLog {
        ClickLog { log, runtime: Handle::current() }
    }

    /// Reads it from the beginning.
    pub(super) fn read(&self) -> Box<dyn Entries> {
        let _inside = self.runtime.enter();
        Box::new(Heard { follower: self.log.read(0), ahead: None })
    }

    /// Publishes new entries of a node's own log in `dir`, for ever.
    pub(super) async fn publish(self, dir: PathBuf, node: String) {
        let mut mark = published(&dir);
        loop {
            let rows = Rows::read(&dir, mark, AT_ONCE).unwrap_or_default();
            for (place, entry) in rows.entries.iter().enumerate() {
                // The same entry always has the same name: brokers drop a repetition while they remember it.
                let id = format!("{node}-{}-{}-{place}", mark.day, mark.offset);
                let bytes = serde_json::to_vec(entry).unwrap_or_default();
                while !self.log.append(id.clone(), bytes.clone()).await {
                    tokio::time::sleep(LOOK).await;
                }
            }
            if rows.end > mark {
                mark = rows.end;
                // If this fails, the next start sends the entries again.
                let _ = note(&dir, mark);
            }
            if !rows.has_more {
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}

/// How far a node's own log is published.
fn published(dir: &Path) -> Mark {
    std::fs::read(dir.join(PUBLISHED))
        .map_or_else(|_| Mark::default(), |bytes| Mark::of_bytes(&bytes))
}

fn note(dir: &Path, mark: Mark) -> std::io::Result<()> {
    let new = dir.join("published.new");
    std::fs::write(&new, mark.to_bytes())?;
    std::fs::rename(new, dir.join(PUBLISHED))
}

/// Entries as the log brings them. A position there is a [`Mark`] of day 0.
struct Heard {
    follower: Follower,
    /// An entry that was read already but lies after the last position asked for.
    ahead: Option<Message>,
}

impl Entries for Heard {
    fn next(&mut self, from: Mark, to: Mark, most: usize) -> Result<Rows, SearchError> {
        let mut rows = Rows { end: from, ..Rows::default() };
        while rows.entries.len() < most {
            let Some(message) = self.ahead.take().or_else(|| self.follower.try_next()) else {
                break;
            };
            let at = Mark { day: 0, offset: message.sequence };
            if at > to {
                self.ahead = Some(message);
                rows.end = to;
                break;
            }
            match serde_json::from_slice::<Entry>(&message.payload.unwrap_or_default()) {
                Ok(entry) => rows.entries.push(entry),
                Err(_) => rows.bad += 1,
            }
            rows.end = at;
        }
        Ok(rows)
    }
}
