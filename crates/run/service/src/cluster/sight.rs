//! Figures of the whole cluster for a node's dashboard.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tidewatch_node::{BrokerError, ClusterFigures, NodeFigures, Operator};
use tidewatch_partition::{History, Status};
use tidewatch_search::clicks::Desk;
use tidewatch_server::{Cluster, ClusterView, Extra, Figures, Missing, Pending, Server};

use super::crowd::Crowd;
use super::tables::{nodes_table, partitions_table, summary};
use crate::now_micros;

/// Pause between two rounds of figures. Asking all nodes takes about as long.
const EVERY: Duration = Duration::from_secs(1);

/// The figures of the cluster, as a node sees them.
pub(super) struct Sight {
    operator: Operator,
    crowd: Arc<Crowd>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// This node, which is shown when no other answers.
    own: Option<NodeFigures>,
    view: Option<ClusterView>,
}

impl Sight {
    pub(super) fn new(operator: Operator, crowd: Arc<Crowd>) -> Sight {
        Sight { operator, crowd, seen: Mutex::default() }
    }

    /// The newest figures of this node.
    pub(super) fn own(&self, figures: &NodeFigures) {
        self.with(|seen| seen.own = Some(figures.clone()));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Seen) -> T) -> T {
        act(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks all nodes and publishes their figures, for ever. Also syncs the log of clicks.
    pub(super) async fn publish(self: Arc<Self>, server: Server, desk: Arc<Desk>) {
        let mut history = Arc::new(History::default());
        loop {
            let figures = self.figures().await;
            let status = status(&figures);
            let now_ms = now_micros() / 1_000;
            if history.is_due(now_ms) {
                Arc::make_mut(&mut history).add(&status, now_ms);
            }
            self.crowd.set_indexed(figures.nodes.iter().filter_map(|node| node.indexed).sum());
            self.with(|seen| seen.view = Some(view(&figures)));
            server.publish(Figures {
                status,
                history: Arc::clone(&history),
                index: Some(self.crowd.health()),
                is_running: figures.nodes.iter().any(|node| node.is_active),
                extra: Some(extra(&figures)),
                missing: Some(missing(&figures)),
            });
            let _ = desk.sync();
            tokio::time::sleep(EVERY).await;
        }
    }

    /// The figures of all nodes that answer, or of this one if none does.
    async fn figures(&self) -> ClusterFigures {
        let found = self.operator.figures().await.ok().filter(|found| !found.nodes.is_empty());
        found.unwrap_or_else(|| ClusterFigures {
            record: self.operator.record().clone(),
            nodes: self.with(|seen| seen.own.clone().into_iter().collect()),
        })
    }
}

/// The sum over partitions that are open somewhere.
fn status(figures: &ClusterFigures) -> Status {
    let open = figures.nodes.iter().flat_map(|node| &node.partitions).filter(|part| part.is_open);
    let sum = Status::sum(open.filter_map(|part| part.status.clone()).collect());
    let keeper = figures.nodes.iter().find(|node| node.keeps_price);
    Status {
        // One price holds for all.
        price: keeper.map(|node| node.price).filter(|price| *price > 0.0).or(sum.price),
        budget_per_s: figures.record.budget_per_s,
        policy: figures.record.policy.clone(),
        ..sum
    }
}

/// Partitions of which no node has told figures.
fn missing(figures: &ClusterFigures) -> Missing {
    let of = figures.record.partitions;
    let told = |number: &u32| {
        let mut parts = figures.nodes.iter().flat_map(|node| &node.partitions);
        parts.any(|part| part.number == *number && part.is_open && part.status.is_some())
    };
    Missing { of, partitions: (0..of).filter(|number| !told(number)).collect() }
}

fn view(figures: &ClusterFigures) -> ClusterView {
    ClusterView {
        told: summary(figures),
        nodes: nodes_table(&figures.nodes),
        partitions: partitions_table(&figures.nodes),
        notes: figures.nodes.iter().flat_map(|node| node.notes.clone()).collect(),
        json: json!(figures),
    }
}

fn extra(figures: &ClusterFigures) -> Extra {
    Extra {
        name: "Nodes",
        about: summary(figures),
        table: nodes_table(&figures.nodes),
        json: json!({ "nodes": figures.nodes.len(), "unowned": figures.unowned() }),
    }
}

fn told(answer: Result<Option<String>, BrokerError>) -> Result<Option<String>, String> {
    answer.map_err(|error| error.to_string())
}

impl Cluster for Sight {
    fn view(&self) -> Option<ClusterView> {
        self.with(|seen| seen.view.clone())
    }

    fn give(&self, partition: u32, to: String) -> Pending<'_, Result<Option<String>, String>> {
        Box::pin(async move { told(self.operator.give(partition, &to).await) })
    }

    fn drain(&self, node: String) -> Pending<'_, Result<Option<String>, String>> {
        Box::pin(async move { told(self.operator.drain(&node).await) })
    }
}
