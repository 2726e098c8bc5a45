//! A growing link graph in which some pages have search impact `[TTKN15]`.
//!
//! Pages live on hosts of heavy-tailed sizes and have topics. Some exist from the start, the others
//! are born over time; a link appears when both ends exist. A few seeds are known without a link, and
//! every other page can be reached from them. Users view and click pages. Clicked pages link to
//! clicked pages far more often than the rest do, directly and over two or three hops: that is what a
//! crawler can learn from. URLs contain words of the topic, and those of clicked pages often the words
//! of a query.
//!
//! Two presets match the paper's two corpora: in [`Config::wikipedia`] impact is spread (a random
//! tenth of the pages has 20 % of what the best tenth has, so the best tenth has half of all); in
//! [`Config::web_crawl`] 0.4–0.8 % of the pages get most clicks. For lognormal impact with spread σ the
//! top share y of clicked pages holds Φ(σ − Φ⁻¹(1 − y)) of all clicks, so the top y holds half of them
//! exactly if σ = Φ⁻¹(1 − y); both presets use that.

mod clicks;
mod facts;
mod links;
mod population;
mod words;

pub use words::GraphQuery;

use population::Population;
use rayon::prelude::*;
use tidewatch_core::Span;
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_trace::{Trace, TracePage};

use super::Generated;
use super::shared::{BadSetting, Checker, instant, scaled, zipf};

/// Settings of the graph web.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Selects the published figures for the facts.
    pub preset: Preset,
    /// Multiplies `pages` and `hosts`.
    pub scale: f64,
    /// Number of pages.
    pub pages: usize,
    /// Largest number of hosts; small ones may stay without a page.
    pub hosts: usize,
    /// Exponent of Zipf's law of host sizes; 0 = equal.
    pub host_exponent: f64,
    /// Length of the trace.
    pub duration: Span,
    /// Share of pages born during the trace; the others exist from the start.
    pub born_later: f64,
    /// Share of pages that are seeds (at least one): roots of the first hosts.
    pub seeds: f64,
    /// Number of topics.
    pub topics: u16,
    /// Exponent of Zipf's law of topics.
    pub topic_exponent: f64,
    /// Probability that a page has its host's topic rather than a random one.
    pub on_topic: f64,
    /// Mean number of links of a page besides the template's.
    pub links: f64,
    /// Tail exponent of that number, above 2.
    pub out_exponent: f64,
    /// Most links drawn for a page.
    pub most_links: u32,
    /// Probability that such a link stays on the host.
    pub local: f64,
    /// Probability γ that a link copies another one; in-degrees have the tail exponent 1 + 1/γ.
    pub copying: f64,
    /// Probability that the hub of its host announces a new page, rather than a random page there.
    pub hubs: f64,
    /// Probability that a link of a clicked page, or the announcement of one, is drawn among clicked
    /// pages only.
    pub assortative: f64,
    /// Share of pages that are clicked.
    pub clicked: f64,
    /// Share of pages that are shown in results, the clicked ones included.
    pub viewed: f64,
    /// σ, the standard deviation of the logarithm of impact among clicked pages.
    pub impact_spread: f64,
    /// Squared coefficient of variation, over hosts, of the probability that a page is clicked.
    pub host_quality_cv2: f64,
    /// Mean clicks of a clicked page over a time as long as the trace.
    pub clicks_per_page: f64,
    /// How long views and clicks continue after the end of the trace.
    pub horizon: Span,
    /// Probability that the URL of a clicked page contains the words of a query. Queries are matched by
    /// rank: the higher the impact, the more frequent the query.
    pub query_match: f64,
    /// Probability that the URL of another page contains the words of a random query.
    pub query_noise: f64,
    /// The weights of pages.
    pub weights: PageWeights,
}

/// The two corpora of `[TTKN15]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Impact spread over many pages.
    Wikipedia,
    /// Impact on very few pages.
    WebCrawl,
}

/// The weights of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageWeights {
    /// 1 for all.
    Uniform,
    /// Expected clicks, with mean 1 over all pages.
    Impact,
}

/// The web with queries and topics.
#[derive(Clone, Debug)]
pub struct GraphWeb {
    /// The web.
    pub generated: Generated,
    /// The queries of users.
    pub queries: Vec<GraphQuery>,
    /// The topic of each page, as an anchor text would tell it.
    pub topics: Vec<u16>,
}

