//! A node of a crawl on several machines: connects to the brokers, and runs partitions that come and go.
//!
//! The protocol is in `tidewatch-cluster`: events in, commands out. This crate carries events and commands
//! between it, the brokers (NATS JetStream), the partitions and the operator. Must not decide who owns what.
//!
//! [`Node::join`] connects, checks the brokers and agrees on the crawl; [`Node::run`] crawls. [`Operator`]
//! looks at a cluster from outside.

mod broker;
mod checkpoint;
mod clock;
mod control;
pub mod dev;
mod ears;
mod error;
mod figures;
mod follow;
mod links;
mod monitor;
mod node;
mod part;
mod parts;
mod peers;
mod record;
mod running;
mod s3;
mod seeds;
mod shared_log;
mod slots;
mod trade;

pub use broker::{Broker, BrokerError, Bucket, REPLICAS, Written};
pub use checkpoint::Checkpoints;
pub use error::NodeError;
pub use figures::{ClusterFigures, NodeFigures, Operator, PartitionFigures};
pub use follow::{Entry, Follower, From};
pub use node::{Node, NodeConfig, NodeObserver, PARTITIONS};
pub use peers::{Answerer, Peers, Reply, Serving};
pub use record::{Record, is_home};
pub use shared_log::SharedLog;
