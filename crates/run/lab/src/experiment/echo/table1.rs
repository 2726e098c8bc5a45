//! Table 1 of `[LOSS13]`: six algorithms at three budgets, next to the published figures.

use tidewatch_core::Time;
use tidewatch_math::stats;
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_report::{Axis, Bar, BarChart, Cell, Column, Report, Table};

use tidewatch_policy::echo::{Echo, Pooling, Rule, Settings as Echoing};

use super::{
    ALGORITHMS, AS_PUBLISHED, BUDGETS, Contender, HARDLY, Run, WITH_FIRST_LOOK, bound, contender,
    contest, estimate, published, webs_like,
};
use crate::engine::Logged;
use crate::experiment::{Setup, bar, cell};
use crate::generate::echo::EchoConfig;
use crate::oracle::{Learns, known_sources, partly_known_sources};
use crate::{LabError, World};

/// Published profit per second by algorithm and budget, in the order of [`ALGORITHMS`].
const PUBLISHED: [[f64; 3]; 6] = [
    [0.014, 0.39, 0.61],
    [0.24, 0.46, 0.62],
    [0.43, 0.59, 0.69],
    [0.60, 0.68, 0.69],
    [0.52, 0.69, 0.71],
    [0.62, 0.69, 0.71],
];
const PUBLISHED_BOUND: f64 = 0.72;
/// The budget at which the paper's BFS reaches 99% of the bound.
const BFS_SUFFICES: f64 = 1.0;
/// Differences in the share of the bound above this are reported.
const NOTABLE: f64 = 0.1;
/// Published figures closer than this count as equal: their last digit is 0.01, their deviation 0.03.
const PUBLISHED_TIE: f64 = 0.03;

/// Algorithms of which a first look changes nothing: BFS visits every source anyway.
const WITHOUT_LOOK: [&str; 1] = ["bfs"];

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let by_page = Set::run(setup, "popularity by page", &EchoConfig::default())?;
    let by_host = Set::run(setup, "popularity by host", &EchoConfig::by_host())?;
    let mut report = Report::new("ECHO, Table 1: six algorithms at three budgets, on two webs")
        .lead(causes(&by_page, &by_host))
        .fact("webs", format!("{} of each kind, of scale {}", setup.repeat, setup.scale));
    for set in [&by_page, &by_host] {
        report = report.section(format!("Web of {}", set.name), |section| {
            section.paragraph(set.facts.describe(&set.config, &set.bound));
            section.table(set.table()).chart(set.chart());
            section.paragraph(format!("{} {}", order(&set.looked), differences(&set.looked)));
            section.table(set.variants()).table(set.split()).note(format!(
                "Hardly visited: at most {HARDLY} visit in the measured week. Published: ECHO hardly \
                 revisits about 70% of the sources. BFS at N = {BFS_SUFFICES} reaches {:.3} of the \
                 bound (published 0.99). ± is the 95% interval over webs from different seeds.",
                estimate(&set.plenty, |run| run.share)
            ));
        });
    }
    Ok(report.section("Differences from the paper", |section| {
        for text in explanations(&by_page, &by_host) {
            section.paragraph(text);
        }
    }))
}

const POOLED: &str = "echo-newpages, pooled";
const TOLD: &str = "echo-newpages, told";
const TOLD_LINKS: &str = "echo-newpages, told links";
const TOLD_PROFITS: &str = "echo-newpages, told profits";

/// ECHO-newpages with a first look and other settings, or told a part of the truth.
fn variants() -> Vec<Contender> {
    let with = |name, echoing: Echoing| {
        Contender::new(name, move |_, _| Box::new(Echo::new(Rule::NewPages, echoing)))
    };
    let partly = |name, learns: Learns| {
        Contender::new(name, move |world, _| {
            Box::new(partly_known_sources(world, Rule::NewPages, WITH_FIRST_LOOK, learns))
        })
    };
    let own_log = with("echo-newpages, pooled, own log", Echoing::DEFAULT);
    vec![
        with(POOLED, Echoing { pooling: Pooling::All, ..WITH_FIRST_LOOK }),
        Contender { logged: Logged::Held, ..own_log },
        partly(TOLD_LINKS, Learns::Profits),
        partly(TOLD_PROFITS, Learns::Arrivals),
        Contender::new(TOLD, |world, _| Box::new(known_sources(world, Rule::NewPages))),
    ]
}