impl Default for Config {
    /// [`Config::web_crawl`].
    fn default() -> Self {
        Config::web_crawl()
    }
}

impl Config {
    /// A web crawl with few clicked pages. The top tenth of the clicked 2 % has half of the clicks, the
    /// top 0.7 % of all pages four fifths.
    pub fn web_crawl() -> Self {
        Config {
            preset: Preset::WebCrawl,
            scale: 1.0,
            pages: 50_000,
            hosts: 1_000,
            host_exponent: 0.9,
            duration: Span::DAY.times(30),
            born_later: 0.3,
            seeds: 0.001,
            topics: 40,
            topic_exponent: 0.6,
            on_topic: 0.8,
            links: 7.0,
            out_exponent: 2.72,
            most_links: 1_000,
            local: 0.72,
            copying: 0.95,
            hubs: 0.3,
            assortative: 0.4,
            clicked: 0.02,
            viewed: 0.03,
            impact_spread: 1.2816,
            host_quality_cv2: 2.0,
            clicks_per_page: 20.0,
            horizon: Span::WEEK,
            query_match: 0.4,
            query_noise: 0.2,
            weights: PageWeights::Impact,
        }
    }

    /// An encyclopedia: few hosts; 30 % of the pages are clicked, and the top third of those has half
    /// of the clicks; most URLs contain the words of queries.
    pub fn wikipedia() -> Self {
        Config {
            preset: Preset::Wikipedia,
            hosts: 20,
            host_exponent: 0.6,
            on_topic: 0.3,
            local: 0.9,
            assortative: 0.6,
            clicked: 0.3,
            viewed: 0.4,
            impact_spread: 0.4307,
            host_quality_cv2: 0.02,
            query_match: 0.7,
            query_noise: 0.1,
            ..Config::web_crawl()
        }
    }

    /// Refuses the first invalid setting.
    pub fn check(&self) -> Result<(), BadSetting> {
        let check = Checker("graph");
        check.positive("scale", self.scale)?;
        check.count("pages", self.pages as f64 * self.scale)?;
        check.count("hosts", self.hosts as f64 * self.scale)?;
        check.count("pages · links", (self.pages as f64 * self.scale * self.links).max(1.0))?;
        check.count("topics", f64::from(self.topics))?;
        check.positive("out_exponent less two", self.out_exponent - 2.0)?;
        check.span("duration", self.duration)?;
        check.not_negative("horizon", self.horizon.seconds())?;
        let shares = [
            ("born_later", self.born_later),
            ("seeds", self.seeds),
            (
                "topics as a share of the possible ones",
                f64::from(self.topics) / words::MOST_TOPICS as f64,
            ),
            ("on_topic", self.on_topic),
            ("local", self.local),
            ("copying", self.copying),
            ("hubs", self.hubs),
            ("assortative", self.assortative),
            ("clicked", self.clicked),
            ("viewed", self.viewed),
            ("query_match", self.query_match),
            ("query_noise", self.query_noise),
        ];
        shares.iter().try_for_each(|&(setting, value)| check.share(setting, value))?;
        let sizes = [
            ("host_exponent", self.host_exponent),
            ("topic_exponent", self.topic_exponent),
            ("links", self.links),
            ("impact_spread", self.impact_spread),
            ("host_quality_cv2", self.host_quality_cv2),
            ("clicks_per_page", self.clicks_per_page),
        ];
        sizes.iter().try_for_each(|&(setting, value)| check.not_negative(setting, value))
    }
}

/// Generates the web. Panics if [`Config::check`] fails.
pub fn generate(config: &Config, seed: u64) -> Generated {
    generate_web(config, seed).generated
}

