//! Breadth-first crawling of the echo web, beside the published figures `[LOSS13, Table 1]`.

use rayon::prelude::*;
use tidewatch_core::{Rate, Span};
use tidewatch_math::sum::Moments;
use tidewatch_report::{Cell, Column, Report, Table};

use super::Setup;
use crate::engine::{self, Settings};
use crate::generate::echo::{self, EchoConfig};
use crate::{LabError, World, policies};

/// Budgets and the published profit of BFS at each; the bound was 0.72.
const PUBLISHED: [(f64, f64); 3] = [(0.05, 0.24), (0.10, 0.46), (0.20, 0.62)];
const PUBLISHED_BOUND: f64 = 0.72;

/// Profit per second of one run as a share of the bound, and its budget split.
struct Run {
    bound: f64,
    /// For every budget: profit, share of source visits.
    profits: [(f64, f64); 3],
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let seeds: Vec<u64> = setup.seeds().collect();
    let runs: Vec<Run> =
        seeds.par_iter().map(|&seed| one_web(setup, seed)).collect::<Result<_, _>>()?;
    let bound = runs.iter().map(|run| run.bound).collect::<Moments>().estimate();
    let mut table = Table::new([
        Column::number("N").unit("fetches/s"),
        Column::number("profit").unit("clicks/s"),
        Column::number("of the bound"),
        Column::number("published profit").unit("clicks/s"),
        Column::number("of their bound"),
        Column::number("source visits").unit("share"),
    ]);
    for (i, &(budget, published)) in PUBLISHED.iter().enumerate() {
        let of = |f: &dyn Fn(&Run) -> f64| runs.iter().map(f).collect::<Moments>().estimate();
        let profit = of(&|run| run.profits[i].0);
        let share = of(&|run| run.profits[i].0 / run.bound);
        table.push([
            Cell::number(budget, 2),
            Cell::plus_minus(profit.mean, profit.half_width, 3),
            Cell::plus_minus(share.mean, share.half_width, 3),
            Cell::number(published, 2),
            Cell::number(published / PUBLISHED_BOUND, 3),
            Cell::number(of(&|run| run.profits[i].1).mean, 3),
        ]);
    }
    Ok(Report::new("Breadth-first crawling of short-lived pages")
        .lead(format!(
            "Profit with an unlimited budget: {bound:.3} clicks/s (published {PUBLISHED_BOUND}). \
             The web is calibrated to facts of the data, never to these results."
        ))
        .fact("repetitions", setup.repeat.to_string())
        .section("Last week of three", |section| {
            section.table(table);
        }))
}

fn one_web(setup: &Setup<'_>, seed: u64) -> Result<Run, LabError> {
    (setup.say)(&format!("echo web of seed {seed}"));
    let config = EchoConfig { scale: setup.scale, ..EchoConfig::default() };
    config.check()?;
    let world = World::new(echo::generate(&config, seed).trace)?;
    let bfs = policies::find("bfs")?;
    let mut profits = [(0.0, 0.0); 3];
    let mut bound = 0.0;
    for (profit, (budget, _)) in profits.iter_mut().zip(PUBLISHED) {
        // A smaller web has fewer pages a second; the budget shrinks with it.
        let budget = Rate::per_second(budget * setup.scale).unwrap_or(Rate::ZERO);
        let settings = Settings { measure_last: Some(Span::WEEK), ..Settings::new(budget) };
        let measures = engine::run(&world, bfs.make(&world, seed).as_mut(), &settings)?;
        let fetched: u64 = measures.fetches.iter().sum();
        let sources = measures.fetches[tidewatch_core::FetchKind::Source as usize];
        *profit = (
            measures.profit_per_s.unwrap_or(f64::NAN) / setup.scale,
            sources as f64 / fetched.max(1) as f64,
        );
        bound = engine::bounds(&world, &settings)?.profit_per_s.unwrap_or(f64::NAN) / setup.scale;
    }
    Ok(Run { bound, profits })
}
