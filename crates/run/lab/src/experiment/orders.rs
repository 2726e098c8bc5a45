//! Three orders of visiting Poisson pages `[CGM03]`: a fixed order, a new random order each round, and
//! independent random visits. Formulas for freshness and age against simulation.

use rayon::prelude::*;
use tidewatch_core::{Rate, Span};
use tidewatch_math::special::{expm1_over, expm2_over};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::Policy;
use tidewatch_policy::order::{Random, Uniform};
use tidewatch_report::{Axis, Cell, Chart, Column, Point, Report, Series, Table};

use super::{Setup, cell, outside_note};
use crate::engine::{self, Measures, Settings};
use crate::generate::renewal::{self, Rates};
use crate::{LabError, World};

/// Changes per visit interval.
const RATIOS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
/// Mean time between two visits to a page.
const INTERVAL: Span = Span::DAY;
const PAGES: usize = 400;
/// Rounds of visits. The warm-up removes the effect of the start, when all copies are fresh.
const WARM_UP_ROUNDS: u64 = 20;
const MEASURED_ROUNDS: u64 = 60;

/// A visiting order with its formulas; r = λI is the number of changes per interval I.
struct Order {
    name: &'static str,
    make: fn(u64) -> Box<dyn Policy>,
    /// Mean freshness F(r).
    freshness: fn(f64) -> f64,
    /// Mean age A(r) in units of I.
    age: fn(f64) -> f64,
}

/// F = (1 − e^−r)/r; A/I = 1/2 − 1/r + (1 − e^−r)/r² `[CGM03]`. With
/// φ₁ = (1 − e^−r)/r and φ₂ = (e^−r − 1 + r)/r² the age is 1/2 − φ₂, which
/// does not cancel for small r.
const FIXED: Order = Order {
    name: "fixed order",
    make: |seed| Box::new(Uniform::fixed_order(seed)),
    freshness: expm1_over,
    age: |r| 0.5 - expm2_over(r),
};

/// F = (1/r)(1 − ((1 − e^−r)/r)²); A/I = 1/3 + (1/2 − 1/r)² − ((1 − e^−r)/r²)² `[CGM03]`.
const RANDOM_ORDER: Order = Order {
    name: "random order",
    make: |seed| Box::new(Uniform::random_order(seed)),
    freshness: |r| (1.0 - expm1_over(r).powi(2)) / r,
    age: |r| 1.0 / 3.0 + (0.5 - 1.0 / r).powi(2) - (expm1_over(r) / r).powi(2),
};

/// F = 1/(1 + r); A/I = r/(1 + r) `[CGM03]`.
const PURELY_RANDOM: Order = Order {
    name: "purely random",
    make: |seed| Box::new(Random::new(seed)),
    freshness: |r| 1.0 / (1.0 + r),
    age: |r| r / (1.0 + r),
};

const ORDERS: [Order; 3] = [FIXED, RANDOM_ORDER, PURELY_RANDOM];

/// Simulated freshness and age, the latter in intervals.
struct Outcome {
    freshness: Estimate,
    age: Estimate,
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let jobs: Vec<(usize, usize)> =
        (0..ORDERS.len()).flat_map(|o| (0..RATIOS.len()).map(move |r| (o, r))).collect();
    let outcomes: Vec<Outcome> = jobs
        .par_iter()
        .map(|&(order, ratio)| {
            (setup.say)(&format!("{} at r = {}", ORDERS[order].name, RATIOS[ratio]));
            simulate(setup, &ORDERS[order], RATIOS[ratio])
        })
        .collect::<Result<_, _>>()?;
    let by_order: Vec<&[Outcome]> = outcomes.chunks(RATIOS.len()).collect();
    let (agree, outside) = table(&by_order);
    Ok(Report::new("Freshness and age of three visiting orders")
        .lead(format!(
            "Pages change by a Poisson law, r times per visit interval on average. {}",
            verdict(&by_order)
        ))
        .fact("web", format!("{PAGES} pages, {MEASURED_ROUNDS} rounds measured"))
        .fact("repetitions", setup.repeat.to_string())
        .section("Formulas against simulation", |section| {
            section.table(agree).note(outside_note(outside, 2 * jobs.len()));
        })
        .section("Plots", |section| {
            section
                .chart(chart("Freshness", "freshness", &by_order, |o| o.freshness, |o| o.freshness))
                .chart(chart("Age", "age in intervals", &by_order, |o| o.age, |o| o.age));
        }))
}

