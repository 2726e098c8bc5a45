//! A steady clock, and until when a node may act by it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidewatch_core::Time;

/// Time since the process started; never set, never back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady(Instant);

impl Steady {
    pub(crate) fn start() -> Steady {
        // So that nothing happens at time zero.
        Steady(Instant::now().checked_sub(Duration::from_secs(1)).unwrap_or_else(Instant::now))
    }

    pub(crate) fn now(self) -> Time {
        Time::from_micros(self.0.elapsed().as_micros() as u64)
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.0 + Duration::from_micros(time.as_micros())
    }
}

/// Whether a partition may act now: it is open, and the node's lease is good.
#[derive(Debug, Default)]
pub(crate) struct Licence {
    is_closed: AtomicBool,
    lease_ends: AtomicU64,
}

impl Licence {
    /// The lease ends then, unless it is renewed.
    pub(crate) fn set_end(&self, end: Time) {
        self.lease_ends.store(end.as_micros(), Ordering::Relaxed);
    }

    /// The partition belongs to somebody else now.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Until when the partition may act; `None` if it may not.
    pub(crate) fn until(&self, now: Time) -> Option<Time> {
        let end = Time::from_micros(self.lease_ends.load(Ordering::Relaxed));
        (!self.is_closed() && end > now).then_some(end)
    }
}
