//! How good the collection was, integrated exactly over the measured window.
//!
//! Nothing is sampled. A copy taken at one time and replaced at another
//! contributes a known integral: it is fresh until the page's next change,
//! then its age grows linearly; its divergence is constant between versions.
//! The meter adds these up, clipped to the window, whenever a copy is replaced
//! and once more at the end.

use tidewatch_core::{FetchKind, Time};
use tidewatch_math::sum::Sum;

use super::contents::Contents;
use super::waste::{Waste, WasteMeter};
use crate::world::World;

/// No page.
const NOBODY: u32 = u32::MAX;

/// A page's first fetch. Profit and coverage are sums over these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstFetch {
    /// When.
    pub at: Time,
    /// Clicks the page gets from then on.
    pub profit: f64,
    /// Its weight.
    pub weight: f64,
}

/// What a run achieved. A measure that the trace cannot give is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// Clicks still to come on pages when first fetched, per second of the
    /// window `[LOSS13, eq. 1]`.
    pub profit_per_s: Option<f64>,
    /// Clicks per second that met an up-to-date copy in the collection.
    pub served_per_s: Option<f64>,
    /// The same, where a click on a page with versions counts 1 − divergence of the copy.
    pub served_in_parts_per_s: Option<f64>,
    /// Weighted share of time that copies were up to date `[CGM03]`.
    pub freshness: Option<f64>,
    /// Weighted mean time since copies went stale, seconds `[CGM03]`.
    pub age_s: Option<f64>,
    /// Weighted mean divergence between copies and pages `[OP08]`.
    pub fragment_staleness: Option<f64>,
    /// Weight of the pages first fetched in the run, as a share of all that
    /// were not in the collection at its start.
    pub coverage: Option<f64>,
    /// Fetches in the window by kind, in the order of [`FetchKind::ALL`].
    pub fetches: [u64; 4],
    /// Times in the window that the policy was asked and had no page: by default, allowances that lapsed.
    pub idle: u64,
    /// Fetches in the window that found the page gone.
    pub gone: u64,
    /// Visits in the window to every source of the trace, in the trace's order.
    pub source_visits: Vec<u32>,
    /// What was fetched in vain.
    pub waste: Waste,
    /// Every first fetch of the run, by time.
    pub first_fetches: Vec<FirstFetch>,
}

impl Measures {
    /// Share of sources with at most `at_most` visits in the window; `None` without sources.
    pub fn hardly_visited(&self, at_most: u32) -> Option<f64> {
        let hardly = self.source_visits.iter().filter(|&&visits| visits <= at_most).count();
        let sources = self.source_visits.len();
        (sources > 0).then(|| hardly as f64 / sources as f64)
    }
}

/// The running integrals.
pub(super) struct Meter<'w> {
    world: &'w World,
    from: Time,
    until: Time,
    /// When each page's copy was taken; never, for pages not in the collection.
    copied: Vec<Time>,
    /// When each page first came into the collection.
    first_copied: Vec<Time>,
    /// Per page with content of its own: the page that first brought it into the collection, which
    /// serves its readers.
    stands_in: Vec<u32>,
    pub(super) waste: WasteMeter<'w>,
    /// Visits to each page in the window, for sources.
    visits: Vec<u32>,
    pub(super) contents: Contents,
    held: Sum,
    fresh: Sum,
    age: Sum,
    divergence: Sum,
    served: Sum,
    served_in_parts: Sum,
    coverable: Sum,
    pub(super) out: Measures,
}

impl<'w> Meter<'w> {
    pub(super) fn new(world: &'w World, from: Time, until: Time) -> Self {
        Meter {
            world,
            from,
            until,
            copied: vec![Time::NEVER; world.len()],
            first_copied: vec![Time::NEVER; world.len()],
            stands_in: vec![NOBODY; world.len()],
            waste: WasteMeter::new(world),
            visits: vec![0; world.len()],
            contents: Contents::new(world),
            held: Sum::default(),
            fresh: Sum::default(),
            age: Sum::default(),
            divergence: Sum::default(),
            served: Sum::default(),
            served_in_parts: Sum::default(),
            coverable: Sum::default(),
            out: Measures::default(),
        }
    }

    /// When the copy of a page was taken, if there is one.
    pub(super) fn copied(&self, page: u32) -> Option<Time> {
        Some(self.copied[page as usize]).filter(|&at| at != Time::NEVER)
    }

    /// When a page first came into the collection.
    pub(super) fn first_copied(&self, page: u32) -> Option<Time> {
        Some(self.first_copied[page as usize]).filter(|&at| at != Time::NEVER)
    }

    /// The page in the collection that serves the readers of `page`, if there is one.
    pub(super) fn stands_in(&self, page: u32) -> Option<u32> {
        Some(self.stands_in[self.world.root(page) as usize]).filter(|&page| page != NOBODY)
    }

    fn in_window(&self, at: Time) -> bool {
        at >= self.from && at < self.until
    }

    pub(super) fn count(&mut self, page: u32, at: Time, kind: FetchKind) {
        let is_first = self.stands_in(page).is_none_or(|other| other == page);
        self.waste.fetched(page, is_first, self.in_window(at));
        if self.in_window(at) {
            self.out.fetches[kind as usize] += 1;
            self.visits[page as usize] += 1;
        }
    }

