//! Visits at fixed intervals.

use rustc_hash::FxHashMap;
use tidewatch_core::{Event, HostId, Outcome, PageId, PageKey, Span, Time};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_policy::{Agenda, Choice, Gate, Policy};

const PHASE: u64 = purpose("timed.phase");

/// Visits each page at its own interval, starting at a random phase of it.
///
/// When visits fall together the one due first goes first, so a budget equal
/// to the sum of the rates keeps every page near its schedule.
pub struct Timed {
    seed: u64,
    intervals: FxHashMap<PageKey, Span>,
    pages: Vec<(HostId, Span)>,
    due: Agenda<(Time, u32)>,
    /// The last visit of each page by its schedule.
    ideal: Vec<Time>,
}

impl Timed {
    /// Visits each page of `intervals`, and no other.
    pub fn new(intervals: FxHashMap<PageKey, Span>, seed: u64) -> Self {
        let (pages, ideal) = (Vec::new(), Vec::new());
        Timed { seed, intervals, pages, due: Agenda::default(), ideal }
    }

    fn enqueue(&mut self, page: PageId, at: Time) {
        if at != Time::NEVER {
            self.ideal[page.index()] = at;
            self.due.push((at, page.0), self.pages[page.index()].0, page);
        }
    }
}

impl Policy for Timed {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                let interval = self.intervals.get(&found.key).copied().unwrap_or(Span::FOREVER);
                self.pages.push((found.host, interval));
                self.ideal.push(Time::NEVER);
                let share = Draws::keyed(self.seed, PHASE, found.key.0).uniform_open();
                let phase = Span::from_seconds(interval.seconds() * share);
                self.enqueue(found.page, found.at + phase.unwrap_or(Span::FOREVER));
            }
            Event::Fetched(seen) if seen.outcome != Outcome::Gone => {
                let next = self.ideal[seen.page.index()] + self.pages[seen.page.index()].1;
                self.enqueue(seen.page, next);
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let due = self.due.pop_if(now, gate, |(due, _)| due <= now);
        due.map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }
}
