//! Watches from outside, on a clock that no node has, and says what was promised and not kept.

use std::collections::{BTreeMap, BTreeSet};

use tidewatch_cluster::parcel::ParcelId;
use tidewatch_cluster::{Epoch, NodeId};
use tidewatch_core::{Span, Time};

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Broken {
    /// Two owners.
    #[error(
        "{at}: epoch {epoch} of partition {partition} {what} after epoch {newer} had begun to act"
    )]
    TwoOwners {
        /// When.
        at: Time,
        /// The partition.
        partition: u32,
        /// The one that should not act.
        epoch: u64,
        /// The one that acts.
        newer: u64,
        /// What it did.
        what: &'static str,
    },
    /// A host or address was asked too soon.
    #[error(
        "{at}: {what} {number} was asked {early_ms} ms before its gap was over, last by epoch {last} and now by epoch {epoch}"
    )]
    Rude {
        /// When.
        at: Time,
        /// Host or address.
        what: &'static str,
        /// Which.
        number: u32,
        /// How much too soon.
        early_ms: u64,
        /// Who asked before.
        last: u64,
        /// Who asks.
        epoch: u64,
    },
    /// A parcel was applied twice.
    #[error("{at}: partition {partition} took in parcel {id} twice")]
    Twice {
        /// When.
        at: Time,
        /// The receiver.
        partition: u32,
        /// Which parcel.
        id: String,
    },
    /// A message was deleted that the checkpoint has not taken in.
    #[error("{at}: parcel {id} for partition {partition} was deleted and is in no checkpoint")]
    Lost {
        /// When.
        at: Time,
        /// The receiver.
        partition: u32,
        /// Which parcel.
        id: String,
    },
    /// A link that the broker acknowledged is unknown to its owner.
    #[error(
        "at the end partition {partition} does not know page {page}, whose link was acknowledged"
    )]
    LinkLost {
        /// The owner.
        partition: u32,
        /// The page.
        page: u32,
    },
    /// A parcel that the broker acknowledged never came to its owner.
    #[error("at the end partition {partition} has not read parcel {id}, which was acknowledged")]
    Unread {
        /// The receiver.
        partition: u32,
        /// Which parcel.
        id: String,
    },
    /// A page in a checkpoint is not in the next.
    #[error("{at}: partition {partition} has lost page {page}, which was in a checkpoint")]
    PageLost {
        /// When.
        at: Time,
        /// The partition.
        partition: u32,
        /// The page.
        page: u32,
    },
    /// A checkpoint of a deposed owner was accepted.
    #[error(
        "{at}: partition {partition} accepted a checkpoint of epoch {epoch} after epoch {newer}"
    )]
    Fence {
        /// When.
        at: Time,
        /// The partition.
        partition: u32,
        /// Whose checkpoint.
        epoch: u64,
        /// Who had fenced it off.
        newer: u64,
    },
    /// The nodes may spend more than the budget.
    #[error("{at}: grants of {sum} fetches per second are in force, of a budget of {budget}")]
    Budget {
        /// When.
        at: Time,
        /// What they may spend.
        sum: f64,
        /// The budget.
        budget: f64,
    },
    /// The price is not the clearing price.
    #[error("at the end the price is {found}, but the curves clear at {wanted}")]
    Price {
        /// The price.
        found: f64,
        /// The clearing price.
        wanted: f64,
    },
    /// A partition has no owner.
    #[error("partition {partition} has no owner {after} after the last fault")]
    Orphan {
        /// The partition.
        partition: u32,
        /// How long.
        after: Span,
    },
    /// Pages that can be reached were not fetched.
    #[error("at the end {missing} of {pages} pages are not fetched, the first is {first}")]
    Unfetched {
        /// How many.
        missing: u32,
        /// Of how many.
        pages: u32,
        /// The first of them.
        first: u32,
    },
    /// A message was refused by a node of the same version and crawl.
    #[error("{at}: a good message was refused: {why}")]
    Refused {
        /// When.
        at: Time,
        /// Why.
        why: String,
    },
}

/// The last request to a host or address.
#[derive(Clone, Copy, Debug)]
struct Asked {
    epoch: Epoch,
    ends: Time,
}

/// What the judge remembers.
#[derive(Debug)]
pub(super) struct Judge {
    host_gap: Span,
    address_gap: Span,
    acted: BTreeMap<u32, Epoch>,
    hosts: BTreeMap<u32, Asked>,
    addresses: BTreeMap<u32, Asked>,
    fences: BTreeMap<u32, Epoch>,
    /// What each node may spend, and until when its lease lasts.
    rates: BTreeMap<NodeId, (f64, Time)>,
    /// Acknowledged links, by owner and page.
    acknowledged: BTreeSet<(u32, u32)>,
    /// Acknowledged parcels, by receiver and place in the stream.
    published: BTreeMap<(u32, u64), ParcelId>,
    stored: BTreeMap<u32, BTreeSet<u32>>,
    broken: Vec<Broken>,
}

