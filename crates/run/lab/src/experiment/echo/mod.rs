//! The experiments of the ECHO paper `[LOSS13, §5]` on generated webs and on real data.
//!
//! Shared by all: webs from consecutive seeds, policies at several budgets, the last week measured.

pub(super) mod parameters;
pub(super) mod price;
pub(super) mod real;
pub(super) mod table1;
pub(super) mod window;

use rayon::prelude::*;
use tidewatch_core::{FetchKind, Rate, Span};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::Policy;
use tidewatch_policy::echo::{Echo, Pooling, Rule, Settings as Echoing};
use tidewatch_policy::price::{Price, Settings as Pricing};

use super::Setup;
use crate::engine::{self, FirstFetch, Logged, Settings};
use crate::generate::echo::{self, EchoConfig};
use crate::{LabError, World, policies};

/// The budgets of the paper, fetches a second.
const BUDGETS: [f64; 3] = [0.05, 0.10, 0.20];
/// Its algorithms, in the order of its table.
const ALGORITHMS: [&str; 6] =
    ["frequency", "bfs", "fixed-quota", "echo-greedy", "echo-schedule", "echo-newpages"];
/// Settings of the algorithms as published, read literally: no first look.
const AS_PUBLISHED: Echoing =
    Echoing { pooling: Pooling::Alone, logs_all: true, first_look: false, ..Echoing::DEFAULT };
/// The same with a first look at every source.
const WITH_FIRST_LOOK: Echoing = Echoing { first_look: true, ..AS_PUBLISHED };
/// A source with at most this many visits in the measured week counts as hardly visited.
const HARDLY: u32 = 1;

/// One run.
#[derive(Clone)]
pub(super) struct Run {
    /// Profit as a share of the bound.
    share: f64,
    /// Shares of the budget in the window spent on sources, on new pages, and not at all.
    split: [f64; 3],
    /// Share of hardly visited sources.
    hardly: f64,
    first_fetches: Vec<FirstFetch>,
}

impl Run {
    /// Profit as a share of the bound.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// Share of the budget spent on sources.
    pub(super) fn on_sources(&self) -> f64 {
        self.split[0]
    }

    /// Share of hardly visited sources.
    pub(super) fn hardly(&self) -> f64 {
        self.hardly
    }
}

/// Generated webs, one per seed.
pub(super) fn webs(setup: &Setup<'_>) -> Result<Vec<(u64, World)>, LabError> {
    webs_like(setup, &EchoConfig::default())
}

