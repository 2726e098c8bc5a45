//! Policies that know the pages beforehand: the most that longevity can gain.

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
/// Costs at which policies are compared: staleness is neither near its maximum nor near zero.
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
    Ok(Report::new("Refreshing with knowledge of the pages")
        .lead(verdict(&curves))
        .fact("web", world.trace().name.clone())
        .fact("pages", world.len().to_string())
        .fact("duration", format!("{:.0} days", world.trace().duration.seconds() / 86_400.0))
        .fact("seed", setup.seed.to_string())
        .section("Cost and staleness", |section| {
            section
                .chart(chart("Off-line policies", &curves, 0.52))
                .table(by_cost(&curves, &JUDGED))
                .table(holistic_by_cost(&curves, &JUDGED))
                .paragraph(holistic_verdict(&curves))
                .note(
                    "Static policies (-S) know each page's average behaviour and visit it at one \
                     period; dynamic ones (-D) see the staleness of every copy. A curve ends where \
                     its policy cannot spend more to any gain.",
                );
        })
        .section("Portraits", |section| {
            section.paragraph(
                "Each stripe is a fragment, drawn while it is on the page. Fragment lifetimes are \
                 ranked among pages that change two to eight times a week, if there are any.",
            );
            for (percentile, page) in examples(&world) {
                let title = format!("A page at the {percentile}th percentile of fragment lifetime");
                section.chart(portrait(&world, page, title));
            }
        }))
}

/// By how many of the judged costs `better` is below `worse`.
fn below(
    curves: &[Curve],
    at: fn(&Curve, f64) -> Option<f64>,
    [better, worse]: [&str; 2],
) -> String {
    let of =
        |name: &str, cost: f64| curves.iter().find(|c| c.name == name).and_then(|c| at(c, cost));
    let pairs = JUDGED.iter().filter_map(|&cost| of(better, cost).zip(of(worse, cost)));
    let right = pairs.clone().filter(|(better, worse)| better < worse).count();
    format!("{better} is below {worse} at {right} of {} costs", pairs.count())
}

fn verdict(curves: &[Curve]) -> String {
    let pairs = [["FS-D", "FS-S"], ["FS-S", "HS-S"], ["HS-S", "uniform"], ["FS-D", "HS-D"]];
    let here = pairs.map(|pair| below(curves, Curve::staleness_at, pair)).join("; ");
    format!("The paper's order is FS-D < FS-S < HS-S < uniform. Here {here}.")
}

/// HS-S minimises holistic staleness, so it should lead the static policies by that measure.
fn holistic_verdict(curves: &[Curve]) -> String {
    let pairs = [["HS-S", "FS-S"], ["HS-S", "uniform"]];
    let here = pairs.map(|pair| below(curves, Curve::holistic_at, pair)).join("; ");
    format!("HS-S minimises holistic staleness. By that measure {here}.")
}

/// Pages at the 10th and the 60th percentile of fragment lifetime.
fn examples(world: &World) -> [(usize, u32); 2] {
    let count = |page: u32| world.versions_of(page).len();
    let mean_life = |page: u32| -> f64 {
        let Some(versions) = world.trace().versions.as_ref() else { return 0.0 };
        let rows = &world.versions_of(page)[1..];
        let added: usize = rows.iter().map(|row| versions.added(row).len()).sum();
        let held = versions.added(&world.versions_of(page)[0]).len();
        // Little's law: mean lifetime = fragments present / arrival rate.
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
    [10, 60].map(|percentile| {
        (percentile, pages.get(pages.len() * percentile / 100).copied().unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    #[test]
    fn verdicts_follow_the_curves() {
        let curve = |name, level: f64| {
            let point = |cost| Outcome { cost, staleness: level, holistic: 1.0 - level };
            Curve::new(name, vec![point(0.01), point(0.5)])
        };
        let curves = [curve("FS-S", 0.2), curve("HS-S", 0.3), curve("uniform", 0.1)];
        let text = verdict(&curves);
        assert!(text.contains("FS-S is below HS-S at 4 of 4 costs"), "{text}");
        assert!(text.contains("HS-S is below uniform at 0 of 4 costs"), "{text}");
        assert!(text.contains("FS-D is below FS-S at 0 of 0 costs"), "{text}");
        let text = holistic_verdict(&curves);
        assert!(text.contains("HS-S is below FS-S at 4 of 4 costs"), "{text}");
    }
}
