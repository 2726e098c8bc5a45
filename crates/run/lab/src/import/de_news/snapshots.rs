//! Visits of sources: time and success.

use std::collections::HashMap;
use std::path::Path;

use tidewatch_core::Span;

use super::super::ImportError;
use super::super::clock::Moment;
use super::super::rows::{Rows, Style};
use super::Source;

/// Outages up to this long are bridged. Of the 2,158 runs of failed visits in the data, 99.9% end
/// within ten hours; two last longer than a day: those pages were gone.
pub(super) const LONGEST_OUTAGE: Span = Span::DAY;

/// Gaps between visits above this are counted; nightly ones last 2 to 3 hours.
const LONG_GAP: Span = Span::from_micros(6 * Span::HOUR.as_micros());

/// One visit of a source.
struct Visit {
    at: Moment,
    /// Whether it returned the listing.
    good: bool,
    /// When it takes effect: at once, after the outage it is part of, or never ([`Moment::MAX`]) if the
    /// data end first.
    settles: Moment,
}

/// All visits, by source and time.
pub(super) struct Snapshots {
    by_source: Vec<Vec<Visit>>,
    /// First good visit of each source.
    first_good: Vec<Option<Moment>>,
    numbers: HashMap<u64, u32>,
    /// Good visits right after good ones with another order or other titles.
    pub(super) rearranged: Vec<(u32, Moment)>,
    pub(super) read: u64,
    pub(super) errors: u64,
    pub(super) empty: u64,
    pub(super) long_gaps: u64,
}

const COLUMNS: [&str; 6] = ["ts", "page_id", "status", "n_links", "n_retitled", "order_changed"];

impl Snapshots {
    pub(super) fn read(file: &Path, sources: &[Source]) -> Result<Self, ImportError> {
        let numbers = sources.iter().zip(0..).map(|(source, number)| (source.id, number)).collect();
        let by_source = sources.iter().map(|_| Vec::new()).collect();
        let mut all = Snapshots {
            by_source,
            first_good: Vec::new(),
            numbers,
            rearranged: Vec::new(),
            read: 0,
            errors: 0,
            empty: 0,
            long_gaps: 0,
        };
        let mut rows = Rows::open(file, Style::Tabs, COLUMNS)?;
        while rows.advance()? {
            all.add(&rows)?;
        }
        all.by_source.iter_mut().for_each(|visits| settle(visits));
        let first_good = |visits: &Vec<Visit>| visits.iter().find(|v| v.good).map(|v| v.at);
        all.first_good = all.by_source.iter().map(first_good).collect();
        Ok(all)
    }

    fn add(&mut self, rows: &Rows<6>) -> Result<(), ImportError> {
        let at = rows.seconds(0)?;
        let source = self
            .number(rows.number(1)?)
            .ok_or_else(|| rows.refuse(1, "is not a page_id of pages.tsv"))?;
        let (status, links): (u32, u64) = (rows.number(2)?, rows.number(3)?);
        let moved = rows.number::<u64>(4)? + rows.number::<u64>(5)? > 0;
        let visits = &mut self.by_source[source as usize];
        let last = visits.last();
        if last.is_some_and(|last| last.at >= at) {
            return Err(rows.refuse(0, "is not after the page's visit before; sort by time"));
        }
        self.read += 1;
        self.errors += u64::from(status != 200);
        self.empty += u64::from(status == 200 && links == 0);
        self.long_gaps += u64::from(last.is_some_and(|last| at.since(last.at) > LONG_GAP));
        let good = status == 200 && links > 0;
        if moved && good && last.is_some_and(|last| last.good) {
            self.rearranged.push((source, at));
        }
        visits.push(Visit { at, good, settles: at });
        Ok(())
    }

    /// The number of the source with that id.
    pub(super) fn number(&self, id: u64) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    pub(super) fn sources(&self) -> usize {
        self.by_source.len()
    }

    /// The first and last visit of all.
    pub(super) fn span(&self) -> Option<(Moment, Moment)> {
        let firsts = self.by_source.iter().filter_map(|visits| visits.first());
        let lasts = self.by_source.iter().filter_map(|visits| visits.last());
        Some((firsts.map(|visit| visit.at).min()?, lasts.map(|visit| visit.at).max()?))
    }

    /// Whether a source has no good visit.
    pub(super) fn is_silent(&self, source: usize) -> bool {
        self.first_good(source).is_none()
    }

    /// The first good visit.
    pub(super) fn first_good(&self, source: usize) -> Option<Moment> {
        self.first_good[source]
    }

    /// When the visit of that time takes effect; `None` without such a visit.
    pub(super) fn settles(&self, source: u32, at: Moment) -> Option<Moment> {
        let visits = &self.by_source[source as usize];
        let index = visits.binary_search_by_key(&at, |visit| visit.at).ok()?;
        Some(visits[index].settles)
    }
}

/// Determines when each visit takes effect.
fn settle(visits: &mut [Visit]) {
    for run in visits.chunk_by_mut(|a, _| !a.good) {
        // A run is an outage, if any, and the good visit that ends it, if any.
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let (began, ended, over) = (first.at, last.at, last.good);
        let bridged = ended.since(began) <= LONGEST_OUTAGE;
        let settles = if over { ended } else { Moment::MAX };
        for visit in run.iter_mut().filter(|visit| !visit.good && bridged) {
            visit.settles = settles;
        }
    }
}
