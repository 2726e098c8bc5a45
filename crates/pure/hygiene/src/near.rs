//! Pages of any host that show nearly the same.
//!
//! A page is remembered by its sketch: the [`HASHES`] smallest hashes of its fragments. It is indexed under
//! its URL and each of its [`DOORS`] smallest hashes, so a search looks at three pages at most, however many
//! there are. Pages of few fragments are indexed under their identity instead.
//!
//! Two pages of resemblance J share each of the eight smallest hashes of their union with chance J, so the
//! number B of shared ones is binomial. Pages are *near* if B is at least [`NEAR`]:
//!
//! | J | B ≥ 6 | all eight equal |
//! |---|---|---|
//! | 0.95 | 0.99 | 0.66 |
//! | 0.9 | 0.96 | 0.43 |
//! | 0.8 | 0.80 | 0.17 |
//! | 0.5 | 0.14 | 0.004 |
//! | 0.3 | 0.011 | 0.00007 |
//!
//! A near page is missed only if the two share none of the hashes under which they are indexed. At J = 0.9
//! this happens to less than one pair in a hundred.
//!
//! A hash of many pages, such as that of a notice which comes with a site's software, leads to the first of
//! them only; their other hashes lead to the rest. The oldest pages are evicted.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::sketch::divergence;

/// Hashes that are compared.
const HASHES: usize = 8;
/// Hashes under which a page is found.
const DOORS: usize = 3;
/// Of the eight smallest hashes of two pages together, so many are on both if the pages are nearly the same.
const NEAR: usize = 6;
/// From so many on the pages may be one in two different frames.
const ALIKE: usize = 4;
/// Pages at the same path of two hosts are the same from the first number on, and others up to the second.
/// Between the two nothing is learnt. At J = 0.63 a page is one in another frame with chance 0.97, another
/// with 0.005; at J = 0.4 with 0.69 and 0.11. So a host counts as a mirror, in the end, if its pages share
/// more than half of their fragments with those of the other.
const MIRRORED: usize = 3;
const OTHER: usize = 1;
/// Stands for no hash: the largest number, which no sketch holds.
const NONE: u64 = u64::MAX;
/// Bytes a page: [`Entry`], and its doors in a table that is seven eighths full.
pub(crate) const BYTES: usize =
    size_of::<Entry>() + (DOORS + 1) * (size_of::<(u32, u32)>() + 1) * 8 / 7;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    sketch: [u64; HASHES],
    host: u64,
    page: u32,
    /// 0: unknown.
    identity: u32,
}

/// A page that is to be compared with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    /// Its host, and the key of its URL.
    pub(crate) host: u64,
    pub(crate) page: u64,
    pub(crate) identity: u64,
    pub(crate) sketch: &'a [u64],
}

/// A page of another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Twin {
    pub(crate) host: u64,
    common: usize,
}

impl Twin {
    /// Whether it is nearly the same page.
    pub(crate) const fn is_near(self) -> bool {
        self.common >= NEAR
    }
}

/// The pages fetched last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Near {
    pages: VecDeque<Entry>,
    /// The number of the first page behind each door.
    doors: FxHashMap<u32, u32>,
    /// Number of the oldest page.
    first: u32,
}

impl Entry {
    fn new(look: &Look<'_>) -> Option<Self> {
        let Look { host, page, identity, sketch } = *look;
        let mut kept = [NONE; HASHES];
        // A page of few fragments is near many others, so it is known by its identity only.
        if sketch.len() >= HASHES {
            kept.copy_from_slice(&sketch[..HASHES]);
        }
        let entry = Self { sketch: kept, host, page: fold(page), identity: fold(identity) };
        (entry.identity != 0 || kept[0] != NONE).then_some(entry)
    }

    fn doors(&self) -> impl Iterator<Item = u32> + use<> {
        let by_sketch = self.sketch.into_iter().take(DOORS).filter(|&hash| hash != NONE);
        let by_identity = (self.sketch[0] == NONE).then_some(identity_door(self.identity));
        by_sketch.map(fold).chain(by_identity).chain([page_door(self.page)])
    }

