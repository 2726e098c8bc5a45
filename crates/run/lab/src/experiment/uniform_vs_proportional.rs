//! Equal visits against visits in proportion to change, for pages whose change
//! rates follow a gamma law `[CGM03]`.
//!
//! With mean rate λ, r = λ/f and squared coefficient of variation δ²:
//! uniform F = (1 − (1 + rδ²)^(1 − 1/δ²))/(r(1 − δ²)), proportional
//! F = (1 − e^−r)/r. Both tend to the latter as δ → 0; at δ = 1 the first is
//! ln(1 + r)/r.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tidewatch_core::{PageKey, Rate, Span};
use tidewatch_math::special::{expm1_over, power_over};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::Policy;
use tidewatch_policy::order::Uniform;
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Series, Table};

use super::{Setup, cell, outside_note};
use crate::engine::{self, Settings};
use crate::generate::renewal::{self, Rates};
use crate::oracle::Timed;
use crate::{LabError, World};

const RATIOS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
const SQUARED_CVS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// Beyond this spread most pages change so rarely that proportional visits reach them less than
/// once in a run. The formulas hold for endless runs, so nothing is simulated.
const LARGEST_SIMULATED: f64 = 1.0;
const PAGES: usize = 1000;
const INTERVAL: Span = Span::DAY;
/// Intervals before measuring: a page at a hundredth of the mean rate is visited every hundred.
const WARM_UP: u64 = 200;
const MEASURED: u64 = 100;

/// F under equal visits: ((1 + rδ²)^k − 1)/(rkδ²) with k = 1 − 1/δ². This is the published form,
/// because 1 − δ² = −kδ², and has its limit at k = 0.
fn uniform(r: f64, squared_cv: f64) -> f64 {
    let k = 1.0 - 1.0 / squared_cv;
    power_over(r * squared_cv, k) / (r * squared_cv)
}

struct Simulated {
    uniform: Estimate,
    proportional: Estimate,
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let jobs: Vec<(f64, f64)> =
        SQUARED_CVS.iter().flat_map(|&cv| RATIOS.iter().map(move |&r| (r, cv))).collect();
    let simulated: Vec<Option<Simulated>> = jobs
        .par_iter()
        .map(|&(r, cv)| {
            (setup.say)(&format!("r = {r}, δ² = {cv}"));
            (cv <= LARGEST_SIMULATED).then(|| simulate(setup, r, cv)).transpose()
        })
        .collect::<Result<_, _>>()?;
    let formulas: Vec<[f64; 2]> =
        jobs.iter().map(|&(r, cv)| [uniform(r, cv), expm1_over(r)]).collect();
    let covered = formulas.iter().zip(&simulated).flat_map(|(formula, simulated)| {
        let pairs =
            |s: &Simulated| [s.uniform.covers(formula[0]), s.proportional.covers(formula[1])];
        simulated.as_ref().map(pairs).into_iter().flatten()
    });
    let covered: Vec<bool> = covered.collect();
    let outside = covered.iter().filter(|is_covered| !**is_covered).count();
    Ok(Report::new("Equal visits against proportional visits")
        .lead(verdict(&formulas))
        .fact("web", format!("{PAGES} pages, {MEASURED} intervals measured"))
        .fact("repetitions", setup.repeat.to_string())
        .section("Mean freshness", |section| {
            section.table(table(&jobs, &simulated)).note(format!(
                "Simulated up to δ² = {LARGEST_SIMULATED}: beyond, proportional visits reach rarely \
                 changing pages less than once in a run. {}",
                outside_note(outside, covered.len())
            ));
        })
        .section("Gain from equal visits", |section| {
            section.chart(chart());
        }))
}

/// `formulas` holds the freshness of uniform and proportional visits.
fn verdict(formulas: &[[f64; 2]]) -> String {
    let better = formulas.iter().filter(|[uniform, proportional]| uniform >= proportional).count();
    format!(
        "Equal visits keep copies at least as fresh as visits in proportion to the change rate for \
         {better} of {} values of r and δ.",
        formulas.len()
    )
}

