//! Hosts and their sources.
//!
//! A site has one front page, one or two lists of everything (newest, feed), category pages, sections
//! of the larger categories, pages whose side column repeats the best of the front page, and a few that
//! show nothing new. That is what the procedure of \[LOSS13\] §3.2 collects: the main page and every
//! older page one hop away.

use rand_distr::{Distribution, StandardNormal};
use tidewatch_math::rng::Draws;

use super::config::EchoConfig;
use super::words::CATEGORIES;
use crate::generate::shared::scaled;

/// Fewest sources of a host: front page, list of everything, one category.
const FEWEST_SOURCES: usize = 3;
/// From this many sources on a host has a feed besides its list of newest pages.
const SOURCES_WITH_FEED: usize = 8;
/// Sources of a blog over those of a news site of the same output.
const BLOG_SOURCES: f64 = 0.5;
/// Exponent of the number of sources as a function of a host's output.
const SOURCES_POWER: f64 = 0.3;
/// Standard deviation of ln(number of sources) at equal output.
const SOURCES_SPREAD: f64 = 0.4;
/// Shares of categories, sections and side columns among the sources besides front page and lists;
/// the rest is quiet.
const KINDS: [f64; 3] = [0.40, 0.25, 0.25];
/// Most sections of a category.
const MOST_SECTIONS: u16 = 8;
/// Parts of a category that no section shows.
const UNLISTED_PARTS: u16 = 2;
/// Front pages keep a link for less time than lists as busy (`[DEN22]`: half of them 4.6 h)…
const FRONT_CAPACITY: f64 = 0.6;
/// …and side columns show less than lists do.
const COLUMN_CAPACITY: f64 = 0.5;
/// Links shown grow as this power of new links a day (`[DEN22]`: regression of logarithms)…
const CAPACITY_POWER: f64 = 0.27;
/// …from [`EchoConfig::list_capacity`] at this many a day…
const USUAL_LINKS_A_DAY: f64 = 8.0;
/// …with this standard deviation of ln(links shown) around it.
const CAPACITY_SPREAD: f64 = 0.64;
/// Length of a list without new links.
const LEAST_LINKS_A_DAY: f64 = 0.1;

/// What a source shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// The editors' choice.
    Front,
    /// Everything.
    Latest,
    /// One category, by index into [`Site::categories`].
    Category(u16),
    /// One part of a category.
    Section { category: u16, part: u16 },
    /// The best of the front page, in a side column.
    Column,
    /// Nothing new.
    Quiet,
}

/// A content source.
pub(super) struct Source {
    pub(super) shows: Shows,
    /// Mean number of links shown.
    pub(super) capacity: f64,
}

/// A category on a site.
pub(super) struct Category {
    /// Index into [`CATEGORIES`].
    pub(super) name: usize,
    /// Share of the site's pages in this and the categories before it.
    pub(super) upto: f64,
    /// Standard normal: its part of a page's popularity…
    pub(super) appeal: f64,
    /// …and of its decay time.
    pub(super) pace: f64,
    /// Sections that it is divided into, besides [`UNLISTED_PARTS`].
    pub(super) sections: u16,
}

impl Category {
    /// The section that shows pages of a topic, if one does.
    pub(super) fn section_of(&self, topic: u64) -> Option<u16> {
        let part = (topic % u64::from(self.sections + UNLISTED_PARTS)) as u16;
        (part < self.sections).then_some(part)
    }
}

/// A host.
pub(super) struct Site {
    pub(super) number: u32,
    pub(super) is_blog: bool,
    /// Mean pages a second.
    pub(super) rate: f64,
    /// Standard normal: its part of a page's popularity.
    pub(super) appeal: f64,
    /// Share of its pages that the front page shows.
    pub(super) front_share: f64,
    pub(super) categories: Vec<Category>,
    pub(super) sources: Vec<Source>,
    /// Number of its first source among all sources, the front page.
    pub(super) first_source: u32,
}

