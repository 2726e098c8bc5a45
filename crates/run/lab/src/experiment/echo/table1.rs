//! Table 1 of `[LOSS13]`: six algorithms at three budgets, ours beside the published figures.

use tidewatch_core::Time;
use tidewatch_math::stats;
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_report::{Axis, Bar, BarChart, Cell, Column, Report, Table};

use tidewatch_policy::echo::{Echo, Pace, Pooling, Rule, Settings as Echoing};

use super::{
    ALGORITHMS, AS_PUBLISHED, BUDGETS, Contender, Run, bound, cell, contest, estimate, published,
    webs, webs_like,
};
use crate::engine::Logged;
use crate::experiment::Setup;
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
/// A share of the bound that differs by more calls for an explanation.
const NOTABLE: f64 = 0.1;
/// Published figures closer than this, of which the last digit is 0.01 and deviations 0.03, are equal.
const PUBLISHED_TIE: f64 = 0.03;

/// Parts of the variance of ln(popularity) that belong to host and category in the web that shows what
/// this matters; webs made of it, at most.
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
    let by_host = by_host(setup, algorithms)?;
    let mut report = Report::new("ECHO, Table 1: six algorithms at three budgets")
        .lead(format!(
            "Profit per second over the last week of three. With an unlimited budget it would be \
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
                "Hardly visited: at most one visit in the measured week. The paper says that about \
                 70% of the sources are hardly revisited by ECHO. BFS at N = {BFS_SUFFICES} reaches \
                 {:.3} of the bound; the paper's reaches 0.99.",
                estimate(&plenty[0][0], |run| run.share)
            ));
        })
        .section("Why the figures are what they are", |section| {
            facts.explain().into_iter().for_each(|text| {
                section.paragraph(text);
            });
        })
        .section("If popularity lay with hosts", |section| {
            let usual = EchoConfig::default();
            section.table(by_host).paragraph(format!(
                "The same web but for one thing: hosts and categories explain {OF_HOST} and \
                 {OF_CATEGORY} of the variance of ln(popularity) instead of {} and {}. No published \
                 figure says how much they explain. Algorithm 1 judges sources and fetches all that \
                 they show, so it earns no more than the share of clicks that good sources hold: where \
                 popularity is a matter of single pages that is what the row told, above, earns; where \
                 it is one of hosts, a fifth of the pages has nearly all clicks, and the \
                 busiest sources, which frequency follows, next to none, as published. What the \
                 published figures say of the paper's data is therefore that clicks went to few sites. \
                 BFS stays below the published figure in either web.",
                usual.host_share, usual.category_share
            ));
        }))
}

const POOLED: &str = "echo-newpages, pooled";
const TOLD: &str = "echo-newpages, told";

/// ECHO-newpages as we would run it, and told what cannot be known.
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

