//! Views and clicks of all nodes, in one log.
//!
//! # The life of a click
//!
//! The node that shows results logs views and clicks on its own disk first, as a single machine does
//! ([`Desk`](tidewatch_search::clicks::Desk)). [`ClickLog::publish`] then appends them to a log at the
//! brokers and records its position. Every partition reads that log, takes the entries about its own pages,
//! and commits its position with them. So the owner of a page, or a later owner, hears of a click once,
//! wherever it was made.
//!
//! The brokers forget the name of an entry after two minutes. A node that is killed between an entry and
//! its note, and comes back later, sends that one entry again; after a power cut it may be a few more.

use std::fs::File;
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
/// Bytes of a [`Mark`] on disk.
const MARK_BYTES: usize = 16;
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
        let Published { mut mark, mut entries } = Published::read(&dir);
        loop {
            let rows = Rows::read(&dir, mark, AT_ONCE).unwrap_or_default();
            for (place, entry) in rows.entries.iter().enumerate().skip(entries) {
                // The same entry always has the same name: brokers drop a repetition while they remember it.
                let id = format!("{node}-{}-{}-{place}", mark.day, mark.offset);
                let bytes = serde_json::to_vec(entry).unwrap_or_default();
                while !self.log.append(id.clone(), bytes.clone()).await {
                    tokio::time::sleep(LOOK).await;
                }
                // Without the note, entries are sent again after the next start.
                let _ = Published { mark, entries: place + 1 }.write(&dir, false);
            }
            if rows.end > mark {
                (mark, entries) = (rows.end, 0);
                let _ = Published { mark, entries }.write(&dir, true);
            }
            if !rows.has_more {
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}

/// How far a node's own log is published.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Published {
    /// The end of the last batch.
    mark: Mark,
    /// Entries after it.
    entries: usize,
}

impl Published {
    /// The beginning of the log if the file is missing or damaged.
    fn read(dir: &Path) -> Published {
        let read = || {
            let bytes = std::fs::read(dir.join(PUBLISHED)).ok()?;
            let (mark, entries) = bytes.split_first_chunk::<MARK_BYTES>()?;
            // Earlier versions noted whole batches alone.
            let entries = entries.try_into().map_or(0, u32::from_le_bytes) as usize;
            Some(Published { mark: Mark::of_bytes(mark), entries })
        };
        read().unwrap_or_default()
    }

    fn write(self, dir: &Path, is_synced: bool) -> std::io::Result<()> {
        let new = dir.join("published.new");
        let bytes = [&self.mark.to_bytes()[..], &(self.entries as u32).to_le_bytes()].concat();
        std::fs::write(&new, bytes)?;
        if is_synced {
            File::open(&new)?.sync_all()?;
        }
        std::fs::rename(new, dir.join(PUBLISHED))?;
        if is_synced { File::open(dir)?.sync_all() } else { Ok(()) }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_noted_by_the_entry() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Published::read(dir.path()), Published::default());
        let mark = Mark { day: 20_000, offset: 77 };
        for (published, is_synced) in
            [(Published { mark, entries: 3 }, false), (Published { mark, entries: 0 }, true)]
        {
            published.write(dir.path(), is_synced).unwrap();
            assert_eq!(Published::read(dir.path()), published);
        }
        // As earlier versions wrote it, and cut short.
        std::fs::write(dir.path().join(PUBLISHED), mark.to_bytes()).unwrap();
        assert_eq!(Published::read(dir.path()), Published { mark, entries: 0 });
        std::fs::write(dir.path().join(PUBLISHED), [1; 9]).unwrap();
        assert_eq!(Published::read(dir.path()), Published::default());
    }
}
