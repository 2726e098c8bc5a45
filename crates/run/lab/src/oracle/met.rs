//! What every oracle keeps: page numbers of the trace, and coming changes.

use tidewatch_core::{Discovery, HostId, PageId, Time};
use tidewatch_policy::{Agenda, Highest};

use crate::world::World;

/// The frontier's page numbers beside the trace's.
pub(super) struct Met {
    pages: Vec<u32>,
    ids: Vec<Option<(PageId, HostId)>>,
}

impl Met {
    pub(super) fn new(world: &World) -> Self {
        Met { pages: Vec::new(), ids: vec![None; world.len()] }
    }

    /// Records a page that became known; returns its number in the trace.
    pub(super) fn meet(&mut self, world: &World, found: &Discovery<'_>) -> u32 {
        let page = world.page_of(found.key).expect("events name pages of the world");
        self.pages.push(page);
        self.ids[page as usize] = Some((found.page, found.host));
        page
    }

    /// The trace's number of a page that was met.
    pub(super) fn page(&self, id: PageId) -> u32 {
        self.pages[id.index()]
    }

    /// Puts a page of the trace on the agenda if it is known and its value is above zero.
    pub(super) fn enter(&self, page: u32, value: f64, agenda: &mut Agenda<Highest>) {
        if let Some((id, host)) = self.ids[page as usize].filter(|_| value > 0.0) {
            agenda.push(Highest(value), host, id);
        }
    }
}

/// Coming changes of pages, by time.
pub(super) struct Upcoming(Vec<(Time, u32)>);

impl Upcoming {
    /// Takes (time, page) in any order; duplicates count once.
    pub(super) fn new(happenings: impl Iterator<Item = (Time, u32)>) -> Self {
        let mut all: Vec<_> = happenings.collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.dedup();
        Upcoming(all)
    }

    /// Removes and returns the next change by `now`.
    pub(super) fn next_by(&mut self, now: Time) -> Option<(Time, u32)> {
        self.0.pop_if(|(at, _)| *at <= now)
    }
}
