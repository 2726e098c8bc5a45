//! Longevity against change frequency: the cost of equal staleness.

use rayon::prelude::*;
use tidewatch_policy::longevity::PeriodMethod;
use tidewatch_report::{Cell, Column, Report, Table};

use super::{Curve, Memory, at_threshold, by_budget, by_cost, chart, second_half, warmed, web};
use crate::experiment::Setup;
use crate::portrait::portrait;
use crate::{LabError, World};

const THRESHOLDS: [f64; 8] = [0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0];
const COSTS: [f64; 9] = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0];
const NAMED: [&str; 6] = ["cgm", "cgm-oracle", "curve-fit", "uniform", "fs-s", "fs-d"];
const JUDGED: [f64; 5] = [0.05, 0.1, 0.2, 0.4, 0.6];
/// Policies that are also run after a warm-up that is the same for all.
const WARMED: [&str; 3] = ["cgm", "curve-fit", "bound-based"];
/// Scale of the generated web at `--scale 1`: 5,000 pages.
const SCALE: f64 = 0.5;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    (setup.say)("preparing the web");
    let world = World::new(web(setup, SCALE)?)?;
    let half = second_half(&world);
    let mut curves = by_budget(setup, &world, &NAMED, &COSTS)?;
    for curve in curves.iter_mut().filter(|curve| curve.name == "curve-fit") {
        curve.name.push_str(", by budget");
    }
    curves.extend(warmed::by_budget(setup, &world, &WARMED, &COSTS)?);
    for (method, label) in [
        (PeriodMethod::CurveFit, "curve-fit, by threshold"),
        (PeriodMethod::BoundBased, "bound-based, by threshold"),
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

/// Costs of cgm and of longevity policies at equal staleness, and a sentence that sums them up.
fn equal_staleness(curves: &[Curve]) -> (Table, String) {
    let of = |name: &str| curves.iter().find(|curve| curve.name == name).expect("it was run");
    let pairs = [
        ("cgm", "curve-fit, by budget"),
        ("cgm", "curve-fit, by threshold"),
        ("cgm", "bound-based, by threshold"),
        ("cgm, warmed up", "curve-fit, warmed up"),
        ("cgm-oracle", "fs-s"),
    ];
    let mut columns = vec![Column::number("staleness"), Column::number("cgm")];
    for (theirs, ours) in pairs {
        columns.push(Column::number(ours));
        columns.push(Column::number(format!("of {theirs}'s cost")).lowest());
    }
    let mut table = Table::new(columns).caption(
        "Costs at equal staleness. The last pair knows the pages beforehand and has nothing to learn.",
    );
    let mut ratios = pairs.map(|_| Vec::new());
    for point in of("cgm").points.iter().filter(|p| p.cost >= 0.1) {
        let mut cells = vec![Cell::number(point.staleness, 4), Cell::number(point.cost, 3)];
        for ((theirs, ours), ratios) in pairs.iter().zip(&mut ratios) {
            let cost = of(ours).cost_at(point.staleness);
            let ratio = cost.zip(of(theirs).cost_at(point.staleness)).map(|(a, b)| a / b);
            cells.extend([Cell::maybe(cost, 3), Cell::maybe(ratio, 2)]);
            ratios.extend(ratio);
        }
        table.push(cells);
    }
    let [by_budget, by_threshold, _, warmed, known] = ratios.map(|list| range(&list));
    let sentence = format!(
        "At the staleness that cgm reaches for a cost of 0.1 or more, curve-fit needs {by_budget} of \
         that cost by budget and {by_threshold} by threshold. After the same warm-up, as in the paper, \
         it needs {warmed} of the cost of cgm; the paper claims one half at moderate staleness. For \
         policies that know the pages, fs-s needs {known} of the cost of cgm-oracle."
    );
    (table, sentence)
}

/// "0.61 to 0.81", or one number.
fn range(ratios: &[f64]) -> String {
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match ratios.len() {
        0 => "an unknown share (no common staleness)".to_owned(),
        1 => format!("{low:.2}"),
        _ => format!("{low:.2} to {high:.2}"),
    }
}

/// The two pages with most versions among those of 20 to 200 fragments.
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
