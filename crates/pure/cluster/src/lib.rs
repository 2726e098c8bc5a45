//! Who owns which partition, and how do owners share links, price and addresses?
//!
//! The protocol of a cluster as state machines: events in, commands out, time as an argument. Nothing
//! here opens a connection, so the lab runs the same code on a virtual clock and a virtual broker.
//!
//! | module | question |
//! |---|---|
//! | [`place`] | Which node should own a partition? |
//! | [`lease`] | Is this node alive in the eyes of the others, and which of them are? |
//! | [`node`] | What does this node own, claim, hand over, checkpoint? |
//! | [`parcel`], [`popular`] | Which links were taken already, which need not be sent? |
//! | [`market`] | What is the price, and which node may spend how much? |
//! | [`desk`] | Who may send requests to an address now? |
//! | [`wire`] | What do these bytes say? |
//!
//! # What is promised
//!
//! The broker keeps what it has acknowledged, in one order for each bucket and stream, and a
//! compare-and-set succeeds at most once a revision. Messages may be lost, repeated and delayed at will,
//! nodes may pause or die at any moment, and clocks may show any time. Only the *pace* of monotonic
//! clocks matters: two nodes' seconds differ by less than a fifth. Then:
//!
//! 1. **One owner.** At no moment do two nodes act for a partition. A node acts only between a claim
//!    that it won by compare-and-set and the end of its lease, 30 s after it *sent* the last renewal
//!    that arrived. Others claim when its key has stood still for 45 s between two of their own sends.
//! 2. **Fence.** A checkpoint is accepted only from the last node that claimed the partition and wrote
//!    its epoch into the manifest. Even a node that wakes up after any pause cannot change it.
//! 3. **No link is lost or taken twice.** A parcel that the broker acknowledged is taken in exactly
//!    once by every line of its receiver's history: links, stream position and the set of taken numbers
//!    are one commit, the stream is cut only up to an accepted checkpoint, and a number is never
//!    given to two parcels, because every opening of a partition has a new epoch.
//! 4. **Politeness.** An address is used by one partition at a time, inside a slot that its desk
//!    granted, and stays unused for its gap between two slots. Hosts belong to a partition; whoever
//!    opens one treats its hosts as just asked.
//! 5. **One budget.** The grants in force never add up to more than the budget, whatever messages
//!    are lost: a grant is raised only by what others have confirmed to have given up.
//! 6. **One price.** Once all nodes have reported and messages arrive, the price is the one that
//!    clears the sum of the demand curves at the budget, times the controller's factor.
//! 7. **Progress.** Once faults have stopped, every partition has an owner within
//!    [`node::OWNED_WITHIN`].
//! 8. **Bounded.** Hostile bytes are refused with a reason; what a message makes a node keep is
//!    limited.
//!
//! What is not promised: a node that pauses between [`node::Node::may_act`] and the request it makes
//! then, for longer than the 15 s between the two ends of a lease, may send that one request beside the
//! new owner's. Fetches since the last checkpoint are made again if the disk is lost or another node
//! took over.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod desk;
pub mod lease;
pub mod market;
pub mod node;
pub mod parcel;
pub mod place;
pub mod popular;
pub mod wire;

use serde::{Deserialize, Serialize};

/// A node: one start of one process, drawn at random when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u64);

/// A data directory, which outlives the processes that use it; drawn at random when it is made. Only
/// one process uses it at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HomeId(pub u64);

/// The fencing token of an owner: the revision of its claim. It grows with every claim.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(pub u64);

/// What a node can claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Seat {
    /// A partition.
    Partition(u32),
    /// The office that clears the market.
    Price,
}

impl Seat {
    /// The key of its claim.
    pub fn key(self) -> String {
        match self {
            Seat::Partition(number) => format!("p.{number}"),
            Seat::Price => "price".to_owned(),
        }
    }

    /// The seat of a key; `None` if it is no such key.
    pub fn of_key(key: &str) -> Option<Seat> {
        if key == "price" {
            return Some(Seat::Price);
        }
        let number = key.strip_prefix("p.")?.parse().ok()?;
        Some(Seat::Partition(number)).filter(|seat| seat.key() == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_and_others_are_refused() {
        for seat in [Seat::Price, Seat::Partition(0), Seat::Partition(u32::MAX)] {
            assert_eq!(Seat::of_key(&seat.key()), Some(seat));
        }
        for bad in ["", "p", "p.", "p.01", "p.-1", "p.4294967296", "prices"] {
            assert_eq!(Seat::of_key(bad), None, "{bad}");
        }
    }
}
