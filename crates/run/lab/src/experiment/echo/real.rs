//! All algorithms of `[LOSS13]` and one price on real sources and links: sixty days of front and
//! section pages of German news sites.
//!
//! No public data set has both listings and clicks. Clicks are added in two ways: click curves of
//! other articles, assigned by rank (more sources, more clicks); and one curve for all pages, so that
//! only the time and place of links matter.

use std::path::Path;

use rayon::prelude::*;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_report::{Axis, Bar, BarChart, Cell, Column, Report, Table};
use tidewatch_trace::{Count, Trace};

use super::{HARDLY, Run, published, simulate};
use crate::engine::{self, Logged, Settings};
use crate::experiment::Setup;
use crate::import::{ImportArgs, Importer, Join};
use crate::reach::new_pages;
use crate::{LabError, World};

/// Subfolders of the data sets.
const SOURCES: &str = "de_news_hubs_hourly_2022";
const CLICKS: &str = "globo_clicks";
const DURATION: Span = Span::DAY.times(60);
/// The second half is measured.
const MEASURED: Span = Span::DAY.times(30);
/// Budgets as multiples of the rate of new pages. They match the paper's 0.05, 0.10 and 0.20 fetches
/// a second at 415,000 new pages in three weeks.
const DEPTHS: [f64; 3] = [0.22, 0.44, 0.87];
/// Clicks per page in the web of equal clicks, and their mean delay in hours.
const EQUAL_CLICKS: u32 = 10;
const EQUAL_HOURS: f64 = 10.0;

/// The algorithms of the paper, one price, and refresh policies that ignore sources, including those
/// of two other crawlers.
const CONTENDERS: [&str; 11] = [
    "frequency",
    "bfs",
    "fixed-quota",
    "echo-greedy",
    "echo-schedule",
    "echo-newpages",
    "price",
    "uniform",
    "cgm",
    "nutch-adaptive",
    "storm-adaptive",
];

/// One way to assign clicks, and its runs: `[policy][budget]`.
struct Set {
    name: &'static str,
    notes: String,
    bound: f64,
    runs: Vec<Vec<Run>>,
}

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let folder = setup.data.ok_or(LabError::NeedsData {
        experiment: "echo-real",
        folder: "that holds de_news_hubs_hourly_2022 and globo_clicks",
    })?;
    (setup.say)("reading the data sets");
    let joined = import(folder)?;
    let equal = with_equal_profits(joined.clone());
    let webs = [
        ("clicks of other articles, by rank", World::new(joined)?),
        ("every page with the same clicks", World::new(equal)?),
    ];
    let sets: Vec<Set> = webs
        .iter()
        .map(|(name, world)| contest(setup, name, world))
        .collect::<Result<_, LabError>>()?;
    let world = &webs[0].1;
    let rate = rate(world);
    let sources = world.trace().pages.iter().filter(|page| page.is_source).count();
    let mut report = Report::new("ECHO on recorded news sites")
        .lead(format!(
            "{sources} front and section pages, {} new pages, sixty days, the last thirty measured. \
             Profit is a share of what fetching every page at once would earn. Links are real, clicks \
             are assigned.",
            new_pages(world).count()
        ))
        .fact("new pages", format!("{rate:.4} a second"))
        .fact("budgets", DEPTHS.map(|depth| format!("{:.4}", depth * rate)).join(", ") + " fetches/s")
        .fact("seed", setup.seed.to_string());
    for set in &sets {
        report = report.section(set.name, |section| {
            section
                .paragraph(&set.notes)
                .table(table(set, rate))
                .chart(chart(set))
                .note(format!("Hardly visited: at most {HARDLY} visit in thirty days."));
        });
    }
    Ok(report)
}

fn import(folder: &Path) -> Result<Trace, LabError> {
    let args = ImportArgs {
        path: folder.join(SOURCES),
        length: Some(DURATION),
        clicks: Some(folder.join(CLICKS)),
        join: Some(Join::Rank),
        ..ImportArgs::default()
    };
    Ok(Importer::named("de-news-hubs")?.run(&args)?.trace)
}

