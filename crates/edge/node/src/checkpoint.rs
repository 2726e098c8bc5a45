//! A partition's files, copied to where every node can reach them.
//!
//! # What lies there
//!
//! ```text
//! partition-7/files/HASH          the bytes of a file, or of 64 MB of it
//! partition-7/checkpoint-E-N.json which files a checkpoint has: path, length, hashes
//! ```
//!
//! A partition is closed while its files are *staged*: linked or copied into a directory of this node, so
//! that it can go on at once. They are uploaded from there. A file that is there already, by its hash, is
//! not uploaded again. The name of the list goes through the cluster's fence; only then does the
//! checkpoint count.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::error::NodeError;
use crate::record;

/// Bytes under one key.
const CHUNK: usize = 64 << 20;
/// A chunk that is younger is there for the next checkpoint too.
const FRESH: Duration = Duration::from_mins(30);
/// What no checkpoint needs is deleted when it is older. Longer than [`FRESH`] and an upload together.
const KEPT: Duration = Duration::from_hours(3);
/// Not part of a partition's state, or made anew when it is opened.
const LEFT_OUT: [&str; 4] = ["lock", "status.json", "status.new", "ask.sock"];
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
    /// Chunks of the last checkpoint, which nobody deletes.
    known: Arc<Mutex<BTreeSet<String>>>,
}

impl Checkpoints {
    /// The store at a directory that all nodes share.
    pub fn open(at: &str) -> Result<Checkpoints, NodeError> {
        let failed = |why: String| NodeError::Checkpoints { at: at.to_owned(), why };
        if at.contains("://") {
            let why = "only a directory is supported, such as a network file system";
            return Err(failed(why.to_owned()));
        }
        fs::create_dir_all(at).map_err(|error| failed(error.to_string()))?;
        let store =
            LocalFileSystem::new_with_prefix(at).map_err(|error| failed(error.to_string()))?;
        let (store, known) = (Arc::new(store.with_fsync(true)), Arc::default());
        Ok(Checkpoints { at: at.to_owned(), store, known })
    }

    /// The same store for one opening of a partition.
    pub(crate) fn for_partition(&self) -> Checkpoints {
        Checkpoints { known: Arc::default(), ..self.clone() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a chunk is there and stays there.
    async fn has(&self, key: &Key, chunk: &str) -> bool {
        if self.known().contains(chunk) {
            return true;
        }
        // An older one may be about to be deleted.
        self.store.head(key).await.is_ok_and(|found| age(&found) < FRESH)
    }

    /// Deletes what no checkpoint needs any more, given the name of the newest one. Whatever is younger than
    /// [`KEPT`] stays: another node may have uploaded it for a newer checkpoint.
    pub(crate) async fn prune(&self, partition: u32, object: &str) -> Result<(), NodeError> {
        let list: Vec<Listed> =
            serde_json::from_slice(&self.get(object).await?).map_err(|error| self.failed(error))?;
        let chunks: BTreeSet<String> = list.into_iter().flat_map(|file| file.chunks).collect();
        let prefix = Key::from(format!("partition-{partition}"));
        let mut all = self.store.list(Some(&prefix));
        while let Some(Ok(found)) = all.next().await {
            let is_needed = found.location.as_ref() == object
                || found.location.filename().is_some_and(|name| chunks.contains(name));
            if !is_needed && age(&found) > KEPT {
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
                if !self.has(&key, &chunk).await {
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

/// How long ago an object was written.
fn age(found: &ObjectMeta) -> Duration {
    SystemTime::now().duration_since(found.last_modified.into()).unwrap_or_default()
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
                self.add(from, &path)?;
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
    #[tokio::test]
    async fn a_checkpoint_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("part/archive")).unwrap();
        fs::write(at("part/archive/tidewatch-00001.warc.gz"), "one").unwrap();
        fs::write(at("part/synced"), "1").unwrap();
        fs::write(at("part/status.json"), "{}").unwrap();
        let staged = Staged::take(&at("part"), &at("staging")).unwrap();
        let mut archive =
            File::options().append(true).open(at("part/archive/tidewatch-00001.warc.gz")).unwrap();
        archive.write_all(b" two").unwrap();
        fs::write(at("part/synced"), "2").unwrap();
        let store = Checkpoints::open(at("store").to_str().unwrap()).unwrap();
        let object = store.upload(7, "1-1", &staged).await.unwrap();
        drop(staged);
        assert!(!at("staging").exists());
        store.prune(7, &object).await.unwrap();
        store.restore(7, &object, &at("back")).await.unwrap();
        let read = |name: &str| fs::read_to_string(at("back").join(name)).unwrap();
        assert_eq!(read("archive/tidewatch-00001.warc.gz"), "one");
        assert_eq!(read("synced"), "1");
        assert!(!at("back/status.json").exists(), "figures are made anew");
        let chunks = fs::read_dir(at("store/partition-7/files")).unwrap();
        let chunk = chunks.map(|chunk| chunk.unwrap().path()).next().unwrap();
        fs::write(chunk, "no").unwrap();
        let refused = store.restore(7, &object, &at("again")).await.unwrap_err().to_string();
        assert!(refused.contains("is damaged"), "{refused}");
        let refused = Checkpoints::open("s3://bucket").err().unwrap().to_string();
        assert!(refused.contains("only a directory is supported"), "{refused}");
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
