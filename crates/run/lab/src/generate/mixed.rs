//! Every kind of fetch on one web and one budget.
//!
//! Four parts, made by the other generators and [merged](super::merge), compete for the same fetches:
//!
//! | part | what a fetch there does |
//! |---|---|
//! | `echo` | finds and fetches ephemeral new pages `[LOSS13]` |
//! | `renewal` | refreshes pages with binary changes `[CGM03]`, `[WSY02]` |
//! | `longevity` | refreshes pages whose fragments have different lifetimes `[OP08]` |
//! | `graph` | fetches pages of a link graph, some of which have impact `[TTKN15]` |
//!
//! **One currency.** Users click on every part, so a policy earns the same thing everywhere: clicks
//! on fresh copies. Pages of the two refreshed parts get Poisson clicks in proportion to their weight,
//! following the daily rhythm of readers; the two other parts have their own clicks. By default each
//! part gets equally many clicks: no published figure says how demand divides, and with an even
//! division a policy that neglects one kind of fetch loses.
//!
//! **A frontier from the start.** A warm start holds everything that exists at time 0. So the part to
//! be explored is born one microsecond later, except its seeds.
//!
//! Weights have mean 1 within every part. Weights of the frontier are all 1, because they would give
//! its impact away.

use rayon::prelude::*;
use tidewatch_core::{Span, Time};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sample::Rhythm;
use tidewatch_trace::{Count, Trace};

use super::echo::{self, EchoConfig, readers_rhythm};
use super::merge::{Part, merge};
use super::renewal::{RankOrder, Weights};
use super::shared::{BadSetting, Checker, scaled, shape};
use super::{Fact, Generated, graph, longevity, renewal};

/// Settings of the mixed web. Durations of the parts are set to `duration`.
#[derive(Clone, Debug, PartialEq)]
pub struct MixedConfig {
    /// Multiplies the scale and the clicks of every part.
    pub scale: f64,
    /// Length of the trace.
    pub duration: Span,
    /// Clicks on the parts other than `echo`.
    pub clicks: Demand,
    /// Ephemeral pages and their sources.
    pub echo: EchoConfig,
    /// Pages with binary changes.
    pub renewal: renewal::Config,
    /// Pages with versions; the spacing of snapshots follows from `duration`.
    pub longevity: longevity::Config,
    /// The frontier.
    pub graph: graph::Config,
}

/// Clicks per second by part, at scale 1; [`EchoConfig`] sets those on ephemeral pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// On pages with binary changes.
    pub renewal: f64,
    /// On pages with versions.
    pub longevity: f64,
    /// On the frontier, including clicks after the end.
    pub graph: f64,
}

impl Default for MixedConfig {
    /// A tenth of the web of \[LOSS13\], and as many clicks on each of the other parts.
    fn default() -> Self {
        let each = 0.072;
        MixedConfig {
            scale: 1.0,
            duration: Span::WEEK.times(3),
            clicks: Demand { renewal: each, longevity: each, graph: each },
            echo: EchoConfig { scale: 0.1, ..EchoConfig::default() },
            renewal: renewal::Config {
                pages: 5_000,
                hosts: 250,
                weights: Weights::Zipf { exponent: 0.8, order: RankOrder::Random },
                ..renewal::Config::default()
            },
            longevity: longevity::Config {
                pages: 2_000,
                hosts: 400,
                is_high_quality: false,
                ..longevity::Config::default()
            },
            graph: graph::Config {
                pages: 20_000,
                hosts: 400,
                weights: graph::PageWeights::Uniform,
                ..graph::Config::web_crawl()
            },
        }
    }
}

impl MixedConfig {
    /// Refuses the first invalid setting.
    pub fn check(&self) -> Result<(), BadSetting> {
        let check = Checker("mixed");
        check.positive("scale", self.scale)?;
        check.span("duration", self.duration)?;
        check.not_negative("clicks.renewal", self.clicks.renewal)?;
        check.not_negative("clicks.longevity", self.clicks.longevity)?;
        check.not_negative("clicks.graph", self.clicks.graph)?;
        let parts = self.parts();
        parts.echo.check()?;
        parts.renewal.check()?;
        parts.longevity.check()?;
        parts.graph.check()
    }

