//! Sources by how far they are behind: which is next?
//!
//! Every source has a pace; how far it is behind is the time since its last visit times its pace.
//! With pace 1/Iᵢ that is "elapsed over interval", with λᵢPᵢ the expected profit of a visit. The order
//! of two sources changes as time passes, so there is no queue that keeps it; the sources with a pace
//! (a third of all, under Algorithm 1) are scanned. When none is due, the next due time is kept, and
//! there is no scan before it.

use tidewatch_core::{HostId, PageId, Time};

use crate::Gate;

/// The sources that are watched, each by its number.
#[derive(Debug, Default)]
pub(super) struct Watch {
    rows: Vec<Row>,
    /// Where each source stands in `rows`, plus one; 0 for nowhere.
    places: Vec<u32>,
    /// No source is due before this time, in seconds.
    quiet_until: f64,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    pace: f64,
    last: f64,
    source: u32,
    host: HostId,
    page: PageId,
}

impl Watch {
    /// Forgets all sources and makes room for `sources`.
    pub(super) fn clear(&mut self, sources: usize) {
        self.rows.clear();
        self.places.clear();
        self.places.resize(sources, 0);
        self.quiet_until = 0.0;
    }

    /// Watches a source at a pace above zero.
    pub(super) fn add(
        &mut self,
        source: u32,
        (host, page): (HostId, PageId),
        pace: f64,
        last: Time,
    ) {
        self.rows.push(Row { pace, last: last.seconds(), source, host, page });
        self.places[source as usize] = self.rows.len() as u32;
    }

    pub(super) fn has(&self, source: u32) -> bool {
        self.places.get(source as usize).is_some_and(|&place| place > 0)
    }

    /// The pace of a source that is watched.
    pub(super) fn pace(&self, source: u32) -> Option<f64> {
        let place = *self.places.get(source as usize)?;
        let row = self.rows.get(place.checked_sub(1)? as usize)?;
        Some(row.pace).filter(|pace| *pace > 0.0)
    }

    /// A source was visited, or is about to be.
    pub(super) fn visited(&mut self, source: u32, at: Time) {
        if let Some(&place) = self.places.get(source as usize).filter(|place| **place > 0) {
            let row = &mut self.rows[place as usize - 1];
            row.last = at.seconds();
            self.quiet_until = self.quiet_until.min(row.last + row.pace.recip());
        }
    }

    /// Sets the pace of a source.
    pub(super) fn set_pace(&mut self, source: u32, pace: f64) {
        if let Some(&place) = self.places.get(source as usize).filter(|place| **place > 0) {
            self.rows[place as usize - 1].pace = pace;
            self.quiet_until = 0.0;
        }
    }

    /// Stops visiting a source.
    pub(super) fn drop(&mut self, source: u32) {
        self.set_pace(source, 0.0);
    }

    /// The source furthest behind among those that may be fetched, if it is behind by more than `least`.
    pub(super) fn furthest(&self, now: Time, gate: &dyn Gate, least: f64) -> Option<u32> {
        let (time, mut best, mut found) = (now.seconds(), least, None);
        for row in &self.rows {
            let behind = (time - row.last) * row.pace;
            if behind > best && gate.is_open(row.host, row.page, now) {
                (best, found) = (behind, Some(row.source));
            }
        }
        found
    }

    /// The source furthest behind among those that are due, which are behind by one or more.
    pub(super) fn due(&mut self, now: Time, gate: &dyn Gate) -> Option<u32> {
        if now.seconds() < self.quiet_until {
            return None;
        }
        // One less a hair, as 1/I times I may round to less than one.
        let found = self.furthest(now, gate, 1.0 - f64::EPSILON);
        if found.is_none() {
            let due = self.rows.iter().map(|row| row.last + row.pace.recip());
            // A due source that may not be fetched keeps this in the past.
            self.quiet_until = due.fold(f64::INFINITY, f64::min);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlwaysOpen;
    use tidewatch_core::Span;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::SECOND.times(seconds)
    }

    struct Closed(HostId);

    impl Gate for Closed {
        fn opens_at(&self, host: HostId) -> Time {
            if host == self.0 { Time::NEVER } else { Time::ZERO }
        }
    }

    #[test]
    fn the_order_follows_elapsed_over_interval() {
        let mut watch = Watch::default();
        watch.clear(3);
        watch.add(0, (HostId(0), PageId(0)), 1.0 / 100.0, at(0));
        watch.add(2, (HostId(1), PageId(2)), 1.0 / 30.0, at(50));
        assert!(watch.has(0) && !watch.has(1));
        // 0.6 against 0.33, later 1.0 against 1.67.
        assert_eq!(watch.furthest(at(60), &AlwaysOpen, 0.0), Some(0));
        assert_eq!(watch.furthest(at(100), &AlwaysOpen, 0.0), Some(2));
        assert_eq!(watch.furthest(at(100), &Closed(HostId(1)), 0.0), Some(0));
        assert_eq!(watch.due(at(60), &AlwaysOpen), None);
        assert_eq!(watch.due(at(80), &AlwaysOpen), Some(2));
        watch.visited(2, at(80));
        assert_eq!(watch.due(at(99), &AlwaysOpen), None);
        assert_eq!(watch.due(at(100), &AlwaysOpen), Some(0));
        watch.drop(0);
        assert_eq!(watch.due(at(105), &AlwaysOpen), None);
        assert_eq!(watch.due(at(110), &AlwaysOpen), Some(2));
    }
}