impl Judge {
    /// Gaps in true time; nodes keep theirs by clocks that may be fast.
    pub(super) fn new(host_gap: Span, address_gap: Span) -> Judge {
        Judge {
            host_gap,
            address_gap,
            acted: BTreeMap::new(),
            hosts: BTreeMap::new(),
            addresses: BTreeMap::new(),
            fences: BTreeMap::new(),
            rates: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            published: BTreeMap::new(),
            stored: BTreeMap::new(),
            broken: Vec::new(),
        }
    }

    pub(super) fn object(&mut self, broken: Broken) {
        if self.broken.len() < 20 {
            self.broken.push(broken);
        }
    }

    pub(super) fn broken(&self) -> &[Broken] {
        &self.broken
    }

    /// A node acts for a partition.
    pub(super) fn act(&mut self, at: Time, partition: u32, epoch: Epoch, what: &'static str) {
        let newest = self.acted.entry(partition).or_default();
        let newer = newest.0;
        *newest = epoch.max(*newest);
        if epoch.0 < newer {
            self.object(Broken::TwoOwners { at, partition, epoch: epoch.0, newer, what });
        }
    }

    /// A request to a host begins.
    pub(super) fn request(&mut self, at: Time, host: u32, address: u32, epoch: Epoch) {
        let check = |asked: Option<&Asked>, gap: Span, what, number| {
            let asked = asked?;
            let early = (asked.ends + gap).since(at);
            let (early_ms, last) = (early.as_micros() / 1000, asked.epoch.0);
            (early > Span::ZERO).then_some(Broken::Rude {
                at,
                what,
                number,
                early_ms,
                last,
                epoch: epoch.0,
            })
        };
        let found = [
            check(self.hosts.get(&host), self.host_gap, "host", host),
            check(self.addresses.get(&address), self.address_gap, "address", address),
        ];
        found.into_iter().flatten().for_each(|broken| self.object(broken));
        // Its end is not known yet.
        self.ended(at, host, address, epoch);
    }

    /// A request ended, as the server sees it.
    pub(super) fn ended(&mut self, at: Time, host: u32, address: u32, epoch: Epoch) {
        for (map, number) in [(&mut self.hosts, host), (&mut self.addresses, address)] {
            let asked = map.entry(number).or_insert(Asked { epoch, ends: at });
            if at >= asked.ends {
                *asked = Asked { epoch, ends: at };
            }
        }
    }

    /// A checkpoint or an opening was accepted by the fence.
    pub(super) fn fenced(&mut self, at: Time, partition: u32, epoch: Epoch) {
        let newest = self.fences.entry(partition).or_default();
        let newer = newest.0;
        *newest = epoch.max(*newest);
        if epoch.0 < newer {
            self.object(Broken::Fence { at, partition, epoch: epoch.0, newer });
        }
    }

    /// A checkpoint holds these pages.
    pub(super) fn checkpointed(&mut self, at: Time, partition: u32, pages: BTreeSet<u32>) {
        let before = self.stored.entry(partition).or_default();
        let lost = before.difference(&pages).next().copied();
        *before = pages;
        if let Some(page) = lost {
            self.object(Broken::PageLost { at, partition, page });
        }
    }

    /// The broker acknowledged a link to a page.
    pub(super) fn acknowledged(&mut self, partition: u32, page: u32) {
        self.acknowledged.insert((partition, page));
    }

    /// The broker acknowledged a parcel.
    pub(super) fn published(&mut self, partition: u32, sequence: u64, id: ParcelId) {
        self.published.insert((partition, sequence), id);
    }

    pub(super) fn twice(&mut self, at: Time, partition: u32, id: ParcelId) {
        self.object(Broken::Twice { at, partition, id: id.message_id() });
    }

    pub(super) fn deleted(&mut self, at: Time, partition: u32, id: ParcelId) {
        self.object(Broken::Lost { at, partition, id: id.message_id() });
    }

    /// A node may spend this much while its lease lasts.
    pub(super) fn grant(
        &mut self,
        at: Time,
        node: NodeId,
        (rate, until): (f64, Time),
        budget: f64,
    ) {
        self.rates.insert(node, (rate, until));
        self.rates.retain(|_, (_, until)| *until > at);
        let sum: f64 = self.rates.values().map(|(rate, _)| rate).sum();
        if sum > budget * (1.0 + 1e-9) {
            self.object(Broken::Budget { at, sum, budget });
        }
    }

    /// At the end, every acknowledged parcel was read, or waits in the stream.
    pub(super) fn check_parcels(&mut self, is_read: impl Fn(u32, u64) -> bool) {
        let lost = self.published.iter().find(|((to, sequence), _)| !is_read(*to, *sequence));
        if let Some(((partition, _), id)) = lost {
            let (partition, id) = (*partition, id.message_id());
            self.object(Broken::Unread { partition, id });
        }
    }

    /// At the end, every acknowledged link is known to its owner.
    pub(super) fn check_links(&mut self, is_known: impl Fn(u32, u32) -> bool) {
        let lost = self.acknowledged.iter().find(|(partition, page)| !is_known(*partition, *page));
        if let Some((partition, page)) = lost.copied() {
            self.object(Broken::LinkLost { partition, page });
        }
    }
}
