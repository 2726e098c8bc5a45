//! Commands of a node to its caller, and the values that the broker keeps.

use serde::{Deserialize, Serialize};

use crate::lease::Member;
use crate::{Epoch, HomeId, NodeId, Seat};

/// Who owns a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The node.
    pub node: NodeId,
    /// Its directory.
    pub home: HomeId,
}

/// The value of a claim. Its revision is the owner's epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The owner; `None` after it was released.
    pub owner: Option<Owner>,
    /// For whom it was released.
    pub to: Option<HomeId>,
    /// An operator has put it there: it stays until that home is gone or the operator moves it again.
    pub is_given: bool,
}

/// A checkpoint of a partition, as the fence keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The owner that wrote it last, at its opening or with a checkpoint.
    pub epoch: Epoch,
    /// Its directory.
    pub home: Option<HomeId>,
    /// The first epoch of that directory since another one had the partition.
    pub since: Epoch,
    /// The last message of the partition's links that the checkpoint has taken in.
    pub position: u64,
    /// Where the files are; `None` if there was no checkpoint yet.
    pub object: Option<String>,
}

/// Epochs of one directory in a row. Nobody else has opened the partition in between, so the state of any of
/// them that is found there is the newest: a process that was killed between its claim and its opening
/// has left an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    first: Epoch,
    last: Epoch,
}

impl Line {
    /// Whether an epoch is one of them.
    pub fn has(self, epoch: Epoch) -> bool {
        (self.first..=self.last).contains(&epoch)
    }
}

impl Manifest {
    /// The manifest that the next owner writes at its opening.
    pub(super) fn taken_over(&self, epoch: Epoch, home: HomeId) -> Manifest {
        let since = if self.home == Some(home) { self.since } else { epoch };
        Manifest { epoch, home: Some(home), since, ..self.clone() }
    }

    /// The epochs whose state is the newest, if it is in the directory of `home`.
    pub(super) fn line(&self, home: HomeId) -> Option<Line> {
        let line = Line { first: self.since, last: self.epoch };
        (self.home == Some(home)).then_some(line)
    }
}

/// Identifies a request until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The broker has it, under this revision.
    Done(u64),
    /// The broker refused it: the key has another revision than expected.
    Refused,
    /// No answer in time. It may have happened, or may happen yet.
    Unknown,
}

/// A command to the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Write a node's key if its revision is `expected`; 0 if there must be none. It is this node's own
    /// key, to renew its lease, or that of a silent one, to bury it.
    Member {
        /// To be answered.
        request: RequestId,
        /// Whose key.
        node: NodeId,
        /// The revision that it must have.
        expected: u64,
        /// The new value.
        member: Member,
    },
    /// Write a claim if its revision is `expected`; 0 if there must be none.
    Claim {
        /// To be answered.
        request: RequestId,
        /// The seat to claim.
        seat: Seat,
        /// The revision that it must have.
        expected: u64,
        /// The new value.
        claim: Claim,
    },
    /// Read a partition's manifest and tell by [`super::Node::manifest_read`].
    ReadManifest {
        /// The partition.
        partition: u32,
    },
    /// Write a partition's manifest if its revision is `expected`; 0 if there must be none.
    PutManifest {
        /// To be answered.
        request: RequestId,
        /// The partition.
        partition: u32,
        /// The revision that it must have.
        expected: u64,
        /// The new value.
        manifest: Manifest,
    },
    /// Open a partition and tell by [`super::Node::opened`].
    Open {
        /// The partition.
        partition: u32,
        /// The epoch under which it acts.
        epoch: Epoch,
        /// The state on this node's disk is the newest if it has one of these epochs.
        local: Option<Line>,
        /// Otherwise the files to restore; `None` if there was no checkpoint.
        restore: Option<Manifest>,
    },
    /// Finish requests, checkpoint, and tell by [`super::Node::drained`].
    Drain {
        /// The partition.
        partition: u32,
    },
    /// Stop at once: abort requests, send nothing, and drop the partition. Another node may own it.
    Close {
        /// The partition.
        partition: u32,
    },
    /// A checkpoint was accepted: messages up to `position` may be deleted from the partition's links.
    Checkpointed {
        /// The partition.
        partition: u32,
        /// The last message that may be deleted.
        position: u64,
    },
    /// The price is cleared here from now on.
    PriceWon {
        /// The epoch for quotes.
        epoch: Epoch,
    },
    /// The price is cleared elsewhere from now on.
    PriceLost,
    /// Everything was handed over: the node has left.
    Left,
}
