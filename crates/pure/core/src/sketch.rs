//! How alike are two pages, judged by a few hashes of each?
//!
//! A *sketch* is the m smallest hashes of a page's fragments, ascending, each once. Since hashes are
//! as good as random, the m smallest of two pages' union are a fair sample of that union, and the
//! share of the sample that is on both pages estimates |F∩F′|/|F∪F′| without bias `[BGM97]`. With all
//! fragments kept (m = ∞) the same procedure is exact.

use std::cmp::Ordering;

/// Hashes of a sketch by default: eight lose little against all of them for scheduling `[OP08, §5.3]`.
pub const SKETCH_LEN: usize = 8;

/// Keeps the m smallest of the hashes it is shown, each once.
#[derive(Clone, Debug)]
pub struct Sketcher {
    most: usize,
    /// Ascending while `most` is small; unordered until the end where everything is kept.
    smallest: Vec<u64>,
    /// No hash from here on belongs in; one above the largest kept once there are `most`.
    bar: u64,
}

/// Up to this many hashes are kept in order by insertion, which is then cheaper than a sort.
const BY_INSERTION: usize = 64;

impl Sketcher {
    /// Keeps at most `most` hashes; `usize::MAX` keeps all.
    pub fn new(most: usize) -> Self {
        Sketcher { most, smallest: Vec::new(), bar: if most == 0 { 0 } else { u64::MAX } }
    }

    /// Shows it a hash. The largest number of all is never kept: it pads sketches.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        if hash < self.bar {
            self.keep(hash);
        }
    }

    fn keep(&mut self, hash: u64) {
        if self.most > BY_INSERTION {
            self.smallest.push(hash);
            if self.smallest.len() >= self.most.saturating_mul(2) {
                self.tidy();
            }
            return;
        }
        if let Err(place) = self.smallest.binary_search(&hash) {
            self.smallest.insert(place, hash);
            self.smallest.truncate(self.most);
            self.raise_bar();
        }
    }

    fn raise_bar(&mut self) {
        if self.smallest.len() == self.most
            && let Some(&last) = self.smallest.last()
        {
            self.bar = last;
        }
    }

    fn tidy(&mut self) {
        self.smallest.sort_unstable();
        self.smallest.dedup();
        self.smallest.truncate(self.most);
        self.raise_bar();
    }

    /// The sketch.
    pub fn finish(mut self) -> Vec<u64> {
        self.tidy();
        self.smallest
    }
}

/// 1 − |F∩F′|/|F∪F′|, estimated from two sketches of at most `most` hashes each; 0 for two empty pages.
///
/// Sketches longer than `most` are cut. A sketch shorter than `most` is the whole page, and if both
/// are, the result is exact.
pub fn divergence(a: &[u64], b: &[u64], most: usize) -> f64 {
    let (a, b) = (&a[..a.len().min(most)], &b[..b.len().min(most)]);
    let both_whole = a.len() < most && b.len() < most;
    let sample = if both_whole { usize::MAX } else { most };
    let (mut i, mut j, mut union, mut common) = (0, 0, 0usize, 0usize);
    while union < sample && (i < a.len() || j < b.len()) {
        let order = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => x.cmp(y),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        i += usize::from(order != Ordering::Greater);
        j += usize::from(order != Ordering::Less);
        common += usize::from(order == Ordering::Equal);
        union += 1;
    }
    if union == 0 { 0.0 } else { 1.0 - common as f64 / union as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sketch(hashes: impl IntoIterator<Item = u64>, most: usize) -> Vec<u64> {
        let mut sketcher = Sketcher::new(most);
        hashes.into_iter().for_each(|hash| sketcher.add(hash));
        sketcher.finish()
    }

    fn close(x: f64, y: f64) -> bool {
        (x - y).abs() < 1e-12
    }

    #[test]
    fn small_pages_are_compared_exactly() {
        assert!(close(divergence(&[], &[], 8), 0.0));
        assert!(close(divergence(&[1, 2], &[], 8), 1.0));
        assert!(close(divergence(&[1, 2, 3], &[2, 3, 4, 5], 8), 1.0 - 2.0 / 5.0));
        assert!(close(divergence(&[1, 2, 3], &[1, 2, 3], 3), 0.0));
    }

    /// Over many draws the mean estimate is the true divergence, within four standard errors.
    #[test]
    fn the_estimate_is_unbiased() {
        const DRAWS: u64 = 4000;
        let mix = |x: u64| {
            let x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x ^ (x >> 32)
        };
        // 60 fragments, 20 of them replaced: |∩| = 40, |∪| = 80.
        let estimates = (0..DRAWS).map(|draw| {
            let page = |from: u64| (from..from + 60).map(move |i| mix(draw << 32 | i));
            divergence(&sketch(page(0), 8), &sketch(page(20), 8), 8)
        });
        let mean = estimates.sum::<f64>() / DRAWS as f64;
        let error = (0.5f64 * 0.5 / 8.0 / DRAWS as f64).sqrt();
        assert!((mean - 0.5).abs() < 4.0 * error, "{mean}");
    }

    proptest! {
        #[test]
        fn keeps_the_smallest_once(hashes in proptest::collection::vec(0u64..500, 0..400), most in 0usize..300) {
            let wanted: Vec<u64> =
                hashes.iter().copied().collect::<BTreeSet<_>>().into_iter().take(most).collect();
            prop_assert_eq!(sketch(hashes, most), wanted);
        }

        #[test]
        fn with_everything_kept_it_is_exact(
            a in proptest::collection::btree_set(0u64..60, 0..40),
            b in proptest::collection::btree_set(0u64..60, 0..40),
        ) {
            let union = a.union(&b).count();
            let exact =
                if union == 0 { 0.0 } else { 1.0 - a.intersection(&b).count() as f64 / union as f64 };
            let (a, b) = (sketch(a, usize::MAX), sketch(b, usize::MAX));
            prop_assert!(close(divergence(&a, &b, usize::MAX), exact));
            prop_assert!(close(divergence(&a, &b, 5), divergence(&b, &a, 5)));
        }
    }
}
