//! How words, news, links and clicks make one order.
//!
//! score = BM25 · (1 + a·2^(−age/h)) · (1 + b·ln(1 + links)) · (1 + c·ln(1 + clicks))
//!
//! Each factor is at least one, so that a page is never punished for what is not known of it, and
//! grows so slowly that a page which fits the words badly does not win by fame alone.

use rustc_hash::FxHashMap;
use tantivy::columnar::ColumnValues as _;
use tantivy::{DocId, Score, SegmentReader};
use tidewatch_core::PageId;

use crate::schema::{CHANGED, IMPORTANCE, PAGE};

/// Pages whose clicks are kept for ranking; beyond, the least clicked are forgotten.
const MOST_CLICKED: usize = 1 << 20;

/// How much each thing counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranking {
    /// a: how much a page that has just changed gains.
    pub news: f32,
    /// h: seconds after which half of that is gone.
    pub news_half_life_s: f32,
    /// b: how much links count.
    pub links: f32,
    /// c: how much clicks count.
    pub clicks: f32,
}

impl Default for Ranking {
    /// News of the week, and fame that takes ten links or clicks to double a score.
    fn default() -> Self {
        Ranking { news: 0.5, news_half_life_s: 604_800.0, links: 0.3, clicks: 0.4 }
    }
}

impl Ranking {
    /// A score from words and all the rest. `age_s` below zero counts as zero.
    pub fn score(&self, words: f32, age_s: f32, links: f32, clicks: f32) -> f32 {
        let news = self.news * (-age_s.max(0.0) / self.news_half_life_s).exp2();
        let links = self.links * links.max(0.0).ln_1p();
        let clicks = self.clicks * clicks.max(0.0).ln_1p();
        words * (1.0 + news) * (1.0 + links) * (1.0 + clicks)
    }
}

/// How often pages were clicked of late. Kept outside the index, which would have to be written for
/// every click.
#[derive(Clone, Debug, Default)]
pub struct Popularity(FxHashMap<u32, f32>);

impl Popularity {
    /// Adds clicks to a page.
    pub fn add(&mut self, page: PageId, clicks: f64) {
        if self.0.len() >= MOST_CLICKED && !self.0.contains_key(&page.0) {
            self.forget_the_least();
        }
        *self.0.entry(page.0).or_default() += clicks as f32;
    }

    /// Lets all fade by a factor.
    pub fn fade(&mut self, share: f32) {
        const NOTHING: f32 = 1e-3;
        self.0.retain(|_, clicks| {
            *clicks *= share;
            *clicks > NOTHING
        });
    }

    /// Clicks of a page.
    pub fn of(&self, page: PageId) -> f32 {
        self.0.get(&page.0).copied().unwrap_or(0.0)
    }

    fn forget_the_least(&mut self) {
        let mut all: Vec<f32> = self.0.values().copied().collect();
        let middle = (all.len() - 1) / 2;
        let (_, median, _) = all.select_nth_unstable_by(middle, f32::total_cmp);
        let median = *median;
        self.0.retain(|_, clicks| *clicks > median);
    }
}

/// The score of a segment's documents, from that of the words.
pub(crate) fn scorer(
    segment: &SegmentReader,
    ranking: Ranking,
    popularity: &std::sync::Arc<Popularity>,
    now_s: i64,
) -> impl Fn(DocId, Score) -> Score + use<> {
    let fields = segment.fast_fields();
    // Every segment has these columns, or there is no index at all.
    let changed = fields.i64(CHANGED).map(|column| column.first_or_default_col(0)).ok();
    let importance = fields.f64(IMPORTANCE).map(|column| column.first_or_default_col(0.0)).ok();
    let page = fields.u64(PAGE).map(|column| column.first_or_default_col(u64::MAX)).ok();
    let popularity = (!popularity.0.is_empty()).then(|| std::sync::Arc::clone(popularity));
    move |doc, words| {
        let changed_s = changed.as_ref().map_or(0, |column| column.get_val(doc));
        let links = importance.as_ref().map_or(0.0, |column| column.get_val(doc));
        let clicks = match (&popularity, &page) {
            (Some(all), Some(page)) => all.of(PageId(page.get_val(doc) as u32)),
            _ => 0.0,
        };
        ranking.score(words, (now_s - changed_s) as f32, links as f32, clicks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_anything_never_ranks_lower() {
        let ranking = Ranking::default();
        let base = ranking.score(2.0, 1e6, 3.0, 4.0);
        assert!(ranking.score(2.1, 1e6, 3.0, 4.0) > base);
        assert!(ranking.score(2.0, 1e5, 3.0, 4.0) > base);
        assert!(ranking.score(2.0, 1e6, 4.0, 4.0) > base);
        assert!(ranking.score(2.0, 1e6, 3.0, 5.0) > base);
        // Nothing known: the words alone.
        assert!((ranking.score(2.0, 1e12, 0.0, 0.0) - 2.0).abs() < 1e-6);
        // A clock that was set back, or a server's odd date.
        assert!(ranking.score(2.0, -1e12, 0.0, 0.0).is_finite());
    }

    #[test]
    fn clicks_fade_and_the_least_are_forgotten() {
        let mut all = Popularity::default();
        all.add(PageId(1), 8.0);
        all.add(PageId(2), 0.001);
        all.fade(0.5);
        assert!((all.of(PageId(1)) - 4.0).abs() < 1e-6);
        assert_eq!((all.of(PageId(2)), all.0.len()), (0.0, 1));
        all.add(PageId(3), 1.0);
        all.forget_the_least();
        assert!(all.of(PageId(1)) > 0.0 && all.of(PageId(3)) == 0.0);
    }
}
