//! Purely random: every choice is an independent draw among all known pages.

use rustc_hash::FxHashSet;
use tidewatch_core::{Event, HostId, Outcome, PageId, Time};
use tidewatch_math::rng::Draws;

use crate::explanation::{Due, Explanation, Merit};
use crate::{Choice, Gate, Policy};

/// Draws after which a scan looks for any open host, so that a crawl in which
/// almost every host is closed still ends its choice in bounded time.
const DRAWS_BEFORE_SCAN: usize = 32;

/// The random baseline ("purely random" in `[CGM03]`).
pub struct Random {
    draws: Draws,
    hosts: Vec<HostId>,
    gone: FxHashSet<PageId>,
}

impl Random {
    /// A policy whose draws follow from `seed`.
    pub fn new(seed: u64) -> Self {
        let draws = Draws::of(seed, "random.choice", 0);
        Random { draws, hosts: Vec::new(), gone: FxHashSet::default() }
    }

    fn may_fetch(&self, page: usize, now: Time, gate: &dyn Gate) -> bool {
        let id = PageId(page as u32);
        !self.gone.contains(&id) && gate.is_open(self.hosts[page], id, now)
    }
}

impl Policy for Random {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => self.hosts.push(found.host),
            Event::Fetched(seen) if seen.outcome == Outcome::Gone => {
                self.gone.insert(seen.page);
            }
            Event::Fetched(seen) => {
                self.gone.remove(&seen.page);
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let pages = self.hosts.len();
        if pages == 0 {
            return Choice::Idle;
        }
        for _ in 0..DRAWS_BEFORE_SCAN {
            let page = self.draws.below(pages as u64) as usize;
            if self.may_fetch(page, now, gate) {
                return Choice::Fetch(PageId(page as u32));
            }
        }
        let from = self.draws.below(pages as u64) as usize;
        let found = (from..pages).chain(0..from).find(|&page| self.may_fetch(page, now, gate));
        found.map_or(Choice::Idle, |page| Choice::Fetch(PageId(page as u32)))
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str =
            "each fetch goes to a page drawn at random, all with the same probability";
        self.hosts.get(page.index())?;
        let is_gone = self.gone.contains(&page);
        let due = if is_gone { Due::Never } else { Due::InTurn };
        Some(Explanation { is_gone, ..Explanation::new(page, RULE, Merit::Turn, due) })
    }
}
