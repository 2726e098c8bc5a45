//! The partitions that a node has open, opens or closes, and their threads.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tidewatch_cluster::Epoch;
use tidewatch_cluster::desk::{Ask, Asker, Desk, Reply};
use tidewatch_core::{Rate, Time};
use tidewatch_partition::{AddressGate, Ledger, Seat, panic_message};
use tokio::task::AbortHandle;

use crate::clock::Steady;
use crate::control::{Control, Order};
use crate::error::NodeError;
use crate::figures::PartitionFigures;
use crate::links::LinkLog;
use crate::node::{Node, NodeObserver};
use crate::part::{Means, Opening, Task};
use crate::running::Event;
use crate::slots::DeskSlots;

/// Time over which the load of a partition is averaged. Partitions move by their load, so it must not follow
/// short bursts.
const LOAD_OVER: Duration = Duration::from_mins(5);

/// A partition that this node has open, opens or closes.
struct Open {
    epoch: Epoch,
    control: Control,
    links: Arc<LinkLog>,
    desk: Option<Desk>,
    /// Listens to questions to the desk.
    questions: AbortHandle,
    next_checkpoint: Instant,
    /// The number of the newest checkpoint that was handed in.
    handed_in: u64,
    /// Checkpoints handed in since the last one was accepted.
    unanswered: Vec<String>,
    lately: Meter,
    load: Meter,
}

/// Fetches per second since it was read last.
struct Meter {
    since: Instant,
    fetches: u64,
    rate: f64,
}

impl Meter {
    fn new(fetches: u64) -> Meter {
        Meter { since: Instant::now(), fetches, rate: 0.0 }
    }

    fn read(&mut self, fetches: u64) -> f64 {
        let passed = self.since.elapsed().as_secs_f64();
        self.rate = fetches.saturating_sub(self.fetches) as f64 / passed.max(1e-3);
        (self.since, self.fetches) = (Instant::now(), fetches);
        self.rate
    }
}

pub(crate) struct Parts {
    node: Arc<Node>,
    means: Means,
    clock: Steady,
    ledger: Arc<Ledger>,
    open: BTreeMap<u32, Open>,
    /// Threads that have not ended, by partition and epoch.
    threads: BTreeMap<(u32, u64), JoinHandle<()>>,
    /// Openings that wait for an earlier thread of the partition to end.
    waiting: BTreeMap<u32, Opening>,
}

impl Parts {
    pub(crate) fn new(node: Arc<Node>, means: Means, clock: Steady, ledger: Arc<Ledger>) -> Parts {
        let (open, threads, waiting) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Parts { node, means, clock, ledger, open, threads, waiting }
    }

    /// Whether no thread is left.
    pub(crate) fn is_quiet(&self) -> bool {
        self.threads.is_empty()
    }

    /// Returns the opening if it may begin now; otherwise it waits for the last thread of the partition.
    pub(crate) fn admit(&mut self, opening: Opening) -> Option<Opening> {
        let is_busy = self.threads.keys().any(|(number, _)| *number == opening.number);
        if !is_busy {
            return Some(opening);
        }
        self.waiting.insert(opening.number, opening);
        None
    }

    /// Opens a partition on a thread of its own. `nodes` share the partitions; `questions` listens for its
    /// desk.
    pub(crate) fn start(
        &mut self,
        opening: Opening,
        nodes: u32,
        questions: AbortHandle,
        observer: Arc<dyn NodeObserver>,
    ) {
        let (partition, epoch) = (opening.number, opening.epoch);
        let control = Control::default();
        let (links, seat) = self.seat(partition, epoch, &control);
        let count = self.node.record().partitions;
        let mut config = self.node.config().crawl.divided(count.div_ceil(nodes.max(1)));
        // A partition begins with next to nothing and is granted its share within seconds.
        config.budget = Rate::per_second(1e-3).unwrap_or(Rate::ZERO);
        let checkpoints = self.node.checkpoints().for_partition();
        let (home, means) = (self.node.home(), self.means.clone());
        let task = Task::new(opening, home, config, seat, checkpoints, control.clone(), means);
        let events = self.means.events.clone();
        let thread = std::thread::spawn(move || {
            let ended = guard(partition, || task.run(&*observer));
            let _ = events.send(Event::Ended(partition, epoch, ended));
        });
        self.threads.insert((partition, epoch.0), thread);
        let fetches = self.ledger.fetches_of(partition);
        let open = Open {
            epoch,
            control,
            links,
            desk: None,
            questions,
            next_checkpoint: Instant::now() + self.node.config().checkpoint_every,
            handed_in: 0,
            unanswered: Vec::new(),
            lately: Meter::new(fetches),
            load: Meter::new(fetches),
        };
        self.open.insert(partition, open);
    }

    /// The seat that joins a partition to the others.
    fn seat(&self, number: u32, epoch: Epoch, control: &Control) -> (Arc<LinkLog>, Seat) {
        let (broker, record) = (self.node.broker(), self.node.record());
        let (crawl, count, licence) = (record.crawl(), record.partitions, control.licence());
        let (context, stream) = (broker.context().clone(), self.node.links().clone());
        let runtime = self.means.runtime.clone();
        let links = LinkLog::new(crawl, context, stream, runtime, self.clock, Arc::clone(licence));
        let me = Asker { partition: number, epoch };
        let client = broker.client().clone();
        let slots = DeskSlots::new(crawl, count, me, client, self.clock, Arc::clone(licence));
        let gap = self.node.config().crawl.politeness.address_gap;
        let gap = Duration::from_micros(gap.as_micros());
        let links = Arc::new(links);
        let seat = Seat {
            number,
            count,
            first_parcel: None,
            exchange: Arc::clone(&links) as _,
            ledger: Arc::clone(&self.ledger),
            gate: Arc::new(AddressGate::with_slots(gap, Arc::new(slots))),
            stuck: None,
        };
        (links, seat)
    }