impl Site {
    /// Approximate new links a day on a source of this site, to size its list.
    fn links_a_day(&self, shows: Shows) -> f64 {
        let share = |category: u16| {
            let category = usize::from(category);
            let before = category.checked_sub(1).map_or(0.0, |other| self.categories[other].upto);
            self.categories[category].upto - before
        };
        let part = match shows {
            Shows::Front | Shows::Column => self.front_share,
            Shows::Latest => 1.0,
            Shows::Category(category) => share(category),
            Shows::Section { category, .. } => {
                let sections = self.categories[usize::from(category)].sections;
                share(category) / f64::from(sections + UNLISTED_PARTS)
            }
            Shows::Quiet => 0.0,
        };
        86_400.0 * self.rate * part
    }
}

/// Draws the hosts.
pub(super) fn plan(config: &EchoConfig, seed: u64) -> Vec<Site> {
    let news = scaled(config.news_sites, config.scale);
    let blogs = if config.blogs == 0 { 0 } else { scaled(config.blogs, config.scale) };
    let rates = rates(config, seed, news, blogs);
    let counts = source_counts(config, seed, news, &rates);
    let mut first_source = 0;
    let mut sites = Vec::with_capacity(news + blogs);
    for (number, (&rate, &count)) in rates.iter().zip(&counts).enumerate() {
        let shape = Shape { number, is_blog: number >= news, rate, count, first_source };
        sites.push(site(config, seed, &shape));
        first_source += count as u32;
    }
    sites
}

fn normal(draws: &mut Draws) -> f64 {
    StandardNormal.sample(draws)
}

/// Pages a second of every host: news sites share the pages that blogs do not publish.
fn rates(config: &EchoConfig, seed: u64, news: usize, blogs: usize) -> Vec<f64> {
    let total = config.pages as f64 * config.scale / config.duration.seconds();
    let of_blogs = (blogs as f64 * config.blog_pages_per_day / 86_400.0).min(0.5 * total);
    let mut weights: Vec<f64> = (0..(news + blogs) as u64)
        .map(|host| (config.host_spread * normal(&mut Draws::of(seed, "echo.output", host))).exp())
        .collect();
    for (part, target) in [(0..news, total - of_blogs), (news..news + blogs, of_blogs)] {
        let sum: f64 = weights[part.clone()].iter().sum();
        weights[part].iter_mut().for_each(|weight| *weight *= target / sum);
    }
    weights
}

/// Divides the sources among the hosts.
fn source_counts(config: &EchoConfig, seed: u64, news: usize, rates: &[f64]) -> Vec<usize> {
    let weights: Vec<f64> = rates
        .iter()
        .enumerate()
        .map(|(host, rate)| {
            let kind = if host < news { 1.0 } else { BLOG_SOURCES };
            let chance = normal(&mut Draws::of(seed, "echo.breadth", host as u64));
            kind * rate.powf(SOURCES_POWER) * (SOURCES_SPREAD * chance).exp()
        })
        .collect();
    let total = scaled(config.sources, config.scale);
    apportion(&weights, total.saturating_sub(FEWEST_SOURCES * weights.len()))
        .into_iter()
        .map(|count| count + FEWEST_SOURCES)
        .collect()
}

/// Whole numbers proportional to `weights` that add up to `total` (largest remainders).
fn apportion(weights: &[f64], total: usize) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let quotas: Vec<f64> = weights.iter().map(|weight| weight / sum * total as f64).collect();
    let mut counts: Vec<usize> = quotas.iter().map(|quota| *quota as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    let missing = total.saturating_sub(counts.iter().sum());
    for &at in order.iter().take(missing) {
        counts[at] += 1;
    }
    counts
}

/// Properties of a host drawn before its sources.
struct Shape {
    number: usize,
    is_blog: bool,
    rate: f64,
    count: usize,
    first_source: u32,
}

