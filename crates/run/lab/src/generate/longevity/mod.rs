//! Pages made of regions with different fragment lifetimes `[OP08]`.
//!
//! A page is a set of independent regions: *static* ones; *churn*, overwritten
//! by every update; *scroll*, where an update pushes out the oldest of K items.
//! The trace gives every version as fragments added and removed, and a binary
//! change for each. Fragments are 64-bit numbers from the keyed generator: uniform, as min-hash sketches
//! need, and never repeated.
//!
//! The paper measured two corpora by snapshots every two days. [`Config::default`] is calibrated to
//! the high-quality one, and the facts repeat the paper's measurements on snapshots of the generated
//! web. The paper does not give the sign of its correlation; longevity falls as change frequency rises,
//! so ours is negative and absolute values are compared. [`Config::random`] stands for the random
//! corpus, of which the paper says that it has more dynamic content and a much higher unavoidable
//! staleness.

mod facts;
mod region;

pub use region::PageRegion;

use rand_distr::{Beta, Distribution, LogNormal};
use rayon::prelude::*;
use region::History;
use tidewatch_core::{Span, Time};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_trace::{Change, Trace, TracePage, Versions};

use super::Generated;
use super::shared::{BadSetting, Checker, MOST_ITEMS, assign_hosts, instant, scaled};

const SECONDS_PER_DAY: f64 = 86_400.0;
/// Fewest fragments of a page, so that it can have a static and a dynamic part.
const SMALLEST_PAGE: f64 = 10.0;
/// Largest page, as a multiple of the median; bounds memory.
const LARGEST_PAGE: f64 = 100.0;

/// Settings of the longevity web.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Multiplies `pages` and `hosts`.
    pub scale: f64,
    /// Number of pages.
    pub pages: usize,
    /// Largest number of hosts; small ones may stay without a page.
    pub hosts: usize,
    /// Exponent of Zipf's law of host sizes; 0 = equal.
    pub host_exponent: f64,
    /// Snapshots on which the facts are measured, at least 3. The trace lasts `snapshots · spacing`.
    pub snapshots: u32,
    /// Time between snapshots.
    pub spacing: Span,
    /// Share of pages that never change.
    pub static_pages: f64,
    /// Median number of fragments on a page. Real pages have as many shingles as words; fewer keep
    /// traces small.
    pub median_fragments: f64,
    /// Standard deviation of the logarithm of page sizes.
    pub size_spread: f64,
    /// Mean share of a changing page's fragments that is not static.
    pub dynamic_share: f64,
    /// Concentration a + b of the beta law of those shares. Small: most pages have little dynamic
    /// content, some nothing else.
    pub dynamic_evenness: f64,
    /// Most dynamic regions of a changing page; their number is uniform from 1.
    pub regions: u32,
    /// Share of dynamic regions that churn; the others scroll.
    pub churn_regions: f64,
    /// Update rates of churn regions.
    pub churn: Updates,
    /// Update rates of scroll regions.
    pub scroll: Updates,
    /// Share of scroll regions with two items; the others have a uniform number from 3 to
    /// `most_items`.
    pub pairs: f64,
    /// Most items of a scroll region, at least 3.
    pub most_items: u32,
    /// Compare facts with the published figures, which are those of the high-quality corpus.
    pub is_high_quality: bool,
}

/// Update rates of a kind of region: lognormal with an upper limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Updates {
    /// Median, per day.
    pub median_per_day: f64,
    /// Standard deviation of the logarithm.
    pub spread: f64,
    /// Largest, per day. Updates much faster than the snapshots look alike and only enlarge the trace.
    pub most_per_day: f64,
}

impl Default for Config {
    /// The high-quality corpus: 10,000 pages, 30 snapshots. 52 % of the pages can change; a few of them
    /// do not within sixty days, which leaves half of all.
    fn default() -> Self {
        Config {
            scale: 1.0,
            pages: 10_000,
            hosts: 2_000,
            host_exponent: 0.8,
            snapshots: 30,
            spacing: Span::DAY.times(2),
            static_pages: 0.48,
            median_fragments: 80.0,
            size_spread: 0.8,
            dynamic_share: 0.2,
            dynamic_evenness: 0.8,
            regions: 2,
            churn_regions: 0.3,
            churn: Updates { median_per_day: 0.1, spread: 1.3, most_per_day: 2.0 },
            scroll: Updates { median_per_day: 0.25, spread: 1.0, most_per_day: 3.0 },
            pairs: 0.8,
            most_items: 5,
            is_high_quality: true,
        }
    }
}

impl Config {
    /// The random corpus: 50 snapshots, fewer static pages, more and faster dynamic content.
    pub fn random() -> Self {
        Config {
            snapshots: 50,
            static_pages: 0.4,
            dynamic_share: 0.4,
            churn: Updates { median_per_day: 0.3, spread: 1.5, most_per_day: 2.5 },
            churn_regions: 0.5,
            is_high_quality: false,
            ..Config::default()
        }
    }