/// All runs on webs of one configuration: `[algorithm][budget][web]`.
struct Set {
    name: &'static str,
    config: EchoConfig,
    literal: Vec<Vec<Vec<Run>>>,
    looked: Vec<Vec<Vec<Run>>>,
    others: Vec<(&'static str, Vec<Vec<Run>>)>,
    /// BFS with plenty.
    plenty: Vec<Run>,
    facts: Facts,
    bound: Estimate,
}

impl Set {
    fn run(setup: &Setup<'_>, name: &'static str, config: &EchoConfig) -> Result<Self, LabError> {
        let webs = webs_like(setup, config)?;
        let all = |echoing: Echoing| -> Result<Vec<Contender>, LabError> {
            ALGORITHMS.iter().map(|name| contender(name, echoing)).collect()
        };
        let literal = contest(setup, &webs, &all(AS_PUBLISHED)?, &BUDGETS)?;
        let mut looking = all(WITH_FIRST_LOOK)?;
        looking.retain(|contender| !WITHOUT_LOOK.contains(&contender.name));
        let mut looked = contest(setup, &webs, &looking, &BUDGETS)?.into_iter();
        let looked = ALGORITHMS.iter().zip(&literal).map(|(name, literal)| {
            let same = || literal.clone();
            if WITHOUT_LOOK.contains(name) { same() } else { looked.next().unwrap_or_else(same) }
        });
        let variants = variants();
        let names = variants.iter().map(|variant| variant.name);
        let bounds: Vec<f64> =
            webs.iter().map(|(_, world)| bound(setup, world)).collect::<Result<_, _>>()?;
        Ok(Set {
            name,
            config: config.clone(),
            looked: looked.collect(),
            literal,
            others: names.zip(contest(setup, &webs, &variants, &BUDGETS)?).collect(),
            plenty: contest(setup, &webs, &[published("bfs")?], &[BFS_SUFFICES])?
                .remove(0)
                .remove(0),
            facts: Facts::of(&webs, setup.scale),
            bound: bounds.into_iter().collect::<Moments>().estimate(),
        })
    }

    /// Mean share of the bound of an algorithm with first look.
    fn share(&self, name: &str, budget: usize) -> f64 {
        mean_share(&self.looked[place(name)][budget])
    }

    /// Mean share of the bound of a variant.
    fn variant(&self, name: &str, budget: usize) -> f64 {
        let found = self.others.iter().find(|(other, _)| *other == name);
        found.map_or(f64::NAN, |(_, runs)| mean_share(&runs[budget]))
    }

    fn table(&self) -> Table {
        let mut columns = vec![Column::text("algorithm")];
        for n in BUDGETS {
            columns.push(Column::number(format!("literal, N = {n}")));
            columns.push(Column::number("first look").highest());
            columns.push(Column::number("published"));
        }
        let mut table = Table::new(columns).caption(
            "Profit as a share of the bound. Each source is estimated separately, from the log of a \
             search engine that holds every page. Literal: a source that was never visited since its \
             links were new keeps the pessimistic profit. First look: one visit to every source \
             first.",
        );
        for (i, name) in ALGORITHMS.iter().enumerate() {
            let mut cells = vec![Cell::text(*name)];
            for budget in 0..BUDGETS.len() {
                for runs in [&self.literal, &self.looked] {
                    cells.push(cell(&estimate(&runs[i][budget], |run| run.share), 3));
                }
                cells.push(Cell::number(published_share(i, budget), 3));
            }
            table.push(cells);
        }
        table
    }

    fn variants(&self) -> Table {
        let mut columns = vec![Column::text("variant")];
        columns.extend(BUDGETS.map(|n| Column::number(format!("N = {n}")).highest()));
        let mut table = Table::new(columns).caption(
            "Pooled: sources borrow from their host, hosts from all. Own log: only fetched pages can \
             be clicked. Told: with the true new links, the true profit and decay, or both, of every \
             source.",
        );
        for (name, runs) in &self.others {
            let mut cells = vec![Cell::text(*name)];
            cells.extend(runs.iter().map(|runs| cell(&estimate(runs, |run| run.share), 3)));
            table.push(cells);
        }
        table
    }

