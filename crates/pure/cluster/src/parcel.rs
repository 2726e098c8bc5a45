//! Which links were taken already?
//!
//! # The life of a parcel
//!
//! A fetch finds links to hosts of another partition. Fetch and links are one commit: the links wait in
//! the *outbox*, under a [`ParcelNumber`] that is kept with them. After the sync the parcel is published,
//! and deleted from the outbox when the broker has acknowledged it. It may be published several times, by
//! several owners of the partition, always under its number.
//!
//! The receiver reads its stream in order, and commits the links, the stream position and the numbers
//! taken ([`Inbox`]) as one. After a return to a checkpoint it reads on from the position there.
//!
//! # Invariants
//!
//! - **A number names one parcel.** It begins with the epoch, and every opening of a partition has a new
//!   one. So numbers need not be kept: what a crash or a return to a checkpoint has forgotten is
//!   counted again under another epoch.
//! - **Taken once.** A number below [`Parcel::oldest`] was acknowledged before the message that says so was
//!   published, hence stands before it in the stream; a second time is a repeat. The others are kept as
//!   ranges.
//! - A parcel of an owner that was deposed may be refused for that reason only if the fetch that found its
//!   links is not part of the partition's history: otherwise its row would be in the outbox of the owner
//!   that named `oldest`. That fetch is made again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidewatch_core::PageKey;

use crate::Epoch;

/// The number of a parcel within its sender: the epoch in the upper half, a count in the lower.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ParcelNumber(pub u64);

impl ParcelNumber {
    /// The `count`th parcel of an epoch, counted from 1. `None` if a number is too large: then the
    /// partition must be opened anew.
    pub fn new(epoch: Epoch, count: u64) -> Option<ParcelNumber> {
        let (epoch, count) = (u32::try_from(epoch.0).ok()?, u32::try_from(count).ok()?);
        Some(ParcelNumber(u64::from(epoch) << 32 | u64::from(count)))
    }

    /// The epoch of the owner that packed it.
    pub const fn epoch(self) -> Epoch {
        Epoch(self.0 >> 32)
    }
}

/// Identifies a parcel in the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ParcelId {
    /// The partition that found the links.
    pub from: u32,
    /// Its number there.
    pub number: ParcelNumber,
}

impl ParcelId {
    /// The id by which the broker recognises a message that is published again.
    pub fn message_id(self) -> String {
        format!("{}-{:x}", self.from, self.number.0)
    }
}

/// A link on its way to the owner of its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The canonical URL.
    pub url: String,
    /// Links from a seed.
    pub depth: u16,
    /// Redirects on the way to this address, as the store writes them.
    pub hops: u8,
    /// Whether it is watched for new links.
    pub is_source: bool,
    /// The URL of the page that shows it.
    pub via: Option<String>,
}

/// What is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// Its identity.
    pub id: ParcelId,
    /// The lowest number in the sender's outbox when this was published.
    pub oldest: ParcelNumber,
    /// New links.
    pub links: Vec<Link>,
    /// How many more links there were to pages that were sent before.
    pub counts: Vec<(PageKey, u32)>,
}

/// Whether a parcel is to be taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is new: take it in, in the same commit as the inbox.
    New,
    /// It was taken before.
    Repeat,
}

/// What a partition has taken from its stream. Part of its durable state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    position: u64,
    senders: BTreeMap<u32, Numbers>,
}

/// The numbers taken from one sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Numbers {
    /// All below were taken, or will never have to be.
    floor: ParcelNumber,
    /// Ranges above, as first → last.
    ranges: BTreeMap<u64, u64>,
}

impl Inbox {
    /// The last message that was taken in; read on behind it.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// A message of the stream was read; says whether its parcel is new. Messages at or before the
    /// position were read before and are repeats, whatever they hold.
    pub fn take(&mut self, sequence: u64, id: ParcelId, oldest: ParcelNumber) -> Taken {
        if sequence <= self.position {
            return Taken::Repeat;
        }
        self.position = sequence;
        let numbers = self.senders.entry(id.from).or_default();
        let is_new = numbers.insert(id.number);
        numbers.raise(oldest.min(id.number));
        if is_new { Taken::New } else { Taken::Repeat }
    }

    /// A message that holds no parcel was read: passes over it.
    pub fn pass(&mut self, sequence: u64) {
        self.position = self.position.max(sequence);
    }

    /// Ranges that are kept, for tests and figures.
    pub fn ranges(&self) -> usize {
        self.senders.values().map(|numbers| numbers.ranges.len()).sum()
    }
}

