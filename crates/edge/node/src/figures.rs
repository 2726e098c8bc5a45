//! Questions and orders of operators to nodes, and the nodes' figures.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::Status;

use crate::broker::{Broker, BrokerError};
use crate::record::Record;

/// The subject of requests to all nodes.
pub(crate) const ALL: &str = "tidewatch.nodes";
/// Digits of a node's name.
const NAME: usize = 16;
/// How long answers are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A partition as its owner sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionFigures {
    /// Its number.
    pub number: u32,
    /// The epoch of its owner.
    pub epoch: u64,
    /// Whether it crawls, or is being opened or handed over.
    pub is_open: bool,
    /// Fetches per second lately.
    pub fetches_per_s: f64,
    /// Parcels that wait for the brokers.
    pub parcels: usize,
    /// Its own figures, once it has some.
    pub status: Option<Status>,
}

/// A node as it sees itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Its name for operators: that of its directory.
    pub home: String,
    /// The machine's name and the process.
    pub place: String,
    /// The version of the program.
    pub version: String,
    /// Whether it hands everything over.
    pub is_leaving: bool,
    /// Whether it may act: its lease is good.
    pub is_active: bool,
    /// Whether it keeps the price.
    pub keeps_price: bool,
    /// The price that it acts under.
    pub price: f64,
    /// Its share of the budget, fetches per second.
    pub granted_per_s: f64,
    /// Pages that can be found in its indexes, if it has some.
    #[serde(default)]
    pub indexed: Option<u64>,
    /// Its partitions.
    pub partitions: Vec<PartitionFigures>,
    /// What an operator should know.
    pub notes: Vec<String>,
}

/// A question or order to nodes. Nodes that it does not concern do not answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Every node tells its figures.
    Figures,
    /// The owner of a partition gives it to a home.
    Move { partition: u32, to: String },
    /// The node of a home hands everything over and ends.
    Drain { home: String },
    /// The owner of a URL's partition explains a page.
    Why { url: String },
}

/// A cluster as its operator sees it.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterFigures {
    /// What all nodes agree on.
    pub record: Record,
    /// The nodes that answered.
    pub nodes: Vec<NodeFigures>,
}

impl ClusterFigures {
    /// Partitions that no node has open.
    pub fn unowned(&self) -> u32 {
        let open = self.nodes.iter().flat_map(|node| &node.partitions);
        self.record.partitions.saturating_sub(open.filter(|part| part.is_open).count() as u32)
    }
}

/// Asks all nodes; every answer is JSON.
pub(crate) async fn ask<T: for<'a> Deserialize<'a>>(
    broker: &Broker,
    request: &Request,
    most: usize,
) -> Result<Vec<T>, BrokerError> {
    let failed = |error: String| BrokerError::failed("carry a question to the nodes", error);
    let client = broker.client();
    let inbox = client.new_inbox();
    let mut answers =
        client.subscribe(inbox.clone()).await.map_err(|error| failed(error.to_string()))?;
    let bytes = serde_json::to_vec(request).unwrap_or_default();
    let sent = client.publish_with_reply(ALL, inbox, bytes.into()).await;
    sent.map_err(|error| failed(error.to_string()))?;
    let until = tokio::time::Instant::now() + PATIENCE;
    let mut found = Vec::new();
    while found.len() < most
        && let Ok(Some(answer)) = tokio::time::timeout_at(until, answers.next()).await
    {
        found.extend(serde_json::from_slice(&answer.payload).ok());
    }
    Ok(found)
}

/// An operator's view of a cluster. Cheap to clone.
#[derive(Clone)]
pub struct Operator {
    broker: Broker,
    record: Record,
}

impl Operator {
    /// The view of a node.
    pub(crate) const fn new(broker: Broker, record: Record) -> Operator {
        Operator { broker, record }
    }

    /// What all nodes agree on.
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// Adds seeds, of which every node hears.
    pub async fn add_seeds(&self, seeds: &[CanonicalUrl]) -> Result<(), BrokerError> {
        let bucket = self.broker.bucket(crate::node::CRAWL).await?;
        crate::record::publish_seeds(&bucket, seeds).await
    }

    /// Connects to a cluster. An error if the brokers hold none.
    pub async fn connect(urls: &str) -> Result<Operator, BrokerError> {
        let (broker, _) = Broker::connect(urls).await?;
        let bucket = broker.bucket(crate::node::CRAWL).await?;
        let none = || BrokerError::NoCluster { addresses: crate::broker::shown_of(urls) };
        let record = Record::read(&bucket).await?.ok_or_else(none)?;
        Ok(Operator { broker, record })
    }

    /// The figures of all nodes that answer.
    pub async fn figures(&self) -> Result<ClusterFigures, BrokerError> {
        let mut nodes: Vec<NodeFigures> = ask(&self.broker, &Request::Figures, usize::MAX).await?;
        nodes.sort_by(|a, b| a.home.cmp(&b.home));
        Ok(ClusterFigures { record: self.record.clone(), nodes })
    }

    /// Moves a partition to the home whose name begins with `to`. Returns the owner's answer, if one came.
    pub async fn give(&self, partition: u32, to: &str) -> Result<Option<String>, BrokerError> {
        let to = self.name(to).await?;
        let request = Request::Move { partition, to };
        Ok(ask(&self.broker, &request, 1).await?.pop())
    }

    /// The name of the node that begins with `prefix`; `prefix` itself if no node answers to it.
    async fn name(&self, prefix: &str) -> Result<String, BrokerError> {
        if prefix.len() == NAME {
            return Ok(prefix.to_owned());
        }
        let nodes = self.figures().await?.nodes;
        whole_name(prefix, nodes.into_iter().map(|node| node.home))
    }

    /// Asks the owner of a URL why it is due or not: an object with `why`, `told` or `error`. `None` if
    /// no node owns it at the moment.
    pub async fn why(&self, url: &CanonicalUrl) -> Result<Option<serde_json::Value>, BrokerError> {
        let request = Request::Why { url: url.as_str().to_owned() };
        Ok(ask(&self.broker, &request, 1).await?.pop())
    }

    /// Makes the node whose name begins with `home` hand everything over and end. Returns its answer, if
    /// one came.
    pub async fn drain(&self, home: &str) -> Result<Option<String>, BrokerError> {
        let request = Request::Drain { home: self.name(home).await? };
        Ok(ask(&self.broker, &request, 1).await?.pop())
    }
}

/// The only one of some names that begins with `prefix`; `prefix` itself if none does.
fn whole_name(prefix: &str, names: impl Iterator<Item = String>) -> Result<String, BrokerError> {
    let mut meant: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    match meant.len() {
        0 | 1 => Ok(meant.pop().unwrap_or_else(|| prefix.to_owned())),
        count => Err(BrokerError::Ambiguous { prefix: prefix.to_owned(), count }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operator who means one node must not empty two.
    #[test]
    fn the_beginning_of_a_name_means_one_node() {
        let of =
            |prefix| whole_name(prefix, ["1f03", "1f77", "a0c5"].map(str::to_owned).into_iter());
        assert_eq!(of("a").unwrap(), "a0c5");
        assert_eq!(of("1f7").unwrap(), "1f77");
        assert_eq!(of("b").unwrap(), "b");
        for prefix in ["1f", ""] {
            assert!(matches!(of(prefix), Err(BrokerError::Ambiguous { .. })), "{prefix}");
        }
    }
}
