//! Outcomes of fetched pages: their clicks over a horizon, once all of them are known.
//!
//! The life of an outcome: at a page's first fetch the caller's note about it is stored. The log
//! brings its clicks, late and in parts. Once the log has passed the page's horizon, its note and
//! its clicks are returned, once, in the order of fetches. A log that comes after a fetch is
//! complete up to that fetch, so pages that nobody clicks mature as well.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use tidewatch_core::{Event, Interest, InterestKind, Outcome, PageId, Span, Time};

/// The time after its first fetch over which a page's clicks are counted.
pub(super) const HORIZON: Span = Span::from_micros(2 * Span::DAY.as_micros());

/// Fetched pages whose clicks over the horizon are not all known yet.
pub(super) struct Outcomes<T> {
    horizon: Span,
    awaited: VecDeque<Awaited<T>>,
    /// When each awaited page was fetched, and its clicks so far.
    counts: FxHashMap<PageId, (Time, f64)>,
    /// The latest fetch.
    now: Time,
    /// The log is complete up to here.
    told: Time,
}

struct Awaited<T> {
    fetched: Time,
    page: PageId,
    note: T,
}

impl<T> Outcomes<T> {
    pub(super) fn new(horizon: Span) -> Self {
        let (awaited, counts) = (VecDeque::new(), FxHashMap::default());
        Outcomes { horizon, awaited, counts, now: Time::ZERO, told: Time::ZERO }
    }

    pub(super) const fn horizon(&self) -> Span {
        self.horizon
    }

    /// Takes in an event; `note` is called at a page's first fetch.
    pub(super) fn learn(&mut self, event: &Event<'_>, note: impl FnOnce(PageId) -> T) {
        match event {
            Event::Held(seen) | Event::Fetched(seen) => {
                self.now = self.now.max(seen.at);
                let is_first =
                    seen.previous.is_none() && matches!(seen.outcome, Outcome::Fetched(_));
                if is_first {
                    self.counts.insert(seen.page, (seen.at, 0.0));
                    let note = note(seen.page);
                    self.awaited.push_back(Awaited { fetched: seen.at, page: seen.page, note });
                }
            }
            Event::Log(rows) => {
                rows.iter().for_each(|row| self.count(row));
                self.told = self.told.max(self.now);
            }
            _ => {}
        }
    }

    fn count(&mut self, row: &Interest) {
        self.told = self.told.max(row.at);
        if row.kind != InterestKind::Click {
            return;
        }
        if let Some((fetched, clicks)) = self.counts.get_mut(&row.page)
            && row.at <= *fetched + self.horizon
        {
            *clicks += row.count;
        }
    }

    /// The note and the clicks of the next page whose clicks are all known.
    pub(super) fn next(&mut self) -> Option<(T, f64)> {
        let front = self.awaited.front()?;
        if front.fetched + self.horizon > self.told {
            return None;
        }
        let Awaited { page, note, .. } = self.awaited.pop_front()?;
        let (_, clicks) = self.counts.remove(&page).unwrap_or((Time::ZERO, 0.0));
        Some((note, clicks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_core::{Content, FetchKind, Observation};

    fn day(days: u64) -> Time {
        Time::ZERO + Span::DAY.times(days)
    }

    fn fetch(outcomes: &mut Outcomes<u32>, page: u32, at: Time, previous: Option<Time>) {
        let outcome = Outcome::Fetched(Content::default());
        let (page, kind) = (PageId(page), FetchKind::Frontier);
        let seen = Observation { page, at, kind, previous, outcome };
        outcomes.learn(&Event::Fetched(seen), |page| page.0);
    }

    fn log(outcomes: &mut Outcomes<u32>, clicks: &[(u32, u64)]) {
        let row = |&(page, days)| {
            let (page, at, kind) = (PageId(page), day(days), InterestKind::Click);
            Interest { page, at, count: 2.0, kind }
        };
        let rows: Vec<Interest> = clicks.iter().map(row).collect();
        outcomes.learn(&Event::Log(&rows), |page| page.0);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "twos add up exactly")]
    fn clicks_within_the_horizon_count_and_come_out_once() {
        let mut outcomes = Outcomes::new(Span::DAY.times(2));
        fetch(&mut outcomes, 7, day(1), None);
        fetch(&mut outcomes, 8, day(2), None);
        log(&mut outcomes, &[(7, 1), (7, 3), (9, 2)]);
        assert_eq!(outcomes.next(), Some((7, 4.0)));
        assert_eq!(outcomes.next(), None, "the log ends on day 3");
        // A later fetch of the same page is no new outcome; clicks after the horizon do not count.
        fetch(&mut outcomes, 7, day(4), Some(day(1)));
        log(&mut outcomes, &[(8, 5), (7, 5)]);
        assert_eq!(outcomes.next(), Some((8, 0.0)));
        assert_eq!(outcomes.next(), None);
    }

    #[test]
    fn a_log_without_clicks_tells_that_there_were_none() {
        let mut outcomes = Outcomes::new(Span::DAY.times(2));
        fetch(&mut outcomes, 1, day(0), None);
        log(&mut outcomes, &[]);
        assert_eq!(outcomes.next(), None);
        fetch(&mut outcomes, 2, day(3), None);
        log(&mut outcomes, &[]);
        assert_eq!(outcomes.next(), Some((1, 0.0)));
    }
}
