//! Who may not join a cluster, and why.

use std::path::Path;
use std::time::Duration;

use tidewatch_node::dev::{Brokers, Habits};
use tidewatch_node::{Broker, Node, NodeConfig, Written};
use tidewatch_partition::Config;

fn config(dir: &Path, brokers: &Brokers, name: &str) -> NodeConfig {
    NodeConfig {
        dir: dir.join(name),
        brokers: brokers.urls(),
        checkpoints: dir.join("checkpoints").display().to_string(),
        checkpoint_every: Duration::from_mins(5),
        crawl: Config::default(),
        seeds: Vec::new(),
        partitions: None,
    }
}

async fn refused(config: NodeConfig) -> String {
    match Box::pin(Node::join(config)).await {
        Ok((node, _)) => panic!("{} may join", node.name()),
        Err(error) => error.to_string(),
    }
}

/// The directory of a node belongs to one crawl, and brokers hold one.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_crawl_or_version_is_told_so() {
    let Some(program) = tidewatch_testing::nats::server() else { return };
    let dir = tempfile::tempdir().unwrap();
    let start =
        |name: &str| Brokers::start(&program, &dir.path().join(name), Habits::default()).unwrap();
    let ours = start("ours");
    let first = Box::pin(Node::join(config(dir.path(), &ours, "node"))).await.unwrap();
    drop(first);
    let theirs = start("theirs");
    let other = Box::pin(Node::join(config(dir.path(), &theirs, "other"))).await.unwrap();
    let told = refused(config(dir.path(), &theirs, "node")).await;
    assert!(told.contains("hold the cluster of another crawl"), "{told}");
    let told = refused(config(dir.path(), &theirs, "other")).await;
    assert!(told.contains("another process uses"), "{told}");
    drop(other);
    let mut policy = config(dir.path(), &theirs, "new");
    policy.crawl.policy = "bfs".to_owned();
    let told = refused(policy).await;
    assert!(told.contains("crawls with policy `price`"), "{told}");
    let partitions = NodeConfig { partitions: Some(5), ..config(dir.path(), &theirs, "new") };
    let told = refused(partitions).await;
    assert!(told.contains("has 16 partitions, not 5"), "{told}");
    // A cluster of an older or newer program.
    let (broker, _) = Broker::connect(&theirs.urls()).await.unwrap();
    let bucket = broker.bucket("tidewatch-crawl").await.unwrap();
    let (revision, bytes) = bucket.get("crawl").await.unwrap().unwrap();
    let record = String::from_utf8(bytes).unwrap();
    let newer = record.replace("\"protocol\":2", "\"protocol\":3");
    assert_ne!(record, newer);
    let written = bucket.update("crawl", newer.into_bytes(), revision).await;
    assert!(matches!(written, Written::Done(_)));
    let told = refused(config(dir.path(), &theirs, "other")).await;
    assert!(told.contains("speaks protocol 3, and this tidewatch 2"), "{told}");
    assert!(told.contains("run the same version"), "{told}");
}