    /// Length of the trace.
    pub fn duration(&self) -> Span {
        self.spacing.times(u64::from(self.snapshots))
    }

    /// Refuses the first invalid setting.
    pub fn check(&self) -> Result<(), BadSetting> {
        let check = Checker("longevity");
        check.positive("scale", self.scale)?;
        check.count("pages", self.pages as f64 * self.scale)?;
        check.count("hosts", self.hosts as f64 * self.scale)?;
        check.not_negative("host_exponent", self.host_exponent)?;
        check.count("snapshots less two", f64::from(self.snapshots) - 2.0)?;
        check.span("spacing", self.spacing)?;
        check.span("snapshots · spacing", self.duration())?;
        check.share("static_pages", self.static_pages)?;
        check.positive("median_fragments", self.median_fragments)?;
        check.not_negative("size_spread", self.size_spread)?;
        check.share("dynamic_share", self.dynamic_share)?;
        check.positive("dynamic_evenness", self.dynamic_evenness)?;
        check.count("regions", f64::from(self.regions))?;
        check.share("churn_regions", self.churn_regions)?;
        check.share("pairs", self.pairs)?;
        check.count("most_items less two", f64::from(self.most_items) - 2.0)?;
        for updates in [self.churn, self.scroll] {
            check.positive("median_per_day", updates.median_per_day)?;
            check.not_negative("spread", updates.spread)?;
            check.positive("most_per_day", updates.most_per_day)?;
        }
        let most = self.churn.most_per_day.max(self.scroll.most_per_day);
        let days = self.duration().seconds() / SECONDS_PER_DAY;
        check.count("most updates of a region", (most * days).max(1.0))?;
        let at_once = self.pages as f64 * self.scale * self.median_fragments;
        check.count("fragments at a time (at most)", at_once.clamp(1.0, 2.0 * MOST_ITEMS))
    }

    /// The regions of a page.
    fn regions(&self, draws: &mut Draws) -> Vec<PageRegion> {
        let size = lognormal(self.median_fragments, self.size_spread, draws)
            .clamp(SMALLEST_PAGE, self.median_fragments.max(SMALLEST_PAGE) * LARGEST_PAGE);
        let size = size.round() as u32;
        let calm = |fragments| PageRegion { rate: 0.0, items: 1, item_fragments: fragments };
        if draws.chance(self.static_pages) || self.dynamic_share <= 0.0 {
            return vec![calm(size)];
        }
        let share = self.draw_share(draws);
        let dynamic = ((f64::from(size) * share).round() as u32).max(1);
        let count = (1 + draws.below(u64::from(self.regions)) as u32).min(dynamic);
        let mut regions = vec![calm(size - dynamic)];
        regions.extend((0..count).map(|_| self.region(dynamic / count, draws)));
        regions.retain(|region| region.fragments() > 0);
        regions
    }

    /// The dynamic share of a changing page: beta with the set mean.
    fn draw_share(&self, draws: &mut Draws) -> f64 {
        let (mean, both) = (self.dynamic_share, self.dynamic_evenness);
        Beta::new(mean * both, (1.0 - mean) * both).map_or(mean, |law| law.sample(draws))
    }

    /// A dynamic region of about `size` fragments.
    fn region(&self, fragments: u32, draws: &mut Draws) -> PageRegion {
        if draws.chance(self.churn_regions) {
            return PageRegion {
                rate: self.churn.draw(draws),
                items: 1,
                item_fragments: fragments,
            };
        }
        let beyond = u64::from(self.most_items) - 2;
        let items = if draws.chance(self.pairs) { 2 } else { 3 + draws.below(beyond) as u32 };
        // Each item has at least one fragment, so small regions have few items.
        let items = items.min(fragments.max(2));
        let item_fragments = (fragments / items).max(1);
        PageRegion { rate: self.scroll.draw(draws), items, item_fragments }
    }
}

impl Updates {
    /// A rate per second.
    fn draw(self, draws: &mut Draws) -> f64 {
        let per_day = lognormal(self.median_per_day, self.spread, draws).min(self.most_per_day);
        per_day / SECONDS_PER_DAY
    }
}

fn lognormal(median: f64, spread: f64, draws: &mut Draws) -> f64 {
    LogNormal::new(median.ln(), spread).map_or(median, |law| law.sample(draws))
}

/// The true process of each page, recomputed from the same settings, for oracles and tests. Panics
/// if [`Config::check`] fails.
pub fn truth(config: &Config, seed: u64) -> Vec<Vec<PageRegion>> {
    assert_eq!(config.check(), Ok(()), "the settings were not checked");
    let label = purpose("longevity.regions");
    (0..scaled(config.pages, config.scale) as u64)
        .into_par_iter()
        .map(|page| config.regions(&mut Draws::keyed(seed, label, page)))
        .collect()
}