/// Webs of another configuration.
fn webs_like(setup: &Setup<'_>, config: &EchoConfig) -> Result<Vec<(u64, World)>, LabError> {
    let config = EchoConfig { scale: setup.scale, ..config.clone() };
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

/// Run settings as in the paper: the log comes from a search engine that holds every page. `budget`
/// is for a web of full size and is scaled with the web.
pub(super) fn conditions(setup: &Setup<'_>, budget: f64) -> Settings {
    let budget = Rate::per_second(budget * setup.scale).unwrap_or(Rate::ZERO);
    Settings { measure_last: Some(Span::WEEK), logged: Logged::Known, ..Settings::new(budget) }
}

/// An algorithm as published: it estimates the profit of each source separately, from the log of a
/// search engine that holds every page.
fn published(name: &'static str) -> Result<Contender, LabError> {
    contender(name, AS_PUBLISHED)
}

/// A policy by name; `echoing` are the settings of ECHO's algorithms.
fn contender(name: &'static str, echoing: Echoing) -> Result<Contender, LabError> {
    let rule = match name {
        "frequency" => Rule::Frequency,
        "fixed-quota" => Rule::FixedQuota,
        "echo-greedy" => Rule::Greedy,
        "echo-schedule" => Rule::Schedule,
        "echo-newpages" => Rule::NewPages,
        "price" => {
            let settings = Pricing { logs_all: true, ..Pricing::DEFAULT };
            return Ok(Contender::new(name, move |_, seed| Box::new(Price::new(settings, seed))));
        }
        _ => {
            let found = policies::find(name)?;
            return Ok(Contender::new(name, move |world, seed| found.make(world, seed)));
        }
    };
    Ok(Contender::new(name, move |_, _| Box::new(Echo::new(rule, echoing))))
}

/// Upper bound of the profit, in clicks a second, scaled to a web of full size.
pub(super) fn bound(setup: &Setup<'_>, world: &World) -> Result<f64, LabError> {
    let bounds = engine::bounds(world, &conditions(setup, 1.0))?;
    Ok(bounds.profit_per_s.unwrap_or(f64::NAN) / setup.scale)
}

/// Runs a policy.
pub(super) fn simulate(
    world: &World,
    policy: &mut dyn Policy,
    settings: &Settings,
) -> Result<Run, LabError> {
    let measures = engine::run(world, policy, settings)?;
    let bound = engine::bounds(world, settings)?.profit_per_s.unwrap_or(f64::NAN);
    let profit = measures.profit_per_s.unwrap_or(f64::NAN);
    let [_, sources, new, frontier] = FetchKind::ALL.map(|kind| measures.fetches[kind as usize]);
    let all = measures.fetches.iter().sum::<u64>() + measures.idle;
    let part = |count: u64| count as f64 / all.max(1) as f64;
    Ok(Run {
        share: profit / bound,
        split: [part(sources), part(new + frontier), part(measures.idle)],
        hardly: measures.hardly_visited(HARDLY).unwrap_or(f64::NAN),
        first_fetches: measures.first_fetches,
    })
}

/// Makes a policy for a run over a web, from a seed.
type Make = dyn for<'w> Fn(&'w World, u64) -> Box<dyn Policy + 'w> + Send + Sync;

/// A policy in a contest, with its own kind of log.
struct Contender {
    name: &'static str,
    make: Box<Make>,
    logged: Logged,
}

impl Contender {
    fn new(
        name: &'static str,
        make: impl for<'w> Fn(&'w World, u64) -> Box<dyn Policy + 'w> + Send + Sync + 'static,
    ) -> Self {
        Contender { name, make: Box::new(make), logged: Logged::Known }
    }
}

/// Runs of every policy at every budget over every web: `[policy][budget][web]`.
fn contest(
    setup: &Setup<'_>,
    webs: &[(u64, World)],
    contenders: &[Contender],
    budgets: &[f64],
) -> Result<Vec<Vec<Vec<Run>>>, LabError> {
    let mut jobs = Vec::new();
    for contender in contenders {
        for &budget in budgets {
            jobs.extend(webs.iter().map(move |web| (contender, budget, web)));
        }
    }
    let runs = jobs.par_iter().map(|(contender, budget, (seed, world))| {
        (setup.say)(&format!("{} at {budget} fetches/s, seed {seed}", contender.name));
        let mut made = (contender.make)(world, *seed);
        let settings = Settings { logged: contender.logged, ..conditions(setup, *budget) };
        simulate(world, made.as_mut(), &settings)
    });
    let mut runs = runs.collect::<Result<Vec<Run>, LabError>>()?.into_iter();
    let mut take = |_: &f64| runs.by_ref().take(webs.len()).collect();
    Ok(contenders.iter().map(|_| budgets.iter().map(&mut take).collect()).collect())
}

/// Mean and 95% interval of a figure over runs.
fn estimate(runs: &[Run], of: impl Fn(&Run) -> f64) -> Estimate {
    runs.iter().map(of).collect::<Moments>().estimate()
}

#[cfg(test)]
impl Run {
    /// A run of which only the share of the bound matters.
    fn of_share(share: f64) -> Self {
        Run { share, split: [0.0; 3], hardly: 0.0, first_fetches: Vec::new() }
    }
}