/// Generates the web with its queries and topics. Panics if [`Config::check`] fails.
pub fn generate_web(config: &Config, seed: u64) -> GraphWeb {
    assert_eq!(config.check(), Ok(()), "the settings were not checked");
    let who = Population::draw(config, seed);
    let topics = zipf(usize::from(config.topics), config.topic_exponent);
    let queries = words::queries(&topics, config.topics, seed);
    let (views, clicks) = clicks::draw(config, &who, seed);
    let trace = Trace {
        name: "graph".to_owned(),
        duration: config.duration,
        note: Some(format!("Synthetic growing link graph with search impact, seed {seed}.")),
        pages: pages(config, &who, &queries, seed),
        links: links::grow(config, &who, seed),
        clicks: Some(clicks),
        views: Some(views),
        hosts: who.hosts,
        ..Trace::default()
    };
    let facts = facts::facts(config, &trace);
    GraphWeb { generated: Generated { trace, facts }, queries, topics: who.topic }
}

fn pages(config: &Config, who: &Population, queries: &[GraphQuery], seed: u64) -> Vec<TracePage> {
    let seeds = scaled(who.len(), config.seeds).min(who.roots.len());
    // Hosts are numbered by first page, so the first roots are the oldest.
    let last_seed = who.roots[seeds - 1];
    let mean = who.appeal.iter().map(|a| a.clicks()).sum::<f64>() / who.len() as f64;
    let standing = standings(who);
    let label = purpose("graph.url");
    let page = |id: usize| {
        let mut draws = Draws::keyed(seed, label, id as u64);
        let path = terms(config, who, queries, id, standing[id], &mut draws);
        let host = who.host[id];
        let is_root = who.is_root(id);
        TracePage {
            id: id as u64,
            url: format!("https://{}/{path}/{id}", who.hosts[host as usize].name).into_boxed_str(),
            host,
            born: instant(who.born[id]),
            died: None,
            is_source: is_root,
            weight: match config.weights {
                PageWeights::Impact if mean > 0.0 => who.appeal[id].clicks() / mean,
                _ => 1.0,
            },
            is_seed: is_root && id as u32 <= last_seed,
        }
    };
    (0..who.len()).into_par_iter().map(page).collect()
}

/// Rank of each clicked page by impact among clicked pages, from 0 (first) towards 1.
fn standings(who: &Population) -> Vec<f64> {
    let mut order: Vec<u32> =
        (0..who.len() as u32).filter(|&p| who.appeal[p as usize].is_clicked()).collect();
    order.par_sort_unstable_by(|&a, &b| {
        let impact = |page: u32| who.appeal[page as usize].clicks();
        impact(b).total_cmp(&impact(a)).then(a.cmp(&b))
    });
    let mut standing = vec![1.0; who.len()];
    for (rank, &page) in order.iter().enumerate() {
        standing[page as usize] = rank as f64 / order.len() as f64;
    }
    standing
}

