//! What a node's process does when brokers and other nodes tell it something.

use tidewatch_cluster::lease::Member;
use tidewatch_cluster::market::{Demand, Quote};
use tidewatch_cluster::node::{Answer, Claim};
use tidewatch_cluster::parcel::Parcel;
use tidewatch_cluster::{Epoch, NodeId, Seat};

use super::Process;
use crate::cluster::town::{Asked, FromBroker, Place, Town};

impl Process {
    /// A node reports its demand to the till.
    pub(in crate::cluster) fn heard_report(&mut self, demand: Demand, town: &Town) {
        let local = self.local(town);
        if let Some(till) = &mut self.till {
            till.hear(local, demand);
        }
    }

    /// How a write ended; unclear if the broker has not answered in time.
    pub(in crate::cluster) fn answered_by_broker(
        &mut self,
        asked: Asked,
        answer: Answer,
        town: &mut Town,
    ) {
        let local = self.local(town);
        match asked {
            Asked::Node(request) => {
                self.node.answered(local, request, answer);
                self.obey(town);
            }
            Asked::Till(write) => {
                if let Some(till) = &mut self.till {
                    till.written(local, write, answer);
                }
            }
        }
    }

    /// The broker answers.
    pub(in crate::cluster) fn told(&mut self, tell: FromBroker, town: &mut Town) {
        let local = self.local(town);
        match tell {
            FromBroker::Answered { asked, answer } => self.answered_by_broker(asked, answer, town),
            FromBroker::Manifest { partition, found } => {
                let found =
                    found.and_then(|(revision, bytes)| Some((revision, town.read(&bytes)?)));
                self.node.manifest_read(local, partition, found);
            }
            FromBroker::Quote { found } => {
                let found =
                    found.and_then(|(revision, bytes)| Some((revision, town.read(&bytes)?)));
                if let Some(till) = &mut self.till {
                    till.read(found);
                }
            }
            FromBroker::Watched { entries, seen } => {
                for (place, key, revision, bytes) in entries.iter() {
                    self.watched(*place, key, *revision, bytes, town);
                }
                self.seen = std::array::from_fn(|at| self.seen[at].max(seen[at]));
            }
            FromBroker::Acknowledged { from, epoch, number } => {
                if let Some(part) = self.parts.get_mut(&from).filter(|part| part.epoch == epoch) {
                    part.acknowledged(number);
                }
            }
            FromBroker::Messages { partition, epoch, messages } => {
                self.take(partition, epoch, &messages, town);
            }
        }
        self.obey(town);
    }

    fn take(&mut self, partition: u32, epoch: Epoch, messages: &[(u64, Vec<u8>)], town: &mut Town) {
        let local = self.local(town);
        for (sequence, bytes) in messages {
            let Some(parcel) = town.read::<Parcel>(bytes) else { continue };
            let Some(part) = self.parts.get_mut(&partition).filter(|part| part.epoch == epoch)
            else {
                return;
            };
            if part.take(*sequence, &parcel, local, &town.web) {
                town.judge.twice(town.now, partition, parcel.id);
            }
        }
    }

    fn watched(&mut self, place: Place, key: &str, revision: u64, bytes: &[u8], town: &mut Town) {
        let local = self.local(town);
        match place {
            Place::Members => {
                let node = u64::from_str_radix(key, 16).map(NodeId);
                if let (Ok(node), Some(member)) = (node, town.read::<Member>(bytes)) {
                    self.node.member_seen(local, revision, node, member);
                }
            }
            Place::Claims => {
                let (seat, claim) = (Seat::of_key(key), town.read::<Claim>(bytes));
                if let (Some(seat), Some(claim)) = (seat, claim) {
                    let before = self.node.owner_of(seat);
                    self.node.claim_seen(local, revision, seat, claim);
                    if seat == Seat::Price && self.node.owner_of(seat) != before {
                        self.purse.hurry(local);
                    }
                }
            }
            Place::Checkpoints => {
                if key == "quote"
                    && let Some(quote) = town.read::<Quote>(bytes)
                {
                    self.heard_quote(revision, &quote, town);
                }
            }
        }
        self.be_named(town);
    }

    fn heard_quote(&mut self, revision: u64, quote: &Quote, town: &mut Town) {
        let local = self.local(town);
        if self.purse.hear(local, self.me, revision, quote).is_some() {
            self.confess(town);
            self.spread(local);
        }
    }
}
