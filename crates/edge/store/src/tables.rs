//! The tables on the storage engine.

use std::fs;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidewatch_core::{HostId, PageId};
use tidewatch_frontier::tape::Input;

use crate::dir::sync_dirs;
use crate::{
    Batch, CopyRow, Hops, HostRow, Memory, PageRow, Parcel, SentLink, Setback, SetbackOf,
    StoreError, TwinKey,
};

/// All tables, open.
pub struct Tables {
    db: Database,
    pages: Keyspace,
    copies: Keyspace,
    twins: Keyspace,
    hosts: Keyspace,
    tape: Keyspace,
    meta: Keyspace,
    outbox: Keyspace,
    vias: Keyspace,
    setbacks: Keyspace,
}

/// Limit of the journals, which a start after a crash reads: the engine's minimum.
const JOURNAL_BYTES: u64 = 64 << 20;
/// Bytes of a table in memory and in the journal before they are flushed.
const MEMTABLE_BYTES: u64 = 8 << 20;

/// Free bytes below which a failed flush is for lack of space: every table may flush at once.
pub(crate) const FLUSH_BYTES: u64 = JOURNAL_BYTES + 10 * MEMTABLE_BYTES;

/// The tables of copies and hosts.
const COPIES: &str = "copies";
const HOSTS: &str = "hosts";

type Row<K, V> = Result<(K, V), StoreError>;

impl Tables {
    /// Makes empty tables, if there are none yet. They are made beside `path` and renamed, so that a
    /// kill never leaves some of them: the engine numbers tables in the order in which they are made,
    /// and the check of the journals relies on the tape's number.
    pub(crate) fn create(path: &Path) -> Result<(), StoreError> {
        if path.exists() {
            return Ok(());
        }
        let new = path.with_extension("new");
        let failed = |source| StoreError::Io { path: new.clone(), source };
        if new.exists() {
            fs::remove_dir_all(&new).map_err(failed)?;
        }
        Tables::open(&new, Memory { cache: 0, ..Memory::default() })?.sync()?;
        // The engine does not sync the directory in which it makes those of the tables.
        sync_dirs(&new).map_err(failed)?;
        fs::rename(&new, path).map_err(failed)?;
        let parent = path.parent().unwrap_or(path);
        fs::File::open(parent).and_then(|dir| dir.sync_all()).map_err(failed)
    }

    /// Fails if a table lost the file that names its newest version: the engine would take it for a new,
    /// empty table. Changes nothing.
    pub(crate) fn check_files(path: &Path) -> Result<(), StoreError> {
        let tables = path.join("keyspaces");
        let failed = |source| StoreError::Io { path: tables.clone(), source };
        if !tables.exists() {
            return Ok(());
        }
        for table in fs::read_dir(&tables).map_err(failed)? {
            let table = table.map_err(failed)?.path();
            // A crash may leave a directory without any version while a table is made.
            if has_version(&table) && !table.join("current").exists() {
                return Err(StoreError::Lost { path: table });
            }
        }
        Ok(())
    }

    pub(crate) fn open(path: &Path, memory: Memory) -> Result<Tables, StoreError> {
        let builder = Database::builder(path).cache_size(memory.cache).worker_threads(1);
        let builder = builder.max_cached_files(Some(memory.files));
        let db = builder.max_journaling_size(JOURNAL_BYTES).open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        let table = |name| db.keyspace(name, options);
        Ok(Tables {
            pages: table("pages")?,
            copies: table(COPIES)?,
            twins: table("twins")?,
            hosts: table(HOSTS)?,
            tape: table("tape")?,
            meta: table("meta")?,
            outbox: table("outbox")?,
            vias: table("vias")?,
            setbacks: table("setbacks")?,
            db,
        })
    }

