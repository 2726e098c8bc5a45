//! A node's part in the market: it reports demand, is granted budget and, where it keeps the price, clears.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidewatch_cluster::market::{Demand, Purse, Quote, Till, Want, WriteId};
use tidewatch_cluster::node::Answer;
use tidewatch_cluster::wire;
use tidewatch_cluster::{Epoch, NodeId};
use tidewatch_core::{Rate, Time};
use tidewatch_partition::Ledger;
use tokio::sync::mpsc::UnboundedSender;

use crate::node::Node;
use crate::running::{Event, PATIENCE, answer};

/// The key of the quote.
const QUOTE: &str = "quote";
/// The subject of reports to the keeper of the price.
pub(crate) const DEMAND: &str = "tidewatch.demand";

pub(crate) struct Trade {
    node: Arc<Node>,
    events: UnboundedSender<Event>,
    /// Divides the node's grant among its partitions.
    ledger: Arc<Ledger>,
    purse: Purse,
    /// The name under which the purse reports.
    named: NodeId,
    till: Option<Till>,
    /// The quote is being read for the till.
    is_reading: bool,
    /// Nodes that were buried.
    dead: BTreeSet<NodeId>,
}

impl Trade {
    pub(crate) fn new(
        node: Arc<Node>,
        events: UnboundedSender<Event>,
        me: NodeId,
        now: Time,
    ) -> Trade {
        Trade {
            node,
            events,
            ledger: Arc::new(Ledger::new(Rate::ZERO, 1.0)),
            purse: Purse::new(now),
            named: me,
            till: None,
            is_reading: false,
            dead: BTreeSet::new(),
        }
    }

    /// The ledger that divides the node's grant.
    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The price in force, the node's share of the budget per second, and whether the price is kept here.
    pub(crate) fn figures(&self) -> (f64, f64, bool) {
        (self.purse.price(), self.purse.rate(), self.till.is_some())
    }

    /// Reports soon, because there is news.
    pub(crate) fn hurry(&mut self, now: Time) {
        self.purse.hurry(now);
    }

    /// A node was buried.
    pub(crate) fn bury(&mut self, node: NodeId) {
        self.dead.insert(node);
    }

    /// The price is kept here from now on.
    pub(crate) fn won(&mut self, now: Time, epoch: Epoch) {
        self.till = Some(Till::new(epoch, self.node.record().budget_per_s));
        self.hurry(now);
    }

    /// The price is kept elsewhere.
    pub(crate) fn lost(&mut self) {
        self.till = None;
    }

    /// Reports demand, and clears the market where this node keeps the price.
    pub(crate) async fn turn(&mut self, now: Time, me: NodeId) {
        if me != self.named {
            // This node was buried and goes on under a new name, which has no grant yet.
            (self.named, self.purse) = (me, Purse::new(now));
            self.ledger.set_total(Rate::ZERO);
        }
        if self.purse.next_report() <= now {
            let (curve, pages) = (self.ledger.demand(), self.ledger.pages());
            let demand = self.purse.report(now, me, curve, pages, [0.0, 0.0]);
            let bytes = wire::encode(self.node.record().crawl(), &demand);
            let _ = self.node.broker().client().publish(DEMAND, bytes.into()).await;
        }
        let Some(till) = &mut self.till else { return };
        match till.want(now, |node| !self.dead.contains(&node)) {
            Some(Want::Read) => self.read(),
            Some(Want::Write { write, expected, quote }) => self.write(write, expected, &quote),
            Some(Want::Deposed) => self.till = None,
            None => {}
        }
    }

    fn read(&mut self) {
        if std::mem::replace(&mut self.is_reading, true) {
            return;
        }
        let (bucket, events) = (self.node.buckets().quotes.clone(), self.events.clone());
        let crawl = self.node.record().crawl();
        tokio::spawn(async move {
            let read = tokio::time::timeout(PATIENCE, bucket.get(QUOTE)).await;
            let event = match read {
                Ok(Ok(read)) => Event::TillRead(read.and_then(|(revision, bytes)| {
                    Some((revision, wire::decode(crawl, &bytes).ok()?))
                })),
                _ => Event::TillUnread,
            };
            let _ = events.send(event);
        });
    }

    fn write(&self, write: WriteId, expected: u64, quote: &Quote) {
        let (bucket, events) = (self.node.buckets().quotes.clone(), self.events.clone());
        let bytes = wire::encode(self.node.record().crawl(), quote);
        tokio::spawn(async move {
            let answer = answer(bucket.update(QUOTE, bytes, expected)).await;
            let _ = events.send(Event::TillWritten(write, answer));
        });
    }

    /// The quote was read for the till; `None` if there is none.
    pub(crate) fn read_back(&mut self, read: Option<(u64, Quote)>) {
        self.is_reading = false;
        if let Some(till) = &mut self.till {
            till.read(read);
        }
    }

    /// The brokers did not answer when the quote was read.
    pub(crate) fn not_read(&mut self) {
        self.is_reading = false;
    }

    /// The till's quote was written, or not.
    pub(crate) fn written(&mut self, now: Time, write: WriteId, answer: Answer) {
        if let Some(till) = &mut self.till {
            till.written(now, write, answer);
        }
    }

    /// A quote was published.
    pub(crate) fn hear_quote(&mut self, now: Time, me: NodeId, revision: u64, quote: &Quote) {
        if let Some(rate) = self.purse.hear(now, me, revision, quote) {
            self.ledger.set_total(Rate::per_second(rate).unwrap_or(Rate::ZERO));
        }
    }

    /// A node has reported its demand.
    pub(crate) fn hear_demand(&mut self, now: Time, bytes: &[u8]) {
        let demand = wire::decode::<Demand>(self.node.record().crawl(), bytes);
        if let (Some(till), Ok(demand)) = (&mut self.till, demand) {
            till.hear(now, demand);
        }
    }
}
