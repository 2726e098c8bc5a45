//! The best pages of a query by the full score.
//!
//! A page's score is its BM25 score times its gain (age, links, clicks), and each segment knows its
//! largest gain. A page whose BM25 score is below (worst kept score) / (largest gain) cannot be
//! among the best. The engine may skip it, and whole blocks of such pages, and the result stays
//! exact. The threshold carries over from segment to segment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::query::Weight;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::gains::Gains;

/// Tolerance for rounded single-precision products and quotients.
const ROUNDING: Score = 1e-5;

/// Collects the best `count` pages, best first; ties go to the earlier page in the index.
pub(crate) struct Best {
    count: usize,
    /// One per segment, in order.
    gains: Vec<Arc<Gains>>,
    /// The factor by which a BM25 score may exceed the bound of its block, by segment; 1 beyond the list.
    slack: Vec<Score>,
    held: Arc<Mutex<Held>>,
}

/// A kept page, ordered by score; ties go to the earlier page.
#[derive(PartialEq)]
struct Scored(Score, Reverse<DocAddress>);

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then_with(|| self.1.cmp(&other.1))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The best pages so far, the worst on top.
#[derive(Default)]
struct Held(BinaryHeap<Reverse<Scored>>);

impl Held {
    fn add(&mut self, most: usize, score: Score, at: DocAddress) {
        self.0.push(Reverse(Scored(score, Reverse(at))));
        if self.0.len() > most {
            self.0.pop();
        }
    }

    /// The score that a page must exceed to be among the best `most`.
    fn bar(&self, most: usize) -> Score {
        let worst = self.0.peek().filter(|_| self.0.len() >= most);
        worst.map_or(Score::MIN, |Reverse(worst)| worst.0)
    }
}

impl Best {
    pub(crate) fn new(count: usize, gains: Vec<Arc<Gains>>) -> Best {
        Best { count: count.max(1), gains, slack: Vec::new(), held: Arc::default() }
    }

    /// The same for scores by other statistics than those of the segments.
    pub(crate) fn with_slack(self, slack: Vec<Score>) -> Best {
        Best { slack, ..self }
    }
}

impl Collector for Best {
    type Fruit = Vec<(Score, DocAddress)>;
    type Child = InSegment;

    fn for_segment(
        &self,
        ordinal: SegmentOrdinal,
        _: &SegmentReader,
    ) -> tantivy::Result<InSegment> {
        let gains = Arc::clone(&self.gains[ordinal as usize]);
        Ok(InSegment { ordinal, gains, count: self.count, held: Arc::clone(&self.held) })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    /// Like [`InSegment`], but skips pages that cannot be among the best.
    fn collect_segment(
        &self,
        weight: &dyn Weight,
        ordinal: u32,
        segment: &SegmentReader,
    ) -> tantivy::Result<()> {
        let gains = &self.gains[ordinal as usize];
        let slack = self.slack.get(ordinal as usize).copied().unwrap_or(1.0);
        let most = gains.most() * slack * (1.0 + ROUNDING);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bar = held.bar(self.count);
        weight.for_each_pruning(bar / most, segment, &mut |doc, words| {
            if segment.alive_bitset().is_none_or(|alive| alive.is_alive(doc)) {
                let score = words * gains.of(doc);
                if score > bar {
                    held.add(self.count, score, DocAddress::new(ordinal, doc));
                    bar = held.bar(self.count);
                }
            }
            bar / most
        })
    }

    fn merge_fruits(&self, _: Vec<()>) -> tantivy::Result<Self::Fruit> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let best = std::mem::take(&mut held.0).into_sorted_vec();
        Ok(best.into_iter().map(|Reverse(Scored(score, Reverse(at)))| (score, at)).collect())
    }
}

/// Collects page by page, for queries that cannot skip.
pub(crate) struct InSegment {
    ordinal: SegmentOrdinal,
    gains: Arc<Gains>,
    count: usize,
    held: Arc<Mutex<Held>>,
}

impl SegmentCollector for InSegment {
    type Fruit = ();

    fn collect(&mut self, doc: DocId, words: Score) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let score = words * self.gains.of(doc);
        if score > held.bar(self.count) {
            held.add(self.count, score, DocAddress::new(self.ordinal, doc));
        }
    }

    fn harvest(self) {}
}

#[cfg(test)]
mod tests {
    use tantivy::collector::Count;
    use tidewatch_core::PageId;
    use tidewatch_math::Draws;

    use crate::{Index, IndexDocument, Popularity, Query};

    const NOW_S: i64 = 1_800_000_000;
    const PAGES: u32 = 3_000;

    /// A page with Zipf-distributed words, so blocks of common words can be skipped.
    fn page(number: u32, draws: &mut Draws) -> IndexDocument {
        let mut word = || format!("w{}", (draws.uniform() * 6.0).exp() as u32);
        IndexDocument {
            page: PageId(number).into(),
            title: word(),
            text: (0..30).map(|_| word() + " ").collect(),
            changed_s: NOW_S - i64::from(number) * 1_000,
            links: number % 50,
            ..IndexDocument::default()
        }
    }

    #[test]
    fn skipped_blocks_hold_none_of_the_best() {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::open(dir.path()).unwrap();
        let mut writer = index.writer(0).unwrap();
        let mut draws = Draws::of(1, "search.best", 0);
        for number in 0..PAGES {
            writer.put(&page(number, &mut draws)).unwrap();
            if number % 700 == 0 {
                writer.commit(&[]).unwrap();
            }
        }
        (0..PAGES).step_by(7).for_each(|page| writer.remove(PageId(page).into()));
        writer.commit(&[]).unwrap();
        let searcher = index.searcher();
        let mut clicks = Popularity::default();
        (0..PAGES).step_by(90).for_each(|page| clicks.add(PageId(page), f64::from(page)));
        searcher.set_popularity(0, clicks);
        let several = ["\"w1 w1\" w2", "\"w1 w2\" \"w2 w1\"", "w3 \"w1 w2\" \"w2 w3\" -\"w4 w1\""];
        let single = ["w1", "w400", "w1 w2", "w2 w100", "\"w1 w1\"", "w1 -w2", "w1 lang:en"];
        for query in single.into_iter().chain(several) {
            let (engine, inner) = searcher.prepare(&Query::read(query), true);
            for count in [1, 10, 100] {
                let best = || searcher.best(&inner, count, NOW_S).unwrap();
                let skipping = inner.search(&*engine, &best()).unwrap();
                // Beside another collector nothing can be skipped.
                let (all, total) = inner.search(&*engine, &(best(), Count)).unwrap();
                assert_eq!(skipping, all, "{query}");
                assert_eq!(all.len(), count.min(total), "{query}");
            }
        }
    }
}
