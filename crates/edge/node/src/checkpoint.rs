//! A partition's files, copied to where every node can reach them.
//!
//! # What lies there
//!
//! ```text
//! crawl-ID                        marks the store as this crawl's
//! partition-7/files/HASH          the bytes of a file, or of 64 MB of it
//! partition-7/checkpoint-E-N.json which files a checkpoint has: path, length, hashes
//! partition-7/clock               written to learn the store's time
//! ```
//!
//! A partition is closed while its files are *staged*: linked or copied into a directory of this node, so
//! that it can go on at once. They are uploaded from there. A file that is there already, by its hash, is
//! not uploaded again. The name of the list goes through the cluster's fence; only then does the
//! checkpoint count.
//!
//! A directory that is not mounted looks like an empty one. So the first node marks the store, and nothing is
//! uploaded to one without the mark: otherwise links would be deleted at the brokers for the sake of a
//! checkpoint that nobody else can read.
//!
//! The age of an object is told by the clock of the store alone: it is the time since the newest write,
//! which [`Checkpoints::now`] makes. So a node whose clock is wrong deletes nothing that others need.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _};
use serde::{Deserialize, Serialize};
use tidewatch_cluster::wire::Crawl;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::NodeError;
use crate::{record, s3};

/// Bytes under one key.
const CHUNK: usize = 64 << 20;
/// A chunk that is younger is there for the next checkpoint too.
const FRESH: Duration = Duration::from_mins(30);
/// Unneeded objects are deleted when they are older. Longer than [`FRESH`] and an upload together.
const KEPT: Duration = Duration::from_hours(3);
/// Not part of a partition's state, or made anew when it is opened.
const LEFT_OUT: [&str; 4] = ["lock", "status.json", "status.new", "ask.sock"];
/// Directories that are not part of a partition's state: the index is made anew from the archive.
const DIRS_LEFT_OUT: [&str; 1] = ["index"];
/// The object of a partition that is written to learn the time.
const CLOCK: &str = "clock";
/// Ending of the file that names the epoch of the last opening.
const EPOCH: &str = "epoch";

/// A file of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Listed {
    path: String,
    /// Names of the chunks, in order.
    chunks: Vec<String>,
}

/// Where checkpoints are kept.
#[derive(Clone)]
pub struct Checkpoints {
    at: String,
    store: Arc<dyn ObjectStore>,
    /// The mark of the crawl's store.
    mark: Option<Key>,
    /// Chunks of the last checkpoint, which nobody deletes.
    known: Arc<Mutex<BTreeSet<String>>>,
}

impl Checkpoints {
    /// The store at a directory that all nodes share, or at `s3://BUCKET/PREFIX` with the settings in
    /// the usual `AWS_…` variables.
    pub fn open(at: &str) -> Result<Checkpoints, NodeError> {
        Self::set_up(at, AmazonS3Builder::from_env())
    }

    fn set_up(at: &str, settings: AmazonS3Builder) -> Result<Checkpoints, NodeError> {
        let store = if at.contains("://") { in_bucket(at, settings) } else { in_directory(at) };
        let failed = |why| NodeError::Checkpoints { at: at.to_owned(), why };
        let store = store.map_err(failed)?;
        Ok(Checkpoints { at: at.to_owned(), store, mark: None, known: Arc::default() })
    }

    /// Writes and deletes an object, so that a wrong address or a missing right shows at once.
    pub(crate) async fn try_out(&self, name: &str) -> Result<(), NodeError> {
        let key = Key::from(format!("try-{name}"));
        let put = self.store.put(&key, Bytes::from_static(b"tidewatch").into()).await;
        put.map_err(|error| self.failed(error))?;
        self.store.delete(&key).await.map_err(|error| self.failed(error))
    }