    /// Commits a batch as one, with its inputs as number `tape` of the tape. It survives this
    /// process from now on. After a failure the engine takes nothing more until it is opened again.
    pub(crate) fn commit(&self, batch: &Batch, tape: u64) -> Result<(), StoreError> {
        let mut rows = self.db.batch();
        for (page, row) in &batch.pages {
            rows.insert(&self.pages, page.0.to_be_bytes(), encode(row));
        }
        for page in &batch.gone {
            rows.remove(&self.copies, page.0.to_be_bytes());
        }
        for (page, row) in &batch.copies {
            rows.insert(&self.copies, page.0.to_be_bytes(), encode(row));
        }
        for (key, page) in &batch.twins {
            rows.insert(&self.twins, key.bytes(), page.0.to_be_bytes());
        }
        for (host, row) in &batch.hosts {
            rows.insert(&self.hosts, host.0.to_be_bytes(), encode(row));
        }
        if !batch.tape.is_empty() {
            rows.insert(&self.tape, tape.to_be_bytes(), encode(&batch.tape));
        }
        for (page, url) in &batch.vias {
            rows.insert(&self.vias, page.0.to_be_bytes(), url.as_str());
        }
        for (of, setback) in &batch.setbacks {
            match setback {
                Some(setback) => rows.insert(&self.setbacks, of.bytes(), encode(setback)),
                None => rows.remove(&self.setbacks, of.bytes()),
            }
        }
        for (number, parcel) in &batch.outbox {
            rows.insert(&self.outbox, number.to_be_bytes(), encode(parcel));
        }
        for number in &batch.delivered {
            rows.remove(&self.outbox, number.to_be_bytes());
        }
        for (name, value) in &batch.meta {
            rows.insert(&self.meta, name.as_str(), value.as_slice());
        }
        Ok(rows.commit()?)
    }