fn simulate(setup: &Setup<'_>, order: &Order, ratio: f64) -> Result<Outcome, LabError> {
    let (mut freshness, mut age) = (Moments::new(), Moments::new());
    for seed in setup.seeds() {
        let measures = one_run(setup, order, ratio, seed)?;
        freshness.add(measures.freshness.unwrap_or(f64::NAN));
        age.add(measures.age_s.unwrap_or(f64::NAN) / INTERVAL.seconds());
    }
    Ok(Outcome { freshness: freshness.estimate(), age: age.estimate() })
}

fn one_run(setup: &Setup<'_>, order: &Order, ratio: f64, seed: u64) -> Result<Measures, LabError> {
    let config = renewal::Config {
        scale: setup.scale,
        pages: PAGES,
        duration: INTERVAL.times(WARM_UP_ROUNDS + MEASURED_ROUNDS),
        // Changes per day = per interval.
        rates: Rates::Fixed(vec![ratio]),
        ..renewal::Config::poisson()
    };
    config.check()?;
    let world = World::new(renewal::generate(&config, seed).trace)?;
    let budget = world.len() as f64 / INTERVAL.seconds();
    let settings = Settings {
        measure_last: Some(INTERVAL.times(MEASURED_ROUNDS)),
        ..Settings::new(Rate::per_second(budget).unwrap_or(Rate::ZERO))
    };
    engine::run(&world, (order.make)(seed).as_mut(), &settings)
}

/// At how many ratios the fixed order keeps copies freshest.
fn verdict(by_order: &[&[Outcome]]) -> String {
    let fresh = |order: usize, ratio: usize| by_order[order][ratio].freshness.mean;
    let is_first =
        |ratio: &usize| (1..by_order.len()).all(|order| fresh(0, *ratio) > fresh(order, *ratio));
    let first = (0..RATIOS.len()).filter(is_first).count();
    format!("A fixed order keeps copies freshest at {first} of {} values of r.", RATIOS.len())
}

/// The table, and how many formulas lie outside the interval of their simulation.
fn table(by_order: &[&[Outcome]]) -> (Table, usize) {
    let mut outside = 0;
    let mut table = Table::new([
        Column::text("order"),
        Column::number("r"),
        Column::number("F formula"),
        Column::number("F simulated"),
        Column::number("A/I formula"),
        Column::number("A/I simulated"),
        Column::text("formula inside ±"),
    ]);
    for (order, outcomes) in ORDERS.iter().zip(by_order) {
        for (&ratio, outcome) in RATIOS.iter().zip(*outcomes) {
            let (f, a) = ((order.freshness)(ratio), (order.age)(ratio));
            let inside = [outcome.freshness.covers(f), outcome.age.covers(a)];
            outside += inside.iter().filter(|is_inside| !**is_inside).count();
            table.push([
                Cell::text(order.name),
                Cell::number(ratio, 1),
                Cell::number(f, 4),
                cell(&outcome.freshness, 4),
                Cell::number(a, 4),
                cell(&outcome.age, 4),
                Cell::text(match inside {
                    [true, true] => "both",
                    [true, false] => "F only",
                    [false, true] => "A only",
                    [false, false] => "neither",
                }),
            ]);
        }
    }
    (table, outside)
}

