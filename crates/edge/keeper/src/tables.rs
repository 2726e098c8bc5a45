//! Tables on disk: URLs by queue and number, the tape, and single values.
//!
//! ```text
//! urls   queue u32, page u32 → due, put, URL, payload   (keys big-endian, values postcard)
//! tape   number u64          → inputs of one commit
//! doomed queue u32           → a dropped queue whose URLs are still there
//! meta   name                → bytes
//! ```

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId};
use tidewatch_queues::Input;

use crate::KeeperError;

/// Rows in memory before they are written to a file of their own.
const MEMTABLE_BYTES: u64 = 32 << 20;
/// The engine's number of the table of the tape: it numbers tables from 1 in the order of [`Tables::open`].
pub(crate) const TAPE_TABLE: u64 = 2;
/// Limit of the journals, which hold rows that are not in table files yet.
const JOURNAL_BYTES: u64 = 512 << 20;

/// The tables.
pub(crate) struct Tables {
    db: Database,
    urls: Keyspace,
    tape: Keyspace,
    doomed: Keyspace,
    meta: Keyspace,
}

/// Data of a URL besides its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Seconds since 1970; 0 for never again.
    pub(crate) due: u64,
    /// When it was put, seconds since 1970.
    pub(crate) put: u32,
    pub(crate) url: String,
    pub(crate) payload: Vec<u8>,
}

/// Changes that are committed as one.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) rows: Vec<(HostId, PageId, Row)>,
    pub(crate) removed: Vec<(HostId, PageId)>,
    /// Of these only the name stays, for a policy that replays the tape.
    pub(crate) named: Vec<(HostId, PageId)>,
    pub(crate) doomed: Vec<HostId>,
    pub(crate) cleaned: Vec<HostId>,
    pub(crate) tape: Vec<Input>,
}

impl Row {
    fn name_only(self) -> Row {
        Row { due: 0, put: 0, url: self.url, payload: Vec::new() }
    }

    /// Whether it was dropped.
    const fn is_name_only(&self) -> bool {
        self.put == 0
    }
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        let Changes { rows, removed, named, doomed, cleaned, tape } = self;
        rows.is_empty()
            && removed.is_empty()
            && named.is_empty()
            && doomed.is_empty()
            && cleaned.is_empty()
            && tape.is_empty()
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.removed.clear();
        self.named.clear();
        self.doomed.clear();
        self.cleaned.clear();
        self.tape.clear();
    }
}

fn key(queue: HostId, page: PageId) -> [u8; 8] {
    (u64::from(queue.0) << 32 | u64::from(page.0)).to_be_bytes()
}

fn page_in(key: &[u8]) -> Option<PageId> {
    Some(PageId(u32::from_be_bytes(key.get(4..8)?.try_into().ok()?)))
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("rows hold nothing that cannot be encoded")
}

impl Tables {
    pub(crate) fn open(path: &Path, cache: u64) -> Result<Tables, KeeperError> {
        let builder = Database::builder(path).cache_size(cache).worker_threads(1);
        let db = builder.max_journaling_size(JOURNAL_BYTES).open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        let table = |name| db.keyspace(name, options);
        Ok(Tables {
            urls: table("urls")?,
            tape: table("tape")?,
            doomed: table("doomed")?,
            meta: table("meta")?,
            db,
        })
    }

    /// The length of the tape in a copy of the tables.
    pub(crate) fn batches_in(path: &Path) -> Result<u64, KeeperError> {
        Tables::open(path, 0)?.next_tape()
    }

    /// Commits changes as one, as number `tape` of the tape, and syncs them.
    pub(crate) fn commit(&self, changes: &mut Changes, tape: u64) -> Result<(), KeeperError> {
        let size = changes.rows.len() + changes.removed.len() + 1;
        let mut batch = fjall::OwnedWriteBatch::with_capacity(self.db.clone(), size);
        for (queue, page, row) in &changes.rows {
            batch.insert(&self.urls, key(*queue, *page), encode(row));
        }
        for (queue, page) in &changes.removed {
            batch.remove(&self.urls, key(*queue, *page));
        }
        for &(queue, page) in &changes.named {
            if let Some(row) = self.row(queue, page)? {
                batch.insert(&self.urls, key(queue, page), encode(&row.name_only()));
            }
        }
        for queue in &changes.doomed {
            batch.insert(&self.doomed, queue.0.to_be_bytes(), []);
        }
        for queue in &changes.cleaned {
            batch.remove(&self.doomed, queue.0.to_be_bytes());
        }
        if !changes.tape.is_empty() {
            batch.insert(&self.tape, tape.to_be_bytes(), encode(&changes.tape));
        }
        batch.commit()?;
        self.db.persist(PersistMode::SyncAll)?;
        changes.clear();
        Ok(())
    }