    fn chart(&self) -> BarChart {
        let groups =
            BUDGETS.iter().flat_map(|n| [format!("N = {n}"), format!("N = {n}, published")]);
        let axis = Axis::new("share of the bound").from_zero();
        let mut chart =
            BarChart::new("Profit with first look, as a share of the bound", axis).groups(groups);
        for (i, name) in ALGORITHMS.iter().enumerate() {
            let bars = (0..BUDGETS.len()).flat_map(|budget| {
                let ours = bar(&estimate(&self.looked[i][budget], |run| run.share));
                [ours, Bar::new(published_share(i, budget))]
            });
            chart.push(*name, bars);
        }
        chart
    }

    fn split(&self) -> Table {
        let mut columns = vec![Column::text("algorithm")];
        for n in BUDGETS {
            columns.push(Column::number(format!("sources at {n}")));
            columns.push(Column::number("new"));
            columns.push(Column::number("idle"));
            columns.push(Column::number("hardly visited"));
        }
        let mut table = Table::new(columns).caption(
            "With first look: shares of the budget spent on sources, on new pages and not at all, and \
             of sources hardly visited.",
        );
        for (name, runs) in ALGORITHMS.iter().zip(&self.looked) {
            let mut cells = vec![Cell::text(*name)];
            for runs in runs {
                let mean = |of: &dyn Fn(&Run) -> f64| Cell::number(estimate(runs, of).mean, 3);
                cells.extend((0..3).map(|part| mean(&|run| run.split[part])));
                cells.push(mean(&|run| run.hardly));
            }
            table.push(cells);
        }
        table
    }
}

fn place(name: &str) -> usize {
    ALGORITHMS.iter().position(|other| *other == name).unwrap_or_default()
}

fn mean_share(runs: &[Run]) -> f64 {
    estimate(runs, |run| run.share).mean
}

fn published_share(algorithm: usize, budget: usize) -> f64 {
    PUBLISHED[algorithm][budget] / PUBLISHED_BOUND
}

/// Mean absolute difference of all shares from the published ones.
fn distance(runs: &[Vec<Vec<Run>>]) -> f64 {
    let off = |(i, runs): (usize, &Vec<Vec<Run>>)| {
        let off = runs
            .iter()
            .enumerate()
            .map(move |(budget, runs)| (mean_share(runs) - published_share(i, budget)).abs());
        off.collect::<Vec<f64>>()
    };
    runs.iter().enumerate().flat_map(off).collect::<Moments>().mean()
}

/// The two causes of low shares: what a web lets one earn, and the cold start.
fn causes(by_page: &Set, by_host: &Set) -> String {
    let newpages = place("echo-newpages");
    let published = published_share(newpages, 0);
    let told = [by_page, by_host].map(|set| set.variant(TOLD, 0));
    let gains = [by_page, by_host].map(|set| {
        ["echo-newpages", "echo-schedule", "echo-greedy"]
            .map(|name| {
                let literal = mean_share(&set.literal[place(name)][0]);
                format!("{name} from {literal:.2} to {:.2}", set.share(name, 0))
            })
            .join(", ")
    });
    let far = [by_page, by_host].map(|set| [distance(&set.literal), distance(&set.looked)]);
    format!(
        "Profit as a share of the bound. Two possible causes of the distance to the published shares are \
         measured. \
         Calibration: told everything of every source, echo-newpages at N = {} reaches {:.2} where \
         popularity lies with pages and {:.2} where it lies with hosts; the paper's learns and reaches \
         {published:.2}. Cold start: a first look at every source takes, on the web of pages, {}; on \
         the web of hosts, {}. The mean distance of all shares from the published ones is {:.3} \
         literally and {:.3} with first look on the web of pages, {:.3} and {:.3} on the web of hosts.",
        BUDGETS[0],
        told[0],
        told[1],
        gains[0],
        gains[1],
        far[0][0],
        far[0][1],
        far[1][0],
        far[1][1],
    )
}

/// What is left, each with the figures that explain it.
fn explanations(by_page: &Set, by_host: &Set) -> Vec<String> {
    vec![shortfall(by_host), quota(by_page, by_host), output(by_page, by_host)]
}

/// Why ECHO-newpages stays below the published share on the web of hosts.
fn shortfall(set: &Set) -> String {
    let newpages = place("echo-newpages");
    let ours = set.share("echo-newpages", 0);
    let [told, links, profits, pooled] =
        [TOLD, TOLD_LINKS, TOLD_PROFITS, POOLED].map(|name| set.variant(name, 0));
    format!(
        "echo-newpages at N = {}, web of hosts: {ours:.3}, {:.3} below the published {:.3}. Told \
         everything it reaches {told:.3}: learning costs {:.3}. Told the new links alone it reaches \
         {links:.3}, told the profits alone {profits:.3}, and with pooled profits {pooled:.3}.",
        BUDGETS[0],
        published_share(newpages, 0) - ours,
        published_share(newpages, 0),
        told - ours,
    )
}

/// Why fixed-quota falls behind BFS at the largest budget.
fn quota(by_page: &Set, by_host: &Set) -> String {
    let last = BUDGETS.len() - 1;
    let n = BUDGETS[last];
    let [page, host] = [by_page, by_host].map(|set| {
        let runs = |name: &str| &set.looked[place(name)][last];
        let new = |name: &str| n * estimate(runs(name), |run| run.split[1]).mean;
        format!(
            "fixed-quota {:.3} with {:.3} new pages fetched a second, bfs {:.3} with {:.3}, of {:.3} that \
             appear; the best sources' pages, as many as half of the budget pays for, hold {:.3} of \
             the clicks",
            set.share("fixed-quota", last),
            new("fixed-quota"),
            set.share("bfs", last),
            new("bfs"),
            set.facts.pages_per_s.mean,
            set.facts.half_budget.mean,
        )
    });
    format!(
        "fixed-quota at N = {n} (published {:.3}, bfs {:.3}). It fetches no more new pages than half of \
         the budget, however well it chooses. Web of pages: {page}. Web of hosts: {host}. So its rank \
         depends on how many clicks that half holds.",
        published_share(place("fixed-quota"), last),
        published_share(place("bfs"), last),
    )
}

/// Why frequency earns more than published at the smallest budget.
fn output(by_page: &Set, by_host: &Set) -> String {
    let published = published_share(place("frequency"), 0);
    let [page, host] = [by_page, by_host].map(|set| {
        format!(
            "{:.3}, where the busiest hosts' fifth of the new pages holds {:.3} of the clicks and the \
             rank correlation of a host's new pages with its clicks per page is {:.2}",
            set.share("frequency", 0),
            set.facts.busiest.mean,
            set.facts.host_correlation.mean
        )
    });
    format!(
        "frequency at N = {} (published {published:.3}) knows output alone and watches the busiest \
         sources. Web of pages: {page}. Web of hosts: {host}. The generator draws popularity \
         independently of output, because no published figure relates them. To earn {published:.3}, \
         the pages of the busiest sources must be clicked {:.2} times as often as the average page.",
        BUDGETS[0],
        published / FIFTH,
    )
}

/// Whether the algorithms rank as published.
fn order(runs: &[Vec<Vec<Run>>]) -> String {
    let mut swapped = Vec::new();
    for (budget, n) in BUDGETS.iter().enumerate() {
        for a in 0..ALGORITHMS.len() {
            for b in 0..ALGORITHMS.len() {
                if PUBLISHED[a][budget] < PUBLISHED[b][budget] + PUBLISHED_TIE {
                    continue;
                }
                // The paper has `a` ahead by more than its rounding and noise.
                let lead: Estimate = runs[a][budget]
                    .iter()
                    .zip(&runs[b][budget])
                    .map(|(a, b)| a.share - b.share)
                    .collect::<Moments>()
                    .estimate();
                if lead.mean < 0.0 {
                    let sure = if lead.interval().1 < 0.0 { "" } else { ", within chance" };
                    let (a, b) = (ALGORITHMS[a], ALGORITHMS[b]);
                    swapped.push(format!("at N = {n} {b} beats {a} by {:.3}{sure}", -lead.mean));
                }
            }
        }
    }
    if swapped.is_empty() {
        return "The algorithms rank as published at every budget.".to_owned();
    }
    format!("The algorithms rank as published, except: {}.", swapped.join("; "))
}

/// Where shares of the bound differ notably from the published ones.
fn differences(runs: &[Vec<Vec<Run>>]) -> String {
    let mut notable = Vec::new();
    for (i, name) in ALGORITHMS.iter().enumerate() {
        for (budget, n) in BUDGETS.iter().enumerate() {
            let ours = estimate(&runs[i][budget], |run| run.share).mean;
            let by = ours - PUBLISHED[i][budget] / PUBLISHED_BOUND;
            if by.abs() > NOTABLE {
                notable.push(format!("{name} at {n} ({by:+.2})"));
            }
        }
    }
    if notable.is_empty() {
        return format!(
            "No share of the bound differs from the published one by more than {NOTABLE}."
        );
    }
    format!(
        "Shares of the bound that differ from the published ones by more than {NOTABLE}: {}.",
        notable.join(", ")
    )
}

/// Properties of the webs that determine what algorithms can earn.
struct Facts {
    /// New pages a second.
    pages_per_s: Estimate,
    /// Share of all clicks on the busiest hosts that together have a fifth of the new pages.
    busiest: Estimate,
    /// Rank correlation of a host's new pages with its clicks per page.
    host_correlation: Estimate,
    /// Share of all clicks on the best sources that together show a fifth of the new pages.
    best_sources: Estimate,
    /// The same for as many pages as half of the largest budget can fetch.
    half_budget: Estimate,
    /// Rank correlation of a page's clicks with the number of sources that show it.
    shown_correlation: Estimate,
}

/// Share of the new pages for which clicks are counted: about what N = 0.05 can fetch.
const FIFTH: f64 = 0.2;

impl Facts {
    fn of(webs: &[(u64, World)], scale: f64) -> Self {
        let over = |of: &dyn Fn(&World) -> f64| {
            webs.iter().map(|(_, world)| of(world)).collect::<Moments>().estimate()
        };
        Facts {
            pages_per_s: over(&|world| {
                let new = new_pages(world).count() as f64;
                new / world.trace().duration.seconds() / scale
            }),
            busiest: over(&|world| busiest_share(&host_totals(world))),
            host_correlation: over(&|world| {
                let (output, appeal): (Vec<f64>, Vec<f64>) = host_totals(world)
                    .iter()
                    .map(|&(pages, clicks)| (pages, clicks / pages))
                    .unzip();
                stats::spearman(&output, &appeal)
            }),
            best_sources: over(&|world| best_sources_share(world, FIFTH)),
            half_budget: over(&|world| {
                let new =
                    new_pages(world).count() as f64 / world.trace().duration.seconds() / scale;
                best_sources_share(world, (0.5 * BUDGETS[BUDGETS.len() - 1] / new).min(1.0))
            }),
            shown_correlation: over(&|world| {
                let shown = shown_by(world);
                let (shown, clicks): (Vec<f64>, Vec<f64>) = new_pages(world)
                    .map(|page| (shown[page as usize], world.clicks_after(page, Time::ZERO)))
                    .unzip();
                stats::spearman(&shown, &clicks)
            }),
        }
    }