fn chart(
    title: &str,
    axis: &str,
    by_order: &[&[Outcome]],
    simulated: fn(&Outcome) -> Estimate,
    formula: fn(&Order) -> fn(f64) -> f64,
) -> Chart {
    let x = Axis::new("changes per interval, r").log();
    let mut chart = Chart::new(title, x, Axis::new(axis).from_zero())
        .caption("Lines are the formulas, points the simulation.");
    for (order, outcomes) in ORDERS.iter().zip(by_order) {
        let curve = (0..=60).map(|i| 0.1 * 100f64.powf(f64::from(i) / 60.0));
        chart.push(Series::line(order.name, curve.map(|r| (r, formula(order)(r)))));
        let points = RATIOS.iter().zip(*outcomes).map(|(&ratio, outcome)| {
            let estimate = simulated(outcome);
            Point::new(ratio, estimate.mean).plus_minus(estimate.half_width)
        });
        chart.push(Series::points(format!("{}, simulated", order.name), points));
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::quadrature::{Aim, integrate};

    /// Quadrature reaches far below this; the formulas are short.
    const ROUNDING: f64 = 1e-9;

    /// Age and freshness from the law of the gap G between two visits:
    /// F = E∫₀ᴳ e^−rt dt / E G and A = E∫₀ᴳ E[age after t] dt / E G.
    fn literal(r: f64, density: impl Fn(f64) -> f64, longest: f64) -> (f64, f64) {
        let aim = Aim::default();
        let fresh = |gap: f64| -(-r * gap).exp_m1() / r;
        // Mean age t after a visit: t − (1 − e^−rt)/r; integrated over the gap.
        let aged = |gap: f64| gap * gap / 2.0 - gap / r + fresh(gap) / r;
        let mean = |f: &dyn Fn(f64) -> f64| {
            let parts = [(0.0, 1.0), (1.0, longest)];
            let parts =
                parts.map(|(a, b)| integrate(|g| density(g) * f(g), a, b, aim).unwrap().value);
            parts.iter().sum::<f64>()
        };
        let gap = mean(&|g| g);
        (mean(&fresh) / gap, mean(&aged) / gap)
    }

    #[test]
    fn the_verdict_and_the_count_follow_the_figures() {
        let outcomes = |mean: f64, half_width: f64| -> Vec<Outcome> {
            let estimate = Estimate { mean, half_width, n: 2 };
            RATIOS.iter().map(|_| Outcome { freshness: estimate, age: estimate }).collect()
        };
        let (low, high) = (outcomes(0.1, 0.0), outcomes(0.9, 10.0));
        let (first, last) = ([&high[..], &low, &low], [&low[..], &low, &high]);
        assert!(verdict(&first).contains("at 5 of 5") && verdict(&last).contains("at 0 of 5"));
        assert_eq!(table(&[&high, &high, &high]).1, 0);
        assert_eq!(table(&[&low, &low, &low]).1, 2 * RATIOS.len() * ORDERS.len());
    }

    #[test]
    fn formulas_follow_from_the_law_of_the_gap() {
        for r in RATIOS {
            // Random order: the gap is 1 + U − U', a triangle on [0, 2].
            let triangle = |g: f64| if g < 1.0 { g } else { 2.0 - g };
            let (f, a) = literal(r, triangle, 2.0);
            assert!((f - (RANDOM_ORDER.freshness)(r)).abs() < ROUNDING, "F at {r}: {f}");
            assert!((a - (RANDOM_ORDER.age)(r)).abs() < ROUNDING, "A at {r}: {a}");
            // Purely random: exponential gaps of mean 1.
            let (f, a) = literal(r, |g| (-g).exp(), 60.0);
            assert!((f - (PURELY_RANDOM.freshness)(r)).abs() < ROUNDING, "F at {r}: {f}");
            assert!((a - (PURELY_RANDOM.age)(r)).abs() < ROUNDING, "A at {r}: {a}");
            // Fixed order: the literal forms.
            let f = -(-r).exp_m1() / r;
            assert!((f - (FIXED.freshness)(r)).abs() < ROUNDING);
            assert!((0.5 - 1.0 / r + f / r - (FIXED.age)(r)).abs() < ROUNDING);
        }
    }
}