/// The words in a page's URL, joined by a hyphen.
fn terms(
    config: &Config,
    who: &Population,
    queries: &[GraphQuery],
    page: usize,
    standing: f64,
    draws: &mut Draws,
) -> String {
    let topic = who.topic[page];
    let of_topic = &queries[usize::from(topic) * words::QUERIES..][..words::QUERIES];
    let is_clicked = who.appeal[page].is_clicked();
    let chance = if is_clicked { config.query_match } else { config.query_noise };
    if !draws.chance(chance) {
        return words::pair(topic, draws).join("-");
    }
    let quantile = if is_clicked { standing } else { draws.uniform() };
    of_topic[(quantile * words::QUERIES as f64) as usize].terms.replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::testing::on_one_and_two_threads;

    fn small() -> Config {
        Config { scale: 0.1, ..Config::web_crawl() }
    }

    fn fact(made: &Generated, what: &str) -> f64 {
        made.facts.iter().find(|f| f.what.starts_with(what)).unwrap().ours
    }

    #[test]
    fn threads_do_not_matter() {
        let [one, two] = on_one_and_two_threads(|| generate_web(&small(), 3));
        assert_eq!(one.generated.trace, two.generated.trace);
        assert_eq!(one.generated.facts, two.generated.facts);
        assert_eq!(one.queries, two.queries);
    }

    #[test]
    fn tables_are_in_order_and_links_wait_for_both_ends() {
        let trace = generate(&small(), 2).trace;
        trace.check().unwrap();
        assert!(trace.links.is_sorted_by_key(|l| (l.source, l.appears, l.page)));
        for link in &trace.links {
            let born = |page: u32| trace.pages[page as usize].born;
            assert_eq!(link.appears, born(link.source).max(born(link.page)));
            assert_ne!(link.source, link.page);
        }
        let (views, clicks) = (trace.views.unwrap(), trace.clicks.unwrap());
        for rows in [&views, &clicks] {
            assert!(rows.is_sorted_by(|a, b| (a.page, a.at) < (b.page, b.at)));
            assert!(
                rows.iter().all(|c| c.at >= trace.pages[c.page as usize].born && c.count > 0.0)
            );
        }
        let total = |rows: &[tidewatch_trace::Count]| rows.iter().map(|c| c.count).sum::<f64>();
        assert!(total(&clicks) < total(&views));
    }

    #[test]
    fn everything_is_found_from_a_few_seeds() {
        let made = generate(&small(), 4);
        let seeds = made.trace.pages.iter().filter(|p| p.is_seed).count();
        assert_eq!(seeds, 5);
        assert!((fact(&made, "share of pages reachable") - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn impact_is_as_concentrated_as_the_formula_says() {
        // Expected clicks (weights), not counts: top x of all pages hold Φ(σ − Φ⁻¹(1 − x/c)).
        let config = Config { pages: 200_000, links: 1.0, ..Config::wikipedia() };
        let weights: Vec<f64> = generate(&config, 9).trace.pages.iter().map(|p| p.weight).collect();
        let top = crate::generate::shared::top_share(&weights, 0.1);
        // c = 0.3 and x = 0.1: one half. The share varies as a mean of 6·10⁴ lognormals with σ < ½
        // does, by less than 0.005 at five standard errors; c itself by as much again.
        assert!((top - 0.5).abs() < 0.01, "{top}");
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        assert!((mean - 1.0).abs() < 1e-9);
    }

    #[test]
    fn clicked_pages_point_to_clicked_pages() {
        let ratio = |assortative| {
            let config = Config { assortative, host_quality_cv2: 0.0, ..Config::wikipedia() };
            let made = generate(&Config { scale: 0.2, ..config }, 6);
            fact(&made, "mean clicks 1 links from clicked")
        };
        // Without preference the ratio is 1, but for the hubs that a host's pages all link to:
        // twenty of them, each with a clicked page's share of luck.
        let (with, without) = (ratio(0.6), ratio(0.0));
        assert!((without - 1.0).abs() < 0.1, "no preference, no gap: {without}");
        assert!(with > 1.4, "far more than the rest: {with}");
    }

    #[test]
    fn clicked_pages_speak_as_queries_do() {
        let web = generate_web(&Config { scale: 0.1, ..Config::wikipedia() }, 1);
        let asked: std::collections::HashSet<String> =
            web.queries.iter().map(|q| q.terms.replace(' ', "-")).collect();
        let matches = |page: &TracePage| page.url.split('/').any(|part| asked.contains(part));
        let share = |clicked: bool| {
            let pages = web.generated.trace.pages.iter().filter(|p| (p.weight > 0.0) == clicked);
            let (hits, all) =
                pages.fold((0.0, 0.0), |(h, n), p| (h + f64::from(u8::from(matches(p))), n + 1.0));
            hits / all
        };
        // 0.7 and 0.1 asked for; random pairs of words are queries one time in fifty or so.
        assert!((share(true) - 0.7).abs() < 0.06 && (share(false) - 0.1).abs() < 0.06);
    }

    #[test]
    fn invalid_settings_are_refused() {
        let bad = [
            Config { pages: 0, ..Config::default() },
            Config { topics: 0, ..Config::default() },
            Config { topics: 20_000, ..Config::default() },
            Config { out_exponent: 2.0, ..Config::default() },
            Config { clicked: -0.1, ..Config::default() },
            Config { links: f64::NAN, ..Config::default() },
        ];
        for config in bad {
            assert!(config.check().is_err(), "{config:?}");
        }
        assert_eq!(Config::wikipedia().check(), Ok(()));
        assert_eq!(Config::web_crawl().check(), Ok(()));
    }

    #[test]
    fn the_smallest_web_is_one_page() {
        let made = generate(&Config { pages: 1, hosts: 1, ..Config::default() }, 1);
        assert_eq!((made.trace.pages.len(), made.trace.links.len()), (1, 0));
        assert!(made.trace.pages[0].is_seed);
    }
}
