//! One price against the policies of longevity, at equal cost.

use tidewatch_report::{Cell, Column, Report, Table};

use super::{Curve, by_budget, by_cost, chart, second_half, web};
use crate::experiment::Setup;
use crate::{LabError, World};

const COSTS: [f64; 6] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.6];
const NAMED: [&str; 6] = ["uniform", "cgm", "curve-fit", "price", "fs-s", "fs-d"];
/// Scale of the generated web at `--scale 1`: 5,000 pages.
const SCALE: f64 = 0.5;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    (setup.say)("preparing the web");
    let world = World::new(web(setup, SCALE)?)?;
    let curves = by_budget(setup, &world, &NAMED, &COSTS)?;
    let half = second_half(&world);
    let (table, verdict) = gap(&curves);
    Ok(Report::new("One price against longevity")
        .lead(verdict)
        .fact("web", world.trace().name.clone())
        .fact("pages", world.len().to_string())
        .fact("measured", format!("the last {:.0} days", half.seconds() / 86_400.0))
        .fact("seed", setup.seed.to_string())
        .section("Cost and staleness", |section| {
            section.chart(chart("At equal cost", &curves, 1.0)).table(by_cost(&curves, &COSTS));
        })
        .section("The gap to the oracle", |section| {
            section.table(table);
        }))
}

/// How much of the gap between curve-fit and fs-d one price closes at equal budgets.
fn gap(curves: &[Curve]) -> (Table, String) {
    let of = |name: &str| curves.iter().find(|curve| curve.name == name).expect("it was run");
    let (fit, price, best) = (of("curve-fit"), of("price"), of("fs-d"));
    let mut table = Table::new([
        Column::number("allowed"),
        Column::number("curve-fit spends"),
        Column::number("price spends"),
        Column::number("curve-fit"),
        Column::number("price").lowest(),
        Column::number("fs-d"),
        Column::number("gap closed"),
    ])
    .caption(
        "Cost spent and mean divergence of copies at equal budgets. A policy that sees nothing to \
         gain leaves budget unspent.",
    );
    let (mut closed, mut worse) = (Vec::new(), Vec::new());
    // Every curve has one point per budget, and cost spent grows with the budget.
    for (place, cost) in COSTS.iter().enumerate() {
        let [fit, price, best] = [fit, price, best].map(|curve| curve.points[place]);
        let part = (fit.staleness - price.staleness) / (fit.staleness - best.staleness);
        table.push([
            Cell::number(*cost, 2),
            Cell::number(fit.cost, 3),
            Cell::number(price.cost, 3),
            Cell::number(fit.staleness, 4),
            Cell::number(price.staleness, 4),
            Cell::number(best.staleness, 4),
            Cell::number(part, 2),
        ]);
        closed.push(part);
        if price.staleness > fit.staleness {
            worse.push(cost.to_string());
        }
    }
    let (low, high) = closed
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), c| (low.min(*c), high.max(*c)));
    let verdict = if worse.is_empty() {
        format!(
            "One price is never worse than curve-fit and closes {low:.2} to {high:.2} of its gap to fs-d."
        )
    } else {
        format!(
            "One price is worse than curve-fit at cost {}; of the gap to fs-d it closes {low:.2} to \
             {high:.2}.",
            worse.join(", ")
        )
    };
    (table, verdict)
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    #[test]
    fn a_tiny_web_gives_every_table() {
        let text = run(&Setup::small(1, 1, 0.02)).unwrap().to_text(200);
        for name in NAMED.iter().chain(&["gap closed"]) {
            assert!(text.contains(name), "no {name} in {text}");
        }
    }

    #[test]
    fn the_verdict_follows_the_curves() {
        let curve = |name, staleness| {
            let points = COSTS.map(|cost| Outcome { cost, staleness, holistic: 0.5 });
            Curve::new(name, points.into())
        };
        let text =
            |price| gap(&[curve("curve-fit", 0.3), curve("price", price), curve("fs-d", 0.1)]).1;
        assert!(text(0.2).contains("never worse") && text(0.2).contains("0.50 to 0.50"));
        assert!(text(0.35).contains("worse than curve-fit at cost 0.05, 0.1"), "{}", text(0.35));
    }
}