    fn describe(&self, config: &EchoConfig, bound: &Estimate) -> String {
        format!(
            "Hosts and categories explain {} and {} of the variance of ln(popularity). The bound, with \
             an unlimited budget, is {bound:.3} clicks/s (published {PUBLISHED_BOUND}). There are {:.3} \
             new pages a second, so N = {} can fetch at most {:.2} of them. The busiest hosts with a \
             fifth of all new pages have {:.3} of the clicks: what an algorithm can earn that follows \
             output alone. The sources with most clicks per page, up to a fifth of all new pages, have \
             {:.3}: what one can earn that knows every source's profit and pays nothing for visits. \
             Rank correlations: {:.2} between a host's new pages and its clicks per page, {:.2} \
             between a page's clicks and the number of sources that show it.",
            config.host_share,
            config.category_share,
            self.pages_per_s.mean,
            BUDGETS[0],
            (BUDGETS[0] / self.pages_per_s.mean).min(1.0),
            self.busiest,
            self.best_sources,
            self.host_correlation,
            self.shown_correlation
        )
    }
}

fn new_pages(world: &World) -> impl Iterator<Item = u32> + '_ {
    let is_new = |page: &u32| {
        let page = &world.trace().pages[*page as usize];
        !page.is_source && page.born > Time::ZERO
    };
    (0..world.len() as u32).filter(is_new)
}

