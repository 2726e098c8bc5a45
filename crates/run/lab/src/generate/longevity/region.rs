//! Regions of a page, each with its own update process.
//!
//! One mechanism covers all three behaviours of `[OP08, §3.3]`: a region shows K items, and each
//! update adds a new one and removes the oldest. K = 1
//! is churn (the whole region is overwritten), K > 1 is scroll, and a region
//! without updates is static. Updates are Poisson with rate λ, so a fragment
//! lives as long as K gaps: P(lifetime ≤ t) = 1 − Σ_{i<K} (λt)^i e^(−λt)/i!,
//! an Erlang law, which for K = 1 is 1 − e^(−λt).

use std::collections::VecDeque;

use tidewatch_core::Time;
use tidewatch_math::rng::Draws;

use crate::generate::shared::instant;

/// Parameters of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRegion {
    /// Updates per second; 0 = static.
    pub rate: f64,
    /// Items shown at a time (K); 1 = churn.
    pub items: u32,
    /// Fragments per item.
    pub item_fragments: u32,
}

/// The contents of one page over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// Time of each version, and numbers of fragments added and removed.
    pub(super) rows: Vec<(Time, u32, u32)>,
    /// Fragments added, then removed, row by row.
    pub(super) fragments: Vec<u64>,
}

impl PageRegion {
    /// Fragments shown at a time.
    pub const fn fragments(self) -> u64 {
        self.items as u64 * self.item_fragments as u64
    }

    /// Times of update in [0, `duration`) seconds.
    fn updates(self, duration: f64, draws: &mut Draws) -> impl Iterator<Item = Time> {
        let mut at = 0.0;
        let next = move || {
            at += draws.exponential(self.rate);
            (at < duration).then(|| instant(at))
        };
        std::iter::from_fn(next)
    }
}

impl History {
    /// Simulates the regions of a page. `updates` draws the times, `hashes` the fragments. The start is
    /// stationary, because Poisson updates have no memory.
    pub(super) fn of(
        regions: &[PageRegion],
        duration: f64,
        updates: &mut Draws,
        hashes: &mut Draws,
    ) -> Self {
        let mut events: Vec<(Time, usize)> = Vec::new();
        for (index, region) in regions.iter().enumerate() {
            events.extend(region.updates(duration, updates).map(|at| (at, index)));
        }
        events.sort_unstable();
        let mut shown: Vec<VecDeque<u64>> = regions
            .iter()
            .map(|region| (0..region.fragments()).map(|_| hashes.word()).collect())
            .collect();
        let mut history = History::default();
        let whole: Vec<u64> = shown.iter().flatten().copied().collect();
        history.push(Time::ZERO, &whole, &[]);
        for at_once in events.chunk_by(|a, b| a.0 == b.0) {
            history.update(regions, &mut shown, at_once, hashes);
        }
        history
    }

    /// A version in which all regions of `at_once` replace their oldest item.
    fn update(
        &mut self,
        regions: &[PageRegion],
        shown: &mut [VecDeque<u64>],
        at_once: &[(Time, usize)],
        hashes: &mut Draws,
    ) {
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for &(_, index) in at_once {
            let size = regions[index].item_fragments as usize;
            removed.extend(shown[index].drain(..size));
            let fresh: Vec<u64> = (0..size).map(|_| hashes.word()).collect();
            shown[index].extend(&fresh);
            added.extend(fresh);
        }
        if at_once.len() > 1 {
            // Two updates of one region within a microsecond: the item in between is not recorded.
            let between: Vec<u64> = removed.iter().filter(|f| added.contains(f)).copied().collect();
            added.retain(|f| !between.contains(f));
            removed.retain(|f| !between.contains(f));
        }
        self.push(at_once[0].0, &added, &removed);
    }

