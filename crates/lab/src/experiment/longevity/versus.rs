//! Longevity against change frequency: what equal staleness costs.

use rayon::prelude::*;
use tidewatch_core::Span;
use tidewatch_policy::longevity::Method;
use tidewatch_report::{Cell, Column, Report, Table};

use super::{Curve, Memory, at_cost, at_threshold, by_cost, chart, web};
use crate::experiment::Setup;
use crate::portrait::portrait;
use crate::{LabError, World};

const THRESHOLDS: [f64; 8] = [0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0];
const COSTS: [f64; 9] = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0];
const NAMED: [&str; 5] = ["cgm", "curve-fit", "uniform", "fs-s", "fs-d"];
const JUDGED: [f64; 5] = [0.05, 0.1, 0.2, 0.4, 0.6];
/// Scale of the generated web at `--scale 1`: 5,000 pages.
const SCALE: f64 = 0.5;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    (setup.say)("preparing the web");
    let world = World::new(web(setup, SCALE)?)?;
    let half = Span::from_micros(world.trace().duration.as_micros() / 2);
    let mut curves = Vec::new();
    for name in NAMED {
        (setup.say)(name);
        let points =
            COSTS.par_iter().map(|&cost| at_cost(&world, name, cost, Some(half), setup.seed));
        let label = if name == "curve-fit" { "curve-fit, by budget" } else { name };
        curves.push(Curve::new(label, points.collect::<Result<_, _>>()?));
    }
    for (method, label) in [
        (Method::CurveFit, "curve-fit, by threshold"),
        (Method::BoundBased, "bound-based, by threshold"),
    ] {
        (setup.say)(label);
        let run = |&days: &f64| at_threshold(&world, method, days, Memory::RECORD, Some(half));
        let points = THRESHOLDS.par_iter().map(run).collect::<Result<_, _>>()?;
        curves.push(Curve::new(label, points));
    }
    let equal = equal_staleness(&curves);
    let mut report = Report::new("Longevity against change frequency")
        .lead(equal.1)
        .fact("web", world.trace().name.clone())
        .fact("pages", world.len().to_string())
        .fact("measured", format!("the last {:.0} days", half.seconds() / 86_400.0))
        .fact("seed", setup.seed.to_string())
        .section("Cost and staleness", |section| {
            section
                .chart(chart("On-line policies", &curves, 1.05))
                .table(by_cost(&curves, &JUDGED));
        })
        .section("Cost at equal staleness", |section| {
            section.table(equal.0);
        });
    if setup.data.is_some() {
        report = report.section("Portraits", |section| {
            for page in busiest(&world) {
                let url = world.trace().pages[page as usize].url.to_string();
                section.chart(portrait(&world, page, url));
            }
        });
    }
    Ok(report)
}

/// Costs of cgm and curve-fit where both reach a staleness, and the sentence for it.
fn equal_staleness(curves: &[Curve]) -> (Table, String) {
    let of = |name: &str| curves.iter().find(|curve| curve.name == name).expect("it was run");
    let cgm = of("cgm");
    let ours = [
        of("curve-fit, by budget"),
        of("curve-fit, by threshold"),
        of("bound-based, by threshold"),
    ];
    let mut columns = vec![Column::number("staleness"), Column::number("cgm")];
    for curve in ours {
        columns.push(Column::number(curve.name.clone()));
        columns.push(Column::number("of cgm's cost").lowest());
    }
    let mut table = Table::new(columns);
    let mut best: Option<(f64, f64, f64)> = None;
    for point in cgm.points.iter().filter(|p| p.cost >= 0.1) {
        let mut cells = vec![Cell::number(point.staleness, 4), Cell::number(point.cost, 3)];
        for (i, curve) in ours.iter().enumerate() {
            let cost = curve.cost_at(point.staleness);
            cells.push(Cell::maybe(cost, 3));
            cells.push(Cell::maybe(cost.map(|cost| cost / point.cost), 2));
            if let Some(cost) = cost.filter(|_| i < 2) {
                let ratio = cost / point.cost;
                if best.is_none_or(|b| ratio < b.2) {
                    best = Some((point.staleness, point.cost, ratio));
                }
            }
        }
        table.push(cells);
    }
    let sentence = best.map_or_else(
        || "No staleness is reached by both cgm and curve-fit.".to_owned(),
        |(staleness, cost, ratio)| {
            format!(
                "Curve-fitting reaches the staleness {staleness:.3}, for which cgm pays {cost:.2}, at \
                 {ratio:.2} of that cost. The paper claims a half at moderate staleness."
            )
        },
    );
    (table, sentence)
}

/// The two pages with most versions among those of ordinary size.
fn busiest(world: &World) -> Vec<u32> {
    let size = |page: u32| {
        let versions = world.trace().versions.as_ref();
        let first = world.versions_of(page).first();
        versions.zip(first).map_or(0, |(versions, row)| versions.added(row).len())
    };
    let mut pages: Vec<u32> =
        (0..world.len() as u32).filter(|&page| (20..200).contains(&size(page))).collect();
    pages.sort_by_key(|&page| std::cmp::Reverse(world.versions_of(page).len()));
    pages.truncate(2);
    pages
}
