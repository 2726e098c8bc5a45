//! Table 1 of `[LOSS13]`: six algorithms at three budgets, next to the published figures.

use tidewatch_core::Time;
use tidewatch_math::stats;
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_report::{Axis, Bar, BarChart, Cell, Column, Report, Table};

use tidewatch_policy::echo::{Echo, Pace, Pooling, Rule, Settings as Echoing};

use super::{
    ALGORITHMS, AS_PUBLISHED, BUDGETS, Contender, Run, bound, contest, estimate, published, webs,
    webs_like,
};
use crate::engine::Logged;
use crate::experiment::{Setup, bar, cell};
use crate::generate::echo::EchoConfig;
use crate::oracle::known_sources;
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

/// Shares of the variance of ln(popularity) that host and category explain in the second set of webs,
/// and the largest number of these webs.
const OF_HOST: f64 = 0.7;
const OF_CATEGORY: f64 = 0.15;
const HOST_WEBS: u32 = 3;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let webs = webs(setup)?;
    let algorithms: Vec<Contender> =
        ALGORITHMS.iter().map(|name| published(name)).collect::<Result<_, _>>()?;
    let runs = contest(setup, &webs, &algorithms, &BUDGETS)?;
    let plenty = contest(setup, &webs, &[published("bfs")?], &[BFS_SUFFICES])?;
    let variants = variants();
    let others = contest(setup, &webs, &variants, &BUDGETS)?;
    let others: Vec<(&str, &[Vec<Run>])> =
        variants.iter().map(|v| v.name).zip(others.iter().map(Vec::as_slice)).collect();
    let bounds: Vec<f64> =
        webs.iter().map(|(_, world)| bound(setup, world)).collect::<Result<_, _>>()?;
    let bound = bounds.iter().copied().collect::<Moments>().estimate();
    let facts = Facts::of(&webs, setup.scale);
    drop(webs);
    let by_host = ByHost::run(setup, algorithms)?;
    let mut report = Report::new("ECHO, Table 1: six algorithms at three budgets")
        .lead(format!(
            "Profit per second over the last of three weeks. The bound, with an unlimited budget, is \
             {bound:.3} (published {PUBLISHED_BOUND}). {} {}",
            order(&runs),
            differences(&runs)
        ))
        .fact("webs", format!("{} of scale {}", setup.repeat, setup.scale));
    for (i, budget) in BUDGETS.iter().enumerate() {
        report = report.section(format!("N = {budget} fetches/s"), |section| {
            section.table(results(&runs, &others, i));
        });
    }
    Ok(report
        .section("At a glance", |section| {
            section.chart(chart(&runs)).note(
                "± is the 95% interval over webs from different seeds. The generated webs are \
                 calibrated to published facts of the data, never to these results.",
            );
        })
        .section("Where the budget goes", |section| {
            section.table(split(&runs, &others)).note(format!(
                "Hardly visited: at most one visit in the measured week. Published: ECHO hardly \
                 revisits about 70% of the sources. BFS at N = {BFS_SUFFICES} reaches {:.3} of the \
                 bound (published 0.99).",
                estimate(&plenty[0][0], |run| run.share)
            ));
        })
        .section("Properties of the webs", |section| {
            facts.explain().into_iter().for_each(|text| {
                section.paragraph(text);
            });
        })
        .section("Popularity by host", |section| {
            section.table(by_host.table()).paragraph(by_host.explain(&runs, &facts));
        }))
}

const POOLED: &str = "echo-newpages, pooled";
const TOLD: &str = "echo-newpages, told";

/// ECHO-newpages with our settings, and with the true parameters of every source.
fn variants() -> Vec<Contender> {
    let with = |name, echoing: Echoing| {
        Contender::new(name, move |_, _| Box::new(Echo::new(Rule::NewPages, echoing)))
    };
    let pooled = Echoing { pooling: Pooling::All, ..AS_PUBLISHED };
    let own_log = with("echo-newpages, pooled, own log", Echoing::DEFAULT);
    vec![
        with(POOLED, pooled),
        with("echo-newpages, pooled, rhythm", Echoing { pace: Pace::Rhythm, ..pooled }),
        Contender { logged: Logged::Held, ..own_log },
        Contender::new(TOLD, |world, _| Box::new(known_sources(world, Rule::NewPages))),
    ]
}

/// Runs on webs whose popularity lies with hosts rather than with single pages.
struct ByHost {
    names: Vec<&'static str>,
    runs: Vec<Vec<Vec<Run>>>,
    facts: Facts,
}