/// Gives every new page the same clicks, at the quantiles of an exponential law.
fn with_equal_profits(mut trace: Trace) -> Trace {
    let mut clicks = Vec::new();
    for (number, page) in (0..).zip(&trace.pages) {
        if page.is_source || page.born == Time::ZERO {
            continue;
        }
        for i in 0..EQUAL_CLICKS {
            let quantile = (f64::from(i) + 0.5) / f64::from(EQUAL_CLICKS);
            let lag = Span::from_seconds(-3600.0 * EQUAL_HOURS * (-quantile).ln_1p());
            let at = page.born + lag.unwrap_or(Span::ZERO);
            clicks.push(Count { page: number, at, count: 1.0 });
        }
    }
    trace.clicks = Some(clicks);
    trace.note = Some(format!(
        "Synthetic clicks: every page has {EQUAL_CLICKS}, at the quantiles of an exponential law of \
         mean {EQUAL_HOURS} hours."
    ));
    trace
}

/// New pages a second.
fn rate(world: &World) -> f64 {
    new_pages(world).count() as f64 / world.trace().duration.seconds()
}

fn conditions(world: &World, depth: f64) -> Settings {
    let budget = Rate::per_second(depth * rate(world)).unwrap_or(Rate::ZERO);
    let measured = MEASURED.min(world.trace().duration);
    Settings { measure_last: Some(measured), logged: Logged::Known, ..Settings::new(budget) }
}

fn contest(setup: &Setup<'_>, name: &'static str, world: &World) -> Result<Set, LabError> {
    let jobs: Vec<(&str, f64)> =
        CONTENDERS.iter().flat_map(|&name| DEPTHS.map(|depth| (name, depth))).collect();
    let runs: Vec<Run> = jobs
        .par_iter()
        .map(|&(policy, depth)| {
            (setup.say)(&format!("{name}: {policy} at {depth} fetches a new page"));
            let mut made = (published(policy)?.make)(world, setup.seed);
            simulate(world, made.as_mut(), &conditions(world, depth))
        })
        .collect::<Result<_, LabError>>()?;
    let bounds = engine::bounds(world, &conditions(world, DEPTHS[0]))?;
    let mut runs = runs.into_iter();
    Ok(Set {
        name,
        notes: world.trace().note.clone().unwrap_or_default(),
        bound: bounds.profit_per_s.unwrap_or(f64::NAN),
        runs: CONTENDERS.iter().map(|_| runs.by_ref().take(DEPTHS.len()).collect()).collect(),
    })
}

fn table(set: &Set, rate: f64) -> Table {
    let mut columns = vec![Column::text("policy")];
    for depth in DEPTHS {
        columns.push(Column::number(format!("N = {:.4}", depth * rate)).highest());
        columns.push(Column::number("sources"));
        columns.push(Column::number("hardly visited"));
    }
    let caption = format!(
        "Profit as a share of the bound, {:.4} clicks/s; share of the budget spent on sources; share \
         of sources hardly visited.",
        set.bound
    );
    let mut table = Table::new(columns).caption(caption);
    for (name, runs) in CONTENDERS.iter().zip(&set.runs) {
        let mut cells = vec![Cell::text(*name)];
        for run in runs {
            cells.push(Cell::number(run.share, 3));
            cells.push(Cell::number(run.split[0], 3));
            cells.push(Cell::number(run.hardly, 3));
        }
        table.push(cells);
    }
    table
}

fn chart(set: &Set) -> BarChart {
    let axis = Axis::new("share of the bound").from_zero();
    let groups = DEPTHS.map(|depth| format!("{depth} fetches a new page"));
    let mut chart = BarChart::new(set.name, axis).groups(groups);
    for (name, runs) in CONTENDERS.iter().zip(&set.runs) {
        chart.push(*name, runs.iter().map(|run| Bar::new(run.share)));
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_data_are_asked_for() {
        let text = run(&Setup::small(1, 2, 1.0)).unwrap_err().to_string();
        assert!(text.contains("--data") && text.contains(SOURCES), "{text}");
    }

    #[test]
    fn equal_profits_are_equal() {
        let page = |id: u64, born: u64| tidewatch_trace::TracePage {
            id,
            url: format!("http://a.test/{id}").into(),
            host: 0,
            born: Time::from_micros(born),
            died: None,
            is_source: false,
            weight: 1.0,
            is_seed: true,
        };
        let trace = Trace { pages: vec![page(0, 0), page(1, 7), page(2, 9)], ..Trace::default() };
        let clicks = with_equal_profits(trace).clicks.unwrap();
        assert_eq!(clicks.len(), 2 * EQUAL_CLICKS as usize);
        let mean: f64 = clicks.iter().filter(|c| c.page == 1).map(|c| c.at.seconds()).sum::<f64>()
            / f64::from(EQUAL_CLICKS);
        // The mean of ten quantiles is slightly below that of the law.
        assert!((mean / 3600.0 / EQUAL_HOURS - 1.0).abs() < 0.05, "{mean}");
    }
}