/// Generates the web. Panics if [`Config::check`] fails.
pub fn generate(config: &Config, seed: u64) -> Generated {
    let regions = truth(config, seed);
    let versions = live(&regions, config.duration().seconds(), seed);
    let (pages, hosts) = pages(config, regions.len(), seed);
    let is_change = |row: &&tidewatch_trace::Version| row.at > Time::ZERO;
    let change = |row: &tidewatch_trace::Version| Change { page: row.page, at: row.at };
    let trace = Trace {
        name: "longevity".to_owned(),
        duration: config.duration(),
        note: Some(format!("Synthetic pages of static, churn and scroll regions, seed {seed}.")),
        pages,
        hosts,
        changes: Some(versions.rows.iter().filter(is_change).map(change).collect()),
        versions: Some(versions),
        ..Trace::default()
    };
    let facts = facts::facts(config, &trace);
    Generated { trace, facts }
}

pub(crate) fn live(regions: &[Vec<PageRegion>], duration: f64, seed: u64) -> Versions {
    let labels = [purpose("longevity.updates"), purpose("longevity.fragments")];
    let histories: Vec<History> = regions
        .par_iter()
        .enumerate()
        .map(|(page, regions)| {
            let [mut updates, mut hashes] = labels.map(|l| Draws::keyed(seed, l, page as u64));
            History::of(regions, duration, &mut updates, &mut hashes)
        })
        .collect();
    let mut versions = Versions::default();
    for (page, history) in histories.iter().enumerate() {
        let mut rest = &history.fragments[..];
        for &(at, added, removed) in &history.rows {
            let (add, after) = rest.split_at(added as usize);
            let (remove, after) = after.split_at(removed as usize);
            versions.push(page as u32, at, add, remove);
            rest = after;
        }
    }
    versions
}

fn pages(config: &Config, count: usize, seed: u64) -> (Vec<TracePage>, Vec<tidewatch_trace::Host>) {
    let hosts = scaled(config.hosts, config.scale);
    let (of_page, hosts) = assign_hosts(count, hosts, config.host_exponent, seed, "longevity.host");
    let page = |id: usize| TracePage {
        id: id as u64,
        url: format!("https://{}/{id}", hosts[of_page[id] as usize].name).into_boxed_str(),
        host: of_page[id],
        born: instant(0.0),
        died: None,
        is_source: false,
        weight: 1.0,
        is_seed: true,
    };
    ((0..count).into_par_iter().map(page).collect(), hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::testing::on_one_and_two_threads;

    fn small() -> Config {
        Config { scale: 0.03, ..Config::default() }
    }

    #[test]
    fn threads_do_not_matter() {
        let [one, two] = on_one_and_two_threads(|| generate(&small(), 3));
        assert_eq!(one.trace, two.trace);
        assert_eq!(one.facts, two.facts);
    }

    #[test]
    fn changes_are_the_versions_after_the_first() {
        let trace = generate(&small(), 5).trace;
        trace.check().unwrap();
        let (versions, changes) = (trace.versions.unwrap(), trace.changes.unwrap());
        assert_eq!(versions.rows.len(), changes.len() + trace.pages.len());
        assert!(changes.is_sorted_by(|a, b| (a.page, a.at) < (b.page, b.at)));
        assert!(versions.rows.is_sorted_by(|a, b| (a.page, a.at) < (b.page, b.at)));
        assert!(changes.iter().all(|c| c.at < Time::ZERO + trace.duration));
    }

    #[test]
    fn sizes_and_shares_match_the_settings() {
        let pages = truth(&Config::default(), 1);
        let n = pages.len() as f64;
        let calm = pages.iter().filter(|r| r.iter().all(|r| r.rate == 0.0)).count() as f64;
        // Five standard deviations of a share near one half.
        assert!((calm / n - 0.48).abs() < 5.0 * 0.5 / n.sqrt());
        assert!(pages.iter().all(|r| (1..=3).contains(&r.len())));
        assert!(pages.iter().flatten().all(|r| r.items <= 5 && r.fragments() > 0));
    }

    #[test]
    fn invalid_settings_are_refused() {
        let bad = [
            Config { pages: 0, ..Config::default() },
            Config { snapshots: 2, ..Config::default() },
            Config { spacing: Span::ZERO, ..Config::default() },
            Config { static_pages: 1.1, ..Config::default() },
            Config { most_items: 2, ..Config::default() },
            Config { median_fragments: f64::INFINITY, ..Config::default() },
            Config { dynamic_evenness: 0.0, ..Config::default() },
        ];
        for config in bad {
            assert!(config.check().is_err(), "{config:?}");
        }
        assert_eq!(Config::default().check(), Ok(()));
        assert_eq!(Config::random().check(), Ok(()));
    }
}
