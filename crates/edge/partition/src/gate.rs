//! One request at a time to an address, and a gap after it, across all partitions of a process.
//!
//! Inside a partition the frontier keeps this. Two partitions may own hosts of one address, so there each
//! request passes this gate as well. It is passed before the request begins: time spent waiting here does
//! not count as the server's slowness.
//!
//! Where partitions of other processes own hosts of the same address, a request also needs a slot
//! ([`Slots`]). No slot, no request.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// Beyond this many addresses, those that no request waits for are evicted.
const MOST_LANES: usize = 50_000;

/// Until when requests may begin; `None` if this process must not make any.
pub type Slot = Pin<Box<dyn Future<Output = Option<Instant>> + Send>>;

/// Hands out times in which this process alone may make requests to an address.
pub trait Slots: Send + Sync {
    /// Waits until this process may make requests to `address`.
    fn take(&self, address: IpAddr) -> Slot;
    /// The same, while a request to `address` is under way.
    fn keep(&self, address: IpAddr) -> Slot;
}

/// A slot is renewed when less than this remains and a request is under way.
const PROLONG: Duration = Duration::from_secs(4);

/// An address that a partition makes requests to.
struct Lane {
    /// When it opens again.
    opens: Instant,
    /// Until when this process may begin requests, where it needs a slot.
    slot: Option<Instant>,
}

/// Locked while a request is under way.
type Shared = Arc<tokio::sync::Mutex<Lane>>;

/// The gate that all partitions of a process share.
pub struct AddressGate {
    gap: Duration,
    slots: Option<Arc<dyn Slots>>,
    lanes: Mutex<FxHashMap<IpAddr, Shared>>,
}

impl AddressGate {
    /// Keeps `gap` between the end of a request to an address and the beginning of the next.
    pub fn new(gap: Duration) -> AddressGate {
        AddressGate { gap, slots: None, lanes: Mutex::default() }
    }

    /// The same, for a process that shares addresses with others.
    pub fn with_slots(gap: Duration, slots: Arc<dyn Slots>) -> AddressGate {
        AddressGate { slots: Some(slots), ..AddressGate::new(gap) }
    }

    /// Makes a request to `address` when its turn has come; `None` if it must not be made.
    pub(crate) async fn pass<T>(
        &self,
        address: IpAddr,
        request: impl Future<Output = T>,
    ) -> Option<T> {
        let lane = self.lane(address);
        let mut lane = lane.lock().await;
        tokio::time::sleep_until(lane.opens.into()).await;
        if let Some(slots) = &self.slots {
            while lane.slot.is_none_or(|until| until <= Instant::now()) {
                lane.slot = Some(slots.take(address).await?);
            }
        }
        let done = self.within_slot(address, &mut lane, request).await?;
        lane.opens = Instant::now() + self.gap;
        Some(done)
    }

    /// Makes a request, which is broken off when its slot ends and cannot be prolonged.
    async fn within_slot<T>(
        &self,
        address: IpAddr,
        lane: &mut Lane,
        request: impl Future<Output = T>,
    ) -> Option<T> {
        let (Some(slots), Some(mut until)) = (&self.slots, lane.slot) else {
            return Some(request.await);
        };
        let mut request = std::pin::pin!(request);
        loop {
            let soon = until.checked_sub(PROLONG).unwrap_or(until);
            if let Ok(done) = tokio::time::timeout_at(soon.into(), &mut request).await {
                return Some(done);
            }
            let longer = tokio::time::timeout_at(until.into(), slots.keep(address));
            tokio::select! {
                done = &mut request => return Some(done),
                longer = longer => until = longer.ok().flatten()?,
            }
            lane.slot = Some(until);
        }
    }

    fn lane(&self, address: IpAddr) -> Shared {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if lanes.len() >= MOST_LANES {
            let is_used = |lane: &Shared| lane.try_lock().map_or(true, |lane| lane.opens > now);
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1 || is_used(lane));
        }
        let fresh = || Arc::new(tokio::sync::Mutex::new(Lane { opens: now, slot: None }));
        Arc::clone(lanes.entry(address).or_insert_with(fresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_to_one_address_keep_their_gap_and_others_do_not_wait() {
        const GAP: Duration = Duration::from_millis(50);
        let gate = AddressGate::new(GAP);
        let (one, other) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let began = Instant::now();
        let ask = || async { (Instant::now(), Instant::now()) };
        let (a, b, c) =
            tokio::join!(gate.pass(one, ask()), gate.pass(one, ask()), gate.pass(other, ask()));
        let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
        let (first, second) = if a.0 < b.0 { (a, b) } else { (b, a) };
        assert!(second.0.duration_since(first.1) >= GAP);
        assert!(c.0.duration_since(began) < GAP, "another address need not wait");
    }

    /// Gives one slot, and then none.
    struct OneSlot(Mutex<Option<Instant>>);

    impl Slots for OneSlot {
        fn take(&self, _: IpAddr) -> Slot {
            let until = self.0.lock().unwrap().take();
            Box::pin(async move { until })
        }

        fn keep(&self, _: IpAddr) -> Slot {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn without_a_slot_there_is_no_request() {
        let address = [192, 0, 2, 1].into();
        let slots = OneSlot(Mutex::new(Some(Instant::now() + Duration::from_millis(40))));
        let gate = AddressGate::with_slots(Duration::from_millis(25), Arc::new(slots));
        assert!(gate.pass(address, async {}).await.is_some());
        assert!(gate.pass(address, async {}).await.is_some(), "the slot still holds");
        let late = gate.pass(address, async { panic!("no slot, no request") });
        assert!(late.await.is_none());
        let slots = OneSlot(Mutex::new(Some(Instant::now() + Duration::from_millis(40))));
        let gate = AddressGate::with_slots(Duration::ZERO, Arc::new(slots));
        let endless = gate.pass(address, std::future::pending::<()>());
        assert!(endless.await.is_none(), "a request ends with its slot");
    }
}
