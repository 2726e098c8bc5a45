//! Precomputed gains of pages: the factor for age, links and clicks.
//!
//! A common word is on every second page, so the work per page must be tiny: one number read from a
//! list. Lists are built per segment when a query first needs them, four bytes per page, and
//! rebuilt when clicks change or after an hour, in which the age factor moves by less than half a
//! percent.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::{DocId, Score, SegmentReader};

use crate::PageRef;
use crate::rank::{Popularity, Ranking};
use crate::schema::{CHANGED, LINKS, PAGE};

/// Seconds until gains are rebuilt.
const HOLD_S: u64 = 3_600;

/// The gains of one segment's pages.
pub(crate) struct Gains {
    all: Vec<Score>,
    most: Score,
}

impl Gains {
    /// The factor by which a page's BM25 score is multiplied.
    pub(crate) fn of(&self, doc: DocId) -> Score {
        self.all[doc as usize]
    }

    /// The largest gain.
    pub(crate) const fn most(&self) -> Score {
        self.most
    }

    fn new(
        segment: &SegmentReader,
        ranking: Ranking,
        popularity: &[Popularity],
        now_s: i64,
    ) -> tantivy::Result<Gains> {
        let fields = segment.fast_fields();
        let changed = fields.i64(CHANGED)?.first_or_default_col(0);
        let links = fields.u64(LINKS)?.first_or_default_col(0);
        let pages = fields.u64(PAGE)?.first_or_default_col(u64::MAX);
        let gain = |doc| {
            let page = PageRef::of_number(pages.get_val(doc));
            let clicks = popularity.get(page.partition() as usize);
            let clicks = clicks.map_or(0.0, |clicks| clicks.of(page.page()));
            let age_s = (now_s - changed.get_val(doc)) as f32;
            ranking.gain(age_s, links.get_val(doc) as f32, clicks)
        };
        let all: Vec<Score> = (0..segment.max_doc()).map(gain).collect();
        let most = all.iter().copied().fold(0.0, Score::max);
        Ok(Gains { all, most })
    }
}

/// The gains of all segments. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct AllGains(Arc<Mutex<Made>>);

#[derive(Default)]
struct Made {
    /// Clicks of the pages of each partition.
    popularity: Vec<Popularity>,
    at_s: i64,
    segments: FxHashMap<SegmentId, Arc<Gains>>,
}

impl AllGains {
    /// Sets the clicks of a partition's pages, which gains depend on.
    pub(crate) fn set_popularity(&self, partition: u32, popularity: Popularity) {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = partition as usize;
        if at >= made.popularity.len() {
            made.popularity.resize_with(at + 1, Popularity::default);
        }
        made.popularity[at] = popularity;
        made.segments.clear();
    }

    /// The gains of `segments`, in order, at `now_s` of Unix time.
    pub(crate) fn of(
        &self,
        segments: &[SegmentReader],
        ranking: Ranking,
        now_s: i64,
    ) -> tantivy::Result<Vec<Arc<Gains>>> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if made.at_s.abs_diff(now_s) > HOLD_S {
            made.segments.clear();
            made.at_s = now_s;
        }
        let Made { popularity, at_s, segments: held } = &mut *made;
        let mut all = Vec::with_capacity(segments.len());
        for segment in segments {
            let found = held.get(&segment.segment_id()).map(Arc::clone);
            all.push(match found {
                Some(gains) => gains,
                None => Arc::new(Gains::new(segment, ranking, popularity, *at_s)?),
            });
        }
        // Forget segments that were merged into others.
        let ids = segments.iter().map(SegmentReader::segment_id);
        *held = ids.zip(all.iter().map(Arc::clone)).collect();
        Ok(all)
    }
}