    /// A thread has opened its partition, for the first time or after a checkpoint.
    pub(crate) fn opened(&mut self, partition: u32, now: Time) -> bool {
        let gap = self.node.config().crawl.politeness.address_gap;
        let Some(part) = self.open.get_mut(&partition) else { return false };
        // After a checkpoint the partition opens again under the same epoch, and so does its desk.
        part.desk.get_or_insert_with(|| Desk::new(now, gap));
        true
    }

    /// The desk of a partition answers.
    pub(crate) fn ask_desk(&mut self, partition: u32, now: Time, ask: Ask) -> Option<Reply> {
        Some(self.open.get_mut(&partition)?.desk.as_mut()?.ask(now, ask))
    }

    /// Passes the lease on, and orders checkpoints that are due. While one is on its way to a slow store
    /// there is no other: each holds a copy of the tables on this node's disk.
    pub(crate) fn look_after(&mut self, lease_ends: Time, is_active: bool) {
        let every = self.node.config().checkpoint_every;
        for part in self.open.values_mut() {
            part.control.set_lease(lease_ends, is_active);
            let is_ready = part.desk.is_some() && !part.control.is_uploading();
            if is_ready && part.next_checkpoint <= Instant::now() && is_active {
                part.next_checkpoint = Instant::now() + every;
                part.control.give(Order::Checkpoint);
            }
        }
    }

    /// Stops a partition so that it can be handed over.
    pub(crate) fn drain(&self, partition: u32) {
        if let Some(part) = self.open.get(&partition) {
            part.control.give(Order::Drain);
        }
    }

    /// Stops a partition at once, and forgets an opening that waits.
    pub(crate) fn close(&mut self, partition: u32) {
        self.waiting.remove(&partition);
        self.forget(partition);
    }

    fn forget(&mut self, partition: u32) {
        if let Some(part) = self.open.remove(&partition) {
            part.control.close();
            part.questions.abort();
            self.ledger.leave(partition);
        }
    }

    /// A thread has ended. Returns the opening that has waited for it.
    pub(crate) fn ended(&mut self, partition: u32, epoch: Epoch) -> Option<Opening> {
        if let Some(thread) = self.threads.remove(&(partition, epoch.0)) {
            let _ = thread.join();
        }
        if self.open.get(&partition).is_some_and(|part| part.epoch == epoch) {
            self.forget(partition);
        }
        self.waiting.remove(&partition)
    }

    /// A checkpoint was uploaded. `false` if it must not be handed in: an upload may end after a later one,
    /// and the fence must not go back.
    pub(crate) fn uploaded(
        &mut self,
        partition: u32,
        epoch: Epoch,
        number: u64,
        object: &str,
    ) -> bool {
        let part = self.open.get_mut(&partition);
        let part = part.filter(|part| part.epoch == epoch && number > part.handed_in);
        let Some(part) = part else { return false };
        part.handed_in = number;
        part.unanswered.push(object.to_owned());
        true
    }

    /// A checkpoint was accepted; its name if that is known. With several handed in it is not: the next one
    /// will tell.
    pub(crate) fn accepted(&mut self, partition: u32) -> Option<String> {
        let handed_in = std::mem::take(&mut self.open.get_mut(&partition)?.unanswered);
        <[String; 1]>::try_from(handed_in).ok().map(|[object]| object)
    }

    /// Reads the meters. Returns the loads that are ready for the placement.
    pub(crate) fn measure(&mut self) -> Vec<(u32, f32)> {
        let mut loads = Vec::new();
        for (number, part) in &mut self.open {
            let fetches = self.ledger.fetches_of(*number);
            part.lately.read(fetches);
            if part.load.since.elapsed() >= LOAD_OVER {
                loads.push((*number, part.load.read(fetches) as f32));
            }
        }
        loads
    }

    /// Figures of all partitions.
    pub(crate) fn figures(&self, may_act: impl Fn(u32) -> bool) -> Vec<PartitionFigures> {
        let figures = |(number, part): (&u32, &Open)| PartitionFigures {
            number: *number,
            epoch: part.epoch.0,
            is_open: may_act(*number),
            fetches_per_s: part.lately.rate,
            parcels: part.links.waiting(),
            status: part.control.status(),
        };
        self.open.iter().map(figures).collect()
    }

    /// Warnings about received messages, in sentences.
    pub(crate) fn troubles(&self) -> impl Iterator<Item = String> {
        self.open.iter().flat_map(|(number, part)| part.links.troubles(*number))
    }

    /// Stops everything that is left and waits for it.
    pub(crate) fn end(&mut self) {
        self.open.values().for_each(|part| part.control.close());
        for (_, thread) in std::mem::take(&mut self.threads) {
            let _ = thread.join();
        }
    }
}

/// Turns a panic into an error. Without one the node would go on to hold a partition that nobody crawls.
fn guard(partition: u32, run: impl FnOnce() -> Result<(), NodeError>) -> Result<(), NodeError> {
    let ran = catch_unwind(AssertUnwindSafe(run));
    let told = |panic: Box<dyn Any + Send>| {
        Err(NodeError::Panicked { partition, why: panic_message(&*panic) })
    };
    ran.unwrap_or_else(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_partition_is_told_to_the_node() {
        assert!(guard(7, || Ok(())).is_ok());
        let told = guard(7, || panic!("page {} is odd", 3)).unwrap_err().to_string();
        assert_eq!(told, "partition 7 panicked: page 3 is odd; please report this");
    }
}
