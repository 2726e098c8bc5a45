//! Policies by name, as commands and configuration give them. One line adds one.

use crate::Policy;
use crate::echo::{self, Echo, Pace, Rule};
use crate::frontier::{
    Breadth, Classifier, FishSearch, ForeignInDegree, ImpactOrder, InDegree, Learned, Learner,
    Opic, PageRankOrder, QueryOrder, RankMass, Ranked, SharkSearch, Shuffled, SiteSize,
    SpawningRate, Topic,
};
use crate::longevity::{self, Longevity, PeriodMethod, Threshold};
use crate::order::{Adaptive, AdaptiveRule, BreadthFirst, Proportional, Random, Uniform};
use crate::peers::{CommonCrawl, Index, Lambda, Marginalia, MirrorSync, Tiers};
use crate::price::{self, Price};
use crate::refresh::{self, Refresher, Weighing};
use tidewatch_science::allocate::Objective;

/// What every policy is told when it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// All randomness of the policy follows from it.
    pub seed: u64,
    /// Whether the search log also tells the clicks of pages never fetched. A live crawl's log cannot.
    pub logs_all: bool,
}

impl Setup {
    /// A live crawl with this seed.
    pub const fn seeded(seed: u64) -> Self {
        Setup { seed, logs_all: false }
    }
}

/// A policy that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Makes one.
    pub make: fn(Setup) -> Box<dyn Policy>,
}

const fn entry(
    name: &'static str,
    about: &'static str,
    make: fn(Setup) -> Box<dyn Policy>,
) -> Entry {
    Entry { name, about, make }
}

fn echo(rule: Rule, pace: Pace, setup: Setup) -> Box<dyn Policy> {
    let settings = echo::Settings { pace, logs_all: setup.logs_all, ..echo::Settings::DEFAULT };
    Box::new(Echo::new(rule, settings))
}

/// ECHO as the paper has it: without a first look at every source.
fn literal_echo(rule: Rule, setup: Setup) -> Box<dyn Policy> {
    let (logs_all, first_look) = (setup.logs_all, false);
    let settings = echo::Settings { logs_all, first_look, ..echo::Settings::DEFAULT };
    Box::new(Echo::new(rule, settings))
}

fn longevity(method: PeriodMethod) -> Box<dyn Policy> {
    Box::new(Longevity::new(longevity::Settings::new(method, Threshold::Budget)))
}

fn price(setup: Setup) -> Box<dyn Policy> {
    let settings = price::Settings { logs_all: setup.logs_all, ..price::Settings::DEFAULT };
    Box::new(Price::new(settings, setup.seed))
}

fn refresher(objective: Objective, weighing: Weighing) -> Box<dyn Policy> {
    Box::new(Refresher::new(refresh::Settings { objective, weighing }))
}

