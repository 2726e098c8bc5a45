//! Policies by name, as commands and configuration give them.

use crate::Policy;
use crate::echo::{self, Echo, Pace, Rule};
use crate::frontier::{
    Breadth, Classifier, FishSearch, ImpactOrder, InDegree, Learned, Learner, Opic, PageRankOrder,
    QueryOrder, RankMass, Ranked, SharkSearch, Shuffled, SiteSize, SpawningRate, Topic,
};
use crate::longevity::{Longevity, Method, Settings, Threshold};
use crate::order::{Adaptive, AdaptiveRule, BreadthFirst, Proportional, Random, Uniform};
use crate::price::{self, Price};
use crate::refresh::{Refresher, Weighing};
use tidewatch_science::allocate::Objective;

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
    Entry {
        name: "price",
        about: "one price for every fetch: whatever brings the most clicks next",
        make: |seed| Box::new(Price::new(price::Settings::default(), seed)),
    },
    Entry {
        name: "frontier-random",
        about: "pages never fetched, in random order",
        make: |seed| Box::new(Ranked::new(Shuffled(seed), seed)),
    },
    Entry {
        name: "frontier-bfs",
        about: "pages never fetched, first found first",
        make: |seed| Box::new(Ranked::new(Breadth, seed)),
    },
    Entry {
        name: "indegree",
        about: "pages never fetched, most links known to lead there first",
        make: |seed| Box::new(Ranked::new(InDegree, seed)),
    },
    Entry {
        name: "pagerank",
        about: "pages never fetched, by PageRank of the links known, recomputed as they grow",
        make: |seed| Box::new(Ranked::new(PageRankOrder::default(), seed)),
    },
    Entry {
        name: "opic",
        about: "pages never fetched, most cash first: importance flows along links as they are seen",
        make: |seed| Box::new(Ranked::new(Opic::once(), seed)),
    },
    Entry {
        name: "opic-refresh",
        about: "opic, fetching pages again as cash flows back to them",
        make: |seed| Box::new(Ranked::new(Opic::refreshing(), seed)),
    },
    Entry {
        name: "rank-mass",
        about: "the page that adds most to a proven bound of PageRank covered",
        make: |seed| Box::new(Ranked::new(RankMass::default(), seed)),
    },
    Entry {
        name: "site-size",
        about: "the site with most pages known but never fetched first",
        make: |_| Box::new(SiteSize::default()),
    },
    Entry {
        name: "spawning-rate",
        about: "watches the few pages that reveal most new ones, and fetches what they reveal",
        make: |_| Box::new(SpawningRate::default()),
    },
    Entry {
        name: "rw",
        about: "a random walk that carries clicks on fetched pages out to the frontier",
        make: |seed| Box::new(Ranked::new(ImpactOrder::rw(), seed)),
    },
    Entry {
        name: "rw-eg",
        about: "rw on links enriched by virtual ones between pages that share in-links",
        make: |seed| Box::new(Ranked::new(ImpactOrder::rw_eg(), seed)),
    },
    Entry {
        name: "q-overlap",
        about: "pages whose URL and link texts have the words of needy queries",
        make: |seed| Box::new(Ranked::new(QueryOrder::overlap(), seed)),
    },
    Entry {
        name: "q-hybrid",
        about: "q-overlap combined with PageRank",
        make: |seed| Box::new(Ranked::new(QueryOrder::hybrid(), seed)),
    },
    Entry {
        name: "ml",
        about: "a regression tree on all scores, grown as clicks become known",
        make: |seed| Box::new(Ranked::new(Learned::new(Learner::Tree), seed)),
    },
    Entry {
        name: "ml-online",
        about: "gradient descent on all scores, page by page as clicks become known",
        make: |seed| Box::new(Ranked::new(Learned::new(Learner::OnLine), seed)),
    },
    Entry {
        name: "fish-search",
        about: "follows links from pages about what users ask, until they lead nowhere",
        make: |seed| Box::new(Ranked::new(FishSearch::new(Topic::default()), seed)),
    },
    Entry {
        name: "shark-search",
        about: "fish search with graded relevance, inheritance and link texts",
        make: |seed| Box::new(Ranked::new(SharkSearch::new(Topic::default()), seed)),
    },
    Entry {
        name: "classifier",
        about: "a text classifier trained on what is clicked, hubs first, with exploration",
        make: |seed| Box::new(Ranked::new(Classifier::new(None), seed)),
    },
    Entry {
        name: "curve-fit",
        about: "least divergence: a churn or scroll curve fitted to each page",
        make: |_| Box::new(Longevity::new(Settings::new(Method::CurveFit, Threshold::Budget))),
    },
    Entry {
        name: "bound-based",
        about: "least divergence: periods doubled and halved between bounds on their worth",
        make: |_| Box::new(Longevity::new(Settings::new(Method::BoundBased, Threshold::Budget))),
    },
    Entry {
        name: "echo-newpages",
        about: "ECHO: new pages at once, otherwise the source furthest behind the optimal schedule",
        make: |_| Box::new(Echo::new(Rule::NewPages, echo::Settings::default())),
    },
    Entry {
        name: "echo-schedule",
        about: "ECHO: sources exactly on schedule, the rest for new pages, latest first",
        make: |_| Box::new(Echo::new(Rule::Schedule, echo::Settings::default())),
    },
    Entry {
        name: "echo-greedy",
        about: "ECHO: the source with the highest expected profit, then all its new pages",
        make: |_| Box::new(Echo::new(Rule::Greedy, echo::Settings::default())),
    },
    Entry {
        name: "fixed-quota",
        about: "echo-schedule with half of the budget for sources and half for new pages",
        make: |_| Box::new(Echo::new(Rule::FixedQuota, echo::Settings::default())),
    },
    Entry {
        name: "frequency",
        about: "echo-schedule without clicks: all sources are worth the same a page",
        make: |_| Box::new(Echo::new(Rule::Frequency, echo::Settings::default())),
    },
    Entry {
        name: "echo-rhythm",
        about: "echo-newpages that knows at which hours hosts publish",
        make: |_| {
            let settings = echo::Settings { pace: Pace::Rhythm, ..echo::Settings::default() };
            Box::new(Echo::new(Rule::NewPages, settings))
        },
    },
];

/// The policy of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name)
}
