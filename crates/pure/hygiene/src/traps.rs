//! Traps: sets of URLs whose value falls.
//!
//! A trap (calendar, facets, session ids, a maze of invented text) is a *template* that goes on making
//! URLs. Two things tell, and each is a shrunken rate of its own:
//!
//! * **fruit**: the share of fetches of a template that brought nothing of their own (a copy of another
//!   page, an error page, nothing). The chance that the next brings nothing is
//!   q = (s·m + fruitless)/(s + fetches), m the same of the parent.
//! * **worth**: clicks brought over clicks expected. Text can be faked without end, clicks and links from
//!   other domains cannot. With a gamma prior of shape s about the parent's ratio m, after the
//!   expected clicks e brought k of them a page of value V is worth V·(s·m + k)/(s + e); with k = 0 and
//!   m = 1 that is a/(b + n) for a = s, b = s/V and n = e/V fetches, and a template is left after
//!   n* = a/ω − b of them. The expectation is the price's own, so a template that is merely poor, as
//!   the price knows, loses nothing.
//!
//! A maze invents templates, hosts and domains, so each level learns from the one below: template →
//! host → domain → address → all. A child with exposure t counts at its parent as s·t/(s + t)
//! `[BS70]`: never as more than s, and a thousand new templates of one fetch as a thousand.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Levels: template, host, domain, address, all.
const LEVELS: usize = 5;
/// s of each level, in fetches: how alike we take siblings to be.
const FETCHES: [f64; LEVELS] = [8.0, 16.0, 32.0, 64.0, 256.0];
/// s of each level, in expected clicks.
const CLICKS: [f64; LEVELS] = [4.0, 8.0, 16.0, 32.0, 64.0];
/// Share of fruitless fetches before any was made. The web has more; a clean crawl has less.
const FRUITLESS: f64 = 0.02;
/// Nodes a level, at most; of more, those used least recently are forgotten, an eighth at a time.
const MOST_NODES: usize = 1 << 16;

/// Events over exposure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Rate {
    events: f64,
    exposure: f64,
}

impl Rate {
    /// The posterior mean below a parent's mean.
    fn below(self, parent: f64, strength: f64) -> f64 {
        (strength * parent + self.events) / (strength + self.exposure)
    }

    /// Its weighted contribution to the parent's rate.
    fn about_parent(self, strength: f64) -> Rate {
        let credit = strength / (strength + self.exposure);
        Rate { events: credit * self.events, exposure: credit * self.exposure }
    }

    fn add(&mut self, more: Rate) {
        self.events = (self.events + more.events).max(0.0);
        self.exposure = (self.exposure + more.exposure).max(0.0);
    }

    fn minus(self, other: Rate) -> Rate {
        Rate { events: self.events - other.events, exposure: self.exposure - other.exposure }
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Node {
    fruit: Rate,
    worth: Rate,
    fetches: u32,
    used: u64,
}

/// The groups that a URL belongs to, from its template upwards. 0: unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) template: u64,
    pub(crate) host: u64,
    pub(crate) domain: u64,
    pub(crate) address: u64,
}

impl Groups {
    /// Keys of the levels; an unknown group is passed over.
    fn levels(self) -> [Option<u64>; LEVELS] {
        let known = |key: u64| (key != 0).then_some(key);
        [known(self.template), known(self.host), known(self.domain), known(self.address), Some(0)]
    }
}

/// What is thought of a URL by its groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// Chance that a fetch brings nothing of its own, by fruit.
    pub(crate) fruitless: f64,
    /// 1 − (clicks to expect)/(clicks that the price expects) of a page that brings something, at least 0.
    pub(crate) worthless: f64,
    /// Fetches of the template.
    pub(crate) fetches: u32,
}

impl Standing {
    /// Share of the value that is not to be expected: 1 − (1 − fruitless)·(1 − worthless), since the price
    /// learns clicks from pages that are kept, and those brought something.
    pub(crate) fn doubt(self) -> f64 {
        1.0 - (1.0 - self.fruitless) * (1.0 - self.worthless)
    }
}

/// Fruit and worth of all groups.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Traps {
    nodes: [FxHashMap<u64, Node>; LEVELS],
    clock: u64,
}

impl Traps {
    /// What is thought of a URL.
    pub(crate) fn standing(&self, groups: Groups) -> Standing {
        let levels = groups.levels();
        let (mut fruit, mut worth, mut fetches) = (FRUITLESS, 1.0, 0);
        let mut usual = 1.0;
        for level in (0..LEVELS).rev() {
            let Some(key) = levels[level] else { continue };
            let node = self.nodes[level].get(&key).copied().unwrap_or_default();
            fruit = node.fruit.below(fruit, FETCHES[level]);
            worth = node.worth.below(worth, CLICKS[level]);
            if level == LEVELS - 1 {
                // An expectation that is wrong everywhere is the price's affair.
                usual = worth;
            }
            fetches = node.fetches;
        }
        let worthless = if usual > 0.0 { (1.0 - worth / usual).max(0.0) } else { 0.0 };
        Standing { fruitless: fruit, worthless, fetches }
    }

    /// A fetch brought something of its own, or not.
    pub(crate) fn fetched(&mut self, groups: Groups, is_fruitless: bool) {
        let events = f64::from(u8::from(is_fruitless));
        self.add(groups, Rate { events, exposure: 1.0 }, Rate::default(), 1);
    }

