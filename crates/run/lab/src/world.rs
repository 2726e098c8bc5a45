//! The ground truth of a simulation: a trace, indexed for the engine.
//!
//! Only the lab can name this type. Policies live in a crate below and learn of the world through
//! events alone; oracles, which may look at it, live here.
//!
//! Every table is sorted by page, so what belongs to one page is a slice found
//! through an offset array. What happens at the same time is told in the order of page keys, and links
//! without a position are shown in that order, so that neither ids nor the order of rows tell a policy
//! anything.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashMap;
use tidewatch_core::{PageKey, Rate, Span, Time};
use tidewatch_trace::{Count, Trace, TraceLink, Truth, TruthClass, Version};

use crate::LabError;
use crate::words::Words;

/// A trace with everything the engine looks up.
#[derive(Debug)]
pub struct World {
    trace: Trace,
    keys: Vec<PageKey>,
    by_key: FxHashMap<PageKey, u32>,
    links: Offsets,
    clicks: Offsets,
    /// For every click row, the clicks of its page from that row on.
    clicks_left: Vec<f64>,
    /// Click, view and signal rows in the order of time, then of keys.
    clicks_by_time: Vec<u32>,
    views_by_time: Vec<u32>,
    signals_by_time: Vec<u32>,
    /// Pages in the order of their keys.
    by_hash: Vec<u32>,
    changes: Offsets,
    versions: Offsets,
    /// Pages born after the start, by birth.
    births: Vec<u32>,
    words: Words,
}

/// Where each page's rows begin and end in a table sorted by page.
#[derive(Debug, Default)]
struct Offsets(Vec<u32>);

impl Offsets {
    fn new(pages: usize, rows: impl Iterator<Item = u32>) -> Self {
        let mut starts = vec![0u32; pages + 1];
        rows.for_each(|page| starts[page as usize + 1] += 1);
        for i in 0..pages {
            starts[i + 1] += starts[i];
        }
        Offsets(starts)
    }

    fn of(&self, page: u32) -> Range<usize> {
        let page = page as usize;
        if self.0.is_empty() { 0..0 } else { self.0[page] as usize..self.0[page + 1] as usize }
    }
}

impl World {
    /// Indexes a valid trace.
    pub fn new(trace: Trace) -> Result<Self, LabError> {
        let pages = trace.pages.len();
        let keys: Vec<PageKey> = trace.pages.iter().map(|p| PageKey::of(&p.url)).collect();
        let by_key = unique_keys(&trace, &keys)?;
        let links = Offsets::new(pages, trace.links.iter().map(|l| l.source));
        let click_rows = trace.clicks.as_deref().unwrap_or_default();
        let clicks = Offsets::new(pages, click_rows.iter().map(|c| c.page));
        let clicks_by_time =
            by_time(click_rows.iter().map(|row| (row.at, keys[row.page as usize])));
        let view_rows = trace.views.as_deref().unwrap_or_default();
        let views_by_time = by_time(view_rows.iter().map(|row| (row.at, keys[row.page as usize])));
        let hints = trace.signals.iter().flat_map(|signals| &signals.rows);
        let signals_by_time = by_time(hints.map(|row| (row.at, keys[row.page as usize])));
        let changes = trace.changes.as_deref().unwrap_or_default();
        let changes = Offsets::new(pages, changes.iter().map(|c| c.page));
        let rows = trace.versions.as_ref().map_or(&[][..], |v| &v.rows);
        let versions = Offsets::new(pages, rows.iter().map(|v| v.page));
        let mut births: Vec<u32> =
            (0..pages as u32).filter(|&p| trace.pages[p as usize].born > Time::ZERO).collect();
        births.sort_unstable_by_key(|&p| (trace.pages[p as usize].born, keys[p as usize]));
        let mut by_hash: Vec<u32> = (0..pages as u32).collect();
        by_hash.sort_unstable_by_key(|&page| keys[page as usize]);
        Ok(World {
            clicks_left: clicks_left(click_rows),
            keys,
            by_key,
            links,
            clicks,
            clicks_by_time,
            views_by_time,
            signals_by_time,
            by_hash,
            changes,
            versions,
            births,
            words: Words::default(),
            trace,
        })
    }

