//! A node that joins a cluster: its settings, and the record that it shares with the others.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::Stream;
use tidewatch_cluster::HomeId;
use tidewatch_cluster::node::Manifest;
use tidewatch_cluster::wire;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::{Config, Net, Watch};

use crate::broker::{Broker, Bucket};
use crate::checkpoint::Checkpoints;
use crate::error::NodeError;
use crate::figures::{NodeFigures, Operator};
use crate::links;
use crate::peers::Peers;
use crate::record::{self, Home, Record};
use crate::running::Running;
use crate::shared_log::SharedLog;

/// The bucket of the crawl's record and its seeds.
pub(crate) const CRAWL: &str = "tidewatch-crawl";
const MEMBERS: &str = "tidewatch-members";
const CLAIMS: &str = "tidewatch-claims";
const MANIFESTS: &str = "tidewatch-checkpoints";
const QUOTES: &str = "tidewatch-quotes";
const LINKS: &str = "tidewatch-links";
/// Partitions of a cluster, unless its first node says otherwise.
pub const PARTITIONS: u32 = 16;
/// How long a node that starts waits for brokers without a leader.
const ELECTION: Duration = Duration::from_mins(1);
/// Wait before it tries again.
const JOIN_AGAIN: Duration = Duration::from_millis(500);

/// Settings of a node.
#[derive(Clone)]
pub struct NodeConfig {
    /// The directory of this node.
    pub dir: PathBuf,
    /// Addresses of the brokers, separated by commas.
    pub brokers: String,
    /// Where checkpoints go: a directory that all nodes share.
    pub checkpoints: String,
    /// How often each partition is checkpointed.
    pub checkpoint_every: Duration,
    /// Settings of the crawl; limits and memory are this node's, the budget is that of the whole crawl.
    pub crawl: Config,
    /// URLs to start from.
    pub seeds: Vec<CanonicalUrl>,
    /// Partitions of a new cluster.
    pub partitions: Option<u32>,
}

/// Follows a node.
pub trait NodeObserver: Send + Sync {
    /// A watcher for a partition that was opened in a directory. Called on the partition's own thread; the
    /// watcher is dropped there when the partition ends here.
    fn watch(&self, partition: u32, dir: &Path) -> Box<dyn Watch + Send>;
    /// Pages that can be found in this node's indexes, if it has some.
    fn indexed(&self) -> Option<u64> {
        None
    }
    /// Something that an operator may want to know, in a sentence.
    fn note(&self, note: &str);
    /// The node's figures, every few seconds.
    fn progress(&self, figures: &NodeFigures);
}

/// A node that has joined and does not run yet.
pub struct Node {
    config: NodeConfig,
    record: Record,
    home: Home,
    broker: Broker,
    buckets: Buckets,
    links: Stream,
    checkpoints: Checkpoints,
}

/// The buckets of a cluster.
pub(crate) struct Buckets {
    pub(crate) crawl: Bucket,
    pub(crate) members: Bucket,
    pub(crate) claims: Bucket,
    pub(crate) manifests: Bucket,
    pub(crate) quotes: Bucket,
}

/// Asks the brokers again while they answer but do not do what they are asked, for as long as an election
/// may take.
async fn patiently<T>(ask: impl AsyncFn() -> Result<T, NodeError>) -> Result<T, NodeError> {
    let began = Instant::now();
    loop {
        match ask().await {
            Err(NodeError::Broker(error)) if error.may_pass() && began.elapsed() < ELECTION => {
                tokio::time::sleep(JOIN_AGAIN).await;
            }
            answer => return answer,
        }
    }
}

impl Node {
    /// Joins the cluster at the brokers, or begins one. Returns what could not be checked, in sentences.
    /// Waits for brokers that elect a leader.
    pub async fn join(config: NodeConfig) -> Result<(Node, Vec<String>), NodeError> {
        let join = async || Box::pin(Node::try_to_join(config.clone())).await;
        Box::pin(patiently(join)).await
    }

