//! The side of the demo that knows the truth: the record by which the crawl is
//! judged. The crawler never sees inside.

use std::sync::Arc;

use anyhow::Result;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Rate, Span, Time};
use tidewatch_lab::{Bounds, Measures, Settings, Start, World, engine};
use tidewatch_trace::Trace;

/// How often the search log is read, about.
const LOG_PUSH: Span = Span::MINUTE.times(15);

/// Keeps the record of a crawl over a world.
pub(super) struct Referee {
    world: Arc<World>,
    /// Per page of the trace: its partition and number in the crawl, and when its copy was taken.
    held: Vec<Option<Held>>,
    record: Vec<(Time, u32)>,
}

#[derive(Clone, Copy)]
struct Held {
    page: (u32, PageId),
    last: Option<Time>,
}

/// How the crawl did.
pub(super) struct Verdict {
    pub(super) measures: Measures,
    pub(super) bounds: Bounds,
}

impl Referee {
    pub(super) fn new(trace: Trace) -> Result<Self> {
        let world = Arc::new(World::new(trace)?);
        let held = vec![None; world.len()];
        Ok(Referee { world, held, record: Vec::new() })
    }

    pub(super) fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Takes note of a fetch that brought a copy, or found the page gone. A page is its partition and
    /// its number there.
    pub(super) fn note(
        &mut self,
        page: (u32, PageId),
        url: &CanonicalUrl,
        at: Time,
        is_gone: bool,
    ) {
        let key = tidewatch_core::PageKey::of(url.as_str());
        let Some(number) = self.world.page_of(key) else { return };
        self.record.push((at, number));
        let held = &mut self.held[number as usize];
        let last = (!is_gone).then_some(at);
        match held {
            Some(held) => held.last = last,
            None if is_gone => {}
            None => *held = Some(Held { page, last }),
        }
    }

    /// Share of the copies held that are up to date at `now`.
    pub(super) fn fresh_share(&self, now: Time) -> Option<f64> {
        let (mut held, mut fresh) = (0u64, 0u64);
        for (copy, number) in self.held.iter().zip(0..) {
            let Some(taken) = copy.and_then(|copy| copy.last) else { continue };
            held += 1;
            fresh += u64::from(self.world.next_change(number, taken).is_none_or(|at| at > now));
        }
        (held > 0).then(|| fresh as f64 / held as f64)
    }

    /// The copies held, with the clicks that each got until `end`.
    pub(super) fn clicked(&self, end: Time) -> impl Iterator<Item = (u32, PageId, f64)> {
        let until = move |number| {
            let rows = self.world.clicks_of(number).iter().filter(move |row| row.at <= end);
            rows.map(|row| row.count).sum()
        };
        let held = self.held.iter().zip(0..);
        held.filter_map(move |(held, number)| {
            let (partition, page) = held.as_ref()?.page;
            Some((partition, page, until(number)))
        })
    }

    /// Judges the crawl as it was from the start until `end`, by the lab's own meter.
    pub(super) fn judge(&self, end: Time, budget: Rate) -> Result<Verdict> {
        let mut trace = self.world.trace().clone();
        trace.duration = end.since(Time::ZERO);
        let world = World::new(trace)?;
        let settings = Settings { start: Start::Cold, log_push: LOG_PUSH, ..Settings::new(budget) };
        let mut record = self.record.clone();
        record.sort_by_key(|(at, _)| *at);
        let measures = engine::judge(&world, &settings, &record)?;
        Ok(Verdict { measures, bounds: engine::bounds(&world, &settings)? })
    }
}
