//! The greedy cover of pages by sources.

use std::collections::BinaryHeap;

use super::new_pages;
use crate::World;

/// A sequence of sources; each reaches most of the pages that those before do not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Sources in order, each with the number of pages reached so far.
    pub steps: Vec<(u32, u64)>,
    /// Number of pages to reach.
    pub pages: u64,
}

impl Cover {
    /// Share of pages that the first `sources` sources reach.
    pub fn reached(&self, sources: usize) -> f64 {
        let steps = &self.steps[..sources.min(self.steps.len())];
        let reached = steps.last().map_or(0, |step| step.1);
        if self.pages == 0 { 0.0 } else { reached as f64 / self.pages as f64 }
    }

    /// Number of sources that reach a share of the pages; `None` if all together do not.
    pub fn sources_for(&self, share: f64) -> Option<usize> {
        let wanted = share * self.pages as f64;
        self.steps.iter().position(|step| step.1 as f64 >= wanted).map(|index| index + 1)
    }
}

/// Covers the new pages with `wanted` by the sources that show them.
///
/// Lazy greedy: the gain of a source only falls as others are taken, so a source whose updated gain is
/// still the largest is the best one. Most sources are counted once or twice.
pub fn greedy_cover(world: &World, wanted: impl Fn(u32) -> bool) -> Cover {
    let trace = world.trace();
    let mut is_left = vec![false; world.len()];
    let mut pages = 0;
    for page in new_pages(world).filter(|&page| wanted(page)) {
        is_left[page as usize] = true;
        pages += 1;
    }
    let sources = (0..world.len() as u32).filter(|&page| trace.pages[page as usize].is_source);
    let mut heap: BinaryHeap<(u64, std::cmp::Reverse<u32>)> =
        sources.map(|source| (u64::MAX, std::cmp::Reverse(source))).collect();
    let mut cover = Cover { steps: Vec::new(), pages };
    let mut reached = 0;
    while let Some((claimed, std::cmp::Reverse(source))) = heap.pop() {
        let adds = count(world, source, &is_left);
        if adds == 0 {
            continue;
        }
        let rival = heap.peek().map_or(0, |next| next.0);
        if adds < claimed && adds < rival {
            heap.push((adds, std::cmp::Reverse(source)));
            continue;
        }
        // At least the upper bound of every other source.
        world.links_of(source).iter().for_each(|link| is_left[link.page as usize] = false);
        reached += adds;
        cover.steps.push((source, reached));
    }
    cover
}

/// Number of uncovered pages that a source shows.
fn count(world: &World, source: u32, is_left: &[bool]) -> u64 {
    let mut pages: Vec<u32> = world
        .links_of(source)
        .iter()
        .map(|link| link.page)
        .filter(|&page| is_left[page as usize])
        .collect();
    pages.sort_unstable();
    pages.dedup();
    pages.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_core::{Span, Time};
    use tidewatch_trace::{Host, Trace, TraceLink, TracePage};

    const SOURCES: u32 = 6;
    const PAGES: u32 = 12;

    fn world(links: &[(u32, u32)]) -> World {
        let page = |id: u32| TracePage {
            id: id.into(),
            url: format!("http://a.test/{id}").into(),
            host: 0,
            born: if id < SOURCES { Time::ZERO } else { Time::from_micros(5) },
            died: None,
            is_source: id < SOURCES,
            weight: 1.0,
            is_seed: id < SOURCES,
        };
        let link = |&(source, page): &(u32, u32)| TraceLink {
            source,
            page: SOURCES + page,
            appears: Time::from_micros(9),
            disappears: None,
            position: None,
        };
        let mut trace = Trace {
            name: "t".into(),
            duration: Span::DAY,
            pages: (0..SOURCES + PAGES).map(page).collect(),
            hosts: vec![Host { name: "a.test".into(), max_rate: None }],
            links: links.iter().map(link).collect(),
            ..Trace::default()
        };
        trace.arrange();
        World::new(trace).unwrap()
    }

    proptest! {
        /// Against the literal procedure: count everything at every step.
        #[test]
        fn it_is_the_literal_greedy(
            links in prop::collection::btree_set((0..SOURCES, 0..PAGES), 0..40),
        ) {
            let links: Vec<(u32, u32)> = links.into_iter().collect();
            let cover = greedy_cover(&world(&links), |_| true);
            let mut left: Vec<u32> = (0..PAGES).collect();
            let mut steps = Vec::new();
            loop {
                let adds = |s: u32| links.iter().filter(|l| l.0 == s && left.contains(&l.1)).count();
                let best = (0..SOURCES).max_by_key(|&s| (adds(s), std::cmp::Reverse(s))).unwrap();
                if adds(best) == 0 {
                    break;
                }
                left.retain(|page| !links.contains(&(best, *page)));
                steps.push((PAGES as usize - left.len()) as u64);
            }
            // Ties may be broken otherwise, so compare what is reached at the first step, and at the
            // end; in between a tie can lead elsewhere.
            prop_assert_eq!(cover.steps.last().map(|s| s.1), steps.last().copied());
            prop_assert_eq!(cover.steps.first().map(|s| s.1), steps.first().copied());
            let gains: Vec<u64> = cover.steps.iter().scan(0, |before, step| {
                let gain = step.1 - *before;
                *before = step.1;
                Some(gain)
            }).collect();
            prop_assert!(gains.windows(2).all(|two| two[0] >= two[1]), "{:?}", gains);
        }
    }

    #[test]
    fn shares_and_counts_agree() {
        let cover =
            greedy_cover(&world(&[(0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (2, 4)]), |_| true);
        assert_eq!(cover.steps, [(2, 3), (0, 5)]);
        assert!((cover.reached(1) - 0.25).abs() < 1e-12 && cover.reached(0).abs() < 1e-12);
        assert_eq!((cover.sources_for(0.25), cover.sources_for(0.9)), (Some(1), None));
    }
}