    async fn try_to_join(config: NodeConfig) -> Result<(Node, Vec<String>), NodeError> {
        let checkpoints = Checkpoints::open(&config.checkpoints)?;
        let (broker, mut notes) = Broker::connect(&config.brokers).await?;
        let buckets = Buckets {
            crawl: broker.bucket(CRAWL).await?,
            members: broker.bucket(MEMBERS).await?,
            claims: broker.bucket(CLAIMS).await?,
            manifests: broker.bucket(MANIFESTS).await?,
            quotes: broker.bucket(QUOTES).await?,
        };
        let links = broker.log(LINKS, &links::subject_all()).await?;
        let Config { policy, seed, budget, .. } = &config.crawl;
        let partitions = config.partitions.unwrap_or(PARTITIONS);
        let new = Record::new(partitions, policy, *seed, budget.as_per_second());
        let record = Record::agree(&buckets.crawl, new).await?;
        if let Some(asked) = config.partitions.filter(|asked| *asked != record.partitions) {
            return Err(NodeError::OtherPartitions { was: record.partitions, asked });
        }
        if record.policy != *policy || record.seed != *seed {
            return Err(NodeError::OtherPolicy { was: record.policy, was_seed: record.seed });
        }
        let home = Home::open(&config.dir, record.crawl())?;
        let named = named(&buckets.manifests, &record).await?;
        let checkpoints = match checkpoints.clone().of_crawl(record.crawl(), &named).await {
            Ok(marked) => marked,
            Err(error) => {
                notes.push(format!(
                    "{error}; until it can, no other node can continue this one's work"
                ));
                checkpoints.unreached(record.crawl())
            }
        };
        record::publish_seeds(&buckets.crawl, &config.seeds).await?;
        notes.extend(buckets.crawl.clock_note(&format!("clock.{:016x}", home.id.0)).await?);
        if let Err(error) = checkpoints.try_out(&format!("{:016x}", home.id.0)).await {
            notes
                .push(format!("{error}; until it can, no other node can continue this one's work"));
        }
        Ok((Node { config, record, home, broker, buckets, links, checkpoints }, notes))
    }

    /// What all nodes of the cluster agree on.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The name of this node for operators.
    pub fn name(&self) -> String {
        name(self.home.id)
    }

    /// Asks the owners of partitions, and answers them. Must be called within a runtime.
    pub fn peers(&self) -> Peers {
        Peers::new(self.broker.client().clone(), self.record.crawl())
    }

    /// Looks at the whole cluster.
    pub fn operator(&self) -> Operator {
        Operator::new(self.broker.clone(), self.record.clone())
    }

    /// A log of the crawl that all nodes share, made if it is missing. It forgets after `max_age`. Waits for
    /// brokers that elect a leader.
    pub async fn shared_log(&self, name: &str, max_age: Duration) -> Result<SharedLog, NodeError> {
        let (stream, subjects) = (format!("tidewatch-{name}"), format!("tidewatch.{name}.*"));
        let make = async || Ok(self.broker.log_for(&stream, &subjects, max_age).await?);
        let stream = patiently(make).await?;
        let subject = format!("tidewatch.{name}.{:016x}", self.record.crawl().0);
        Ok(SharedLog::new(self.broker.context().clone(), stream, subject))
    }

    /// Its settings.
    pub(crate) fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Its directory.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// The connection to the brokers.
    pub(crate) fn broker(&self) -> &Broker {
        &self.broker
    }

    /// The brokers' buckets.
    pub(crate) fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    /// The log of links between partitions.
    pub(crate) fn links(&self) -> &Stream {
        &self.links
    }

    /// Where checkpoints are kept.
    pub(crate) fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// Crawls until `stop` is set or the operator drains the node; everything is handed over or
    /// checkpointed when it returns. Must be called within a runtime of several threads.
    pub async fn run(
        self,
        net: Arc<Net>,
        observer: Arc<dyn NodeObserver>,
        stop: Arc<AtomicBool>,
    ) -> Result<(), NodeError> {
        let mut task = Box::pin(Running::start(Arc::new(self), net, observer)).await?;
        let ended = Box::pin(task.run(&stop)).await;
        task.end();
        ended
    }
}

/// The newest checkpoints of all partitions that have one.
async fn named(manifests: &Bucket, record: &Record) -> Result<Vec<String>, NodeError> {
    let mut named = Vec::new();
    for partition in 0..record.partitions {
        let found = manifests.get(&manifest_key(partition)).await?;
        let manifest = found.and_then(|(_, bytes)| wire::decode(record.crawl(), &bytes).ok());
        named.extend(manifest.and_then(|manifest: Manifest| manifest.object));
    }
    Ok(named)
}

/// The key of a partition's manifest.
pub(crate) fn manifest_key(partition: u32) -> String {
    format!("p.{partition}")
}

/// The name of a directory for operators.
pub(crate) fn name(home: HomeId) -> String {
    format!("{:016x}", home.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    use crate::broker::BrokerError;

    #[tokio::test]
    async fn brokers_that_are_busy_are_asked_again_and_wrong_ones_are_not() {
        let asked = Cell::new(0);
        let busy = async || {
            asked.set(asked.get() + 1);
            let late = || BrokerError::failed("make a stream", "jetstream request timed out");
            if asked.get() < 3 { Err(late().into()) } else { Ok(asked.get()) }
        };
        assert!(matches!(patiently(busy).await, Ok(3)));
        let wrong = async || {
            asked.set(asked.get() + 1);
            Err::<(), _>(BrokerError::NoJetStream { name: "a".into() }.into())
        };
        assert!(patiently(wrong).await.is_err() && asked.get() == 4);
    }
}