    /// What is kept of a URL; `None` if it was dropped.
    pub(crate) fn row(&self, queue: HostId, page: PageId) -> Result<Option<Row>, KeeperError> {
        Ok(self.any_row(queue, page)?.filter(|row| !row.is_name_only()))
    }

    /// A URL, dropped or not; `None` if nothing is left of it.
    pub(crate) fn name(&self, queue: HostId, page: PageId) -> Result<Option<String>, KeeperError> {
        Ok(self.any_row(queue, page)?.map(|row| row.url))
    }

    fn any_row(&self, queue: HostId, page: PageId) -> Result<Option<Row>, KeeperError> {
        let key = key(queue, page);
        let value = self.urls.get(key)?;
        value.map(|value| decode(&value, "urls", u64::from_be_bytes(key))).transpose()
    }

    /// The URLs of a queue, in the order in which they were put.
    pub(crate) fn rows(
        &self,
        queue: HostId,
    ) -> impl Iterator<Item = Result<(PageId, Row), KeeperError>> + use<> {
        let rows = self.urls.prefix(queue.0.to_be_bytes()).map(|row| {
            let (key, value) = row.into_inner()?;
            let page = page_in(&key).ok_or(KeeperError::Damaged { table: "urls", key: 0 })?;
            Ok((page, decode::<Row>(&value, "urls", page.0.into())?))
        });
        rows.filter(|row| row.as_ref().is_ok_and(|(_, row)| !row.is_name_only()) || row.is_err())
    }

    /// Some URLs of a queue, from a number on.
    pub(crate) fn some_pages(
        &self,
        queue: HostId,
        from: PageId,
        most: usize,
    ) -> Result<Vec<PageId>, KeeperError> {
        let rows = self.urls.range(key(queue, from)..=key(queue, PageId(u32::MAX))).take(most);
        rows.map(|row| {
            let damaged = KeeperError::Damaged { table: "urls", key: queue.0.into() };
            page_in(&row.key()?).ok_or(damaged)
        })
        .collect()
    }

    /// A dropped queue whose URLs are still there.
    pub(crate) fn first_doomed(&self) -> Result<Option<HostId>, KeeperError> {
        let Some(row) = self.doomed.first_key_value() else { return Ok(None) };
        let key = row.key()?;
        let damaged = KeeperError::Damaged { table: "doomed", key: 0 };
        let bytes = (*key).try_into().map_err(|_| damaged)?;
        Ok(Some(HostId(u32::from_be_bytes(bytes))))
    }

    /// The number of the next commit on the tape.
    pub(crate) fn next_tape(&self) -> Result<u64, KeeperError> {
        let Some(last) = self.tape.last_key_value() else { return Ok(0) };
        let key = last.key()?;
        let damaged = KeeperError::Damaged { table: "tape", key: 0 };
        let bytes = (*key).try_into().map_err(|_| damaged)?;
        Ok(u64::from_be_bytes(bytes) + 1)
    }

    /// The commits on the tape from a number on. A missing one is an error.
    pub(crate) fn tape(
        &self,
        from: u64,
    ) -> impl Iterator<Item = Result<(u64, Vec<Input>), KeeperError>> + use<> {
        self.tape.range(from.to_be_bytes()..).zip(from..).map(|(row, at)| {
            let (key, value) = row.into_inner()?;
            if *key != at.to_be_bytes() {
                return Err(KeeperError::Damaged { table: "tape", key: at });
            }
            Ok((at, decode(&value, "tape", at)?))
        })
    }

    pub(crate) fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, KeeperError> {
        Ok(self.meta.get(name)?.map(|value| value.to_vec()))
    }

    pub(crate) fn set_meta(&self, name: &str, value: &[u8]) -> Result<(), KeeperError> {
        self.meta.insert(name, value)?;
        self.db.persist(PersistMode::SyncAll)?;
        Ok(())
    }
}

fn decode<T: for<'a> Deserialize<'a>>(
    bytes: &[u8],
    table: &'static str,
    key: u64,
) -> Result<T, KeeperError> {
    postcard::from_bytes(bytes).map_err(|_| KeeperError::Damaged { table, key })
}