    /// Syncs everything committed to disk.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        Ok(self.db.persist(PersistMode::SyncAll)?)
    }

    /// A page's address.
    pub fn page(&self, page: PageId) -> Result<Option<PageRow>, StoreError> {
        get(&self.pages, "pages", page.0)
    }

    /// The newest copy of a page.
    pub fn copy(&self, page: PageId) -> Result<Option<CopyRow>, StoreError> {
        get(&self.copies, COPIES, page.0)
    }

    /// A host.
    pub fn host(&self, host: HostId) -> Result<Option<HostRow>, StoreError> {
        get(&self.hosts, HOSTS, host.0)
    }

    /// The first page of a host with that smallest fragment hash.
    pub fn twin(&self, key: TwinKey) -> Result<Option<PageId>, StoreError> {
        let page = self.twins.get(key.bytes())?;
        page.map(|page| Ok(PageId(number(&page, "twins")?))).transpose()
    }

    /// The URL of the page of another partition whose link named a page first.
    pub fn via(&self, page: PageId) -> Result<Option<String>, StoreError> {
        let url = self.vias.get(page.0.to_be_bytes())?;
        Ok(url.map(|url| String::from_utf8_lossy(&url).into_owned()))
    }

    /// A named fact about the crawl.
    pub fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.meta.get(name)?.map(|value| value.to_vec()))
    }

    /// All named facts about the crawl.
    pub(crate) fn all_meta(&self) -> impl Iterator<Item = Row<String, Vec<u8>>> {
        self.meta.iter().map(|row| {
            let (name, value) = row.into_inner()?;
            Ok((String::from_utf8_lossy(&name).into_owned(), value.to_vec()))
        })
    }

    /// Why the newest request of a host or page brought no copy.
    pub fn setback(&self, of: SetbackOf) -> Result<Option<Setback>, StoreError> {
        let value = self.setbacks.get(of.bytes())?;
        value.map(|value| decode(&value, "setbacks", of.number())).transpose()
    }

    /// Bytes of all tables on disk.
    pub fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.db.disk_space()?)
    }

    /// Pages from a number on, in order.
    pub fn pages_from(&self, from: PageId) -> impl Iterator<Item = Row<PageId, PageRow>> {
        let rows = self.pages.range(from.0.to_be_bytes()..);
        rows.map(|row| read_row(row, "pages", PageId))
    }

    /// All copies, in the order of their pages.
    pub fn copies(&self) -> impl Iterator<Item = Row<PageId, CopyRow>> {
        self.copies_from(PageId(0))
    }

    /// Copies from a page on, in the order of their pages.
    pub fn copies_from(&self, from: PageId) -> impl Iterator<Item = Row<PageId, CopyRow>> {
        let rows = self.copies.range(from.0.to_be_bytes()..);
        rows.map(|row| read_row(row, COPIES, PageId))
    }

    /// All hosts, in order.
    pub fn hosts(&self) -> impl Iterator<Item = Row<HostId, HostRow>> {
        self.hosts.iter().map(|row| read_row(row, HOSTS, HostId))
    }

    /// Parcels for other partitions that have not arrived, by number.
    pub fn outbox(&self) -> impl Iterator<Item = Row<u64, Parcel>> {
        self.outbox.iter().map(|row| {
            let (key, value) = row.into_inner()?;
            let number = long_number(&key, "outbox")?;
            let parcel = decode(&value, "outbox", number);
            let earlier =
                |error| decode::<EarlierParcel>(&value, "outbox", number).map_err(|_| error);
            Ok((number, parcel.or_else(|error| earlier(error).map(Parcel::from))?))
        })
    }

    pub(crate) fn next_page(&self) -> Result<PageId, StoreError> {
        let Some(last) = self.pages.last_key_value() else { return Ok(PageId(0)) };
        let last = number(&last.key()?, "pages")?;
        Ok(PageId(last + 1))
    }

    /// The number of the next batch on the tape.
    pub(crate) fn next_tape(&self) -> Result<u64, StoreError> {
        let Some(last) = self.tape.last_key_value() else { return Ok(0) };
        Ok(long_number(&last.key()?, "tape")? + 1)
    }

    /// How many batches of the tape can be read from its beginning.
    pub(crate) fn whole_batches(&self) -> u64 {
        let rows = self.tape.iter().zip(0u64..).map_while(|(row, at)| {
            let (key, value) = row.into_inner().ok()?;
            let is_next = *key == at.to_be_bytes();
            (is_next && decode::<Vec<Input>>(&value, "tape", at).is_ok()).then_some(())
        });
        rows.count() as u64
    }

    pub(crate) fn tape(&self, from: u64) -> impl Iterator<Item = Result<Input, StoreError>> {
        let batches = self.tape.range(from.to_be_bytes()..).zip(from..).map(|(row, at)| {
            let (key, value) = row.into_inner()?;
            if *key != at.to_be_bytes() {
                // A batch is missing.
                return Err(StoreError::Damaged { table: "tape", key: at });
            }
            decode::<Vec<Input>>(&value, "tape", at)
        });
        batches.flat_map(|batch| match batch {
            Ok(inputs) => inputs.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        })
    }
}

/// A parcel as it was written before links carried `via`. Its bytes are never those of a [`Parcel`]:
/// there, a byte of 0 or 1 follows a link, and here the length of the next URL, or nothing.
#[derive(serde::Deserialize)]
struct EarlierParcel {
    to: u32,
    links: Vec<(String, u16, Hops, bool)>,
}

impl From<EarlierParcel> for Parcel {
    fn from(EarlierParcel { to, links }: EarlierParcel) -> Parcel {
        let link =
            |(url, depth, hops, is_source)| SentLink { url, depth, hops, is_source, via: None };
        Parcel { to, links: links.into_iter().map(link).collect() }
    }
}

impl SetbackOf {
    fn number(self) -> u64 {
        match self {
            SetbackOf::Host(host) => host.0.into(),
            SetbackOf::Page(page) => page.0.into(),
        }
    }

    /// Hosts come before pages.
    fn bytes(self) -> [u8; 5] {
        let is_page = matches!(self, SetbackOf::Page(_));
        let [a, b, c, d] = (self.number() as u32).to_be_bytes();
        [u8::from(is_page), a, b, c, d]
    }
}

impl TwinKey {
    fn bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.host.0.to_be_bytes());
        bytes[4..].copy_from_slice(&self.hash.to_be_bytes());
        bytes
    }
}