    pub(super) fn count_idle(&mut self, times: u64, at: Time) {
        self.out.idle += if self.in_window(at) { times } else { 0 };
    }

    /// Counts a page towards what coverage is a share of.
    pub(super) fn may_be_covered(&mut self, page: u32) {
        self.coverable.add(self.world.trace().pages[page as usize].weight);
    }

    /// A page's first fetch.
    pub(super) fn first_fetch(&mut self, page: u32, at: Time) {
        let weight = self.world.trace().pages[page as usize].weight;
        let is_held = self.stands_in(page).is_some();
        let profit = if is_held { 0.0 } else { self.world.clicks_after(self.world.root(page), at) };
        self.out.first_fetches.push(FirstFetch { at, profit, weight });
    }

    /// Replaces the copy of a page, closed at `at`, by what the page holds then.
    pub(super) fn copy(&mut self, page: u32, at: Time) {
        self.contents.take_copy(page);
        self.copied[page as usize] = at;
        let first = &mut self.first_copied[page as usize];
        *first = at.min(*first);
        let stands_in = &mut self.stands_in[self.world.root(page) as usize];
        *stands_in = if *stands_in == NOBODY { page } else { *stands_in };
    }

    /// Takes a page out of the collection.
    pub(super) fn drop_copy(&mut self, page: u32, at: Time) {
        self.close(page, at);
        self.copied[page as usize] = Time::NEVER;
        self.out.gone += u64::from(self.in_window(at));
    }

    /// Adds the integrals of a page's copy, from when it was taken until `at`, when it is replaced or
    /// dropped or the run ends.
    pub(super) fn close(&mut self, page: u32, at: Time) {
        let Some(taken) = self.copied(page) else {
            self.contents.advance(self.world, page, Time::ZERO, at, |_, _, _| {});
            return;
        };
        self.add_divergence(page, taken, at);
        let (start, end) = (taken.max(self.from), at.min(self.until));
        if start >= end {
            return;
        }
        let weight = self.world.trace().pages[page as usize].weight;
        self.held.add(weight * end.since(start).seconds());
        let stale = self.world.next_change(page, taken).unwrap_or(Time::NEVER);
        self.fresh.add(weight * stale.min(end).since(start).seconds());
        if stale < end {
            let (grown, before) = (end.since(stale).seconds(), start.since(stale).seconds());
            self.age.add(weight * (grown - before) * (grown + before) / 2.0);
        }
        let met = clicks_between(self.world, page, start, stale.min(end));
        self.served.add(met);
        if self.world.versions_of(page).is_empty() {
            self.served_in_parts.add(met);
        }
    }

    fn add_divergence(&mut self, page: u32, taken: Time, at: Time) {
        let row = &self.world.trace().pages[page as usize];
        let dies = row.died.unwrap_or(Time::NEVER).max(taken);
        let (from, until, world) = (self.from, self.until, self.world);
        let (total, served) = (&mut self.divergence, &mut self.served_in_parts);
        let mut add = |start: Time, end: Time, divergence: f64| {
            let (start, end) = (start.max(from), end.min(until));
            total.add(row.weight * divergence * end.since(start).seconds());
            if divergence < 1.0 {
                served.add((1.0 - divergence) * clicks_between(world, page, start, end));
            }
        };
        self.contents.advance(self.world, page, taken, at.min(dies), &mut add);
        // A page that is gone shares nothing with its copy.
        add(at.min(dies), at, 1.0);
    }

    /// Ends the run at `end` and gives the figures.
    pub(super) fn finish(mut self, end: Time) -> Measures {
        for page in 0..self.world.len() as u32 {
            if self.copied(page).is_some() {
                self.close(page, end);
            }
        }
        let trace = self.world.trace();
        let window = self.until.since(self.from).seconds();
        let share = |sum: &Sum, of: &Sum| (of.value() > 0.0).then(|| sum.value() / of.value());
        let firsts = &self.out.first_fetches;
        let profit: Sum =
            firsts.iter().filter(|f| self.in_window(f.at)).map(|f| f.profit).collect();
        let covered: Sum = firsts.iter().map(|f| f.weight).collect();
        let has_clicks = trace.clicks.is_some();
        let visits = trace.pages.iter().zip(&self.visits).filter(|(page, _)| page.is_source);
        let changing = self.world.has_changes();
        Measures {
            profit_per_s: has_clicks.then(|| profit.value() / window),
            served_per_s: has_clicks.then(|| self.served.value() / window),
            served_in_parts_per_s: has_clicks.then(|| self.served_in_parts.value() / window),
            freshness: changing.then(|| share(&self.fresh, &self.held)).flatten(),
            age_s: changing.then(|| share(&self.age, &self.held)).flatten(),
            fragment_staleness: trace
                .versions
                .as_ref()
                .and_then(|_| share(&self.divergence, &self.held)),
            coverage: share(&covered, &self.coverable),
            waste: self.waste.finish(),
            source_visits: visits.map(|(_, &visits)| visits).collect(),
            ..self.out
        }
    }
}

fn clicks_between(world: &World, page: u32, from: Time, until: Time) -> f64 {
    let clicks = world.clicks_of(page);
    let first = clicks.partition_point(|click| click.at < from);
    clicks[first..].iter().take_while(|click| click.at < until).map(|click| click.count).sum()
}
