//! Refresh policies that estimate while they crawl, at three budgets: on a documentation site whose
//! every change is recorded (`--data`), or on generated pages.

use std::path::Path;

use rayon::prelude::*;
use tidewatch_core::{Rate, Span};
use tidewatch_report::{Axis, Bar, BarChart, Cell, Column, Report, Table};
use tidewatch_trace::Trace;

use super::Setup;
use crate::compare::{Comparison, Contest, compare};
use crate::engine::Settings;
use crate::generate::renewal;
use crate::import::{ImportArgs, Importer};
use crate::{LabError, World, policies};

const POLICIES: [&str; 10] = [
    "uniform",
    "proportional",
    "nutch-adaptive",
    "storm-adaptive",
    "cgm",
    "age",
    "harmonic",
    "price",
    "cgm-oracle",
    "omniscient",
];
/// Fetches per page over the whole run.
const DEPTHS: [f64; 3] = [2.5, 8.0, 25.0];

/// One comparison per budget, under one weighting.
struct Weighted {
    name: &'static str,
    results: Vec<Comparison>,
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    (setup.say)("preparing the web");
    let trace = web(setup)?;
    let name = trace.name.clone();
    let has_weights =
        trace.pages.windows(2).any(|pair| pair[0].weight.to_bits() != pair[1].weight.to_bits());
    let mut sets = vec![("equal weights", without_weights(trace.clone()))];
    if has_weights {
        sets.push(("weighted by importance", trace));
    }
    let worlds: Vec<(&'static str, World)> = sets
        .into_iter()
        .map(|(name, trace)| Ok((name, World::new(trace)?)))
        .collect::<Result<_, LabError>>()?;
    let weighted: Vec<Weighted> = worlds
        .par_iter()
        .map(|(name, world)| {
            let results = DEPTHS.par_iter().map(|&depth| contest(setup, world, depth));
            Ok(Weighted { name, results: results.collect::<Result<_, LabError>>()? })
        })
        .collect::<Result<_, LabError>>()?;
    let mut report = Report::new(format!("Refreshing {name} while learning how it changes"))
        .lead(
            "Policies start without knowledge of change rates, except the oracles. Measured over the \
             second half of the run.",
        )
        .fact("pages", worlds[0].1.len().to_string())
        .fact("duration", format!("{:.0} days", worlds[0].1.trace().duration.seconds() / 86_400.0))
        .fact("seed", setup.seed.to_string());
    for set in &weighted {
        report = report.section(set.name, |section| {
            section.table(table(set)).chart(chart(set));
        });
    }
    Ok(report)
}

fn web(setup: &Setup<'_>) -> Result<Trace, LabError> {
    if let Some(folder) = setup.data {
        return recorded(folder);
    }
    let config = renewal::Config { scale: setup.scale * 0.2, ..renewal::Config::default() };
    config.check()?;
    Ok(renewal::generate(&config, setup.seed).trace)
}

/// The documentation site.
pub(super) fn recorded(folder: &Path) -> Result<Trace, LabError> {
    let args = ImportArgs { path: folder.to_owned(), ..ImportArgs::default() };
    Ok(Importer::named("mdn-site")?.run(&args)?.trace)
}

fn without_weights(mut trace: Trace) -> Trace {
    trace.pages.iter_mut().for_each(|page| page.weight = 1.0);
    trace
}

fn contest(setup: &Setup<'_>, world: &World, depth: f64) -> Result<Comparison, LabError> {
    let duration = world.trace().duration;
    let budget = depth * world.len() as f64 / duration.seconds();
    let half = Span::from_micros(duration.as_micros() / 2);
    let settings = Settings {
        measure_last: Some(half),
        ..Settings::new(Rate::per_second(budget).unwrap_or(Rate::ZERO))
    };
    let policies = POLICIES.iter().map(|name| policies::find(name)).collect::<Result<_, _>>()?;
    let contest = Contest { policies, settings, seed: setup.seed, repeat: 1 };
    let done = |name: &str| (setup.say)(&format!("{depth} fetches a page: {name}"));
    compare(world, &contest, || done("running"))
}

fn table(set: &Weighted) -> Table {
    let mut columns = vec![Column::text("policy")];
    for depth in DEPTHS {
        columns.push(Column::number(format!("freshness at {depth}")).highest());
        columns.push(Column::number(format!("age at {depth}")).unit("days").lowest());
        columns.push(Column::number(format!("coverage at {depth}")).highest());
    }
    let mut table = Table::new(columns).caption(
        "Budgets are fetches per page over the run. Freshness and age cover the pages held, coverage \
         the pages that appeared after the start.",
    );
    for (i, name) in POLICIES.iter().enumerate() {
        let mut cells = vec![Cell::text(*name)];
        for result in &set.results {
            let run = &result.standings[i].runs[0];
            cells.push(Cell::maybe(run.freshness, 4));
            cells.push(Cell::maybe(run.age_s.map(|s| s / 86_400.0), 2));
            cells.push(Cell::maybe(run.coverage, 3));
        }
        table.push(cells);
    }
    table
}

fn chart(set: &Weighted) -> BarChart {
    let groups = DEPTHS.map(|depth| format!("{depth} fetches a page"));
    let mut chart = BarChart::new("Freshness", Axis::new("freshness")).groups(groups);
    for (i, name) in POLICIES.iter().enumerate() {
        let bars = set.results.iter().map(|result| {
            let freshness = result.standings[i].runs[0].freshness;
            freshness.map_or_else(Bar::missing, Bar::new)
        });
        chart.push(*name, bars);
    }
    chart
}
