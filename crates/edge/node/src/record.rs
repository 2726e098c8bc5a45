//! What makes several processes one cluster: the crawl's record at the brokers, and the home of a node.
//!
//! The record holds what cannot change later, as the first node wrote it. A node's directory says to which
//! crawl it belongs and who it is; only one process uses it at a time.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tidewatch_cluster::HomeId;
use tidewatch_cluster::wire::Crawl;
use tidewatch_core::url::CanonicalUrl;

use crate::broker::{BrokerError, Bucket, Written};
use crate::error::NodeError;

/// What nodes say to each other; all of a cluster speak the same.
const PROTOCOL: u32 = 2;
/// The key of the record.
const KEY: &str = "crawl";
/// The file in a node's directory.
const FILE: &str = "cluster";
/// Bytes of seeds under one key.
const SEEDS_BYTES: usize = 500 << 10;

/// What all nodes of a cluster agree on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    protocol: u32,
    crawl: u64,
    /// How many partitions there are.
    pub partitions: u32,
    /// The policy that chooses.
    pub policy: String,
    /// Its seed.
    pub seed: u64,
    /// Fetches per second of all nodes together.
    pub budget_per_s: f64,
}

impl Record {
    /// The record of a new crawl.
    pub(crate) fn new(partitions: u32, policy: &str, seed: u64, budget_per_s: f64) -> Record {
        let (crawl, policy) = (random(), policy.to_owned());
        Record { protocol: PROTOCOL, crawl, partitions, policy, seed, budget_per_s }
    }

    /// The crawl's identity.
    pub const fn crawl(&self) -> Crawl {
        Crawl(self.crawl)
    }

    /// The record at the brokers, if there is one.
    pub async fn read(bucket: &Bucket) -> Result<Option<Record>, BrokerError> {
        let Some((_, bytes)) = bucket.get(KEY).await? else { return Ok(None) };
        let damaged = |error| BrokerError::failed("read the crawl's record", error);
        let record: Record = serde_json::from_slice(&bytes).map_err(damaged)?;
        if record.protocol != PROTOCOL {
            return Err(BrokerError::OtherVersion { theirs: record.protocol, ours: PROTOCOL });
        }
        Ok(Some(record))
    }

    /// The record at the brokers, which is `new` if there was none.
    pub(crate) async fn agree(bucket: &Bucket, new: Record) -> Result<Record, BrokerError> {
        for _ in 0..5 {
            if let Some(record) = Record::read(bucket).await? {
                return Ok(record);
            }
            let bytes = serde_json::to_vec(&new).unwrap_or_default();
            if let Written::Done(_) = bucket.update(KEY, bytes, 0).await {
                return Ok(new);
            }
        }
        Err(BrokerError::failed("write the crawl's record", "no answer"))
    }
}

/// Whether a directory belongs to a node of a cluster.
pub fn is_home(dir: &Path) -> bool {
    dir.join(FILE).is_file()
}

/// A node's directory, used by this process alone.
pub(crate) struct Home {
    /// Who it is.
    pub(crate) id: HomeId,
    dir: PathBuf,
    /// Locked.
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Named {
    crawl: u64,
    home: u64,
}

impl Home {
    /// Opens a directory for a crawl, or makes it one of its homes.
    pub(crate) fn open(dir: &Path, crawl: Crawl) -> Result<Home, NodeError> {
        let failed = |source| NodeError::Io { path: dir.to_owned(), source };
        if dir.join("format").exists() || dir.join("partitions").exists() {
            return Err(NodeError::OneMachine { dir: dir.to_owned() });
        }
        fs::create_dir_all(dir).map_err(failed)?;
        let lock = File::create(dir.join("cluster.lock")).map_err(failed)?;
        if lock.try_lock().is_err() {
            return Err(NodeError::InUse { dir: dir.to_owned() });
        }
        let path = dir.join(FILE);
        let named = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| NodeError::Io {
                path: path.clone(),
                source: io::Error::new(io::ErrorKind::InvalidData, error),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let named = Named { crawl: crawl.0, home: random() };
                write(&path, &serde_json::to_vec(&named).unwrap_or_default()).map_err(failed)?;
                named
            }
            Err(source) => return Err(NodeError::Io { path, source }),
        };
        if named.crawl != crawl.0 {
            return Err(BrokerError::OtherCrawl { dir: dir.display().to_string() }.into());
        }
        Ok(Home { id: HomeId(named.home), dir: dir.to_owned(), _lock: lock })
    }

    /// The directory of a partition.
    pub(crate) fn partition(&self, number: u32) -> PathBuf {
        self.dir.join(format!("partition-{number}"))
    }

    /// Where a partition's files are put together.
    pub(crate) fn staging(&self, number: u32) -> PathBuf {
        self.dir.join(format!("staging-{number}"))
    }
}

/// Writes a file atomically and syncs it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes)?;
    File::open(&new)?.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
}

/// A number that nobody else draws.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one((SystemTime::now(), std::process::id()))
}

/// Puts seeds where every node finds them.
pub(crate) async fn publish_seeds(
    bucket: &Bucket,
    seeds: &[CanonicalUrl],
) -> Result<(), BrokerError> {
    let mut text = String::new();
    for (place, seed) in seeds.iter().enumerate() {
        text.push_str(seed.as_str());
        text.push('\n');
        if text.len() >= SEEDS_BYTES || place + 1 == seeds.len() {
            let bytes = std::mem::take(&mut text).into_bytes();
            let key = format!("seeds.{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes));
            if !matches!(bucket.put(&key, bytes).await, Written::Done(_)) {
                return Err(BrokerError::failed("write the seeds", "no answer"));
            }
        }
    }
    Ok(())
}

/// The seeds that a key holds; what is none is passed over.
pub(crate) fn read_seeds(bytes: &[u8]) -> Vec<CanonicalUrl> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter_map(|line| CanonicalUrl::parse(line).ok()).collect()
}
