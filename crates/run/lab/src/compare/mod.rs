//! Several policies over one world, several times each, in parallel.
//!
//! Every run is a pure function of world, settings and seed, so the figures do
//! not depend on how many threads share the work; only the wall time does.

mod json;
mod show;

use std::time::Instant;

use rayon::prelude::*;
use tidewatch_core::FetchKind;
use tidewatch_math::sum::{Estimate, Moments};

use crate::engine::{self, Bounds, Measures, Settings};
use crate::policies::Contestant;
use crate::{LabError, World};

pub use show::dynamic_quality;

/// Policies to compare, and the conditions.
#[derive(Clone)]
pub struct Contest {
    /// The policies, in the order of the report.
    pub policies: Vec<Contestant>,
    /// The conditions, the same for all.
    pub settings: Settings,
    /// Seed of the first repetition; the next ones count up from it.
    pub seed: u64,
    /// Repetitions of each policy, at least one.
    pub repeat: u32,
}

/// The result of a contest.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name of the trace.
    pub trace: String,
    /// Fetches per second.
    pub budget: f64,
    /// Length of a run, seconds.
    pub duration_s: f64,
    /// Length of the measured window, seconds.
    pub measured_s: f64,
    /// Upper bounds for every policy.
    pub bounds: Bounds,
    /// One standing per policy, in the contest's order.
    pub standings: Vec<Standing>,
}

/// The results of one policy.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The policy's name.
    pub name: &'static str,
    /// One entry per repetition.
    pub runs: Vec<Measures>,
    /// Mean wall time of a run, seconds.
    pub wall_s: f64,
}

impl Standing {
    /// Mean and 95% interval of a measure over the repetitions; `None` if the trace cannot give it.
    pub fn estimate(&self, measure: impl Fn(&Measures) -> Option<f64>) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.runs.iter().map(measure).collect();
        values.map(|values| values.into_iter().collect::<Moments>().estimate())
    }

    /// Mean number of fetches of a kind in the measured window.
    pub fn fetches(&self, kind: FetchKind) -> f64 {
        let total: u64 = self.runs.iter().map(|run| run.fetches[kind as usize]).sum();
        total as f64 / self.runs.len() as f64
    }
}

/// Runs a contest; `on_run` is called after each run, from any thread.
pub fn compare(
    world: &World,
    contest: &Contest,
    on_run: impl Fn() + Sync,
) -> Result<Comparison, LabError> {
    let (from, until) = contest.settings.window(world)?;
    let repeat = contest.repeat.max(1);
    let jobs: Vec<(usize, u64)> = (0..contest.policies.len())
        .flat_map(|policy| (0..u64::from(repeat)).map(move |i| (policy, i)))
        .collect();
    let runs: Vec<(Measures, f64)> = jobs
        .par_iter()
        .map(|&(policy, i)| {
            let done = run_one(world, &contest.policies[policy], contest, i);
            on_run();
            done
        })
        .collect::<Result<_, _>>()?;
    let standings = runs.chunks(repeat as usize).zip(&contest.policies).map(|(runs, policy)| {
        let wall_s = runs.iter().map(|run| run.1).sum::<f64>() / runs.len() as f64;
        let runs = runs.iter().map(|run| run.0.clone()).collect();
        Standing { name: policy.name, runs, wall_s }
    });
    Ok(Comparison {
        trace: world.trace().name.clone(),
        budget: contest.settings.budget.as_per_second(),
        duration_s: world.trace().duration.seconds(),
        measured_s: until.since(from).seconds(),
        bounds: engine::bounds(world, &contest.settings)?,
        standings: standings.collect(),
    })
}

fn run_one(
    world: &World,
    policy: &Contestant,
    contest: &Contest,
    repetition: u64,
) -> Result<(Measures, f64), LabError> {
    let settings = Settings { reveal: policy.is_oracle(), ..contest.settings };
    let mut made = policy.make(world, contest.seed.wrapping_add(repetition));
    let start = Instant::now();
    let measures = engine::run(world, made.as_mut(), &settings)?;
    Ok((measures, start.elapsed().as_secs_f64()))
}