/// Every policy of this crate, baselines first.
pub const POLICIES: &[Entry] = &[
    entry("random", "an independent draw among all known pages, each time", |setup| {
        Box::new(Random::new(setup.seed))
    }),
    entry("bfs", "sources in a fixed random order, each followed by all its new pages", |setup| {
        Box::new(BreadthFirst::new(setup.seed))
    }),
    entry("uniform", "every known page equally often", |setup| {
        Box::new(Uniform::fixed_order(setup.seed))
    }),
    entry("proportional", "pages in proportion to how often they were seen to change", |_| {
        Box::new(Proportional::new())
    }),
    entry(
        "nutch-adaptive",
        "Apache Nutch's interval rule: ×0.8 after a change, ×1.4 without",
        |_| Box::new(Adaptive::new(AdaptiveRule::NUTCH)),
    ),
    entry(
        "storm-adaptive",
        "StormCrawler's interval rule: half-way to an hour after a change, ×1.5 without",
        |_| Box::new(Adaptive::new(AdaptiveRule::STORM)),
    ),
    entry(
        "common-crawl",
        "Common Crawl's generator: highest score among pages due, which rises while they wait",
        |_| Box::new(CommonCrawl::default()),
    ),
    entry(
        "marginalia",
        "Marginalia's recrawl: host after host, skipping pages with the unchanged share",
        |setup| Box::new(Marginalia::new(setup.seed)),
    ),
    entry("tiers", "price monitors: hourly, six-hourly or daily by the last change", |_| {
        Box::new(Adaptive::new(Tiers))
    }),
    entry("cgm", "best expected freshness for the change rates estimated so far", |_| {
        refresher(Objective::Freshness, Weighing::Given)
    }),
    entry("age", "least expected age for the change rates estimated so far", |_| {
        refresher(Objective::Age, Weighing::Given)
    }),
    entry(
        "embarrassment",
        "fewest clicks on stale copies: freshness weighted by learned clicks",
        |_| refresher(Objective::Freshness, Weighing::Clicks),
    ),
    entry("harmonic", "least harmonic staleness: no page is given up", |_| {
        refresher(Objective::Harmonic, Weighing::Given)
    }),
    entry(
        "lambda-crawl",
        "LambdaCrawl: least harmonic staleness, at random times and announced changes",
        |setup| Box::new(Lambda::harmonic(setup.seed)),
    ),
    entry(
        "lambda-crawl-binary",
        "LambdaCrawl for binary staleness: may give up pages that change fast",
        |setup| Box::new(Lambda::binary(setup.seed)),
    ),
    entry("whittle", "Whittle index of copies and sources, new pages at once", |_| {
        Box::new(Index::whittle())
    }),
    entry("noisy-index", "whittle with noisy hints of change counted as age", |_| {
        Box::new(Index::signalled())
    }),
    entry(
        "sync-bandits",
        "mirror descent on fetch rates, learnt from extra visits without a model of change",
        |setup| Box::new(MirrorSync::new(setup.seed)),
    ),
    entry("price", "one price for every fetch: whatever brings the most clicks next", price),
    entry("frontier-random", "pages never fetched, in random order", |setup| {
        Box::new(Ranked::new(Shuffled(setup.seed), setup.seed))
    }),
    entry("frontier-bfs", "pages never fetched, first found first", |setup| {
        Box::new(Ranked::new(Breadth, setup.seed))
    }),
    entry("indegree", "pages never fetched, most links known to lead there first", |setup| {
        Box::new(Ranked::new(InDegree, setup.seed))
    }),
    entry(
        "pagerank",
        "pages never fetched, by PageRank from the seeds over the links known, recomputed as they grow",
        |setup| Box::new(Ranked::new(PageRankOrder::default(), setup.seed)),
    ),
    entry(
        "pagerank-uniform",
        "the same, but the walk begins at every known page alike: stays where the crawl began",
        |setup| Box::new(Ranked::new(PageRankOrder::uniform(), setup.seed)),
    ),
    entry(
        "indegree-foreign",
        "pages never fetched, most known links from other hosts first",
        |setup| Box::new(Ranked::new(ForeignInDegree::default(), setup.seed)),
    ),
    entry(
        "opic",
        "pages never fetched, most cash first: importance flows along links as they are seen",
        |setup| Box::new(Ranked::new(Opic::once(), setup.seed)),
    ),
    entry("opic-refresh", "opic, fetching pages again as cash flows back to them", |setup| {
        Box::new(Ranked::new(Opic::refreshing(), setup.seed))
    }),
    entry("rank-mass", "the page that adds most to a proven bound of PageRank covered", |setup| {
        Box::new(Ranked::new(RankMass::default(), setup.seed))
    }),
    entry("site-size", "the site with most pages known but never fetched first", |_| {
        Box::new(SiteSize::default())
    }),
    entry(
        "spawning-rate",
        "watches the few pages that reveal most new ones, and fetches what they reveal",
        |_| Box::new(SpawningRate::default()),
    ),
    entry(
        "rw",
        "a random walk that carries clicks on fetched pages out to the frontier",
        |setup| Box::new(Ranked::new(ImpactOrder::rw(), setup.seed)),
    ),
    entry(
        "rw-eg",
        "rw on links enriched by virtual ones between pages that share in-links",
        |setup| Box::new(Ranked::new(ImpactOrder::rw_eg(), setup.seed)),
    ),
    entry("q-overlap", "pages whose URL and link texts have the words of needy queries", |setup| {
        Box::new(Ranked::new(QueryOrder::overlap(), setup.seed))
    }),
    entry("q-hybrid", "q-overlap combined with PageRank", |setup| {
        Box::new(Ranked::new(QueryOrder::hybrid(), setup.seed))
    }),
    entry("ml", "a regression tree on all scores, grown as clicks become known", |setup| {
        Box::new(Ranked::new(Learned::new(Learner::Tree), setup.seed))
    }),
    entry(
        "ml-online",
        "gradient descent on all scores, page by page as clicks become known",
        |setup| Box::new(Ranked::new(Learned::new(Learner::OnLine), setup.seed)),
    ),
    entry(
        "fish-search",
        "follows links from pages about what users ask, until they lead nowhere",
        |setup| Box::new(Ranked::new(FishSearch::new(Topic::default()), setup.seed)),
    ),
    entry(
        "shark-search",
        "fish search with graded relevance, inheritance and link texts",
        |setup| Box::new(Ranked::new(SharkSearch::new(Topic::default()), setup.seed)),
    ),
    entry(
        "classifier",
        "a text classifier trained on what is clicked, hubs first, with exploration",
        |setup| Box::new(Ranked::new(Classifier::new(None), setup.seed)),
    ),
    entry("curve-fit", "least divergence: a churn or scroll curve fitted to each page", |_| {
        longevity(PeriodMethod::CurveFit)
    }),
    entry(
        "bound-based",
        "least divergence: periods doubled and halved between bounds on their worth",
        |_| longevity(PeriodMethod::BoundBased),
    ),
    entry(
        "echo-newpages",
        "ECHO: new pages at once, otherwise the source furthest behind the optimal schedule",
        |setup| echo(Rule::NewPages, Pace::Steady, setup),
    ),
    entry(
        "echo-schedule",
        "ECHO: sources exactly on schedule, the rest for new pages, latest first",
        |setup| echo(Rule::Schedule, Pace::Steady, setup),
    ),
    entry(
        "echo-greedy",
        "ECHO: the source with the highest expected profit, then all its new pages",
        |setup| echo(Rule::Greedy, Pace::Steady, setup),
    ),
    entry(
        "fixed-quota",
        "echo-schedule with half of the budget for sources and half for new pages",
        |setup| echo(Rule::FixedQuota, Pace::Steady, setup),
    ),
    entry(
        "frequency",
        "echo-schedule without clicks: all sources are worth the same a page",
        |setup| echo(Rule::Frequency, Pace::Steady, setup),
    ),
    entry("echo-newpages-literal", "echo-newpages without a first look at every source", |setup| {
        literal_echo(Rule::NewPages, setup)
    }),
    entry("echo-schedule-literal", "echo-schedule without a first look at every source", |setup| {
        literal_echo(Rule::Schedule, setup)
    }),
    entry("echo-greedy-literal", "echo-greedy without a first look at every source", |setup| {
        literal_echo(Rule::Greedy, setup)
    }),
    entry("echo-rhythm", "echo-newpages that knows at which hours hosts publish", |setup| {
        echo(Rule::NewPages, Pace::Rhythm, setup)
    }),
];

/// The policy of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name)
}
