//! What fetched pages showed, in bounded memory.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Hashes of a sketch that are kept.
const SKETCH: usize = 4;
/// Of [`SKETCH`] hashes, so many agree on pages that are nearly the same: at resemblance 0.9 with
/// chance 0.95, at 0.3 with chance 0.08.
const NEAR: usize = 3;
/// At most so many agree on pages that are not: at resemblance 0.3 with chance 0.65, at 0.9 with chance
/// 0.004. Between the two a text may have changed since, and nothing is learnt.
const FAR: usize = 1;

/// What a page showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// The URL.
    pub(crate) url: u32,
    /// The URL that it says is the page's: target of a redirect, canonical, or its own.
    pub(crate) place: u32,
    /// 0: unknown.
    identity: u32,
    /// 0: none. Two hashes are equal by chance once in 65,536 pairs, and one is never enough.
    sketch: [u16; SKETCH],
}

impl Shown {
    /// `url` and `place` are page keys.
    pub(crate) fn new(url: u64, place: u64, identity: u64, sketch: &[u64]) -> Self {
        // The hashes of a sketch are the smallest: their high bits are all alike, and the low ones of a poor
        // hash may be.
        let mut kept = [0; SKETCH];
        for (kept, hash) in kept.iter_mut().zip(sketch) {
            let folded = fold(*hash);
            *kept = ((folded ^ (folded >> 16)) as u16).max(1);
        }
        Self { url: fold(url), place: fold(place), identity: fold(identity), sketch: kept }
    }

    /// Whether two pages show the same.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.place == other.place || self.shows(other)
    }

    /// The same as the outcome of a trial; `None` if it is doubtful.
    pub(crate) fn verdict(&self, other: &Self) -> Option<bool> {
        if self.agrees(other) {
            return Some(true);
        }
        (self.common(other) <= FAR).then_some(false)
    }

    /// Whether they show the same, whatever they say about their place.
    pub(crate) fn shows(&self, other: &Self) -> bool {
        (self.identity != 0 && self.identity == other.identity) || self.common(other) >= NEAR
    }

    /// Whether two pages of *any* two URLs of a host show the same. Stricter than [`Shown::shows`], since
    /// the frame of a site is on all its pages: of a page of thirty fragments, six of them frame, three
    /// of the four hashes are often the frame's (chance 0.018), all four hardly ever (0.0005).
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        (self.identity != 0 && self.identity == other.identity) || self.common(other) == SKETCH
    }

    /// Whether there is content to compare.
    pub(crate) const fn has_content(&self) -> bool {
        self.identity != 0
    }

    fn common(&self, other: &Self) -> usize {
        self.sketch.iter().filter(|&&hash| hash != 0 && other.sketch.contains(&hash)).count()
    }
}

/// 32 of 64 bits; 0 stays 0.
fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// The pages fetched last, by key. The oldest make room.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ByKey {
    shown: FxHashMap<u32, Shown>,
    order: VecDeque<u32>,
}

impl ByKey {
    /// What the last page under a key of a rule showed (rule 0: under all accepted rules).
    pub(crate) fn get(&self, rule: u64, key: u64) -> Option<Shown> {
        self.shown.get(&slot(rule, key)).copied()
    }

    pub(crate) fn put(&mut self, rule: u64, key: u64, shown: Shown, most: usize) {
        let slot = slot(rule, key);
        if self.shown.insert(slot, shown).is_none() {
            self.order.push_back(slot);
        }
        while self.order.len() > most {
            let oldest = self.order.pop_front();
            oldest.map(|slot| self.shown.remove(&slot));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.shown.clear();
        self.order.clear();
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.order.len() * (size_of::<(u32, Shown)>() + size_of::<u32>() + 4)
    }
}

fn slot(rule: u64, key: u64) -> u32 {
    fold(rule.rotate_left(32).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key)
}

/// The pages fetched last, with their URLs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Recent {
    pages: VecDeque<(Box<str>, Shown)>,
    bytes: usize,
}

impl Recent {
    pub(crate) fn push(&mut self, url: &str, shown: Shown, most: usize) {
        self.bytes += url.len();
        self.pages.push_back((url.into(), shown));
        while self.pages.len() > most {
            self.bytes -= self.pages.pop_front().map_or(0, |(url, _)| url.len());
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Shown)> {
        self.pages.iter().map(|(url, shown)| (&**url, shown))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.pages.len() * size_of::<(Box<str>, Shown)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: u64, identity: u64, sketch: &[u64]) -> Shown {
        Shown::new(url, url, identity, sketch)
    }

    #[test]
    fn pages_agree_by_place_identity_or_sketch() {
        let page_1 = page(1, 7, &[1, 2, 3, 4, 5]);
        assert!(page_1.agrees(&page(2, 7, &[])));
        assert!(page_1.agrees(&page(2, 8, &[2, 3, 4, 9])));
        assert!(!page_1.agrees(&page(2, 8, &[3, 4, 8, 9])));
        assert!(page_1.agrees(&Shown::new(2, 1, 0, &[])));
        assert!(!page(1, 0, &[]).agrees(&page(2, 0, &[])));
        let verdict = |sketch: &[u64]| page_1.verdict(&page(2, 8, sketch));
        assert_eq!(verdict(&[2, 3, 4, 9]), Some(true));
        assert_eq!(verdict(&[3, 4, 8, 9]), None);
        assert_eq!(verdict(&[4, 8, 9, 10]), Some(false));
    }

    /// Three hashes of four may be a site's frame, so they make no page of the same site a repeat.
    #[test]
    fn frames_are_allowed_for() {
        let page_1 = page(1, 7, &[1, 2, 3, 4, 5]);
        assert!(
            !page_1.repeats(&page(2, 8, &[1, 2, 3, 9])) && page_1.shows(&page(2, 8, &[1, 2, 3, 9]))
        );
        assert!(page_1.repeats(&page(2, 8, &[1, 2, 3, 4])) && page_1.repeats(&page(2, 7, &[])));
    }

    /// Hashes whose low or high halves are all alike are still told apart.
    #[test]
    fn all_bits_of_a_hash_count() {
        for shift in [0, 16, 32, 48] {
            let sketch = |from: u64| (from..from + 4).map(|i| i << shift).collect::<Vec<u64>>();
            assert!(!page(1, 7, &sketch(1)).repeats(&page(2, 8, &sketch(100))), "{shift}");
        }
    }

    #[test]
    fn the_oldest_make_room() {
        let mut memory = ByKey::default();
        for key in 0..10 {
            memory.put(1, key, page(key, 1, &[]), 4);
        }
        assert!(memory.get(1, 5).is_none() && memory.get(1, 6).is_some());
        assert!(memory.get(2, 6).is_none());
        let mut recent = Recent::default();
        for i in 0..10u64 {
            recent.push("https://a.example/", page(i, 1, &[]), 3);
        }
        assert_eq!(recent.iter().count(), 3);
        assert_eq!(recent.bytes(), 3 * (18 + size_of::<(Box<str>, Shown)>()));
    }
}
