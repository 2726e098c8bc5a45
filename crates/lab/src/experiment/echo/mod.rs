//! ECHO's own experiments `[LOSS13, §5]`: its table and figures on generated webs and on real data.
//!
//! What they share: webs from consecutive seeds, runs of policies at budgets, the last week measured.

pub(super) mod parameters;
pub(super) mod real;
pub(super) mod table1;
pub(super) mod window;

use rayon::prelude::*;
use tidewatch_core::{FetchKind, Rate, Span};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::Policy;
use tidewatch_report::Cell;

use super::Setup;
use crate::engine::{self, FirstFetch, Settings};
use crate::generate::echo::{self, EchoConfig};
use crate::{LabError, World, policies};

/// The budgets of the paper, fetches a second.
const BUDGETS: [f64; 3] = [0.05, 0.10, 0.20];
/// Its algorithms, in the order of its table.
const ALGORITHMS: [&str; 6] =
    ["frequency", "bfs", "fixed-quota", "echo-greedy", "echo-schedule", "echo-newpages"];
/// A source visited at most so often in the measured week is hardly visited.
const HARDLY: u32 = 1;

/// One run.
pub(super) struct Run {
    /// Clicks a second, for a web of full size.
    profit: f64,
    /// The same as a share of the bound.
    share: f64,
    /// Shares of the allowances in the window that went to sources, to new pages, and to nothing.
    split: [f64; 3],
    /// Share of the sources that were hardly visited.
    hardly: f64,
    first_fetches: Vec<FirstFetch>,
}

/// Generated webs, one a seed.
pub(super) fn webs(setup: &Setup<'_>) -> Result<Vec<(u64, World)>, LabError> {
    let config = EchoConfig { scale: setup.scale, ..EchoConfig::default() };
    config.check()?;
    let seeds: Vec<u64> = setup.seeds().collect();
    seeds
        .par_iter()
        .map(|&seed| {
            (setup.say)(&format!("echo web of seed {seed}"));
            Ok((seed, World::new(echo::generate(&config, seed).trace)?))
        })
        .collect()
}

/// Conditions of a run: `budget` is for a web of full size; a smaller web has fewer pages a second
/// and the budget shrinks with it.
pub(super) fn conditions(setup: &Setup<'_>, budget: f64) -> Settings {
    let budget = Rate::per_second(budget * setup.scale).unwrap_or(Rate::ZERO);
    Settings { measure_last: Some(Span::WEEK), ..Settings::new(budget) }
}

/// The most that can be earned, clicks a second, for a web of full size.
pub(super) fn bound(setup: &Setup<'_>, world: &World) -> Result<f64, LabError> {
    let bounds = engine::bounds(world, &conditions(setup, 1.0))?;
    Ok(bounds.profit_per_s.unwrap_or(f64::NAN) / setup.scale)
}

/// Runs a policy.
pub(super) fn simulate(
    world: &World,
    policy: &mut dyn Policy,
    settings: &Settings,
    scale: f64,
) -> Result<Run, LabError> {
    let measures = engine::run(world, policy, settings)?;
    let bound = engine::bounds(world, settings)?.profit_per_s.unwrap_or(f64::NAN);
    let profit = measures.profit_per_s.unwrap_or(f64::NAN);
    let [_, sources, new, frontier] = FetchKind::ALL.map(|kind| measures.fetches[kind as usize]);
    let all = measures.fetches.iter().sum::<u64>() + measures.idle;
    let part = |count: u64| count as f64 / all.max(1) as f64;
    Ok(Run {
        profit: profit / scale,
        share: profit / bound,
        split: [part(sources), part(new + frontier), part(measures.idle)],
        hardly: measures.hardly_visited(HARDLY).unwrap_or(f64::NAN),
        first_fetches: measures.first_fetches,
    })
}

/// Runs of every named policy at every budget over every web: `[policy][budget][web]`.
fn contest(
    setup: &Setup<'_>,
    webs: &[(u64, World)],
    names: &[&str],
    budgets: &[f64],
) -> Result<Vec<Vec<Vec<Run>>>, LabError> {
    let mut jobs = Vec::new();
    for &name in names {
        let policy = policies::find(name)?;
        for &budget in budgets {
            jobs.extend(webs.iter().map(move |web| (policy, budget, web)));
        }
    }
    let runs = jobs.par_iter().map(|(policy, budget, (seed, world))| {
        (setup.say)(&format!("{} at {budget} fetches/s, seed {seed}", policy.name));
        let mut made = policy.make(world, *seed);
        simulate(world, made.as_mut(), &conditions(setup, *budget), setup.scale)
    });
    let mut runs = runs.collect::<Result<Vec<Run>, LabError>>()?.into_iter();
    let mut take = |_: &f64| runs.by_ref().take(webs.len()).collect();
    Ok(names.iter().map(|_| budgets.iter().map(&mut take).collect()).collect())
}

/// Mean and 95% interval of a figure over runs.
fn estimate(runs: &[Run], of: impl Fn(&Run) -> f64) -> Estimate {
    runs.iter().map(of).collect::<Moments>().estimate()
}

fn cell(estimate: &Estimate, decimals: usize) -> Cell {
    if estimate.half_width.is_nan() {
        Cell::number(estimate.mean, decimals)
    } else {
        Cell::plus_minus(estimate.mean, estimate.half_width, decimals)
    }
}
