//! Information longevity: cost against fragment staleness, off-line and on-line `[OP08]`.
//!
//! Cost is normalised as in the paper: 1 is one fetch of every page every two days.

pub(super) mod lifetimes;
pub(super) mod offline;
pub(super) mod online;
pub(super) mod price;
pub(super) mod versus;
mod warmed;

use std::path::Path;

use rayon::prelude::*;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_policy::Policy;
use tidewatch_policy::longevity::{Longevity, PeriodMethod, Settings as Longevous, Threshold};
use tidewatch_report::{Axis, Cell, Chart, Column, Series, Table};
use tidewatch_trace::{Trace, Versions};

use super::Setup;
use crate::engine::{self, Settings};
use crate::generate::longevity;
use crate::import::{ImportArgs, Importer, Moment};
use crate::{LabError, World, policies};

/// Two days: the unit of cost.
const SPACING: Span = Span::from_micros(2 * Span::DAY.as_micros());
/// Start (28 November 2025, Unix seconds) and length in days of the period in which the recorded
/// pages were visited twice a day.
const RECORDED: (i64, u64) = (1_764_288_000, 265);
/// Cost allowed to policies that decide by a threshold; they leave most of it unspent.
const AMPLE: f64 = 4.0;

/// Cost and staleness of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outcome {
    cost: f64,
    staleness: f64,
    /// Share of copies that are stale.
    holistic: f64,
}

/// The web of the experiment: generated, or recorded where `--data` names a folder.
fn web(setup: &Setup<'_>, scale: f64) -> Result<Trace, LabError> {
    if let Some(folder) = setup.data {
        return recorded(folder);
    }
    let config = longevity::Config { scale: setup.scale * scale, ..longevity::Config::default() };
    config.check()?;
    Ok(longevity::generate(&config, setup.seed).trace)
}

fn recorded(folder: &Path) -> Result<Trace, LabError> {
    let args = ImportArgs {
        path: folder.to_owned(),
        from: Moment::from_unix_seconds(RECORDED.0),
        length: Some(Span::DAY.times(RECORDED.1)),
        ..ImportArgs::default()
    };
    Ok(Importer::named("ota-terms")?.run(&args)?.trace)
}

/// The first `length` of a trace.
fn beginning(trace: &Trace, length: Span) -> Trace {
    let end = Time::ZERO + length;
    let mut part = Trace { duration: length, ..trace.clone() };
    if let Some(changes) = &mut part.changes {
        changes.retain(|change| change.at < end);
    }
    if let Some(all) = &trace.versions {
        let mut kept = Versions::default();
        for row in all.rows.iter().filter(|row| row.at < end) {
            kept.push(row.page, row.at, all.added(row), all.removed(row));
        }
        part.versions = Some(kept);
    }
    if let Some(signals) = &mut part.signals {
        signals.rows.retain(|row| row.at < end);
    }
    part.pages.iter_mut().for_each(|page| page.died = page.died.filter(|&at| at < end));
    part
}

/// Fetches per second at a normalised cost.
fn budget(world: &World, cost: f64) -> Rate {
    Rate::per_second(cost * world.len() as f64 / SPACING.seconds()).unwrap_or(Rate::ZERO)
}

fn measure(
    world: &World,
    policy: &mut dyn Policy,
    settings: &Settings,
) -> Result<Outcome, LabError> {
    let done = engine::run(world, policy, settings)?;
    let (from, until) = settings.window(world)?;
    let fetches: u64 = done.fetches.iter().sum();
    let window = until.since(from).seconds() / SPACING.seconds();
    let cost = fetches as f64 / (world.len() as f64 * window);
    let staleness = done.fragment_staleness.unwrap_or(f64::NAN);
    let holistic = done.freshness.map_or(f64::NAN, |fresh| 1.0 - fresh);
    Ok(Outcome { cost, staleness, holistic })
}

/// A policy by name, at a cost.
fn at_cost(
    world: &World,
    name: &str,
    cost: f64,
    last: Option<Span>,
    seed: u64,
) -> Result<Outcome, LabError> {
    let contestant = policies::find(name)?;
    let settings = Settings {
        measure_last: last,
        reveal: contestant.is_oracle(),
        ..Settings::new(budget(world, cost))
    };
    measure(world, contestant.make(world, seed).as_mut(), &settings)
}

/// Cost–staleness curves of named policies, measured over the second half of a run.
fn by_budget(
    setup: &Setup<'_>,
    world: &World,
    names: &[&str],
    costs: &[f64],
) -> Result<Vec<Curve>, LabError> {
    let measured = |name: &&str| {
        (setup.say)(name);
        let half = Some(second_half(world));
        let points = costs.par_iter().map(|&cost| at_cost(world, name, cost, half, setup.seed));
        Ok(Curve::new(*name, points.collect::<Result<_, _>>()?))
    };
    names.iter().map(measured).collect()
}

fn second_half(world: &World) -> Span {
    Span::from_micros(world.trace().duration.as_micros() / 2)
}