/// Shares of the bound on webs whose popularity lies with hosts.
fn by_host(setup: &Setup<'_>, mut contenders: Vec<Contender>) -> Result<Table, LabError> {
    let few = Setup { repeat: setup.repeat.min(HOST_WEBS), ..*setup };
    let usual = EchoConfig::default();
    let config = EchoConfig { host_share: OF_HOST, category_share: OF_CATEGORY, ..usual };
    let webs = webs_like(&few, &config)?;
    contenders.extend(variants().into_iter().filter(|v| [POOLED, TOLD].contains(&v.name)));
    let runs = contest(&few, &webs, &contenders, &BUDGETS)?;
    let mut columns = vec![Column::text("algorithm")];
    for n in BUDGETS {
        columns.push(Column::number(format!("N = {n}")).highest());
        columns.push(Column::number("published"));
    }
    let mut table = Table::new(columns).caption("Profit as a share of the bound.");
    for (i, contender) in contenders.iter().enumerate() {
        let mut cells = vec![Cell::text(contender.name)];
        for (budget, runs) in runs[i].iter().enumerate() {
            let published = PUBLISHED.get(i).map(|row| row[budget] / PUBLISHED_BOUND);
            cells.push(cell(&estimate(runs, |run| run.share), 3));
            cells.push(Cell::maybe(published, 3));
        }
        table.push(cells);
    }
    Ok(table)
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
        "The first six as published: profits of every source on its own, from the log of an engine \
         that has every page. Pooled: sources learn from their host and hosts from all. Rhythm: new \
         links by the hour of the week. Own log: only what was fetched can be clicked. Told: with \
         the true profit, decay and new links of every source.",
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
            let share = estimate(&runs[i][budget], |run| run.share);
            let ours = if share.half_width.is_nan() {
                Bar::new(share.mean)
            } else {
                Bar::plus_minus(share.mean, share.half_width)
            };
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
    let mut table = Table::new(columns).caption("Shares of the budget, and of the sources.");
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

/// Whether the order of the algorithms is the paper's, in a sentence.
fn order(runs: &[Vec<Vec<Run>>]) -> String {
    let mut swapped = Vec::new();
    for (budget, n) in BUDGETS.iter().enumerate() {
        for a in 0..ALGORITHMS.len() {
            for b in 0..ALGORITHMS.len() {
                if PUBLISHED[a][budget] < PUBLISHED[b][budget] + PUBLISHED_TIE {
                    continue;
                }
                // Better by the paper by more than its rounding and noise.
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
        return "The order of the algorithms is the paper's at every budget.".to_owned();
    }
    format!("The order of the algorithms is the paper's but for this: {}.", swapped.join("; "))
}

/// Where shares of the bound differ notably, in a sentence.
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
        return format!("No share of the bound differs from the published by more than {NOTABLE}.");
    }
    format!(
        "Shares of the bound that differ from the published by more than {NOTABLE}: {}.",
        notable.join(", ")
    )
}

/// What the webs are like, as far as it decides who earns how much.
struct Facts {
    /// New pages a second.
    pages_per_s: Estimate,
    /// Share of all clicks on the hosts that publish most and make a fifth of all pages.
    busiest: Estimate,
    /// Rank correlation of a host's output with the clicks of its average page.
    host_correlation: Estimate,
    /// Of the new pages, the share of clicks that could be had from the best fifth of sources' pages.
    best_sources: Estimate,
    /// Rank correlation of a page's clicks with the number of sources that show it.
    shown_correlation: Estimate,
}

/// A fifth: what N = 0.05 can fetch of the pages.
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
                "There are {:.3} new pages a second, so N = 0.05 fetches a fifth of them at most, and \
                 what an algorithm earns there is decided by which fifth. The hosts that publish most \
                 and make a fifth of all pages have {:.3} of the clicks; the sources whose pages are \
                 clicked most, taken until a fifth of all pages is reached, have {:.3}: the first is \
                 about what an algorithm can earn that follows output alone (frequency), the second \
                 what one can earn that knows every source's profit and pays nothing for visits.",
                self.pages_per_s.mean, self.busiest, self.best_sources
            ),
            format!(
                "A host's output and the clicks of its average page have a rank correlation of {:.2}. \
                 BFS takes from every source what it shows, which is no more from a busy source than \
                 from a quiet one, so it earns more than a random fifth just as far as quiet sources \
                 have the better pages. A page's clicks and the number of sources that show it have a \
                 rank correlation of {:.2}.",
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

/// New pages and their clicks, of every host that has any.
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

/// Share of clicks of the hosts with most pages that make a fifth of all.
fn busiest_share(hosts: &[(f64, f64)]) -> f64 {
    let mut hosts = hosts.to_vec();
    hosts.sort_by(|a, b| b.0.total_cmp(&a.0));
    share_until_a_fifth(&hosts)
}

/// Clicks of the first entries that make a fifth of the pages, as a share of all; the last in part.
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

/// Every page counts for the source of most clicks a page that shows it.
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
        let setup =
            Setup { seed: 1, repeat: 2, scale: 0.02, data: None, trace: None, say: &|_: &str| {} };
        let text = run(&setup).unwrap().to_text(200);
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
}