/// Whether a table's directory holds a file such as `v7`.
fn has_version(table: &Path) -> bool {
    let is_version = |file: fs::DirEntry| file.file_name().to_string_lossy().starts_with('v');
    fs::read_dir(table).is_ok_and(|mut files| files.any(|file| file.is_ok_and(is_version)))
}

fn read_row<K, V: DeserializeOwned>(
    row: fjall::Guard,
    table: &'static str,
    id: fn(u32) -> K,
) -> Row<K, V> {
    let (key, value) = row.into_inner()?;
    let key = number(&key, table)?;
    Ok((id(key), decode(&value, table, u64::from(key))?))
}

fn get<V: DeserializeOwned>(
    table: &Keyspace,
    name: &'static str,
    key: u32,
) -> Result<Option<V>, StoreError> {
    let value = table.get(key.to_be_bytes())?;
    value.map(|value| decode(&value, name, u64::from(key))).transpose()
}

fn number(key: &[u8], table: &'static str) -> Result<u32, StoreError> {
    let bytes = key.try_into().map_err(|_| StoreError::Damaged { table, key: 0 })?;
    Ok(u32::from_be_bytes(bytes))
}

fn long_number(key: &[u8], table: &'static str) -> Result<u64, StoreError> {
    let bytes = key.try_into().map_err(|_| StoreError::Damaged { table, key: 0 })?;
    Ok(u64::from_be_bytes(bytes))
}

fn encode<T: Serialize + ?Sized>(row: &T) -> Vec<u8> {
    postcard::to_stdvec(row).expect("rows hold nothing that cannot be encoded")
}

fn decode<T: DeserializeOwned>(
    bytes: &[u8],
    table: &'static str,
    key: u64,
) -> Result<T, StoreError> {
    let damaged = |_| StoreError::Damaged { table, key };
    match postcard::from_bytes(bytes) {
        // A row from before copies had a capture, captures had wishes or hosts had folders, lacks its
        // last byte, which is 0 for none.
        Err(_) if table == COPIES || table == HOSTS => {
            postcard::from_bytes(&[bytes, &[0]].concat()).map_err(damaged)
        }
        read => read.map_err(damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Absent;

    #[test]
    fn copies_of_earlier_versions_are_read() {
        let copy = CopyRow { status: 200, etag: Some("\"1\"".into()), ..CopyRow::default() };
        let bytes = encode(&copy);
        let earlier = &bytes[..bytes.len() - 1];
        assert_eq!(decode::<CopyRow>(earlier, COPIES, 0).unwrap(), copy);
        assert!(decode::<CopyRow>(&earlier[..earlier.len() - 3], COPIES, 0).is_err());
    }

    #[test]
    fn hosts_of_earlier_versions_are_read() {
        let origin = "https://a.example".to_owned();
        let host = HostRow { origin, robots: None, absent: Some(Absent::Told), folders: vec![] };
        let bytes = encode(&host);
        assert_eq!(decode::<HostRow>(&bytes[..bytes.len() - 1], HOSTS, 0).unwrap(), host);
        assert!(decode::<HostRow>(&bytes[..bytes.len() - 2], HOSTS, 0).is_err());
    }

    /// A crawl that was stopped with parcels in its outbox opens with a later version.
    #[test]
    fn a_parcel_of_an_earlier_version_is_read() {
        let link = |url: &str| (url.to_owned(), 3_u16, 1_u8, true);
        for urls in [&["http://a.example/"][..], &["http://a.example/", "http://b.example/x"]] {
            let links: Vec<_> = urls.iter().map(|url| link(url)).collect();
            let bytes = encode(&(7_u32, links));
            assert!(decode::<Parcel>(&bytes, "outbox", 0).is_err());
            let parcel = Parcel::from(decode::<EarlierParcel>(&bytes, "outbox", 0).unwrap());
            assert_eq!((parcel.to, parcel.links.len()), (7, urls.len()));
            assert_eq!((parcel.links[0].depth, &parcel.links[0].via), (3, &None));
        }
    }
}
