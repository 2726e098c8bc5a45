//! Policies by name, as commands and configuration give them.

use crate::Policy;
use crate::allocate::Objective;
use crate::order::{Adaptive, AdaptiveRule, BreadthFirst, Proportional, Random, Uniform};
use crate::refresh::{Refresher, Weighing};

/// A policy that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Makes one; all its randomness follows from the seed.
    pub make: fn(seed: u64) -> Box<dyn Policy>,
}

/// Every policy of this crate, baselines first.
pub const POLICIES: &[Entry] = &[
    Entry {
        name: "random",
        about: "an independent draw among all known pages, each time",
        make: |seed| Box::new(Random::new(seed)),
    },
    Entry {
        name: "bfs",
        about: "sources in a fixed random order, each followed by all its new pages",
        make: |seed| Box::new(BreadthFirst::new(seed)),
    },
    Entry {
        name: "uniform",
        about: "every known page equally often",
        make: |seed| Box::new(Uniform::fixed_order(seed)),
    },
    Entry {
        name: "proportional",
        about: "pages in proportion to how often they were seen to change",
        make: |_| Box::new(Proportional::new()),
    },
    Entry {
        name: "nutch-adaptive",
        about: "Apache Nutch's interval rule: ×0.8 after a change, ×1.4 without",
        make: |_| Box::new(Adaptive::new(AdaptiveRule::NUTCH)),
    },
    Entry {
        name: "storm-adaptive",
        about: "StormCrawler's interval rule: half-way to an hour after a change, ×1.5 without",
        make: |_| Box::new(Adaptive::new(AdaptiveRule::STORM)),
    },
    Entry {
        name: "cgm",
        about: "best expected freshness for the change rates estimated so far",
        make: |_| Box::new(Refresher::new(Objective::Freshness, Weighing::Given)),
    },
    Entry {
        name: "age",
        about: "least expected age for the change rates estimated so far",
        make: |_| Box::new(Refresher::new(Objective::Age, Weighing::Given)),
    },
    Entry {
        name: "embarrassment",
        about: "fewest clicks on stale copies: freshness weighted by learned clicks",
        make: |_| Box::new(Refresher::new(Objective::Freshness, Weighing::Clicks)),
    },
    Entry {
        name: "harmonic",
        about: "least harmonic staleness: no page is given up",
        make: |_| Box::new(Refresher::new(Objective::Harmonic, Weighing::Given)),
    },
];

/// The policy of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name)
}