    /// Clicks came, or links from other domains, of which so many were expected. Both are weighted by what
    /// the page tells.
    pub(crate) fn came(&mut self, groups: Groups, expected: f64, brought: f64) {
        let is_sane = |x: f64| x.is_finite() && x >= 0.0;
        if is_sane(expected) && is_sane(brought) {
            self.add(groups, Rate::default(), Rate { events: brought, exposure: expected }, 0);
        }
    }

    fn add(&mut self, groups: Groups, fruit: Rate, worth: Rate, fetches: u32) {
        self.clock += 1;
        let (mut fruit, mut worth) = (fruit, worth);
        for (level, key) in groups.levels().into_iter().enumerate() {
            let Some(key) = key else { continue };
            let node = self.nodes[level].entry(key).or_default();
            let before = *node;
            node.fruit.add(fruit);
            node.worth.add(worth);
            node.fetches = node.fetches.saturating_add(fetches);
            node.used = self.clock;
            fruit = node
                .fruit
                .about_parent(FETCHES[level])
                .minus(before.fruit.about_parent(FETCHES[level]));
            worth = node
                .worth
                .about_parent(CLICKS[level])
                .minus(before.worth.about_parent(CLICKS[level]));
            if self.nodes[level].len() > MOST_NODES {
                forget(&mut self.nodes[level]);
            }
        }
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.iter().map(|nodes| nodes.len() * size_of::<(u64, Node)>() * 8 / 7).sum()
    }
}

/// Forgets the eighth that was used least recently. What it said of its parents stays.
fn forget(nodes: &mut FxHashMap<u64, Node>) {
    let mut used: Vec<u64> = nodes.values().map(|node| node.used).collect();
    let eighth = used.len() / 8;
    let (_, &mut bar, _) = used.select_nth_unstable(eighth);
    nodes.retain(|_, node| node.used >= bar);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One template moves the mean of all by less than this.
    const ALL: f64 = 1e-3;

    fn at(template: u64, host: u64) -> Groups {
        Groups { template, host, domain: host, address: 1 }
    }

    /// With nothing brought, value falls as a/(b + n): the form that n* = a/ω − b comes from.
    #[test]
    fn value_falls_by_the_gamma_formula() {
        let alone = Groups { template: 1, host: 0, domain: 0, address: 0 };
        let (value, fetches) = (0.05, 40);
        let mut traps = Traps::default();
        // Elsewhere the price is right, so that the mean of all stays one.
        for host in 10..2000 {
            traps.came(at(host, host), 100.0, 100.0);
        }
        for _ in 0..fetches {
            traps.came(alone, value, 0.0);
        }
        let (a, b) = (CLICKS[0], CLICKS[0] / value);
        let formula = a / (b + f64::from(fetches));
        let ours = value * (1.0 - traps.standing(alone).worthless);
        assert!((ours / formula - 1.0).abs() < ALL, "{ours} {formula}");
    }

    #[test]
    fn a_maze_that_invents_templates_is_known_by_its_host_and_address() {
        let mut traps = Traps::default();
        for host in 100..200 {
            for _ in 0..20 {
                traps.fetched(at(host, host), false);
                traps.came(at(host, host), 0.1, 0.1);
            }
        }
        let maze = |template, host| Groups { template, host, domain: 7, address: 5 };
        for template in 1000..1200 {
            traps.came(maze(template, template % 8), 0.1, 0.0);
            traps.fetched(maze(template, template % 8), true);
        }
        let new_template = traps.standing(maze(9999, 7));
        assert!(new_template.fruitless > 0.8 && new_template.worthless > 0.5, "{new_template:?}");
        let new_host = traps.standing(maze(9999, 99));
        assert!(new_host.fruitless > 0.5 && new_host.worthless > 0.3, "{new_host:?}");
        let good = traps.standing(at(150, 150));
        assert!(good.fruitless < 0.05 && good.worthless < 0.1, "{good:?}");
    }

    /// Two detectors that know nothing of each other: half repeats, and of the rest half the clicks come.
    #[test]
    fn doubts_about_fruit_and_worth_multiply() {
        let standing = Standing { fruitless: 0.5, worthless: 0.5, fetches: 9 };
        assert!((standing.doubt() - 0.75).abs() < 1e-12);
        let sure = Standing { fruitless: 1.0, ..standing };
        assert!((sure.doubt() - 1.0).abs() < 1e-12);
    }

    /// A poor template of which the price expects little loses nothing.
    #[test]
    fn what_is_poor_and_known_to_be_is_no_trap() {
        let mut traps = Traps::default();
        for _ in 0..500 {
            traps.came(at(1, 1), 0.001, 0.001);
            traps.came(at(2, 2), 1.0, 1.0);
        }
        assert!(traps.standing(at(1, 1)).worthless < 1e-9);
    }

    #[test]
    fn memory_is_bounded() {
        let mut traps = Traps::default();
        for template in 1..2 * MOST_NODES as u64 {
            traps.fetched(at(template, template), false);
        }
        let most = LEVELS * MOST_NODES * size_of::<(u64, Node)>() * 8 / 7;
        assert!(traps.bytes() <= most, "{}", traps.bytes());
        assert_eq!(traps.standing(at(2 * MOST_NODES as u64 - 1, 0)).fetches, 1);
    }

    #[test]
    fn nonsense_is_not_learnt() {
        let mut traps = Traps::default();
        for (expected, brought) in [(f64::NAN, 0.0), (1.0, f64::INFINITY), (-1.0, 1.0)] {
            traps.came(at(1, 1), expected, brought);
        }
        assert!(traps.standing(at(1, 1)).worthless <= 0.0);
    }
}
