//! What all processes share: true time, the queue of events, the network, the judge and the figures.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use tidewatch_cluster::desk::{Ask, Reply};
use tidewatch_cluster::market::{Demand, WriteId};
use tidewatch_cluster::node::{Answer, Manifest, RequestId};
use tidewatch_cluster::parcel::ParcelNumber;
use tidewatch_cluster::wire::Crawl;
use tidewatch_cluster::{Epoch, NodeId};
use tidewatch_core::{Span, Time};
use tidewatch_math::Draws;

use super::judge::Judge;
use super::part::State;
use super::web::Web;
use super::{Figures, Sabotage, Settings};

/// The crawl that all messages belong to.
pub(super) const CRAWL: Crawl = Crawl(24);

/// A process: its place and how many ran there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Who {
    pub(super) slot: usize,
    pub(super) life: u32,
}

/// The buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Members,
    Claims,
    Checkpoints,
}

/// The write that an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Node(RequestId),
    Till(WriteId),
}

/// What a process asks the broker.
#[derive(Clone, Debug)]
pub(super) enum ToBroker {
    Put { place: Place, key: String, expected: u64, value: Vec<u8>, asked: Asked },
    ReadManifest { partition: u32 },
    ReadQuote,
    Watch { seen: [u64; 3] },
    Publish { from: u32, epoch: Epoch, number: ParcelNumber, to: u32, id: String, bytes: Vec<u8> },
    Read { partition: u32, epoch: Epoch, position: u64 },
    Purge { partition: u32, position: u64 },
}

/// A key, its revision and its value.
pub(super) type Watched = (Place, String, u64, Vec<u8>);

/// What the broker answers.
#[derive(Clone, Debug)]
pub(super) enum FromBroker {
    Answered { asked: Asked, answer: Answer },
    Manifest { partition: u32, found: Option<(u64, Vec<u8>)> },
    Quote { found: Option<(u64, Vec<u8>)> },
    Watched { entries: Rc<Vec<Watched>>, seen: [u64; 3] },
    Acknowledged { from: u32, epoch: Epoch, number: ParcelNumber },
    Messages { partition: u32, epoch: Epoch, messages: Vec<(u64, Vec<u8>)> },
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    Step(Who),
    ToBroker(Who, ToBroker),
    FromBroker(Who, FromBroker),
    Timeout(Who, Asked),
    ToDesk {
        from: Who,
        to: Who,
        desk: u32,
        ask: Ask,
    },
    FromDesk {
        to: Who,
        ask: Ask,
        reply: Reply,
    },
    Report(Who, Box<Demand>),
    Opened {
        who: Who,
        partition: u32,
        epoch: Epoch,
    },
    Done {
        who: Who,
        partition: u32,
        epoch: Epoch,
        number: u64,
    },
    SlotEnds {
        who: Who,
        partition: u32,
        epoch: Epoch,
        number: u64,
    },
    /// The server has answered, whether or not the process listens.
    Served {
        who: Who,
        partition: u32,
        number: u64,
    },
    Fault,
    Restart(usize),
}

/// Everything outside the processes and the broker.
pub(super) struct Town {
    pub(super) now: Time,
    pub(super) settings: Settings,
    pub(super) draws: Draws,
    pub(super) web: Web,
    pub(super) judge: Judge,
    pub(super) figures: Figures,
    pub(super) sabotage: Option<Sabotage>,
    /// Where each node's process is.
    pub(super) nodes: BTreeMap<NodeId, Who>,
    /// Checkpoints by name.
    pub(super) objects: BTreeMap<String, Rc<State>>,
    /// What is on the disk of each place.
    pub(super) disks: Vec<BTreeMap<u32, State>>,
    /// Until when each place is cut off from the broker: to it, and from it.
    pub(super) cuts: Vec<[Time; 2]>,
    pub(super) broker_down_until: Time,
    queue: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, Happening>,
    serial: u64,
}