    /// The same store, which must be that of a crawl. `named` are checkpoints that count; a store that has
    /// none of them is not marked, unless there are none yet.
    pub(crate) async fn of_crawl(self, crawl: Crawl, named: &[String]) -> Result<Self, NodeError> {
        let (marked, mark) = (self.unreached(crawl), mark(crawl));
        if marked.store.head(&mark).await.is_ok() {
            return Ok(marked);
        }
        let mut is_ours = named.is_empty();
        for object in named {
            is_ours = is_ours || marked.store.head(&Key::from(object.as_str())).await.is_ok();
        }
        if is_ours {
            let put = marked.store.put(&mark, Bytes::from_static(b"tidewatch").into()).await;
            put.map_err(|error| marked.failed(error))?;
        }
        Ok(marked)
    }

    /// The same store, which must be that of a crawl once it can be reached.
    pub(crate) fn unreached(self, crawl: Crawl) -> Self {
        Checkpoints { mark: Some(mark(crawl)), ..self }
    }

    /// Fails unless the store is there and this crawl's.
    async fn check_mark(&self) -> Result<(), NodeError> {
        let Some(mark) = &self.mark else { return Ok(()) };
        let Err(error) = self.store.head(mark).await else { return Ok(()) };
        // The next store found there may be another one.
        self.known().clear();
        Err(match error {
            object_store::Error::NotFound { .. } => self.failed(
                "it is not the store of this crawl's checkpoints; is it mounted, and the address right?",
            ),
            error => self.failed(error),
        })
    }