    /// The settings of the parts, with scale, duration and demand filled in.
    fn parts(&self) -> Self {
        let mut parts = self.clone();
        parts.echo.scale *= self.scale;
        parts.echo.duration = self.duration;
        parts.renewal.scale *= self.scale;
        parts.renewal.duration = self.duration;
        parts.longevity.scale *= self.scale;
        let snapshots = u64::from(self.longevity.snapshots.max(1));
        parts.longevity.spacing = Span::from_micros(self.duration.as_micros() / snapshots);
        parts.graph.scale *= self.scale;
        parts.graph.duration = self.duration;
        let clicked = scaled(parts.graph.pages, parts.graph.scale) as f64 * parts.graph.clicked;
        let clicks = self.clicks.graph * self.scale * self.duration.seconds();
        parts.graph.clicks_per_page = if clicked > 0.0 { clicks / clicked } else { 0.0 };
        parts
    }
}

/// Generates the web. Panics if [`MixedConfig::check`] fails.
pub fn generate(config: &MixedConfig, seed: u64) -> Generated {
    assert_eq!(config.check(), Ok(()), "the settings were not checked");
    let parts = config.parts();
    let readers = readers_rhythm(&parts.echo);
    let mut webs = [
        ("echo", echo::generate(&parts.echo, seed)),
        ("renewal", renewal::generate(&parts.renewal, seed)),
        ("longevity", longevity::generate(&parts.longevity, seed)),
        ("graph", graph::generate(&parts.graph, seed)),
    ];
    leave_unfetched(&mut webs[3].1.trace);
    for (web, rate) in [(1, config.clicks.renewal), (2, config.clicks.longevity)] {
        let (label, generated) = &mut webs[web];
        let draws = |page| Draws::keyed(seed, purpose("mixed.click") ^ purpose(label), page);
        let clicks = click(&generated.trace, rate * config.scale, &readers, draws);
        generated.trace.clicks = Some(clicks);
    }
    let facts = facts(&webs);
    let parts = webs.into_iter().map(|(label, web)| Part { label, trace: web.trace }).collect();
    let mut trace = merge("mixed", parts);
    trace.note = Some(format!("Synthetic mixed web, scale {}, seed {seed}.", config.scale));
    Generated { trace, facts }
}

/// Moves all pages but the seeds, with their links and clicks, to just after the start. Leaves the
/// links unsorted; merging sorts them.
fn leave_unfetched(trace: &mut Trace) {
    const SOON: Time = Time::from_micros(1);
    let pages = &mut trace.pages;
    pages.iter_mut().filter(|page| !page.is_seed).for_each(|page| page.born = page.born.max(SOON));
    for link in &mut trace.links {
        let ends = [link.source, link.page].map(|page| pages[page as usize].born);
        link.appears = link.appears.max(ends[0]).max(ends[1]);
        // A link that ends by then lasts one more microsecond.
        link.disappears = link.disappears.map(|gone| gone.max(link.appears + Span::from_micros(1)));
    }
    for row in trace.clicks.iter_mut().chain(&mut trace.views).flatten() {
        row.at = row.at.max(pages[row.page as usize].born);
    }
}

/// Clicks on pages in proportion to their weights, `rate` per second in total.
fn click(
    trace: &Trace,
    rate: f64,
    readers: &Rhythm,
    draws: impl Fn(u64) -> Draws + Sync,
) -> Vec<Count> {
    let weights: f64 = trace.pages.iter().map(|page| page.weight).sum();
    let until = trace.duration.seconds();
    let clicks = |(number, weight): (u32, f64)| {
        let own = if weights > 0.0 { rate * weight / weights } else { 0.0 };
        let times = readers.arrivals(own, 0.0, until, draws(u64::from(number)));
        let mut rows: Vec<Count> = Vec::new();
        for at in times.into_iter().flatten().filter_map(Time::from_seconds) {
            match rows.last_mut() {
                Some(row) if row.at == at => row.count += 1.0,
                _ => rows.push(Count { page: number, at, count: 1.0 }),
            }
        }
        rows
    };
    let pages: Vec<(u32, f64)> = (0..).zip(trace.pages.iter().map(|page| page.weight)).collect();
    pages.into_par_iter().flat_map_iter(clicks).collect()
}