    /// How many of the eight smallest hashes of two pages are on both; eight for equal identities.
    fn common(&self, other: &Self) -> usize {
        if self.identity != 0 && self.identity == other.identity {
            return HASHES;
        }
        if self.sketch[0] == NONE || other.sketch[0] == NONE {
            return 0;
        }
        let alike = 1.0 - divergence(&self.sketch, &other.sketch, HASHES);
        (alike * HASHES as f64).round() as usize
    }
}

impl Near {
    /// Pages of other hosts that may show the same.
    pub(crate) fn twins(&self, look: &Look<'_>) -> Vec<Twin> {
        let Some(page) = Entry::new(look) else { return Vec::new() };
        let others = page.doors().filter_map(|door| self.page(*self.doors.get(&door)?));
        let others = others.filter(|other| other.host != page.host);
        let twins = others.map(|other| Twin { host: other.host, common: page.common(other) });
        let mut twins: Vec<Twin> = twins.filter(|twin| twin.common >= ALIKE).collect();
        twins.sort_unstable_by_key(|twin| (std::cmp::Reverse(twin.common), twin.host));
        twins.dedup();
        twins
    }

    /// Whether a page is remembered.
    pub(crate) fn knows(&self, page: u64) -> bool {
        self.at(page).is_some()
    }

    fn at(&self, page: u64) -> Option<&Entry> {
        let number = *self.doors.get(&page_door(fold(page)))?;
        self.page(number).filter(|there| there.page == fold(page))
    }

    /// Whether the page with the key `other` shows the same in a frame of its own; `None` if it is not
    /// remembered, or doubtful.
    pub(crate) fn is_mirrored(&self, look: &Look<'_>, other: u64) -> Option<bool> {
        let other = self.at(other)?;
        match Entry::new(look)?.common(other) {
            MIRRORED.. => Some(true),
            ..=OTHER => Some(false),
            _ => None,
        }
    }

    fn page(&self, number: u32) -> Option<&Entry> {
        self.pages.get(number.wrapping_sub(self.first) as usize)
    }

    /// Remembers a page, and forgets the oldest ones beyond `most`.
    pub(crate) fn add(&mut self, look: &Look<'_>, most: usize) {
        let Some(page) = Entry::new(look) else { return };
        let number = self.first.wrapping_add(self.pages.len() as u32);
        for door in page.doors() {
            self.doors.entry(door).or_insert(number);
        }
        self.pages.push_back(page);
        self.limit(most);
    }

    /// Forgets the oldest pages beyond `most`.
    pub(crate) fn limit(&mut self, most: usize) {
        while self.pages.len() > most {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.pages.pop_front() else { return };
        for door in oldest.doors() {
            if self.doors.get(&door) == Some(&self.first) {
                self.doors.remove(&door);
            }
        }
        self.first = self.first.wrapping_add(1);
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.len() * BYTES
    }
}

/// Hashes of fragments, identities and URLs must not meet in one door.
fn identity_door(identity: u32) -> u32 {
    identity.rotate_left(16) ^ 1
}

fn page_door(page: u32) -> u32 {
    page.rotate_left(8) ^ 2
}

/// 32 of 64 bits; 0 stays 0.
fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1 << 16;
    /// Bytes that a page may take.
    const PROMISED: usize = 128;
    /// Pairs of pages of one resemblance.
    const PAIRS: u64 = 4_000;
    /// Fragments of a page. The shares of a few hundred fragments are as good as chances.
    const FRAGMENTS: u64 = 400;