fn site(config: &EchoConfig, seed: u64, shape: &Shape) -> Site {
    let mut draws = Draws::of(seed, "echo.site", shape.number as u64);
    let appeal = normal(&mut draws);
    let (low, high) = config.front_share;
    let front_share = if shape.is_blog { 1.0 } else { low + (high - low) * draws.uniform() };
    let lists = 1 + usize::from(shape.count >= SOURCES_WITH_FEED);
    let rest = shape.count - 1 - lists;
    let of_kind = |kind: usize| (rest as f64 * KINDS[kind]) as usize;
    let names = of_kind(0).clamp(1, CATEGORIES.len());
    let mut categories = categories(config, &mut draws, names);
    let sections = divide(&mut categories, of_kind(1));
    let columns = of_kind(2).min(rest - names - sections);
    let mut shows = vec![Shows::Front];
    shows.resize(1 + lists, Shows::Latest);
    for (category, details) in (0..).zip(&categories) {
        shows.push(Shows::Category(category));
        shows.extend((0..details.sections).map(|part| Shows::Section { category, part }));
    }
    shows.resize(shows.len() + columns, Shows::Column);
    shows.resize(shape.count, Shows::Quiet);
    let mut site = Site {
        number: shape.number as u32,
        is_blog: shape.is_blog,
        rate: shape.rate,
        appeal,
        front_share,
        categories,
        sources: Vec::new(),
        first_source: shape.first_source,
    };
    let drawn = shows.into_iter().map(|shows| {
        let capacity = capacity(config, &mut draws, shows, site.links_a_day(shows));
        Source { shows, capacity }
    });
    site.sources = drawn.collect();
    site
}

fn capacity(config: &EchoConfig, draws: &mut Draws, shows: Shows, links_a_day: f64) -> f64 {
    let factor = match shows {
        Shows::Front => FRONT_CAPACITY,
        Shows::Column => COLUMN_CAPACITY,
        _ => 1.0,
    };
    let busy = (links_a_day.max(LEAST_LINKS_A_DAY) / USUAL_LINKS_A_DAY).powf(CAPACITY_POWER);
    factor * config.list_capacity * busy * (CAPACITY_SPREAD * normal(draws)).exp()
}

/// Draws categories and their shares of a site's pages, the largest first.
fn categories(config: &EchoConfig, draws: &mut Draws, count: usize) -> Vec<Category> {
    let mut names: Vec<usize> = (0..CATEGORIES.len()).collect();
    draws.shuffle(&mut names);
    let mut weights: Vec<f64> =
        (0..count).map(|_| (config.category_spread * normal(draws)).exp()).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    names
        .into_iter()
        .zip(weights)
        .map(|(name, weight)| {
            sum += weight / total;
            let (appeal, pace) = (normal(draws), normal(draws));
            Category { name, upto: sum, appeal, pace, sections: 0 }
        })
        .collect()
}

/// Assigns sections to the categories in turn, largest first; returns how many were assigned.
fn divide(categories: &mut [Category], sections: usize) -> usize {
    let places = categories.len() * usize::from(MOST_SECTIONS);
    let count = categories.len();
    let dealt = sections.min(places);
    for section in 0..dealt {
        categories[section % count].sections += 1;
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apportioned_numbers_add_up() {
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
        assert_eq!(apportion(&[3.0, 1.0], 0), [0, 0]);
        assert_eq!(apportion(&[0.1, 0.7, 0.2], 9).iter().sum::<usize>(), 9);
    }

    #[test]
    fn numbers_of_hosts_and_sources_are_exact() {
        let config = EchoConfig::default();
        let sites = plan(&config, 1);
        assert_eq!(sites.len(), 150);
        assert_eq!(sites.iter().map(|site| site.sources.len()).sum::<usize>(), 3000);
        let rate: f64 = sites.iter().map(|site| site.rate).sum();
        assert!((rate * config.duration.seconds() / 415_000.0 - 1.0).abs() < 1e-9);
        for site in &sites {
            assert_eq!(site.sources[0].shows, Shows::Front);
            assert!(site.categories.windows(2).all(|two| two[0].upto <= two[1].upto));
            let sections: u16 = site.categories.iter().map(|c| c.sections).sum();
            let shown = site.sources.iter().filter(|s| matches!(s.shows, Shows::Section { .. }));
            assert_eq!(shown.count(), usize::from(sections));
        }
    }
}