/// Memory per page of a longevity policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Memory {
    hashes: usize,
    profiles: usize,
}

impl Memory {
    /// What a page record holds.
    const RECORD: Memory = Memory { hashes: 8, profiles: 1 };
    /// The paper's largest.
    const FULL: Memory = Memory { hashes: usize::MAX, profiles: 5 };

    fn name(self) -> String {
        let m = if self.hashes == usize::MAX { "∞".to_owned() } else { self.hashes.to_string() };
        format!("m = {m}, h = {}", self.profiles)
    }
}

/// A longevity policy at a threshold in days of a fully stale page.
fn at_threshold(
    world: &World,
    method: PeriodMethod,
    days: f64,
    memory: Memory,
    last: Option<Span>,
) -> Result<Outcome, LabError> {
    let threshold = Threshold::Fixed(days * Span::DAY.seconds());
    let longevous = Longevous {
        hashes: memory.hashes,
        profiles: memory.profiles,
        ..Longevous::new(method, threshold)
    };
    let settings = Settings {
        measure_last: last,
        sketch_len: memory.hashes,
        ..Settings::new(budget(world, AMPLE))
    };
    measure(world, &mut Longevity::new(longevous), &settings)
}

/// A named cost–staleness curve.
struct Curve {
    name: String,
    points: Vec<Outcome>,
}

impl Curve {
    fn new(name: impl Into<String>, mut points: Vec<Outcome>) -> Self {
        points.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Curve { name: name.into(), points }
    }

    /// Staleness at a cost, by linear interpolation; `None` outside the measured costs.
    fn staleness_at(&self, cost: f64) -> Option<f64> {
        between(self.points.iter().map(|p| (p.cost, p.staleness)), cost)
    }

    /// Holistic staleness at a cost.
    fn holistic_at(&self, cost: f64) -> Option<f64> {
        between(self.points.iter().map(|p| (p.cost, p.holistic)), cost)
    }

    /// The least cost that reaches a staleness.
    fn cost_at(&self, staleness: f64) -> Option<f64> {
        between(self.points.iter().map(|p| (-p.staleness, p.cost)), -staleness)
    }

    fn series(&self) -> Series {
        Series::line(
            &self.name,
            self.points.iter().map(|p| (p.cost, p.staleness)).collect::<Vec<_>>(),
        )
    }
}

/// Linear interpolation on the first segment that contains `x`.
fn between(points: impl Iterator<Item = (f64, f64)>, x: f64) -> Option<f64> {
    let points: Vec<_> = points.collect();
    let pair = points.windows(2).find(|pair| pair[0].0 <= x && x <= pair[1].0)?;
    let (from, to) = (pair[0], pair[1]);
    let part = if to.0 > from.0 { (x - from.0) / (to.0 - from.0) } else { 0.0 };
    Some(from.1 + part * (to.1 - from.1))
}

fn chart(title: &str, curves: &[Curve], most_cost: f64) -> Chart {
    let x = Axis::new("cost (1: every page every two days)").range(0.0, most_cost);
    let y = Axis::new("fragment staleness").from_zero();
    let inside = |curve: &Curve| {
        let points = curve.points.iter().filter(|p| p.cost <= most_cost).copied().collect();
        Curve { name: curve.name.clone(), points }.series()
    };
    Chart::new(title, x, y).all(curves.iter().map(inside))
}

/// Staleness of every curve at common costs.
fn by_cost(curves: &[Curve], costs: &[f64]) -> Table {
    table_of(curves, costs, Curve::staleness_at)
        .caption("Fragment staleness at equal cost, interpolated linearly between measured points.")
}

/// Holistic staleness of every curve at common costs.
fn holistic_by_cost(curves: &[Curve], costs: &[f64]) -> Table {
    table_of(curves, costs, Curve::holistic_at)
        .caption("Holistic staleness, the share of stale copies, at equal cost.")
}

fn table_of(curves: &[Curve], costs: &[f64], of: fn(&Curve, f64) -> Option<f64>) -> Table {
    let mut columns = vec![Column::text("policy")];
    columns.extend(costs.iter().map(|cost| Column::number(format!("cost {cost}")).lowest()));
    let mut table = Table::new(columns);
    for curve in curves {
        let mut cells = vec![Cell::text(&curve.name)];
        cells.extend(costs.iter().map(|&cost| Cell::maybe(of(curve, cost), 4)));
        table.push(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_read_both_ways() {
        let point = |cost, staleness| Outcome { cost, staleness, holistic: 0.5 };
        let curve = Curve::new("x", vec![point(0.4, 0.05), point(0.1, 0.1), point(0.2, 0.07)]);
        assert!((curve.staleness_at(0.3).unwrap() - 0.06).abs() < 1e-12);
        assert!((curve.cost_at(0.085).unwrap() - 0.15).abs() < 1e-12);
        assert_eq!(curve.staleness_at(0.5), None);
        assert_eq!(curve.cost_at(0.01), None);
    }
}