    /// Adds words for queries and links.
    pub fn with_words(self, words: Words) -> Self {
        World { words, ..self }
    }

    /// The words of queries and links.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.trace.pages.len()
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.trace.pages.is_empty()
    }

    /// A page's key, by which policies know it.
    pub fn key(&self, page: u32) -> PageKey {
        self.keys[page as usize]
    }

    /// What a page really is.
    pub fn truth(&self, page: u32) -> Truth {
        let rows = self.trace.truth.as_deref().unwrap_or_default();
        let found = rows.binary_search_by_key(&page, |row| row.page).map(|row| rows[row]);
        let (class, same_as, is_declared) = (TruthClass::Own, None, false);
        found.unwrap_or(Truth { page, class, same_as, is_declared })
    }

    /// The page whose content a page shows: itself, unless the truth says otherwise.
    pub fn root(&self, page: u32) -> u32 {
        self.truth(page).same_as.unwrap_or(page)
    }

    /// The page with this key.
    pub fn page_of(&self, key: PageKey) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// The links that a page ever shows, by first appearance.
    pub fn links_of(&self, source: u32) -> &[TraceLink] {
        &self.trace.links[self.links.of(source)]
    }

    /// A page's rows in the trace's table of links.
    pub(crate) fn link_rows(&self, source: u32) -> Range<usize> {
        self.links.of(source)
    }

    /// A page's clicks, by time.
    pub fn clicks_of(&self, page: u32) -> &[Count] {
        self.trace.clicks.as_deref().map_or(&[], |rows| &rows[self.clicks.of(page)])
    }

    /// A page's views, by time.
    pub fn views_of(&self, page: u32) -> &[Count] {
        let rows = self.trace.views.as_deref().unwrap_or_default();
        let from = rows.partition_point(|row| row.page < page);
        let count = rows[from..].partition_point(|row| row.page == page);
        &rows[from..from + count]
    }

    /// Clicks on a page at `from` or later: the profit of fetching it then `[LOSS13]`.
    pub fn clicks_after(&self, page: u32, from: Time) -> f64 {
        let rows = self.clicks.of(page);
        let skip = self.clicks_of(page).partition_point(|click| click.at < from);
        let row = rows.start + skip;
        if row < rows.end { self.clicks_left[row] } else { 0.0 }
    }

    /// Click rows in the order of time, without the first `skip`.
    pub fn clicks_by_time(&self, skip: usize) -> impl Iterator<Item = &Count> {
        let rows = self.trace.clicks.as_deref().unwrap_or_default();
        self.clicks_by_time[skip..].iter().map(|&row| &rows[row as usize])
    }

    /// View rows in the order of time, without the first `skip`.
    pub fn views_by_time(&self, skip: usize) -> impl Iterator<Item = &Count> {
        let rows = self.trace.views.as_deref().unwrap_or_default();
        self.views_by_time[skip..].iter().map(|&row| &rows[row as usize])
    }

    /// The hint after the first `skip`, by time: its page, when it came and its kind.
    pub fn signal(&self, skip: usize) -> Option<(u32, Time, &str)> {
        let row = *self.signals_by_time.get(skip)?;
        let signals = self.trace.signals.as_ref()?;
        let signal = signals.rows[row as usize];
        Some((signal.page, signal.at, &signals.kinds[signal.kind as usize]))
    }

    /// Every page, in an order that tells nothing: that of the keys.
    pub fn by_hash(&self) -> &[u32] {
        &self.by_hash
    }

    /// Where a link stands on its source: by position, the latest first among equals. Links without a
    /// position come last, in an order that tells nothing.
    pub fn place(&self, link: &TraceLink) -> impl Ord + use<> {
        let declared = link.position.map(|position| (position, Reverse(link.appears)));
        (declared.is_none(), declared, self.key(link.page))
    }

    /// Whether the trace has changes or versions.
    pub fn has_changes(&self) -> bool {
        self.trace.changes.is_some() || self.trace.versions.is_some()
    }

    /// A page's versions, by time.
    pub fn versions_of(&self, page: u32) -> &[Version] {
        self.trace.versions.as_ref().map_or(&[], |v| &v.rows[self.versions.of(page)])
    }

    /// The first change of a page after `from`, its death included.
    ///
    /// Changes are the `changes` table's where the trace has one, otherwise
    /// the versions after a page's first.
    pub fn next_change(&self, page: u32, from: Time) -> Option<Time> {
        let changed = if let Some(rows) = self.trace.changes.as_deref() {
            let rows = &rows[self.changes.of(page)];
            rows.get(rows.partition_point(|c| c.at <= from)).map(|c| c.at)
        } else {
            let rows = self.versions_of(page).get(1..).unwrap_or_default();
            rows.get(rows.partition_point(|v| v.at <= from)).map(|v| v.at)
        };
        let died = self.trace.pages[page as usize].died.filter(|&at| at > from);
        match (changed, died) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Number of a page's changes before the end of the trace, its death included.
    pub fn changes_of(&self, page: u32) -> u32 {
        let end = Time::ZERO + self.trace.duration;
        let (mut count, mut after) = (0, self.trace.pages[page as usize].born);
        while let Some(at) = self.next_change(page, after).filter(|&at| at < end) {
            count += 1;
            after = at;
        }
        count
    }

    /// The last change of a page at or before `at`, its birth included.
    pub fn last_change(&self, page: u32, at: Time) -> Time {
        let rows = self.trace.changes.as_deref().map_or(&[][..], |r| &r[self.changes.of(page)]);
        let changed = rows[..rows.partition_point(|c| c.at <= at)].last().map(|c| c.at);
        let rows = self.versions_of(page);
        let version = rows[..rows.partition_point(|v| v.at <= at)].last().map(|v| v.at);
        changed.or(version).unwrap_or(self.trace.pages[page as usize].born)
    }

    /// Pages born after the start, in the order of birth.
    pub fn births(&self) -> &[u32] {
        &self.births
    }

    /// Least time between two fetches from a host; zero where the trace states none.
    pub fn host_gap(&self, host: u32) -> Span {
        self.trace.hosts[host as usize].max_rate.map_or(Span::ZERO, Rate::gap)
    }
}

fn unique_keys(trace: &Trace, keys: &[PageKey]) -> Result<FxHashMap<PageKey, u32>, LabError> {
    let mut by_key = FxHashMap::default();
    by_key.reserve(keys.len());
    for (page, &key) in keys.iter().enumerate() {
        if let Some(other) = by_key.insert(key, page as u32) {
            let (first, second) = (&trace.pages[other as usize], &trace.pages[page]);
            return Err(LabError::SameUrl {
                url: second.url.to_string(),
                ids: [first.id, second.id],
            });
        }
    }
    Ok(by_key)
}

/// The numbers of rows in the order of time, then of keys.
fn by_time(rows: impl Iterator<Item = (Time, PageKey)>) -> Vec<u32> {
    let rows: Vec<(Time, PageKey)> = rows.collect();
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by_key(|&row| rows[row as usize]);
    order
}

fn clicks_left(rows: &[Count]) -> Vec<f64> {
    let mut left = vec![0.0; rows.len()];
    let mut sum = 0.0;
    for i in (0..rows.len()).rev() {
        let goes_on = rows.get(i + 1).is_some_and(|next| next.page == rows[i].page);
        sum = if goes_on { sum + rows[i].count } else { rows[i].count };
        left[i] = sum;
    }
    left
}