impl Town {
    pub(super) fn new(
        settings: Settings,
        sabotage: Option<Sabotage>,
        web: Web,
        judge: Judge,
        draws: Draws,
    ) -> Town {
        Town {
            now: Time::ZERO,
            draws,
            web,
            judge,
            figures: Figures::default(),
            sabotage,
            nodes: BTreeMap::new(),
            objects: BTreeMap::new(),
            disks: vec![BTreeMap::new(); settings.nodes],
            cuts: vec![[Time::ZERO; 2]; settings.nodes],
            broker_down_until: Time::ZERO,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            serial: 0,
            settings,
        }
    }

    pub(super) fn sabotages(&self, what: Sabotage) -> bool {
        self.sabotage == Some(what)
    }

    pub(super) fn at(&mut self, at: Time, event: Happening) {
        self.serial += 1;
        self.queue.push(Reverse((at.max(self.now), self.serial)));
        self.events.insert(self.serial, event);
    }

    pub(super) fn after(&mut self, span: Span, event: Happening) {
        self.at(self.now + span, event);
    }

    /// The next event; sets the time.
    pub(super) fn next(&mut self) -> Option<Happening> {
        let Reverse((at, serial)) = self.queue.pop()?;
        self.now = at;
        self.events.remove(&serial)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.now >= self.settings.quiet_from()
    }

    /// A time between two bounds, in milliseconds.
    pub(super) fn millis(&mut self, from: u64, to: u64) -> Span {
        Span::from_micros((from + self.draws.below(to - from + 1)) * 1000)
    }

    /// How long a message takes; usually milliseconds, sometimes seconds.
    fn delay(&mut self) -> Span {
        if !self.is_quiet() && self.draws.chance(self.settings.trouble) {
            return self.millis(500, 20_000);
        }
        self.millis(1, 60)
    }

    /// How often a message arrives: usually once.
    fn copies(&mut self) -> u32 {
        if self.is_quiet() {
            return 1;
        }
        let (lost, twice) = (self.settings.trouble, self.settings.trouble);
        let chance = self.draws.uniform();
        if chance < lost { 0 } else { 1 + u32::from(chance > 1.0 - twice) }
    }

    /// Sends a message that may be lost, late or repeated.
    pub(super) fn send(&mut self, event: &Happening) {
        self.figures.messages += 1;
        for _ in 0..self.copies() {
            let delay = self.delay();
            self.after(delay, event.clone());
        }
    }

    /// Sends to the broker. What meets a cut is lost, or arrives after it as buffered bytes do.
    pub(super) fn ask_broker(&mut self, who: Who, ask: ToBroker) {
        let cut = self.cuts[who.slot][0].max(self.broker_down_until);
        let event = Happening::ToBroker(who, ask);
        if self.now < cut {
            if self.draws.chance(0.3) {
                let late = self.millis(0, 5000);
                self.at(cut + late, event);
            }
            return;
        }
        self.send(&event);
    }

    /// Sends from the broker.
    pub(super) fn tell(&mut self, who: Who, tell: FromBroker) {
        if self.now >= self.cuts[who.slot][1] {
            self.send(&Happening::FromBroker(who, tell));
        }
    }

    /// Counts a message's bytes.
    pub(super) fn count(&mut self, kind: usize, bytes: usize) {
        self.figures.kinds[kind].0 += 1;
        self.figures.kinds[kind].1 += bytes as u64;
    }

    /// A manifest as the broker has it, decoded.
    pub(super) fn read<M: tidewatch_cluster::wire::Message>(&mut self, bytes: &[u8]) -> Option<M> {
        match tidewatch_cluster::wire::decode(CRAWL, bytes) {
            Ok(message) => Some(message),
            Err(refused) => {
                let (at, why) = (self.now, refused.to_string());
                self.judge.object(super::Broken::Refused { at, why });
                None
            }
        }
    }

    /// The state of a checkpoint.
    pub(super) fn object(&self, manifest: Option<&Manifest>) -> Option<Rc<State>> {
        self.objects.get(manifest?.object.as_ref()?).cloned()
    }
}