    /// The same store for one opening of a partition.
    pub(crate) fn for_partition(&self) -> Checkpoints {
        Checkpoints { known: Arc::default(), ..self.clone() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a chunk is there and stays there.
    async fn has(&self, key: &Key, chunk: &str, now: Moment) -> bool {
        if self.known().contains(chunk) {
            return true;
        }
        // An older one may be about to be deleted.
        self.store.head(key).await.is_ok_and(|found| now.age(&found) < FRESH)
    }

    /// The time by the clock of the store.
    async fn now(&self, partition: u32) -> Result<Moment, NodeError> {
        let key = Key::from(format!("partition-{partition}/{CLOCK}"));
        let put = self.store.put(&key, Bytes::from_static(b"tidewatch").into()).await;
        put.map_err(|error| self.failed(error))?;
        let found = self.store.head(&key).await.map_err(|error| self.failed(error))?;
        Ok(Moment(found.last_modified.into()))
    }

    /// Deletes what no checkpoint needs any more, given the name of the newest one. Whatever is younger than
    /// [`KEPT`] stays: another node may have uploaded it for a newer checkpoint.
    pub(crate) async fn prune(&self, partition: u32, object: &str) -> Result<(), NodeError> {
        let list: Vec<Listed> =
            serde_json::from_slice(&self.get(object).await?).map_err(|error| self.failed(error))?;
        let chunks: BTreeSet<String> = list.into_iter().flat_map(|file| file.chunks).collect();
        let now = self.now(partition).await?;
        let prefix = Key::from(format!("partition-{partition}"));
        let mut all = self.store.list(Some(&prefix));
        while let Some(Ok(found)) = all.next().await {
            let name = found.location.filename();
            let is_needed = found.location.as_ref() == object
                || name.is_some_and(|name| name == CLOCK || chunks.contains(name));
            if !is_needed && now.age(&found) > KEPT {
                let _ = self.store.delete(&found.location).await;
            }
        }
        Ok(())
    }

    fn failed(&self, why: impl std::fmt::Display) -> NodeError {
        NodeError::Checkpoints { at: self.at.clone(), why: why.to_string() }
    }

    /// Uploads what was staged and returns the name of the list.
    pub(crate) async fn upload(
        &self,
        partition: u32,
        name: &str,
        staged: &Staged,
    ) -> Result<String, NodeError> {
        self.check_mark().await?;
        let now = self.now(partition).await?;
        let mut list: Vec<Listed> = Vec::new();
        for (path, length) in &staged.files {
            let mut chunks = Vec::new();
            let mut file = File::open(staged.dir.join(path)).map_err(|error| self.failed(error))?;
            let mut left = *length;
            while left > 0 {
                let mut bytes = vec![0; left.min(CHUNK as u64) as usize];
                file.read_exact(&mut bytes).map_err(|error| self.failed(error))?;
                left -= bytes.len() as u64;
                let chunk = format!("{:032x}", xxh3_128(&bytes));
                let key = Key::from(format!("partition-{partition}/files/{chunk}"));
                if !self.has(&key, &chunk, now).await {
                    let put = self.store.put(&key, Bytes::from(bytes).into()).await;
                    put.map_err(|error| self.failed(error))?;
                }
                chunks.push(chunk);
            }
            list.push(Listed { path: path.clone(), chunks });
        }
        let object = format!("partition-{partition}/checkpoint-{name}.json");
        let bytes = serde_json::to_vec(&list).unwrap_or_default();
        let put = self.store.put(&Key::from(object.as_str()), Bytes::from(bytes).into()).await;
        put.map_err(|error| self.failed(error))?;
        *self.known() = list.into_iter().flat_map(|file| file.chunks).collect();
        Ok(object)
    }

    async fn get(&self, key: &str) -> Result<Bytes, NodeError> {
        let found = self.store.get(&Key::from(key)).await.map_err(|error| self.failed(error))?;
        found.bytes().await.map_err(|error| self.failed(error))
    }

    /// Puts a checkpoint's files into a directory that does not exist yet.
    pub(crate) async fn restore(
        &self,
        partition: u32,
        object: &str,
        dir: &Path,
    ) -> Result<(), NodeError> {
        self.check_mark().await?;
        let list = self.get(object).await?;
        let list: Vec<Listed> =
            serde_json::from_slice(&list).map_err(|error| self.failed(error))?;
        let failed = |source| NodeError::Io { path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        for Listed { path, chunks } in list {
            let is_inside = Path::new(&path)
                .components()
                .all(|part| matches!(part, std::path::Component::Normal(_)));
            if !is_inside {
                return Err(self.failed(format!("{object} names {path}")));
            }
            let path = dir.join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            let mut file = File::create(&path).map_err(failed)?;
            for chunk in chunks {
                let bytes = self.get(&format!("partition-{partition}/files/{chunk}")).await?;
                if format!("{:032x}", xxh3_128(&bytes)) != chunk {
                    return Err(self.failed(format!("{chunk} of partition {partition} is damaged")));
                }
                file.write_all(&bytes).map_err(failed)?;
                self.known().insert(chunk);
            }
            file.sync_all().map_err(failed)?;
        }
        Ok(())
    }
}

/// The key of the object that marks the store of a crawl.
fn mark(crawl: Crawl) -> Key {
    Key::from(format!("crawl-{:016x}", crawl.0))
}

/// A directory, which is created if missing.
fn in_directory(at: &str) -> Result<Arc<dyn ObjectStore>, String> {
    fs::create_dir_all(at).map_err(|error| error.to_string())?;
    let store = LocalFileSystem::new_with_prefix(at).map_err(|error| error.to_string())?;
    Ok(Arc::new(store.with_fsync(true)))
}

/// A bucket, or a folder of it.
fn in_bucket(at: &str, settings: AmazonS3Builder) -> Result<Arc<dyn ObjectStore>, String> {
    let Some(path) = at.strip_prefix("s3://") else {
        return Err("name a directory or s3://BUCKET/PREFIX".to_owned());
    };
    let prefix = path.split_once('/').map_or("", |(_, prefix)| prefix);
    let store = s3::bucket(at, settings).map_err(|error| error.to_string())?;
    Ok(Arc::new(PrefixStore::new(store, Key::from(prefix))))
}

/// A time by the clock of the store.
#[derive(Clone, Copy)]
struct Moment(SystemTime);

impl Moment {
    /// How long before this an object was written.
    fn age(self, found: &ObjectMeta) -> Duration {
        self.0.duration_since(found.last_modified.into()).unwrap_or_default()
    }
}

/// A partition's files as they were when it was closed.
pub(crate) struct Staged {
    dir: PathBuf,
    /// Path and length.
    files: Vec<(String, u64)>,
}

impl Staged {
    /// Takes the files of a closed partition. Archive files only grow, so they are linked; everything else
    /// is copied.
    pub(crate) fn take(from: &Path, to: &Path) -> io::Result<Staged> {
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        let mut staged = Staged { dir: to.to_owned(), files: Vec::new() };
        staged.add(from, Path::new(""))?;
        Ok(staged)
    }

    fn add(&mut self, from: &Path, inside: &Path) -> io::Result<()> {
        fs::create_dir_all(self.dir.join(inside))?;
        for entry in fs::read_dir(from.join(inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            let kind = entry.file_type()?;
            let name = path.to_string_lossy().into_owned();
            if kind.is_dir() {
                if !DIRS_LEFT_OUT.contains(&name.as_str()) {
                    self.add(from, &path)?;
                }
            } else if kind.is_file() && !LEFT_OUT.contains(&name.as_str()) {
                let length = entry.metadata()?.len();
                let to = self.dir.join(&path);
                if name.ends_with(".warc.gz") {
                    fs::hard_link(from.join(&path), to)?;
                } else {
                    fs::copy(from.join(&path), to)?;
                }
                self.files.push((name, length));
            }
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Left-overs are removed by the next one.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The epoch of the last opening of the partition in a directory, which a file beside the directory tells.
pub(crate) fn epoch_of(dir: &Path) -> Option<u64> {
    fs::read_to_string(dir.with_extension(EPOCH)).ok()?.trim().parse().ok()
}

/// Notes the epoch of an opening.
pub(crate) fn set_epoch(dir: &Path, epoch: u64) -> io::Result<()> {
    record::write(&dir.with_extension(EPOCH), format!("{epoch}\n").as_bytes())
}

/// Forgets it before the directory changes.
pub(crate) fn forget_epoch(dir: &Path) -> io::Result<()> {
    match fs::remove_file(dir.with_extension(EPOCH)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was staged comes back, even if the archive grew and other files changed meanwhile; what is
    /// damaged is refused.
    async fn comes_back(store: Checkpoints) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("part/archive")).unwrap();
        fs::write(at("part/archive/tidewatch-00001.warc.gz"), "one").unwrap();
        fs::write(at("part/synced"), "1").unwrap();
        fs::write(at("part/status.json"), "{}").unwrap();
        fs::create_dir_all(at("part/index")).unwrap();
        fs::write(at("part/index/meta.json"), "{}").unwrap();
        let staged = Staged::take(&at("part"), &at("staging")).unwrap();
        let mut archive =
            File::options().append(true).open(at("part/archive/tidewatch-00001.warc.gz")).unwrap();
        archive.write_all(b" two").unwrap();
        fs::write(at("part/synced"), "2").unwrap();
        store.try_out("1f03").await.unwrap();
        let object = store.upload(7, "1-1", &staged).await.unwrap();
        drop(staged);
        assert!(!at("staging").exists());
        store.prune(7, &object).await.unwrap();
        store.restore(7, &object, &at("back")).await.unwrap();
        let read = |name: &str| fs::read_to_string(at("back").join(name)).unwrap();
        assert_eq!(read("archive/tidewatch-00001.warc.gz"), "one");
        assert_eq!(read("synced"), "1");
        assert!(!at("back/status.json").exists(), "figures are made anew");
        assert!(!at("back/index").exists(), "and so is the index");
        let all: Vec<_> = store.store.list(None).map(|found| found.unwrap()).collect().await;
        assert_eq!(all.len(), 4, "two chunks, the list and the clock: {all:?}");
        let chunk = all.iter().find(|found| found.location.as_ref().contains("files")).unwrap();
        store.store.put(&chunk.location, Bytes::from_static(b"no").into()).await.unwrap();
        let refused = store.restore(7, &object, &at("again")).await.unwrap_err().to_string();
        assert!(refused.contains("is damaged"), "{refused}");
    }

    #[tokio::test]
    async fn a_checkpoint_in_a_directory_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        comes_back(Checkpoints::open(dir.path().join("store").to_str().unwrap()).unwrap()).await;
        let refused = Checkpoints::open("gs://bucket").err().unwrap().to_string();
        assert!(refused.contains("name a directory or s3://BUCKET/PREFIX"), "{refused}");
    }

    #[tokio::test]
    async fn a_checkpoint_in_a_bucket_comes_back_as_it_was() {
        let Some(server) = tidewatch_testing::s3::S3::start("tidewatch") else { return };
        let settings = |allows_http| {
            AmazonS3Builder::new()
                .with_endpoint(server.endpoint())
                .with_access_key_id("key")
                .with_secret_access_key("secret")
                .with_allow_http(allows_http)
        };
        comes_back(Checkpoints::set_up("s3://tidewatch/some/where", settings(true)).unwrap()).await;
        let refusal = async |at: &str, allows_http| {
            let store = Checkpoints::set_up(at, settings(allows_http)).unwrap();
            store.try_out("1f03").await.unwrap_err().to_string()
        };
        let missing = refusal("s3://nobody-made-this", true).await;
        assert!(missing.contains("NoSuchBucket"), "{missing}");
        let clear = refusal("s3://tidewatch", false).await;
        assert!(clear.contains("AWS_ALLOW_HTTP=true"), "{clear}");
    }

    /// A directory that is not mounted is there and empty. Nothing may be uploaded to it, and once the right
    /// one is back, everything that it lacks is uploaded.
    #[tokio::test]
    async fn a_store_that_is_gone_is_not_replaced_by_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let open = || Checkpoints::open(at("store").to_str().unwrap()).unwrap();
        let ours = async |named: &[String]| open().of_crawl(Crawl(7), named).await.unwrap();
        fs::create_dir_all(at("part")).unwrap();
        fs::write(at("part/synced"), "1").unwrap();
        let stage = || Staged::take(&at("part"), &at("staging")).unwrap();
        let store = ours(&[]).await;
        let first = store.upload(7, "1-1", &stage()).await.unwrap();
        fs::rename(at("store"), at("away")).unwrap();
        let refused = store.upload(7, "1-2", &stage()).await.unwrap_err().to_string();
        assert!(refused.contains("is it mounted"), "{refused}");
        assert!(!at("store/partition-7").exists(), "nothing was written to the wrong place");
        let refused = store.restore(7, &first, &at("back")).await.unwrap_err().to_string();
        assert!(refused.contains("is it mounted"), "{refused}");
        // A node that starts now does not take it for the store either.
        let named = [first.clone()];
        assert!(ours(&named).await.upload(7, "2-1", &stage()).await.is_err());
        let _ = fs::remove_dir_all(at("store"));
        fs::rename(at("away"), at("store")).unwrap();
        fs::remove_dir_all(at("store/partition-7/files")).unwrap();
        let second = store.upload(7, "1-2", &stage()).await.unwrap();
        store.restore(7, &second, &at("back")).await.unwrap();
        assert_eq!(fs::read_to_string(at("back/synced")).unwrap(), "1");
        // The store of a cluster that began without marks is known by its checkpoints.
        fs::remove_file(at("store/crawl-0000000000000007")).unwrap();
        ours(&[second]).await.upload(7, "2-1", &stage()).await.unwrap();
    }

    #[test]
    fn the_epoch_of_a_directory_is_that_of_its_last_opening() {
        let dir = tempfile::tempdir().unwrap();
        let part = dir.path().join("partition-7");
        assert_eq!(epoch_of(&part), None);
        set_epoch(&part, 5).unwrap();
        set_epoch(&part, 12).unwrap();
        assert_eq!(epoch_of(&part), Some(12));
        forget_epoch(&part).unwrap();
        assert_eq!(epoch_of(&part), None);
        forget_epoch(&part).unwrap();
    }
}