/// Facts of the whole web, then those of every part.
fn facts(webs: &[(&'static str, Generated)]) -> Vec<Fact> {
    let within = |trace: &Trace| -> f64 {
        let end = Time::ZERO + trace.duration;
        let rows = trace.clicks.iter().flatten().filter(|row| row.at < end);
        rows.map(|row| row.count).sum()
    };
    let mut facts = Vec::new();
    for (label, web) in webs {
        let trace = &web.trace;
        let rate = within(trace) / trace.duration.seconds();
        facts.push(shape(&format!("{label}: pages"), trace.pages.len() as f64, "setting"));
        facts.push(shape(&format!("{label}: clicks per second within the trace"), rate, "setting"));
    }
    for (label, web) in webs {
        let of_part =
            |fact: &Fact| Fact { what: format!("{label}: {}", fact.what), ..fact.clone() };
        facts.extend(web.facts.iter().map(of_part));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::testing::on_one_and_two_threads;

    fn small() -> MixedConfig {
        MixedConfig { scale: 0.1, ..MixedConfig::default() }
    }

    #[test]
    fn the_whole_is_valid_and_has_every_table() {
        let trace = generate(&small(), 1).trace;
        trace.check().unwrap();
        assert!(trace.clicks.is_some() && trace.changes.is_some() && trace.versions.is_some());
        assert!(trace.pages.iter().any(|page| page.is_source));
        let unlinked = trace.pages.iter().filter(|page| page.is_seed && !page.is_source).count();
        assert!(unlinked > 600, "{unlinked} seeds, but 700 refreshed pages");
        assert_eq!(trace.duration, Span::WEEK.times(3));
        let frontier = trace.pages.iter().filter(|page| page.url.contains("//graph-"));
        let held = frontier.filter(|page| page.born == Time::ZERO);
        assert!(held.count() <= 2, "a warm start would hold the frontier");
    }

    /// Three standard errors of 13,000 clicks on the refreshed parts, of 4,400 clicks on the
    /// ephemeral pages of the last week; the frontier has some forty clicked pages of lognormal
    /// impact (σ = 1.28) whose sum varies by 0.3, and pages born late miss a part: a factor of 2.
    const TOLERANCES: [(&str, f64); 4] = [
        ("renewal: clicks per second within the trace", 0.03),
        ("longevity: clicks per second within the trace", 0.03),
        ("echo: clicks per second on the pages of the last week", 0.05),
        ("graph: clicks per second within the trace", 0.5),
    ];

    #[test]
    fn clicks_of_every_part_match_the_settings() {
        let facts = generate(&small(), 2).facts;
        for (what, tolerance) in TOLERANCES {
            let rate = facts.iter().find(|fact| fact.what == what).unwrap().ours;
            assert!((rate / 0.0072 - 1.0).abs() < tolerance, "{what}: {rate}");
        }
    }

    #[test]
    fn clicks_go_with_weight() {
        let parts = small().parts();
        let trace = renewal::generate(&parts.renewal, 3).trace;
        let rhythm = readers_rhythm(&parts.echo);
        let clicks = click(&trace, 0.05, &rhythm, |page| Draws::new(3, page));
        let total: f64 = trace.pages.iter().map(|page| page.weight).sum();
        let mut order: Vec<usize> = (0..trace.pages.len()).collect();
        order.sort_by(|&a, &b| trace.pages[b].weight.total_cmp(&trace.pages[a].weight));
        let top = &order[..order.len() / 10];
        let expected: f64 = top.iter().map(|&page| trace.pages[page].weight).sum::<f64>() / total;
        let on_top = clicks.iter().filter(|row| top.contains(&(row.page as usize)));
        let share = on_top.map(|row| row.count).sum::<f64>() / clicks.len() as f64;
        // Four standard errors of a share of 90,000 clicks.
        assert!((share - expected).abs() < 4.0 * 0.5 / 300.0, "{share}, not {expected}");
    }

    #[test]
    fn threads_do_not_matter() {
        let config = MixedConfig { scale: 0.03, ..MixedConfig::default() };
        let [one, two] = on_one_and_two_threads(|| generate(&config, 7));
        assert!(one.trace == two.trace, "the trace depends on the number of threads");
    }

    #[test]
    fn an_invalid_setting_of_a_part_is_named() {
        let mut config = MixedConfig::default();
        config.check().unwrap();
        config.graph.clicked = 2.0;
        assert_eq!(config.check().unwrap_err().generator, "graph");
    }
}
