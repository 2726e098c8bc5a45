//! Which links need not be sent?
//!
//! Most links between hosts lead to few pages. A sender remembers the pages that it has sent lately and
//! holds further links to them back; how many there were follows once a minute, so that the owner of the
//! page can weigh it as if it had seen them all.
//!
//! The memory is fixed: sets of eight places, in each of which a hit moves one place forward and a new page
//! takes the last. It belongs to one opening of a partition. It begins empty, so whatever a return to a
//! checkpoint has forgotten is sent again.
//!
//! Invariant: every link that was passed is either sent or counted, once.

use tidewatch_core::PageKey;

/// Places in a set.
const WAYS: usize = 8;

/// Pages whose links were sent lately.
#[derive(Clone, Debug)]
pub struct Popular {
    sets: usize,
    /// Key, receiver and links held back since the last report, by place. Key 0 stands for nothing.
    places: Vec<(u64, u32, u32)>,
    /// Counts of pages that lost their place.
    evicted: Vec<Count>,
}

/// Links to a page that were held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count {
    /// The partition that owns the page.
    pub to: u32,
    /// The page.
    pub page: PageKey,
    /// How many.
    pub links: u32,
}

impl Popular {
    /// A memory of about this many bytes, 16 a page.
    pub fn new(bytes: usize) -> Popular {
        let sets = (bytes / 16 / WAYS).max(1);
        Popular { sets, places: vec![(0, 0, 0); sets * WAYS], evicted: Vec::new() }
    }

    /// Whether a link to a page of partition `to` is to be sent. If not, it is counted.
    pub fn pass(&mut self, page: PageKey, to: u32) -> bool {
        let key = page.0.max(1);
        let begin = (key >> 7) as usize % self.sets * WAYS;
        let set = &mut self.places[begin..begin + WAYS];
        if let Some(found) = set.iter().position(|place| place.0 == key) {
            set[found].2 = set[found].2.saturating_add(1);
            set.swap(found, found.saturating_sub(1));
            return false;
        }
        let (old, owner, links) = std::mem::replace(&mut set[WAYS - 1], (key, to, 0));
        if links > 0 {
            self.evicted.push(Count { to: owner, page: PageKey(old), links });
        }
        true
    }

    /// Takes what was counted since the last call, by receiver.
    pub fn counts(&mut self) -> Vec<Count> {
        let mut counts = std::mem::take(&mut self.evicted);
        for (key, to, links) in self.places.iter_mut().filter(|place| place.2 > 0) {
            counts.push(Count { to: *to, page: PageKey(*key), links: std::mem::take(links) });
        }
        counts.sort_unstable();
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use tidewatch_math::Draws;

    #[test]
    fn links_by_zipf_are_mostly_held_back() {
        let mut popular = Popular::new(16 * 4096);
        let mut draws = Draws::of(5, "popular", 0);
        // Density of the rank ∝ 1/rank up to a million pages.
        let mut page = || PageKey(Draws::of(6, "key", 1e6f64.powf(draws.uniform()) as u64).at(0));
        let sent = (0..200_000).filter(|_| popular.pass(page(), 0)).count();
        // The 4,096 most popular of 10⁶ pages have ln 4096 / ln 10⁶ = 60% of the links, so 40% must be
        // sent; a memory that has to learn which these are may send half as many again.
        assert!(sent < 200_000 * 60 / 100, "{sent}");
    }

    proptest! {
        #[test]
        fn every_link_is_sent_or_counted(pages in proptest::collection::vec(0u64..60, 0..400)) {
            let mut popular = Popular::new(16 * 2 * WAYS);
            let (mut seen, mut told) = (BTreeMap::new(), BTreeMap::new());
            for (turn, page) in pages.iter().enumerate() {
                // Spread over the sets; never 0, which is another page's key as well.
                let key = PageKey(1 + page.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1000);
                *seen.entry(key).or_insert(0) += 1;
                if popular.pass(key, (key.0 % 3) as u32) {
                    *told.entry(key).or_insert(0) += 1;
                }
                if turn % 50 == 49 {
                    for count in popular.counts() {
                        prop_assert_eq!(u64::from(count.to), count.page.0 % 3);
                        *told.entry(count.page).or_insert(0) += count.links;
                    }
                }
            }
            for count in popular.counts() {
                *told.entry(count.page).or_insert(0) += count.links;
            }
            prop_assert_eq!(seen, told);
            prop_assert!(popular.counts().is_empty());
        }
    }
}
