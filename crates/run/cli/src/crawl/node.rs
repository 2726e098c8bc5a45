//! `tidewatch crawl --cluster`: crawls as one node of several.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use tidewatch_core::{PageId, Span};
use tidewatch_node::{NodeConfig, NodeFigures, NodeObserver};
use tidewatch_partition::{Config, Net, Partition, Watch};
use tidewatch_service::{Listen, NodeService, NodeServiceConfig};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::log::Log;
use super::seeds;
use crate::output;

/// Options of a node.
#[derive(clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct NodeArgs {
    /// Crawl as one node of a cluster: addresses of its NATS brokers, such as
    /// nats://a.example,nats://b.example,nats://c.example. See docs/cluster.md.
    #[arg(long, value_name = "URLS", requires = "checkpoints",
          conflicts_with_all = ["once", "max_pages"])]
    pub(super) cluster: Option<String>,
    /// Where checkpoints go, from which another node continues: a directory that all nodes share, or
    /// s3://BUCKET/PREFIX.
    #[arg(long, value_name = "WHERE", requires = "cluster")]
    checkpoints: Option<String>,
    /// Time between two checkpoints of a partition.
    #[arg(long, value_name = "SPAN", default_value = "5m")]
    checkpoint_every: Span,
}

/// What a node needs of the other options.
pub(super) struct Rest<'a> {
    pub(super) crawl: Config,
    pub(super) dir: &'a Path,
    pub(super) seeds: &'a [String],
    pub(super) partitions: Option<u32>,
    pub(super) duration: Option<Span>,
    pub(super) log: Log,
    pub(super) print_stored: bool,
    pub(super) listen: Option<Listen>,
}

fn duration(span: Span) -> Duration {
    Duration::from_micros(span.as_micros())
}

/// Crawls as a node until its time is up, or a signal or an operator ends it.
pub(super) fn run(args: &NodeArgs, brokers: &str, rest: Rest<'_>) -> Result<()> {
    let node = NodeConfig {
        dir: rest.dir.to_owned(),
        brokers: brokers.to_owned(),
        checkpoints: args.checkpoints.clone().unwrap_or_default(),
        checkpoint_every: duration(args.checkpoint_every),
        seeds: seeds::read(rest.seeds)?,
        partitions: rest.partitions,
        crawl: rest.crawl,
    };
    let config = NodeServiceConfig { node, listen: rest.listen, learn_from_clicks: true };
    let stop = Arc::new(AtomicBool::new(false));
    let view = Arc::new(NodeView { log: rest.log, print_stored: rest.print_stored });
    Runtime::new()?.block_on(async {
        let net = Net::of(&config.node.crawl)?;
        let (node, notes) = Box::pin(NodeService::join(config)).await?;
        notes.iter().for_each(|note| view.note(note));
        view.joined(&node);
        tokio::spawn(stop_on_signals(Arc::clone(&stop)));
        if let Some(span) = rest.duration {
            let stop = Arc::clone(&stop);
            tokio::spawn(async move {
                tokio::time::sleep(duration(span)).await;
                stop.store(true, Ordering::Relaxed);
            });
        }
        Box::pin(node.run(net, Arc::clone(&view) as _, stop)).await?;
        view.note("the node has left the cluster; run it again to join");
        Ok(())
    })
}

async fn stop_on_signals(stop: Arc<AtomicBool>) {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => if interrupted.is_err() { return },
        _ = terminate.recv() => {}
    }
    stop.store(true, Ordering::Relaxed);
}

/// Logs what a node does.
struct NodeView {
    log: Log,
    print_stored: bool,
}

impl NodeView {
    fn joined(&self, node: &NodeService) {
        let (name, record) = (node.name(), node.record());
        let message = format!(
            "node {name} has joined a cluster of {} partitions with a budget of {}/s",
            record.partitions, record.budget_per_s
        );
        let figures = [("node", name.into()), ("partitions", record.partitions.into())];
        self.log.say("joined", &message, &figures);
        if let Some(at) = node.address() {
            let at = format!("http://{at}/");
            let message = format!("search and dashboard at {at}");
            self.log.say("listening", &message, &[("at", at.into())]);
        }
    }
}

impl NodeObserver for NodeView {
    fn watch(&self, _partition: u32, _dir: &Path) -> Box<dyn Watch + Send> {
        Box::new(PrintStored(self.print_stored))
    }

    fn note(&self, note: &str) {
        self.log.say("note", &format!("tidewatch: {note}"), &[]);
    }

    fn progress(&self, figures: &NodeFigures) {
        let open = figures.partitions.iter().filter(|part| part.is_open).count();
        // The sum of nothing is −0.
        let rate = figures.partitions.iter().map(|part| part.fetches_per_s).sum::<f64>() + 0.0;
        let statuses = figures.partitions.iter().filter_map(|part| part.status.as_ref());
        let (mut pages, mut held) = (0, 0);
        for status in statuses {
            (pages, held) = (pages + u64::from(status.pages), held + status.tally.held);
        }
        let message = format!(
            "{open} of {} partitions open, {rate:.1} fetches/s of {:.1} granted, price {:.3e}, {held} of \
             {pages} known pages stored",
            figures.partitions.len(),
            figures.granted_per_s,
            figures.price
        );
        let json = serde_json::to_value(figures).unwrap_or_default();
        self.log.say("progress", &message, &[("figures", json)]);
    }
}

/// Prints the pages of a partition once they are stored.
struct PrintStored(bool);

impl Watch for PrintStored {
    fn stored(&mut self, crawl: &Partition, pages: &[PageId]) {
        if !self.0 {
            return;
        }
        let mut lines = String::new();
        for url in pages.iter().filter_map(|page| crawl.address(*page).ok()) {
            let _ = writeln!(lines, "{url}");
        }
        let _ = output::print(&lines);
    }
}
