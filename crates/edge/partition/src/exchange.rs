//! Links between partitions.
//!
//! # The life of a foreign link
//!
//! A fetch shows a link to a host that another partition owns. The link goes into the *outbox*, in the
//! same commit as the fetch. Once that is synced, [`Exchange::send`] delivers the parcel. The owner makes
//! its links known in its own commit, and after its own sync [`Exchange::acknowledge`]s the parcel;
//! then the sender deletes it. Whatever stops when, a parcel is delivered at least once, and a second
//! time is harmless: its links are known already.
//!
//! [`InProcess`] joins partitions of one process. A cluster's exchange is a replicated log: a parcel is
//! acknowledged once the log holds it, and the receiver commits its position in the log together with the
//! links, so that it takes every parcel in once.

use std::sync::Mutex;

use tidewatch_store::{Parcel, SentLink};

/// Identifies a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The partition that sent it.
    pub from: u32,
    /// Its number in that partition's outbox.
    pub number: u64,
}

/// A parcel as its receiver gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// What to acknowledge.
    pub receipt: Receipt,
    /// How far the receiver has read once it has taken this in, in the exchange's own encoding. The
    /// receiver commits it with the links and goes on after it ([`Exchange::resume`]). Of deliveries
    /// that are received together, the last one carries it.
    pub mark: Option<Vec<u8>>,
    /// Links to hosts of the receiver.
    pub links: Vec<SentLink>,
}

/// How partitions hand links to each other.
pub trait Exchange: Send + Sync {
    /// A partition begins to receive. It has committed every parcel up to `mark`, if it has any.
    fn resume(&self, _to: u32, _mark: Option<Vec<u8>>) {}
    /// Delivers a parcel to `parcel.to`, now or later. May be called again with the same parcel.
    fn send(&self, receipt: Receipt, parcel: Parcel);
    /// Takes the parcels that wait for a partition.
    fn receive(&self, to: u32) -> Vec<Delivery>;
    /// Tells the sender that the receiver has synced a parcel's links.
    fn acknowledge(&self, receipt: Receipt);
    /// Takes the numbers of a partition's parcels that were acknowledged.
    fn acknowledged(&self, from: u32) -> Vec<u64>;
}

/// An exchange between the partitions of one process.
#[derive(Default)]
pub struct InProcess {
    boxes: Mutex<Vec<Mailbox>>,
}

#[derive(Default)]
struct Mailbox {
    parcels: Vec<Delivery>,
    acknowledged: Vec<u64>,
}

impl InProcess {
    fn with<T>(&self, partition: u32, act: impl FnOnce(&mut Mailbox) -> T) -> T {
        // A thread that panicked left each box whole.
        let mut boxes = self.boxes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = partition as usize;
        if boxes.len() <= at {
            boxes.resize_with(at + 1, Mailbox::default);
        }
        act(&mut boxes[at])
    }
}

impl Exchange for InProcess {
    fn send(&self, receipt: Receipt, parcel: Parcel) {
        let delivery = Delivery { receipt, mark: None, links: parcel.links };
        self.with(parcel.to, |mailbox| mailbox.parcels.push(delivery));
    }

    fn receive(&self, to: u32) -> Vec<Delivery> {
        self.with(to, |mailbox| std::mem::take(&mut mailbox.parcels))
    }

    fn acknowledge(&self, receipt: Receipt) {
        self.with(receipt.from, |mailbox| mailbox.acknowledged.push(receipt.number));
    }

    fn acknowledged(&self, from: u32) -> Vec<u64> {
        self.with(from, |mailbox| std::mem::take(&mut mailbox.acknowledged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_reaches_its_owner_and_its_receipt_the_sender() {
        let exchange = InProcess::default();
        let receipt = Receipt { from: 2, number: 7 };
        exchange.send(receipt, Parcel { to: 0, links: Vec::new() });
        assert!(exchange.receive(1).is_empty());
        assert_eq!(exchange.receive(0), [Delivery { receipt, mark: None, links: Vec::new() }]);
        assert!(exchange.receive(0).is_empty() && exchange.acknowledged(2).is_empty());
        exchange.acknowledge(receipt);
        assert_eq!(exchange.acknowledged(2), [7]);
    }
}
