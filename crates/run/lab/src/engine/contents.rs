//! The fragments of pages and of their copies in the collection.
//!
//! For every page that has versions this keeps the set of fragments that are
//! on the page (live) and in the copy, and how many are in both. Walking the
//! versions once, forwards, keeps the counts exact, so the divergence
//! 1 − |live ∩ copy|/|live ∪ copy| `[OP08, eq. 1]` is known between any two
//! versions and its integral over time is a finite sum.

use rustc_hash::FxHashMap;
use tidewatch_core::Time;
use tidewatch_math::rng::{Draws, purpose};

use crate::world::World;

const IDENTITY: u64 = purpose("lab.identity");
const LIVE: u8 = 1;
const COPY: u8 = 2;

/// Contents of all pages of a world.
#[derive(Debug)]
pub(crate) struct Contents {
    pages: Vec<Option<Box<PageContent>>>,
}

#[derive(Debug, Default)]
struct PageContent {
    /// Versions already taken in.
    seen: usize,
    /// Which of live and copy hold a fragment.
    marks: FxHashMap<u64, u8>,
    live: usize,
    copy: usize,
    both: usize,
}

impl PageContent {
    fn divergence(&self) -> f64 {
        let union = self.live + self.copy - self.both;
        if union == 0 { 0.0 } else { 1.0 - self.both as f64 / union as f64 }
    }

    fn add(&mut self, fragment: u64) {
        let mark = self.marks.entry(fragment).or_default();
        if *mark & LIVE == 0 {
            *mark |= LIVE;
            self.live += 1;
            self.both += usize::from(*mark & COPY != 0);
        }
    }

    fn remove(&mut self, fragment: u64) {
        let Some(mark) = self.marks.get_mut(&fragment) else { return };
        if *mark & LIVE == 0 {
            return;
        }
        *mark &= !LIVE;
        self.live -= 1;
        if *mark & COPY == 0 {
            self.marks.remove(&fragment);
        } else {
            self.both -= 1;
        }
    }

    fn take_copy(&mut self) {
        self.marks.retain(|_, mark| {
            let is_live = *mark & LIVE != 0;
            *mark = LIVE | COPY;
            is_live
        });
        (self.copy, self.both) = (self.live, self.live);
    }
}

impl Contents {
    pub(crate) fn new(world: &World) -> Self {
        let pages = (0..world.len() as u32)
            .map(|page| (!world.versions_of(page).is_empty()).then(Box::default))
            .collect();
        Contents { pages }
    }

    /// Takes in the versions of `page` up to and including `until`, and calls
    /// `on_piece(start, end, divergence)` for every stretch of `(from, until]`
    /// over which the divergence from the copy was constant.
    pub(crate) fn advance(
        &mut self,
        world: &World,
        page: u32,
        from: Time,
        until: Time,
        mut on_piece: impl FnMut(Time, Time, f64),
    ) {
        let Some(content) = self.pages[page as usize].as_deref_mut() else { return };
        let Some(versions) = world.trace().versions.as_ref() else { return };
        let rows = world.versions_of(page);
        let mut since = from;
        while let Some(row) = rows.get(content.seen).filter(|row| row.at <= until) {
            on_piece(since, row.at.max(since), content.divergence());
            since = row.at.max(since);
            versions.removed(row).iter().for_each(|&f| content.remove(f));
            versions.added(row).iter().for_each(|&f| content.add(f));
            content.seen += 1;
        }
        on_piece(since, until.max(since), content.divergence());
    }

    /// Makes the copy equal to what is live.
    pub(crate) fn take_copy(&mut self, page: u32) {
        if let Some(content) = self.pages[page as usize].as_deref_mut() {
            content.take_copy();
        }
    }

    /// A hash of all live fragments of a page; `None` if the trace does not tell them.
    pub(crate) fn identity(&self, page: u32) -> Option<u64> {
        let content = self.pages[page as usize].as_deref()?;
        let live = content.marks.iter().filter(|(_, mark)| **mark & LIVE != 0);
        // A sum does not depend on the order; mixing first keeps sums of different sets apart.
        let mix = |fragment: u64| Draws::keyed(fragment, IDENTITY, 0).at(0);
        Some(live.fold(0, |sum: u64, (&fragment, _)| sum.wrapping_add(mix(fragment))))
    }

    /// Writes the `len` smallest live fragment hashes into `sketch`, ascending.
    pub(crate) fn sketch(&self, page: u32, len: usize, sketch: &mut Vec<u64>) {
        sketch.clear();
        let Some(content) = self.pages[page as usize].as_deref() else { return };
        let live = content.marks.iter().filter(|(_, mark)| **mark & LIVE != 0);
        sketch.extend(live.map(|(&fragment, _)| fragment));
        if sketch.len() > len && len > 0 {
            sketch.select_nth_unstable(len - 1);
        }
        sketch.truncate(len);
        sketch.sort_unstable();
    }
}