/// Number and clicks of new pages, for every host that has any.
fn host_totals(world: &World) -> Vec<(f64, f64)> {
    let mut totals = vec![(0.0, 0.0); world.trace().hosts.len()];
    for page in new_pages(world) {
        let total = &mut totals[world.trace().pages[page as usize].host as usize];
        total.0 += 1.0;
        total.1 += world.clicks_after(page, Time::ZERO);
    }
    totals.retain(|total| total.0 > 0.0);
    totals
}

/// Share of clicks on the hosts with most pages, up to a fifth of all pages.
fn busiest_share(hosts: &[(f64, f64)]) -> f64 {
    let mut hosts = hosts.to_vec();
    hosts.sort_by(|a, b| b.0.total_cmp(&a.0));
    share_until(&hosts, FIFTH)
}

/// Share of clicks of the first entries up to a share of the pages; the last entry counts in part.
fn share_until(entries: &[(f64, f64)], share: f64) -> f64 {
    let pages: f64 = entries.iter().map(|e| e.0).sum();
    let clicks: f64 = entries.iter().map(|e| e.1).sum();
    let (mut left, mut had) = (share * pages, 0.0);
    for &(pages, clicks) in entries {
        let part = (left / pages).clamp(0.0, 1.0);
        had += part * clicks;
        left -= part * pages;
    }
    had / clicks
}