impl Numbers {
    /// Adds a number; `false` if it is there.
    fn insert(&mut self, number: ParcelNumber) -> bool {
        let n = number.0;
        let before = self.ranges.range(..=n).next_back().map(|(first, last)| (*first, *last));
        if number < self.floor || before.is_some_and(|(_, last)| last >= n) {
            return false;
        }
        let first = before.filter(|(_, last)| last + 1 == n).map_or(n, |(first, _)| first);
        let after = n.checked_add(1).and_then(|next| self.ranges.remove(&next));
        self.ranges.insert(first, after.unwrap_or(n));
        true
    }

    /// Everything below `oldest` was taken or will never have to be.
    fn raise(&mut self, oldest: ParcelNumber) {
        self.floor = self.floor.max(oldest);
        while let Some(entry) = self.ranges.first_entry() {
            if *entry.get() >= self.floor.0 {
                break;
            }
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn number(epoch: u64, count: u64) -> ParcelNumber {
        ParcelNumber::new(Epoch(epoch), count).expect("small")
    }

    fn id(epoch: u64, count: u64) -> ParcelId {
        ParcelId { from: 3, number: number(epoch, count) }
    }

    #[test]
    fn numbers_order_by_epoch_first_and_have_an_end() {
        assert!(number(1, 900) < number(2, 1));
        assert_eq!(number(7, 9).epoch(), Epoch(7));
        assert_eq!(ParcelNumber::new(Epoch(1 << 32), 1), None);
        assert_eq!(ParcelNumber::new(Epoch(1), 1 << 32), None);
        assert_eq!(id(1, 2).message_id(), "3-100000002");
    }

    #[test]
    fn a_parcel_sent_again_by_a_later_owner_is_a_repeat() {
        let mut inbox = Inbox::default();
        let none = ParcelNumber::default();
        assert_eq!(inbox.take(5, id(1, 1), none), Taken::New);
        assert_eq!(inbox.take(9, id(1, 2), none), Taken::New);
        // The next owner found both in the outbox of its checkpoint.
        assert_eq!(inbox.take(12, id(1, 2), none), Taken::Repeat);
        assert_eq!(inbox.take(13, id(2, 1), none), Taken::New);
        assert_eq!(inbox.take(13, id(2, 2), none), Taken::Repeat, "the same message again");
        inbox.pass(20);
        inbox.pass(15);
        assert_eq!(inbox.position(), 20);
    }

    #[test]
    fn what_was_acknowledged_is_forgotten_and_still_a_repeat() {
        let mut inbox = Inbox::default();
        for count in [1, 3, 5, 7] {
            inbox.take(count, id(1, count), number(1, 1));
        }
        assert_eq!(inbox.ranges(), 4);
        assert_eq!(inbox.take(20, id(2, 1), number(2, 1)), Taken::New);
        assert_eq!(inbox.ranges(), 1);
        assert_eq!(inbox.take(21, id(1, 5), number(1, 1)), Taken::Repeat);
        // A sender that names something younger than its own parcel is not believed.
        assert_eq!(inbox.take(22, id(2, 2), number(9, 9)), Taken::New);
        assert_eq!(inbox.take(23, id(2, 3), number(9, 9)), Taken::New);
    }

    proptest! {
        /// The slow way: a set of all numbers ever taken.
        #[test]
        fn ranges_are_a_set(parcels in proptest::collection::vec((1u64..4, 1u64..30), 0..200)) {
            let (mut inbox, mut all) = (Inbox::default(), BTreeSet::new());
            for (sequence, (epoch, count)) in (1..).zip(parcels) {
                let is_new = all.insert((epoch, count));
                let taken = inbox.take(sequence, id(epoch, count), ParcelNumber::default());
                prop_assert_eq!(taken == Taken::New, is_new);
            }
            prop_assert!(inbox.ranges() <= all.len());
        }

        #[test]
        fn no_number_panics(numbers in proptest::collection::vec(any::<(u64, u64)>(), 0..50)) {
            let mut inbox = Inbox::default();
            for (sequence, (number, oldest)) in (1..).zip(numbers) {
                let id = ParcelId { from: 0, number: ParcelNumber(number) };
                inbox.take(sequence, id, ParcelNumber(oldest));
                inbox.take(u64::MAX - 1, ParcelId { from: 1, number: ParcelNumber(u64::MAX) }, ParcelNumber(0));
            }
        }
    }
}
