//! Orders of a node to the thread of a partition, and the figures that the thread shows.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tidewatch_core::Time;
use tidewatch_partition::{Status, Stop};

use crate::clock::Licence;

/// Why a partition's run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// It goes on.
    Run = 0,
    /// To be checkpointed, and then to go on.
    Checkpoint = 1,
    /// To be checkpointed and given to another node.
    Drain = 2,
    /// At once: another node may own it.
    Close = 3,
}

impl Order {
    const fn of(number: u8) -> Order {
        match number {
            1 => Order::Checkpoint,
            2 => Order::Drain,
            3 => Order::Close,
            _ => Order::Run,
        }
    }
}

/// Controls one opening of a partition. A later order never weakens an earlier one.
#[derive(Clone, Default)]
pub(crate) struct Control(Arc<Inner>);

#[derive(Default)]
struct Inner {
    licence: Arc<Licence>,
    stop: Stop,
    order: AtomicU8,
    is_uploading: AtomicBool,
    status: Mutex<Option<Status>>,
}

impl Control {
    /// Whether the partition may act.
    pub(crate) fn licence(&self) -> &Arc<Licence> {
        &self.0.licence
    }

    /// When its run ends.
    pub(crate) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Gives an order.
    pub(crate) fn give(&self, order: Order) {
        if self.0.order.fetch_max(order as u8, Ordering::AcqRel) < order as u8 {
            self.0.stop.flag.store(true, Ordering::Relaxed);
        }
    }

    /// Stops everything at once.
    pub(crate) fn close(&self) {
        self.licence().close();
        self.give(Order::Close);
    }

    /// The order in force.
    pub(crate) fn order(&self) -> Order {
        Order::of(self.0.order.load(Ordering::Acquire))
    }

    /// A checkpoint was taken: goes on if nothing else was ordered. Returns the order in force.
    pub(crate) fn go_on(&self) -> Order {
        // The flag first: an order that comes in between sets it again.
        self.0.stop.flag.store(false, Ordering::Relaxed);
        let (was, next) = (Order::Checkpoint as u8, Order::Run as u8);
        let changed = self.0.order.compare_exchange(was, next, Ordering::AcqRel, Ordering::Acquire);
        Order::of(changed.map_or_else(|other| other, |_| next))
    }

    /// Whether a checkpoint is on its way to the store while the partition goes on.
    pub(crate) fn is_uploading(&self) -> bool {
        self.0.is_uploading.load(Ordering::Acquire)
    }

    /// An upload begins, and ends when the result is dropped.
    pub(crate) fn uploading(&self) -> Uploading {
        self.0.is_uploading.store(true, Ordering::Release);
        Uploading(self.clone())
    }

    /// Until when the node's lease lasts, and whether requests may begin.
    pub(crate) fn set_lease(&self, ends: Time, is_active: bool) {
        self.licence().set_end(ends);
        self.0.stop.hold.store(!is_active, Ordering::Relaxed);
    }

    /// Shows figures.
    pub(crate) fn show(&self, status: Status) {
        *self.0.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    /// The figures shown last.
    pub(crate) fn status(&self) -> Option<Status> {
        self.0.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An upload that is under way.
pub(crate) struct Uploading(Control);

impl Drop for Uploading {
    fn drop(&mut self) {
        self.0.0.is_uploading.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_never_weakened_and_a_checkpoint_ends() {
        let control = Control::default();
        let is_stopped = || control.stop().flag.load(Ordering::Relaxed);
        control.give(Order::Checkpoint);
        assert!(is_stopped() && control.order() == Order::Checkpoint);
        assert!(control.go_on() == Order::Run && !is_stopped());
        control.give(Order::Drain);
        control.give(Order::Checkpoint);
        assert!(control.go_on() == Order::Drain);
        let uploading = control.uploading();
        assert!(control.is_uploading());
        drop(uploading);
        assert!(!control.is_uploading());
        control.close();
        assert!(control.order() == Order::Close && control.licence().is_closed() && is_stopped());
    }
}
