//! A node of a crawl on several machines, with index, clicks and server.
//!
//! # The life of a node
//!
//! [`NodeService::join`] joins the cluster at the brokers, or begins one, and starts the server if asked.
//! [`NodeService::run`] crawls until it is told to stop. Every partition that is open here has an index in
//! its directory and answers questions of all nodes (`shard`); the server of any node asks all of them
//! (`crowd`), so every node shows the whole crawl. Searches and clicks go through a log that all nodes
//! share (`clicks`), so that the owner of a page hears of them wherever they were made.

mod clicks;
mod crowd;
mod door;
mod shard;
mod sight;
mod tables;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tidewatch_node::{Node, NodeConfig, NodeFigures, NodeObserver, Record};
use tidewatch_partition::{Doorkeeper, Net, Watch};
use tidewatch_search::MOST_TEXT;
use tidewatch_search::clicks::{ClickSettings, Desk};
use tidewatch_server::ask::Asker;
use tidewatch_server::{Finder, Options, Server};
use tokio::task::JoinSet;

use self::clicks::ClickLog;
use self::crowd::Crowd;
use self::shard::{ShardSettings, ShardWatch};
use self::sight::Sight;
pub use self::tables::{nodes_table, partitions_table, summary};
use crate::{Listen, ServiceError, descriptors, now_s};

/// Settings of a node.
#[derive(Clone)]
pub struct NodeServiceConfig {
    /// The node itself. Its crawl's `index` says whether it keeps indexes.
    pub node: NodeConfig,
    /// Serve the search page, the dashboard and the API.
    pub listen: Option<Listen>,
    /// Feed logged views and clicks back to the policy.
    pub learn_from_clicks: bool,
}

/// A node that has joined and does not run yet.
pub struct NodeService {
    node: Node,
    crowd: Arc<Crowd>,
    settings: ShardSettings,
    sight: Arc<Sight>,
    address: Option<SocketAddr>,
    /// Server and clicks, until the node ends.
    tasks: JoinSet<()>,
    /// Answers commands on this machine.
    door: Option<Doorkeeper>,
}

impl NodeService {
    /// Joins the cluster at the brokers, or begins one. Returns what could not be checked, in sentences.
    /// Must be called within a runtime of several threads.
    pub async fn join(
        config: NodeServiceConfig,
    ) -> Result<(NodeService, Vec<String>), ServiceError> {
        let NodeServiceConfig { node, listen, learn_from_clicks } = config;
        descriptors::raise_open_files();
        let (dir, crawl) = (node.dir.clone(), node.crawl.clone());
        let (node, notes) = Box::pin(Node::join(node)).await?;
        // Zero would keep everything.
        let keep = Duration::from_hours(24) * crawl.keep_days.max(1);
        let mut clicks = None;
        if crawl.index {
            clicks = Some(ClickLog::new(node.shared_log("clicks", keep).await?));
        }
        let crowd = Arc::new(Crowd::new(node.peers(), node.operator()));
        let asker = Asker::over(Arc::clone(&crowd) as _);
        let sight = Arc::new(Sight::new(node.operator(), Arc::clone(&crowd)));
        let mut tasks = JoinSet::new();
        if let Some(clicks) = &clicks {
            tasks.spawn(clicks.clone().publish(Desk::log_dir(&dir), node.name()));
        }
        let mut address = None;
        if let Some(listen) = listen {
            let settings = ClickSettings { keep_days: crawl.keep_days, ..ClickSettings::default() };
            let desk = Arc::new(Desk::open(&dir, settings, now_s())?);
            let finder = Finder::Shards(Arc::clone(&crowd) as _);
            let options = Options {
                token: listen.token,
                names: listen.names,
                is_proxied: listen.is_proxied,
                search: crawl.index.then(|| (finder, Arc::clone(&desk))),
                cluster: Some(Arc::clone(&sight) as _),
                publishers: None,
                reports: Some(dir.join("reports")),
                connections: None,
            };
            let server = Server::open(listen.address, asker.clone(), options)?;
            address = Some(server.address);
            tasks.spawn(Arc::clone(&sight).publish(server, desk));
        }
        let door = door::open(&dir, asker);
        let learnt = clicks.filter(|_| learn_from_clicks);
        let settings = ShardSettings::new(&crawl, node.record().partitions, learnt);
        Ok((NodeService { node, crowd, settings, sight, address, tasks, door }, notes))
    }

    /// The name of this node for operators.
    pub fn name(&self) -> String {
        self.node.name()
    }

    /// What all nodes of the cluster agree on.
    pub fn record(&self) -> &Record {
        self.node.record()
    }

    /// Where the server listens, if it does.
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Crawls until `stop` is set or an operator drains the node; everything is handed over or
    /// checkpointed when it returns.
    pub async fn run(
        self,
        net: Net,
        observer: Arc<dyn NodeObserver>,
        stop: Arc<AtomicBool>,
    ) -> Result<(), ServiceError> {
        let NodeService { node, crowd, settings, sight, tasks, door, .. } = self;
        let net = Arc::new(net.keep_text(if settings.has_index() { MOST_TEXT } else { 0 }));
        let attendant = Arc::new(Attendant { observer, crowd, settings, sight });
        Box::pin(node.run(net, attendant, stop)).await?;
        drop((tasks, door));
        Ok(())
    }
}

/// Watches a node for the service, and passes everything on.
struct Attendant {
    observer: Arc<dyn NodeObserver>,
    crowd: Arc<Crowd>,
    settings: ShardSettings,
    sight: Arc<Sight>,
}

impl NodeObserver for Attendant {
    fn watch(&self, partition: u32, dir: &Path) -> Box<dyn Watch + Send> {
        let own = self.observer.watch(partition, dir);
        let note = |told: &str| self.observer.note(told);
        Box::new(ShardWatch::open(partition, dir, &self.settings, &self.crowd, own, note))
    }

    fn note(&self, note: &str) {
        self.observer.note(note);
    }

    fn progress(&self, figures: &NodeFigures) {
        self.sight.own(figures);
        self.observer.progress(figures);
    }

    fn indexed(&self) -> Option<u64> {
        self.settings.has_index().then(|| self.crowd.indexed_here())
    }
}