/// Share of clicks on the best sources, up to a share of the pages. A page belongs to the source
/// with most clicks per page among those that show it.
fn best_sources_share(world: &World, share: f64) -> f64 {
    let trace = world.trace();
    let mut totals = vec![(0.0, 0.0); trace.pages.len()];
    let is_new = |page: u32| trace.pages[page as usize].born > Time::ZERO;
    for link in trace.links.iter().filter(|link| is_new(link.page)) {
        totals[link.source as usize].0 += 1.0;
        totals[link.source as usize].1 += world.clicks_after(link.page, Time::ZERO);
    }
    let mean = |source: u32| totals[source as usize].1 / totals[source as usize].0;
    let mut best: Vec<Option<u32>> = vec![None; trace.pages.len()];
    for link in trace.links.iter().filter(|link| is_new(link.page)) {
        let best = &mut best[link.page as usize];
        if best.is_none_or(|other| mean(link.source) > mean(other)) {
            *best = Some(link.source);
        }
    }
    let mut own = vec![(0.0, 0.0); trace.pages.len()];
    for page in new_pages(world) {
        if let Some(source) = best[page as usize] {
            own[source as usize].0 += 1.0;
            own[source as usize].1 += world.clicks_after(page, Time::ZERO);
        }
    }
    own.retain(|entry| entry.0 > 0.0);
    own.sort_by(|a, b| (b.1 / b.0).total_cmp(&(a.1 / a.0)));
    share_until(&own, share)
}

fn shown_by(world: &World) -> Vec<f64> {
    let mut shown = vec![0.0; world.len()];
    world.trace().links.iter().for_each(|link| shown[link.page as usize] += 1.0);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_web_gives_every_table() {
        let text = run(&Setup::small(1, 2, 0.02)).unwrap().to_text(200);
        for name in ALGORITHMS.iter().chain(&["told links", "hardly visited", "by host"]) {
            assert!(text.contains(name), "no {name} in {text}");
        }
    }

    #[test]
    fn a_fifth_is_taken_in_parts() {
        let share = share_until(&[(10.0, 5.0), (20.0, 4.0), (70.0, 1.0)], FIFTH);
        assert!((share - 0.7).abs() < 1e-12, "{share}");
        // The busiest hosts first: a fifth lies within the one of 70 pages.
        let share = busiest_share(&[(10.0, 5.0), (20.0, 4.0), (70.0, 1.0)]);
        assert!((share - 20.0 / 70.0 / 10.0).abs() < 1e-12, "{share}");
    }

    /// Runs of every algorithm at every budget, one web, with the shares that `of` gives.
    fn runs(of: impl Fn(usize, usize) -> f64) -> Vec<Vec<Vec<Run>>> {
        let budgets = |i| (0..BUDGETS.len()).map(|b| vec![Run::of_share(of(i, b))]).collect();
        (0..ALGORITHMS.len()).map(budgets).collect()
    }

    #[test]
    fn rank_and_differences_follow_the_figures() {
        let same = runs(|i, budget| PUBLISHED[i][budget] / PUBLISHED_BOUND);
        assert_eq!(order(&same), "The algorithms rank as published at every budget.");
        assert!(differences(&same).starts_with("No share"));
        let reversed = runs(|i, _| 0.9 - 0.1 * i as f64);
        assert!(order(&reversed).contains("at N = 0.05 frequency beats echo-newpages"));
        assert!(differences(&reversed).contains("frequency at 0.05 (+0.88)"));
    }

    #[test]
    fn the_distance_is_that_of_shares() {
        let near = runs(published_share);
        assert!(distance(&near) < 1e-12);
        let far = runs(|i, budget| published_share(i, budget) - 0.25);
        assert!((distance(&far) - 0.25).abs() < 1e-12);
    }
}