    fn mix(x: u64) -> u64 {
        let x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 32)
    }

    /// Sketch of a page of the fragments `from..from + FRAGMENTS` of a text.
    fn sketch(text: u64, from: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (from..from + FRAGMENTS).map(|i| mix(text << 20 | i)).collect();
        all.sort_unstable();
        all.truncate(HASHES);
        all
    }

    /// A page that is alone with its URL.
    fn look(host: u64, identity: u64, sketch: &[u64]) -> Look<'_> {
        Look { host, page: mix(host << 40 ^ identity), identity, sketch }
    }

    /// Pages at one path of two hosts, by how many of the eight smallest hashes they share.
    #[test]
    fn pages_at_the_same_path_are_compared() {
        let mut near = Near::default();
        near.add(&look(1, 7, &[1, 2, 3, 4, 5, 6, 7, 8]), MOST);
        let there = look(1, 7, &[]).page;
        let verdict = |sketch: &[u64]| near.is_mirrored(&look(2, 8, sketch), there);
        assert_eq!(verdict(&[1, 2, 3, 24, 25, 26, 27, 28]), Some(true));
        assert_eq!(verdict(&[1, 2, 23, 24, 25, 26, 27, 28]), None);
        assert_eq!(verdict(&[1, 22, 23, 24, 25, 26, 27, 28]), Some(false));
        assert_eq!(near.is_mirrored(&look(2, 7, &[]), there), Some(true), "one identity");
        assert_eq!(near.is_mirrored(&look(2, 7, &[]), there + 1), None, "not remembered");
    }

    /// Share of pairs of a resemblance that are found near.
    fn found(resemblance: f64) -> f64 {
        // (n − d)/(n + d) = J.
        let shift = (FRAGMENTS as f64 * (1.0 - resemblance) / (1.0 + resemblance)).round() as u64;
        let mut near = Near::default();
        let mut hits = 0;
        for pair in 0..PAIRS {
            near.add(&look(1, mix(2 * pair + 1), &sketch(pair, 0)), MOST);
            let twins = near.twins(&look(2, mix(2 * pair + 2), &sketch(pair, shift)));
            hits += u64::from(twins.first().is_some_and(|twin| twin.is_near()));
        }
        hits as f64 / PAIRS as f64
    }

    /// Chance of six, seven or eight of eight.
    fn binomial_tail(chance: f64) -> f64 {
        let (six, seven) = (chance.powi(6), chance.powi(7));
        let other = 1.0 - chance;
        28.0 * six * other * other + 8.0 * seven * other + seven * chance
    }

    #[test]
    fn near_pages_are_found_as_often_as_derived() {
        // Doors are missed now and then, and pages have a finite number of fragments.
        const DERIVED: f64 = 0.02;
        for resemblance in [0.95, 0.9, 0.8, 0.5, 0.3] {
            let (share, derived) = (found(resemblance), binomial_tail(resemblance));
            // Four standard errors of the share.
            let error = 4.0 * (derived * (1.0 - derived) / PAIRS as f64).sqrt();
            assert!((share - derived).abs() < error + DERIVED, "{resemblance}: {share} {derived}");
        }
    }

    #[test]
    fn a_page_of_the_same_host_is_no_twin() {
        let mut near = Near::default();
        near.add(&look(1, 7, &sketch(1, 0)), MOST);
        assert!(near.twins(&look(1, 7, &sketch(1, 0))).is_empty());
        assert_eq!(near.twins(&look(2, 8, &sketch(1, 0))).len(), 1);
    }

    #[test]
    fn short_pages_are_known_by_identity_only() {
        let mut near = Near::default();
        near.add(&look(1, 7, &[3, 4]), MOST);
        assert!(near.twins(&look(2, 8, &[3, 4])).is_empty());
        assert!(near.twins(&look(2, 7, &[9])).first().is_some_and(|twin| twin.is_near()));
    }

    /// What every page of two sites has is a door to one of them; other doors lead to the rest.
    #[test]
    fn a_fragment_that_all_share_hides_nothing() {
        let page = |number: u64| {
            let mut all = sketch(number, 0);
            (all[0], all[HASHES - 1]) = (5, u64::MAX - 1);
            all
        };
        let mut near = Near::default();
        for number in 0..100 {
            near.add(&look(1, number + 1, &page(number)), MOST);
        }
        let is_found = |number: &u64| {
            near.twins(&look(2, number + 1000, &page(*number)))
                .first()
                .is_some_and(|twin| twin.is_near())
        };
        assert_eq!((0..100).filter(is_found).count(), 100);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_make_room() {
        const { assert!(BYTES <= PROMISED) }
        let mut near = Near::default();
        for number in 0..1_000 {
            near.add(&look(1, number + 1, &sketch(number, 0)), 100);
        }
        assert!(near.bytes() <= 100 * PROMISED && near.doors.len() <= 100 * (DOORS + 1));
        let is_known = |number| !near.twins(&look(2, number + 1, &sketch(number, 0))).is_empty();
        assert!(is_known(999) && is_known(900) && !is_known(899));
    }
}
