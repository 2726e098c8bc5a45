//! Asks the desks of addresses for slots.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::Client;
use tidewatch_cluster::desk::{Ask, Asker, Reply, Slots as Held};
use tidewatch_cluster::place::desk;
use tidewatch_cluster::wire::{self, Crawl};
use tidewatch_core::Time;
use tidewatch_partition::{Slot, Slots};

use crate::clock::{Licence, Steady};

/// How long a desk may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often to look whether there is a slot.
const LOOK: Duration = Duration::from_millis(100);

/// The subject of the questions to a partition's desk.
pub(crate) fn subject(partition: u32) -> String {
    format!("tidewatch.ask.{partition}")
}

/// The slots of one partition, as long as it is open here.
#[derive(Clone)]
pub(crate) struct DeskSlots(Arc<Inner>);

struct Inner {
    crawl: Crawl,
    /// How many partitions there are.
    count: u32,
    client: Client,
    clock: Steady,
    licence: Arc<Licence>,
    held: Mutex<Held>,
}

impl DeskSlots {
    pub(crate) fn new(
        crawl: Crawl,
        count: u32,
        me: Asker,
        client: Client,
        clock: Steady,
        licence: Arc<Licence>,
    ) -> DeskSlots {
        let held = Mutex::new(Held::new(me));
        DeskSlots(Arc::new(Inner { crawl, count, client, clock, licence, held }))
    }
}

impl Inner {
    fn with<T>(&self, act: impl FnOnce(&mut Held) -> T) -> T {
        act(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for a slot that lasts beyond `beyond`.
    async fn wait(&self, address: IpAddr, is_busy: bool, beyond: Time) -> Option<Instant> {
        while !self.licence.is_closed() {
            let now = self.clock.now();
            let slot = self.with(|held| held.until(now, address));
            if let Some(until) = slot.filter(|until| *until > beyond)
                && let Some(lease) = self.licence.until(now)
            {
                return Some(self.clock.instant(until.min(lease)));
            }
            match self.with(|held| held.question(now, address, is_busy)) {
                Some(ask) => self.ask(ask).await,
                None => tokio::time::sleep(LOOK).await,
            }
        }
        None
    }

    async fn ask(&self, ask: Ask) {
        let bytes = wire::encode(self.crawl, &ask).into();
        let subject = subject(desk(ask.address, self.count));
        let answer = tokio::time::timeout(PATIENCE, self.client.request(subject, bytes)).await;
        if let Ok(Ok(answer)) = answer
            && let Ok(reply) = wire::decode::<Reply>(self.crawl, &answer.payload)
        {
            let now = self.clock.now();
            self.with(|held| held.replied(now, ask.address, ask.number, reply));
        } else {
            // The desk is about to move, or the brokers elect a leader.
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Slots for DeskSlots {
    fn take(&self, address: IpAddr) -> Slot {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { inner.wait(address, false, Time::ZERO).await })
    }

    fn keep(&self, address: IpAddr) -> Slot {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let now = inner.clock.now();
            let until = inner.with(|held| held.until(now, address))?;
            inner.wait(address, true, until).await
        })
    }
}
