//! Policies that know the pages beforehand: what longevity is worth at best.

use rayon::prelude::*;
use tidewatch_core::Span;
use tidewatch_report::Report;

use super::{Curve, at_cost, by_cost, chart, holistic_by_cost, web};
use crate::experiment::Setup;
use crate::portrait::portrait;
use crate::{LabError, World};

const POLICIES: [(&str, &str); 5] = [
    ("uniform-changing", "uniform"),
    ("hs-s", "HS-S"),
    ("fs-s", "FS-S"),
    ("hs-d", "HS-D"),
    ("fs-d", "FS-D"),
];
const COSTS: [f64; 7] = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5];
/// Costs at which the order is judged: where staleness is neither all there is nor all gone.
const JUDGED: [f64; 4] = [0.05, 0.1, 0.2, 0.3];
/// Scale of the generated web at `--scale 1`: 5,000 pages.
const SCALE: f64 = 0.5;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    (setup.say)("preparing the web");
    let world = World::new(web(setup, SCALE)?)?;
    let jobs: Vec<(usize, f64)> =
        (0..POLICIES.len()).flat_map(|p| COSTS.map(|cost| (p, cost))).collect();
    let outcomes = jobs
        .par_iter()
        .map(|&(policy, cost)| {
            (setup.say)(&format!("{} at cost {cost}", POLICIES[policy].1));
            at_cost(&world, POLICIES[policy].0, cost, None, setup.seed)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let curves: Vec<Curve> = outcomes
        .chunks(COSTS.len())
        .zip(POLICIES)
        .map(|(points, (_, name))| Curve::new(name, points.to_vec()))
        .collect();
    let mut report = Report::new("Refreshing with knowledge of the pages")
        .lead(verdict(&curves))
        .fact("web", world.trace().name.clone())
        .fact("pages", world.len().to_string())
        .fact("duration", format!("{:.0} days", world.trace().duration.seconds() / 86_400.0))
        .fact("seed", setup.seed.to_string())
        .section("Cost and staleness", |section| {
            section
                .chart(chart("Off-line policies", &curves, 0.52))
                .table(by_cost(&curves, &JUDGED))
                .paragraph(
                    "HS-S aims at another measure, whether a copy is stale at all, and gives up pages \
                     that change too fast for that. By its own measure it is the best of the static \
                     ones. By fragments that helps only where fast pages have little to keep; here \
                     many of them scroll, and keep each item for several updates.",
                )
                .table(holistic_by_cost(&curves, &JUDGED))
                .note(
                    "Static policies (-S) know each page's average behaviour and visit it at one \
                     period; dynamic ones (-D) see what has become of every copy. A policy that \
                     cannot spend a budget to any use ends its curve where it stops.",
                );
        });
    report = report.section("Portraits", |section| {
        section.paragraph(
            "Two pages that change about equally often. Each stripe is a fragment, drawn while it \
             stood on the page.",
        );
        let (short, long) = examples(&world);
        section
            .chart(portrait(&world, short, "A page that is replaced again and again"))
            .chart(portrait(&world, long, "A page most of which stays"));
    });
    Ok(report)
}

fn verdict(curves: &[Curve]) -> String {
    let at = |name: &str, cost: f64| {
        curves.iter().find(|c| c.name == name).and_then(|c| c.staleness_at(cost))
    };
    let holds = |better: &str, worse: &str| {
        let judged = JUDGED.iter().filter(|&&cost| at(better, cost).zip(at(worse, cost)).is_some());
        let right = judged.clone().filter(|&&cost| at(better, cost) < at(worse, cost)).count();
        format!("{better} below {worse} at {right} of {} costs", judged.count())
    };
    format!(
        "The paper's order is FS-D < FS-S < HS-S < uniform. Here: {}; {}; {}; {}.",
        holds("FS-D", "FS-S"),
        holds("FS-S", "HS-S"),
        holds("HS-S", "uniform"),
        holds("FS-D", "HS-D")
    )
}

/// A page on which content passes quickly and one on which it stays, of middling change.
fn examples(world: &World) -> (u32, u32) {
    let count = |page: u32| world.versions_of(page).len();
    let mean_life = |page: u32| -> f64 {
        let Some(versions) = world.trace().versions.as_ref() else { return 0.0 };
        let rows = &world.versions_of(page)[1..];
        let added: usize = rows.iter().map(|row| versions.added(row).len()).sum();
        let held = versions.added(&world.versions_of(page)[0]).len();
        // Little's law: how long a fragment stays is how many there are over how many come.
        held as f64 / (added.max(1) as f64 / world.trace().duration.seconds())
    };
    let weeks = (world.trace().duration.seconds() / Span::WEEK.seconds()) as usize;
    let mut pages: Vec<u32> = (0..world.len() as u32)
        .filter(|&page| (2 * weeks..8 * weeks + 8).contains(&count(page)))
        .collect();
    if pages.is_empty() {
        pages = (0..world.len() as u32).filter(|&page| count(page) > 1).collect();
    }
    pages.sort_by(|&a, &b| mean_life(a).total_cmp(&mean_life(b)));
    let pick = |part: usize| pages.get(pages.len() * part / 10).copied().unwrap_or(0);
    (pick(1), pick(6))
}