impl ByHost {
    fn run(setup: &Setup<'_>, mut contenders: Vec<Contender>) -> Result<Self, LabError> {
        let few = Setup { repeat: setup.repeat.min(HOST_WEBS), ..*setup };
        let usual = EchoConfig::default();
        let config = EchoConfig { host_share: OF_HOST, category_share: OF_CATEGORY, ..usual };
        let webs = webs_like(&few, &config)?;
        contenders.extend(variants().into_iter().filter(|v| [POOLED, TOLD].contains(&v.name)));
        let runs = contest(&few, &webs, &contenders, &BUDGETS)?;
        let names = contenders.iter().map(|contender| contender.name).collect();
        Ok(ByHost { names, runs, facts: Facts::of(&webs, setup.scale) })
    }

    fn table(&self) -> Table {
        let mut columns = vec![Column::text("algorithm")];
        for n in BUDGETS {
            columns.push(Column::number(format!("N = {n}")).highest());
            columns.push(Column::number("published"));
        }
        let mut table = Table::new(columns).caption("Profit as a share of the bound.");
        for (i, name) in self.names.iter().enumerate() {
            let mut cells = vec![Cell::text(*name)];
            for (budget, runs) in self.runs[i].iter().enumerate() {
                let published = PUBLISHED.get(i).map(|row| row[budget] / PUBLISHED_BOUND);
                cells.push(cell(&estimate(runs, |run| run.share), 3));
                cells.push(Cell::maybe(published, 3));
            }
            table.push(cells);
        }
        table
    }

    /// Which of the two sets of webs is closer to the published figures.
    fn explain(&self, usual: &[Vec<Vec<Run>>], facts: &Facts) -> String {
        let config = EchoConfig::default();
        let (pages, hosts) = (distance(usual), distance(&self.runs));
        let closer = if hosts < pages { "with hosts" } else { "with single pages" };
        format!(
            "These webs differ in one thing: hosts and categories explain {OF_HOST} and \
             {OF_CATEGORY} of the variance of ln(popularity) instead of {} and {}; no published figure \
             says how much they explain. Of all clicks, the best sources' fifth of the pages has \
             {:.3} (above: {:.3}) and the busiest hosts' fifth {:.3} (above: {:.3}). The mean distance \
             of all shares from the published ones is {hosts:.3} here and {pages:.3} above: the \
             published figures are closer to a web whose popularity lies {closer}.",
            config.host_share,
            config.category_share,
            self.facts.best_sources.mean,
            facts.best_sources.mean,
            self.facts.busiest.mean,
            facts.busiest.mean,
        )
    }
}

/// Mean absolute difference of the published algorithms' shares from the published ones.
fn distance(runs: &[Vec<Vec<Run>>]) -> f64 {
    let pairs = PUBLISHED.iter().zip(runs).flat_map(|(row, runs)| row.iter().zip(runs));
    let off = |(published, runs): (&f64, &Vec<Run>)| {
        (estimate(runs, |run| run.share).mean - published / PUBLISHED_BOUND).abs()
    };
    pairs.map(off).collect::<Moments>().mean()
}

fn results(runs: &[Vec<Vec<Run>>], others: &[(&str, &[Vec<Run>])], budget: usize) -> Table {
    let mut table = Table::new([
        Column::text("algorithm"),
        Column::number("profit").unit("clicks/s").highest(),
        Column::number("published").unit("clicks/s"),
        Column::number("of the bound"),
        Column::number("published"),
        Column::number("difference"),
    ]);
    for (i, name) in ALGORITHMS.iter().enumerate() {
        let (profit, share) = pair(&runs[i][budget]);
        let published = PUBLISHED[i][budget] / PUBLISHED_BOUND;
        table.push([
            Cell::text(*name),
            cell(&profit, 3),
            Cell::number(PUBLISHED[i][budget], 3),
            cell(&share, 3),
            Cell::number(published, 3),
            Cell::number(share.mean - published, 3),
        ]);
    }
    for (name, runs) in others {
        let (profit, share) = pair(&runs[budget]);
        let missing = Cell::missing;
        let (profit, share) = (cell(&profit, 3), cell(&share, 3));
        table.push([Cell::text(*name), profit, missing(), share, missing(), missing()]);
    }
    table.caption(
        "The first six as published: each source is estimated separately, from the log of a search \
         engine that holds every page. Pooled: sources borrow from their host, hosts from all. \
         Rhythm: new links by the hour of the week. Own log: only fetched pages can be clicked. \
         Told: with the true profit, decay and new links of every source.",
    )
}

fn pair(runs: &[Run]) -> (Estimate, Estimate) {
    (estimate(runs, |run| run.profit), estimate(runs, |run| run.share))
}

fn chart(runs: &[Vec<Vec<Run>>]) -> BarChart {
    let groups = BUDGETS.iter().flat_map(|n| [format!("N = {n}"), format!("N = {n}, published")]);
    let axis = Axis::new("share of the bound").from_zero();
    let mut chart = BarChart::new("Profit as a share of the bound", axis).groups(groups);
    for (i, name) in ALGORITHMS.iter().enumerate() {
        let bars = (0..BUDGETS.len()).flat_map(|budget| {
            let ours = bar(&estimate(&runs[i][budget], |run| run.share));
            [ours, Bar::new(PUBLISHED[i][budget] / PUBLISHED_BOUND)]
        });
        chart.push(*name, bars);
    }
    chart
}

