//! Freshness gained by learning the hours of the week at which pages change.
//!
//! Pages change by Poisson processes modulated by the week of their host; each host has its own
//! busiest hour. The experiment varies the *swing*, the rate of the busiest hour over that of the
//! quietest. At swing 1 there is no rhythm, and learning one should cost nothing.

use rayon::prelude::*;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_math::Draws;
use tidewatch_math::sample::Rhythm;
use tidewatch_math::sum::Moments;
use tidewatch_policy::Policy;
use tidewatch_policy::price::news::Parts;
use tidewatch_policy::price::{Price, Settings as Pricing};
use tidewatch_report::{Cell, Column, Report, Table};
use tidewatch_trace::Trace;

use super::{Setup, cell};
use crate::engine::{self, Settings};
use crate::generate::renewal::{self, Rates};
use crate::generate::rhythm::weekly;
use crate::{LabError, World, policies};

/// Busiest hour over quietest.
const SWINGS: [f64; 3] = [1.0, 10.0, 100.0];
/// Fetches per page and day.
const BUDGETS: [f64; 3] = [0.5, 1.0, 4.0];
/// Rate of changes on a weekend day, relative to a working day.
const WEEKEND: f64 = 0.5;
/// Whole weeks, so that the rhythm leaves the expected number of changes as it is.
const DURATION: Span = Span::WEEK.times(8);
/// The last weeks are measured: learning a rhythm takes weeks.
const MEASURED: Span = Span::WEEK.times(5);
const POLICIES: [&str; 4] = ["uniform", "cgm", "price without rhythm", "price"];

/// Freshness by policy and budget.
type Freshness = [[f64; BUDGETS.len()]; POLICIES.len()];

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let mut report = Report::new("Refreshing hosts with a weekly rhythm")
        .lead(
            "Freshness of copies, weighted by clicks, for policies that learn the hours at which \
             hosts change and for policies that do not.",
        )
        .fact("webs", format!("{} of scale {}, for every swing", setup.repeat, setup.scale));
    for swing in SWINGS {
        let seeds: Vec<u64> = setup.seeds().collect();
        let runs = seeds
            .par_iter()
            .map(|&seed| {
                (setup.say)(&format!("swing {swing}, seed {seed}"));
                contest(setup, swing, seed)
            })
            .collect::<Result<Vec<Freshness>, LabError>>()?;
        let title = match swing {
            1.0 => "No rhythm".to_owned(),
            swing => format!("The busiest hour has {swing} times the changes of the quietest"),
        };
        report = report.section(title, |section| {
            section.table(table(&runs));
        });
    }
    Ok(report)
}

fn contest(setup: &Setup<'_>, swing: f64, seed: u64) -> Result<Freshness, LabError> {
    let world = World::new(web(setup, swing, seed)?)?;
    let mut freshness = Freshness::default();
    for (name, row) in POLICIES.iter().zip(&mut freshness) {
        for (&depth, cell) in BUDGETS.iter().zip(row) {
            let budget = depth * world.len() as f64 / Span::DAY.seconds();
            let settings = Settings {
                measure_last: Some(MEASURED),
                ..Settings::new(Rate::per_second(budget).unwrap_or(Rate::ZERO))
            };
            let measures = engine::run(&world, policy(name, &world, seed)?.as_mut(), &settings)?;
            *cell = measures.freshness.unwrap_or(f64::NAN);
        }
    }
    Ok(freshness)
}

fn policy<'w>(name: &str, world: &'w World, seed: u64) -> Result<Box<dyn Policy + 'w>, LabError> {
    if name != "price without rhythm" {
        return Ok(policies::find(name)?.make(world, seed));
    }
    let parts = Parts { rhythm: false, ..Parts::DEFAULT };
    Ok(Box::new(Price::new(Pricing { parts, ..Pricing::DEFAULT }, seed)))
}

/// Poisson pages with changes moved by the rhythm of their hosts.
fn web(setup: &Setup<'_>, swing: f64, seed: u64) -> Result<Trace, LabError> {
    let config = renewal::Config {
        scale: setup.scale,
        pages: 2000,
        hosts: 20,
        host_exponent: 0.0,
        duration: DURATION,
        rates: Rates::Gamma { mean_per_day: 0.5, squared_cv: 1.0 },
        weights: renewal::Config::default().weights,
        ..renewal::Config::poisson()
    };
    config.check()?;
    let mut trace = renewal::generate(&config, seed).trace;
    let rhythm = |host: usize| -> Rhythm {
        let peak = 24.0 * Draws::of(seed, "rhythm.peak", host as u64).uniform();
        weekly(swing, WEEKEND, peak)
    };
    let rhythms: Vec<Rhythm> = (0..trace.hosts.len()).map(rhythm).collect();
    let is_flat = swing <= 1.0;
    for change in trace.changes.iter_mut().flatten().filter(|_| !is_flat) {
        let host = trace.pages[change.page as usize].host;
        let moved = rhythms[host as usize].time_of(change.at.seconds());
        change.at = Time::from_seconds(moved).unwrap_or(change.at);
    }
    Ok(trace)
}

fn table(runs: &[Freshness]) -> Table {
    let mut columns = vec![Column::text("policy")];
    for depth in BUDGETS {
        columns.push(Column::number(format!("at {depth} a day")).highest());
        columns.push(Column::number("gain over no rhythm"));
    }
    let mut table = Table::new(columns).caption(
        "Budgets are fetches per page and day. Gain: 1 − staleness / staleness of price without \
         rhythm, web by web.",
    );
    let without = POLICIES.len() - 2;
    for (i, name) in POLICIES.iter().enumerate() {
        let mut cells = vec![Cell::text(*name)];
        for budget in 0..BUDGETS.len() {
            let own: Moments = runs.iter().map(|run| run[i][budget]).collect();
            let gain =
                |run: &Freshness| 1.0 - (1.0 - run[i][budget]) / (1.0 - run[without][budget]);
            let gain: Moments = runs.iter().map(gain).collect();
            cells.extend([own.estimate(), gain.estimate()].map(|estimate| cell(&estimate, 3)));
        }
        table.push(cells);
    }
    table
}