    fn push(&mut self, at: Time, added: &[u64], removed: &[u64]) {
        self.rows.push((at, added.len() as u32, removed.len() as u32));
        self.fragments.extend_from_slice(added);
        self.fragments.extend_from_slice(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::testing::assert_follows;

    const RATE: f64 = 0.25;
    const FRAGMENTS: u32 = 3;

    fn history(items: u32, duration: f64) -> History {
        let region = PageRegion { rate: RATE, items, item_fragments: FRAGMENTS };
        History::of(&[region], duration, &mut Draws::new(4, 0), &mut Draws::new(4, 1))
    }

    /// P(Erlang(K, λ) ≤ t), as the paper writes it.
    fn erlang(k: u32, t: f64) -> f64 {
        let x = RATE * t;
        let mut term = (-x).exp();
        let mut sum = 0.0;
        for i in 0..k {
            sum += term;
            term *= x / f64::from(i + 1);
        }
        1.0 - sum
    }

    /// Lifetimes of items put up after the start. Neighbours share K − 1 gaps, so only every
    /// K-th is independent of the others; all fragments of an item live equally long.
    fn lifetimes(k: u32, updates: f64) -> Vec<f64> {
        let history = history(k, updates / RATE);
        let mut born = std::collections::HashMap::new();
        let mut lives = Vec::new();
        let mut at = 0;
        for (number, &(time, added, removed)) in history.rows.iter().enumerate() {
            let (added, removed) = (added as usize, removed as usize);
            let fragments = &history.fragments[at..at + added + removed];
            at += added + removed;
            for &gone in fragments[added..].iter().step_by(FRAGMENTS as usize) {
                if let Some((n, since)) = born.remove(&gone)
                    && n % k as usize == 0
                {
                    lives.push(time.seconds() - since);
                }
            }
            if number > 0 {
                born.extend(fragments[..added].iter().map(|&f| (f, (number, time.seconds()))));
            }
        }
        lives
    }

    #[test]
    fn churn_and_scroll_live_as_long_as_the_model_says() {
        for k in [1, 2, 10] {
            // Some ten thousand independent lifetimes; those cut off by the end are the last K
            // items of k·10⁴, too few to bend the distribution.
            let lives = lifetimes(k, f64::from(k) * 1e4);
            assert!(lives.len() > 9000);
            assert_follows(&lives, |t| erlang(k, t));
        }
    }

    #[test]
    fn the_test_tells_churn_from_scroll() {
        let lives = lifetimes(2, 2e4);
        let wrong = std::panic::catch_unwind(|| assert_follows(&lives, |t| erlang(1, t)));
        assert!(wrong.is_err());
    }

    #[test]
    fn size_is_constant_and_only_present_fragments_are_removed() {
        let regions = [
            PageRegion { rate: 0.0, items: 1, item_fragments: 20 },
            PageRegion { rate: 0.5, items: 1, item_fragments: 7 },
            PageRegion { rate: 1.0, items: 4, item_fragments: 2 },
        ];
        let history = History::of(&regions, 200.0, &mut Draws::new(1, 0), &mut Draws::new(1, 1));
        assert!(history.rows.len() > 200, "about 300 updates");
        let mut present = std::collections::HashSet::new();
        let mut at = 0;
        for &(_, added, removed) in &history.rows {
            let (added, removed) = (added as usize, removed as usize);
            assert!(history.fragments[at..at + added].iter().all(|&f| present.insert(f)));
            at += added;
            assert!(history.fragments[at..at + removed].iter().all(|f| present.remove(f)));
            at += removed;
            assert_eq!(present.len(), 35);
        }
        assert_eq!(at, history.fragments.len());
        assert!(history.rows.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn updates_at_the_same_instant_make_one_version() {
        let regions = [PageRegion { rate: 1.0, items: 1, item_fragments: 1 }; 2];
        let mut shown = vec![VecDeque::from([10]), VecDeque::from([20])];
        let mut history = History::default();
        let at = Time::from_micros(5);
        history.update(&regions, &mut shown, &[(at, 0), (at, 0), (at, 1)], &mut Draws::new(1, 1));
        assert_eq!(history.rows, [(at, 2, 2)]);
        assert_eq!(history.fragments[2..], [10, 20]);
        assert_eq!(history.fragments[..2], [shown[0][0], shown[1][0]]);
    }

    #[test]
    fn hashes_look_uniform() {
        let hashes = history(1, 1e5).fragments;
        let unit = |h: &u64| *h as f64 / 2_f64.powi(64);
        // Each is there twice, added and removed: take the added ones of a churn region.
        let added: Vec<f64> = hashes
            .chunks(2 * FRAGMENTS as usize)
            .skip(1)
            .flat_map(|c| c.iter().take(3).map(unit))
            .collect();
        assert_follows(&added, |x| x);
    }
}
