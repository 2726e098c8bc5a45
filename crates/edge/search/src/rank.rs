//! The ranking formula.
//!
//! score = BM25 · (1 + a·2^(−age/h)) · (1 + b·ln(1 + links)) · (1 + c·ln(1 + clicks))
//!
//! Each factor is at least one, so missing data never lowers a score, and grows slowly, so
//! popularity alone does not outrank a good match.

use rustc_hash::FxHashMap;
use tidewatch_core::PageId;

/// Most pages with clicks; beyond it, the least clicked are dropped.
const MOST_CLICKED: usize = 1 << 20;

/// The formula's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranking {
    /// a: gain of a page that has just changed.
    pub(crate) news: f32,
    /// h: half-life of that gain, in seconds.
    pub(crate) news_half_life_s: f32,
    /// b: weight of links.
    pub(crate) links: f32,
    /// c: weight of clicks.
    pub(crate) clicks: f32,
}

impl Default for Ranking {
    /// A half-life of a week; about ten links or clicks double a score.
    fn default() -> Self {
        Ranking { news: 0.5, news_half_life_s: 604_800.0, links: 0.3, clicks: 0.4 }
    }
}

impl Ranking {
    /// The factor by which a page's BM25 score is multiplied. A negative `age_s` counts as zero.
    pub(crate) fn gain(&self, age_s: f32, links: f32, clicks: f32) -> f32 {
        let news = self.news * (-age_s.max(0.0) / self.news_half_life_s).exp2();
        let links = self.links * links.max(0.0).ln_1p();
        let clicks = self.clicks * clicks.max(0.0).ln_1p();
        (1.0 + news) * (1.0 + links) * (1.0 + clicks)
    }
}

/// Recent clicks of pages. Outside the index, which every click would otherwise rewrite.
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

    /// Multiplies all clicks by a factor.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_anything_never_ranks_lower() {
        let ranking = Ranking::default();
        let base = ranking.gain(1e6, 3.0, 4.0);
        assert!(ranking.gain(1e5, 3.0, 4.0) > base);
        assert!(ranking.gain(1e6, 4.0, 4.0) > base);
        assert!(ranking.gain(1e6, 3.0, 5.0) > base);
        // Without data the words alone decide.
        assert!((ranking.gain(1e12, 0.0, 0.0) - 1.0).abs() < 1e-6);
        // A clock that was set back, or a server's odd date.
        assert!(ranking.gain(-1e12, 0.0, 0.0).is_finite());
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