fn simulate(setup: &Setup<'_>, r: f64, squared_cv: f64) -> Result<Simulated, LabError> {
    let (mut equal, mut proportional) = (Moments::new(), Moments::new());
    for seed in setup.seeds() {
        let config = renewal::Config {
            scale: setup.scale,
            pages: PAGES,
            duration: INTERVAL.times(WARM_UP + MEASURED),
            rates: Rates::Gamma { mean_per_day: r, squared_cv },
            ..renewal::Config::poisson()
        };
        config.check()?;
        let world = World::new(renewal::generate(&config, seed).trace)?;
        let intervals = proportional_intervals(&config, &world, seed);
        equal.add(freshness(&world, &mut Uniform::fixed_order(seed))?);
        proportional.add(freshness(&world, &mut Timed::new(intervals, seed))?);
    }
    Ok(Simulated { uniform: equal.estimate(), proportional: proportional.estimate() })
}

/// Visit intervals in proportion to the true rates; on average one visit per page and interval.
fn proportional_intervals(
    config: &renewal::Config,
    world: &World,
    seed: u64,
) -> FxHashMap<PageKey, Span> {
    let rates: Vec<f64> = renewal::truth(config, seed).iter().map(|law| law.rate).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let interval = |rate: f64| Span::from_seconds(INTERVAL.seconds() * mean / rate);
    let named = rates.iter().zip(0u32..);
    named.filter_map(|(&rate, page)| Some((world.key(page), interval(rate)?))).collect()
}

fn freshness(world: &World, policy: &mut dyn Policy) -> Result<f64, LabError> {
    let budget = world.len() as f64 / INTERVAL.seconds();
    let settings = Settings {
        measure_last: Some(INTERVAL.times(MEASURED)),
        ..Settings::new(Rate::per_second(budget).unwrap_or(Rate::ZERO))
    };
    Ok(engine::run(world, policy, &settings)?.freshness.unwrap_or(f64::NAN))
}

fn table(jobs: &[(f64, f64)], simulated: &[Option<Simulated>]) -> Table {
    let mut table = Table::new([
        Column::number("δ²"),
        Column::number("r"),
        Column::number("uniform, formula"),
        Column::number("simulated"),
        Column::number("proportional, formula"),
        Column::number("simulated"),
        Column::number("gain"),
    ]);
    for (&(r, cv), simulated) in jobs.iter().zip(simulated) {
        let shown = |pick: fn(&Simulated) -> Estimate| {
            simulated.as_ref().map_or_else(Cell::missing, |both| cell(&pick(both), 4))
        };
        table.push([
            Cell::number(cv, 2),
            Cell::number(r, 1),
            Cell::number(uniform(r, cv), 4),
            shown(|s| s.uniform),
            Cell::number(expm1_over(r), 4),
            shown(|s| s.proportional),
            Cell::number(uniform(r, cv) / expm1_over(r), 3),
        ]);
    }
    table
}

fn chart() -> Chart {
    let x = Axis::new("changes per interval, r").log();
    let mut chart = Chart::new("Uniform over proportional", x, Axis::new("ratio of freshness"));
    for cv in SQUARED_CVS {
        let curve = (0..=60).map(|i| 0.1 * 100f64.powf(f64::from(i) / 60.0));
        let points = curve.map(|r| (r, uniform(r, cv) / expm1_over(r)));
        chart.push(Series::line(format!("δ² = {cv}"), points));
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_form_is_the_published_one() {
        for (r, cv) in [(0.1f64, 0.25f64), (1.0, 0.5), (3.0, 2.0), (10.0, 4.0)] {
            let published = (1.0 - (1.0 + r * cv).powf(1.0 - 1.0 / cv)) / (r * (1.0 - cv));
            // Two or three roundings of numbers of order one.
            assert!((uniform(r, cv) - published).abs() < 1e-14 / r.min(1.0), "{r} {cv}");
        }
        assert!((uniform(2.0, 1.0) - 3f64.ln() / 2.0).abs() < 1e-15);
    }

    #[test]
    fn the_verdict_counts() {
        assert!(verdict(&[[0.5, 0.4], [0.5, 0.5]]).contains("2 of 2"));
        assert!(verdict(&[[0.5, 0.4], [0.5, 0.6]]).contains("1 of 2"));
    }

    #[test]
    fn uniform_is_never_worse() {
        for i in 0..=100 {
            for j in 0..=100 {
                let r = 1e-3 * 1e6f64.powf(f64::from(i) / 100.0);
                let cv = 1e-2 * 1e4f64.powf(f64::from(j) / 100.0);
                // Below, rounding decides.
                assert!(uniform(r, cv) >= expm1_over(r) * (1.0 - 1e-12), "r {r} δ² {cv}");
            }
        }
    }
}
