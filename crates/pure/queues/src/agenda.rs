//! A crawl: its queues by key, and those that have something to give, in order.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Time};

use crate::figures::Figures;

/// A crawl.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Crawl {
    pub(crate) name: Box<str>,
    pub(crate) queues: BTreeMap<Box<str>, HostId>,
    pub(crate) figures: Figures,
    /// Queues by the time since when they have been open with something to give.
    order: BTreeSet<(Time, HostId)>,
}

impl Crawl {
    pub(crate) fn new(name: Box<str>) -> Self {
        let (queues, figures) = (BTreeMap::new(), Figures::default());
        Crawl { name, queues, figures, order: BTreeSet::new() }
    }

    /// Moves a queue from one place to another; [`Time::NEVER`] is none.
    pub(crate) fn place(&mut self, queue: HostId, from: Time, to: Time) {
        if from == to {
            return;
        }
        self.order.remove(&(from, queue));
        if to < Time::NEVER {
            self.order.insert((to, queue));
        }
    }

    /// The queue that comes first at `now`.
    pub(crate) fn first(&self, now: Time) -> Option<(Time, HostId)> {
        self.order.first().copied().filter(|&(at, _)| at <= now)
    }

    /// Forgets all queues.
    pub(crate) fn clear(&mut self) {
        *self = Crawl::new(std::mem::take(&mut self.name));
    }
}
