//! Policies that learn while they crawl: warm-up, steady state, and the cost of little memory.

use rayon::prelude::*;
use tidewatch_core::Span;
use tidewatch_policy::longevity::PeriodMethod;
use tidewatch_report::{Report, Table};

use super::{Curve, Memory, Outcome, at_cost, at_threshold, beginning, by_cost, chart, web};
use crate::experiment::Setup;
use crate::{LabError, World};

/// Thresholds, in days of a fully stale page.
const THRESHOLDS: [f64; 6] = [0.06, 0.12, 0.25, 0.5, 1.0, 2.0];
/// Costs at which the references run.
const COSTS: [f64; 5] = [0.05, 0.1, 0.2, 0.35, 0.6];
/// Costs at which policies are compared.
const JUDGED: [f64; 3] = [0.1, 0.2, 0.35];
const METHODS: [(PeriodMethod, &str); 2] =
    [(PeriodMethod::CurveFit, "curve-fit"), (PeriodMethod::BoundBased, "bound-based")];
const HASHES: [usize; 4] = [4, 8, 16, usize::MAX];
const PROFILES: [usize; 2] = [1, 5];
/// Scale of the generated web at `--scale 1`: 2,000 pages.
const SCALE: f64 = 0.2;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    (setup.say)("preparing the web");
    let trace = web(setup, SCALE)?;
    let half = Span::from_micros(trace.duration.as_micros() / 2);
    let warm = World::new(beginning(&trace, half))?;
    let world = World::new(trace)?;
    let early = both(setup, &warm, half)?;
    let late = both(setup, &world, half)?;
    let memory = memories(setup, &world, half)?;
    Ok(Report::new("Refreshing while learning how content lasts")
        .lead(
            "Two on-line policies against uniform refreshing and FS-D, which knows the pages. \
             Warm-up is the first half of the run, which starts without any knowledge.",
        )
        .fact("web", world.trace().name.clone())
        .fact("pages", world.len().to_string())
        .fact("seed", setup.seed.to_string())
        .section("Warm-up", |section| {
            section.chart(chart("First half", &early, 0.8)).table(by_cost(&early, &JUDGED));
        })
        .section("Steady state", |section| {
            section.chart(chart("Second half", &late, 0.8)).table(by_cost(&late, &JUDGED));
        })
        .section("Effect of memory", |section| {
            section
                .paragraph(
                    "Second half of the run, by m hashes per base version and h profiles per page. A \
                     page record of 128 bytes holds m = 8, h = 1.",
                )
                .table(memory);
        }))
}

/// Both methods with the memory of a page record and with unlimited memory, and the references.
fn both(setup: &Setup<'_>, world: &World, last: Span) -> Result<Vec<Curve>, LabError> {
    let mut curves = Vec::new();
    for (method, name) in METHODS {
        for memory in [Memory::RECORD, Memory::FULL] {
            (setup.say)(&format!("{name}, {}", memory.name()));
            let points = sweep(world, method, memory, last)?;
            curves.push(Curve::new(format!("{name}, {}", memory.name()), points));
        }
    }
    for name in ["uniform", "fs-d"] {
        (setup.say)(name);
        let points =
            COSTS.par_iter().map(|&cost| at_cost(world, name, cost, Some(last), setup.seed));
        curves.push(Curve::new(name, points.collect::<Result<_, _>>()?));
    }
    Ok(curves)
}

fn sweep(
    world: &World,
    method: PeriodMethod,
    memory: Memory,
    last: Span,
) -> Result<Vec<Outcome>, LabError> {
    THRESHOLDS.par_iter().map(|&t| at_threshold(world, method, t, memory, Some(last))).collect()
}

fn memories(setup: &Setup<'_>, world: &World, last: Span) -> Result<Table, LabError> {
    let mut curves = Vec::new();
    for (method, name) in METHODS {
        for profiles in PROFILES {
            for hashes in HASHES {
                let memory = Memory { hashes, profiles };
                (setup.say)(&format!("{name}, {}", memory.name()));
                let points = sweep(world, method, memory, last)?;
                curves.push(Curve::new(format!("{name}, {}", memory.name()), points));
            }
        }
    }
    Ok(by_cost(&curves, &JUDGED))
}
