//! What a crawl does about waste, and the filters: all that the live crawler did before it learnt.
//!
//! The filters are those of the live crawl. A URL is judged before it becomes a page
//! ([`Tolerance`]); a fetched page is left out if it reads the same as another page of its host, or has the
//! same whole sketch, and the policy is told that it is gone.

use rustc_hash::FxHashMap;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_frontier::hygiene::{Found, Tolerance};

use crate::world::World;

/// What a crawl does about pages that are not worth fetching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleaning {
    /// Nothing.
    #[default]
    Nothing,
    /// Fixed rules about addresses, and duplicates within a host.
    Filters,
    /// The same, and rules learnt while crawling ([`tidewatch_hygiene`]).
    Rules,
    /// The same, and an operator who has labelled so many hosts of link farms at the start, and as many good
    /// ones.
    Labelled(u32),
}

/// Least number of hashes in a sketch that is compared.
const WHOLE_SKETCH: usize = 8;

/// The year of a trace that does not tell when it starts.
const USUAL_YEAR: u16 = 2026;

/// The state of the filters.
pub(super) struct Filters<'w> {
    world: &'w World,
    tolerance: Tolerance,
    year: u16,
    /// Links from a seed, per page.
    depth: Vec<u16>,
    host_pages: Vec<u32>,
    /// The first page of a host whose sketch begins with a hash, and its identity and sketch.
    twins: FxHashMap<(u32, u64), Twin>,
}

struct Twin {
    page: u32,
    identity: u64,
    sketch: Box<[u64]>,
}

impl<'w> Filters<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        let start = world.trace().start.as_deref();
        let year = start.and_then(|start| start.get(..4)?.parse().ok());
        Filters {
            world,
            tolerance: Tolerance::default(),
            year: year.unwrap_or(USUAL_YEAR),
            depth: vec![0; world.len()],
            host_pages: vec![0; world.trace().hosts.len()],
            twins: FxHashMap::default(),
        }
    }

    /// Whether a link from page `via` may make `page` known.
    pub(super) fn admit(&self, page: u32, via: u32) -> bool {
        let row = &self.world.trace().pages[page as usize];
        let depth = self.depth[via as usize].saturating_add(1);
        let host_pages = self.host_pages[row.host as usize];
        let found = Found { depth, host_pages, year: self.year };
        CanonicalUrl::parse(&row.url).is_ok_and(|url| self.tolerance.judge(&url, found).is_ok())
    }

    pub(super) fn discovered(&mut self, page: u32, via: Option<u32>) {
        let depth = via.map_or(0, |via| self.depth[via as usize].saturating_add(1));
        self.depth[page as usize] = depth;
        self.host_pages[self.world.trace().pages[page as usize].host as usize] += 1;
    }

    /// Whether a page that was just fetched for the first time repeats another one of its host.
    pub(super) fn is_repeat(&mut self, page: u32, identity: u64, sketch: &[u64]) -> bool {
        let row = &self.world.trace().pages[page as usize];
        let Some(&hash) = sketch.first().filter(|_| !row.is_source) else { return false };
        let own = Twin { page, identity, sketch: sketch.into() };
        let twin = self.twins.entry((row.host, hash)).or_insert(own);
        let is_near = sketch.len() >= WHOLE_SKETCH && *twin.sketch == *sketch;
        twin.page != page && (twin.identity == identity || is_near)
    }
}
