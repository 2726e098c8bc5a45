//! One request at a time to an address, and a gap after it, across all partitions of a process.
//!
//! Inside a partition the frontier keeps this. Two partitions may own hosts of one address, so there each
//! request passes this gate as well. It is passed before the request begins: time spent waiting here does
//! not count as the server's slowness.

use std::future::Future;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// Beyond this many addresses, those that no request waits for are evicted.
const MOST_LANES: usize = 50_000;

/// When the address opens again; locked while a request is under way.
type Lane = Arc<tokio::sync::Mutex<Instant>>;

/// The gate that all partitions of a process share.
pub(crate) struct AddressGate {
    gap: Duration,
    lanes: Mutex<FxHashMap<IpAddr, Lane>>,
}

impl AddressGate {
    /// Keeps `gap` between the end of a request to an address and the beginning of the next.
    pub(crate) fn new(gap: Duration) -> AddressGate {
        AddressGate { gap, lanes: Mutex::default() }
    }

    /// Makes a request to `address` when its turn has come.
    pub(crate) async fn pass<T>(&self, address: IpAddr, request: impl Future<Output = T>) -> T {
        let lane = self.lane(address);
        let mut opens = lane.lock().await;
        tokio::time::sleep_until((*opens).into()).await;
        let done = request.await;
        *opens = Instant::now() + self.gap;
        done
    }

    fn lane(&self, address: IpAddr) -> Lane {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() >= MOST_LANES {
            let now = Instant::now();
            let is_used = |lane: &Lane| lane.try_lock().map_or(true, |opens| *opens > now);
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1 || is_used(lane));
        }
        Arc::clone(
            lanes
                .entry(address)
                .or_insert_with(|| Arc::new(tokio::sync::Mutex::new(Instant::now()))),
        )
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
        let (first, second) = if a.0 < b.0 { (a, b) } else { (b, a) };
        assert!(second.0.duration_since(first.1) >= GAP);
        assert!(c.0.duration_since(began) < GAP, "another address need not wait");
    }
}