fn split(runs: &[Vec<Vec<Run>>], others: &[(&str, &[Vec<Run>])]) -> Table {
    let mut columns = vec![Column::text("algorithm")];
    for n in BUDGETS {
        columns.push(Column::number(format!("sources at {n}")));
        columns.push(Column::number("new"));
        columns.push(Column::number("idle"));
        columns.push(Column::number("hardly visited"));
    }
    let mut table = Table::new(columns).caption(
        "Shares of the budget spent on sources, on new pages and not at all, and of sources hardly \
         visited.",
    );
    let named = ALGORITHMS.iter().copied().zip(runs.iter().map(Vec::as_slice));
    for (name, runs) in named.chain(others.iter().copied()) {
        let mut cells = vec![Cell::text(name)];
        for runs in runs {
            let mean = |of: &dyn Fn(&Run) -> f64| Cell::number(estimate(runs, of).mean, 3);
            cells.extend((0..3).map(|part| mean(&|run| run.split[part])));
            cells.push(mean(&|run| run.hardly));
        }
        table.push(cells);
    }
    table
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
            best_sources: over(&best_sources_share),
            shown_correlation: over(&|world| {
                let shown = shown_by(world);
                let (shown, clicks): (Vec<f64>, Vec<f64>) = new_pages(world)
                    .map(|page| (shown[page as usize], world.clicks_after(page, Time::ZERO)))
                    .unzip();
                stats::spearman(&shown, &clicks)
            }),
        }
    }

    fn explain(&self) -> Vec<String> {
        vec![
            format!(
                "There are {:.3} new pages a second, so N = {} can fetch at most {:.2} of them. The \
                 busiest hosts with a fifth of all new pages have {:.3} of the clicks: what an \
                 algorithm can earn that follows output alone (frequency). The sources with most \
                 clicks per page, up to a fifth of all new pages, have {:.3}: what one can earn that \
                 knows every source's profit and pays nothing for visits.",
                self.pages_per_s.mean,
                BUDGETS[0],
                (BUDGETS[0] / self.pages_per_s.mean).min(1.0),
                self.busiest,
                self.best_sources
            ),
            format!(
                "Rank correlations: {:.2} between a host's new pages and its clicks per page, {:.2} \
                 between a page's clicks and the number of sources that show it. BFS takes as much from \
                 a quiet source as from a busy one, so it gains where quiet sources have better pages.",
                self.host_correlation, self.shown_correlation
            ),
        ]
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
    share_until_a_fifth(&hosts)
}

/// Share of clicks of the first entries up to a fifth of the pages; the last entry counts in part.
fn share_until_a_fifth(entries: &[(f64, f64)]) -> f64 {
    let pages: f64 = entries.iter().map(|e| e.0).sum();
    let clicks: f64 = entries.iter().map(|e| e.1).sum();
    let (mut left, mut had) = (FIFTH * pages, 0.0);
    for &(pages, clicks) in entries {
        let part = (left / pages).clamp(0.0, 1.0);
        had += part * clicks;
        left -= part * pages;
    }
    had / clicks
}

/// Share of clicks on the best sources, up to a fifth of the pages. A page belongs to the source
/// with most clicks per page among those that show it.
fn best_sources_share(world: &World) -> f64 {
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
    share_until_a_fifth(&own)
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
        for name in ALGORITHMS.iter().chain(&["rhythm", "told", "hardly visited", "N = 0.05"]) {
            assert!(text.contains(name), "no {name} in {text}");
        }
    }

    #[test]
    fn a_fifth_is_taken_in_parts() {
        let share = share_until_a_fifth(&[(10.0, 5.0), (20.0, 4.0), (70.0, 1.0)]);
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
    fn the_closer_web_is_named() {
        let facts = || {
            let one = Estimate { mean: 0.5, half_width: 0.1, n: 2 };
            let [pages_per_s, busiest, host_correlation, best_sources, shown_correlation] =
                [one; 5];
            Facts { pages_per_s, busiest, host_correlation, best_sources, shown_correlation }
        };
        let (near, far) = (|| runs(|i, b| PUBLISHED[i][b] / PUBLISHED_BOUND), || runs(|_, _| 0.1));
        let text = |hosts, usual: Vec<_>| {
            ByHost { names: Vec::new(), runs: hosts, facts: facts() }.explain(&usual, &facts())
        };
        assert!(text(near(), far()).ends_with("lies with hosts."));
        assert!(text(far(), near()).ends_with("lies with single pages."));
    }
}
