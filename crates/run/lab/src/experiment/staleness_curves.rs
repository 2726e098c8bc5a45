//! Average weighted staleness against crawls per page `[WSY02]`: the best
//! allocation beside equal and proportional ones, for four populations.

use rayon::prelude::*;
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sample::GammaRates;
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Series, Table};
use tidewatch_science::allocate::crawls::{Crawls, PageLaws, Solver, solve};
use tidewatch_science::law::{Law, Pareto, Plan, Poisson, UpdateTimes};
use tidewatch_science::weight::{ClickCurve, embarrassment};

use super::Setup;
use crate::LabError;

/// Window over which crawls are allocated, days.
const WINDOW: f64 = 30.0;
const PAGES: usize = 1000;
/// Crawls per page that are tried.
const DEPTHS: [f64; 8] = [0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
/// Changes a day, mean and squared coefficient of variation over pages.
const RATES: (f64, f64) = (0.5, 1.0);
/// Shape of Pareto gaps: finite mean, infinite variance.
const PARETO_SHAPE: f64 = 1.5;
/// Possible update times of a quasi-deterministic page in the window.
const SLOTS: usize = 30;
/// Most crawls of a page in the window.
const MOST: u32 = 1000;

const POPULATIONS: [&str; 4] = ["Poisson", "Pareto", "quasi-deterministic", "mixed"];

/// One page: its weight, its mean rate and how it changes.
struct Page {
    weight: f64,
    rate: f64,
    kind: Kind,
}

enum Kind {
    Poisson(Poisson),
    Pareto(Pareto),
    Quasi(Box<Plan>),
}

impl Page {
    fn law(&self) -> Law<'_> {
        match &self.kind {
            Kind::Poisson(law) => (*law).into(),
            Kind::Pareto(law) => (*law).into(),
            Kind::Quasi(plan) => Law::Quasi(plan.law()),
        }
    }
}

/// Weighted staleness of the three allocations at one depth.
struct Point {
    depth: f64,
    best: f64,
    uniform: f64,
    proportional: f64,
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let curves: Vec<Vec<Point>> = (0..POPULATIONS.len())
        .into_par_iter()
        .map(|population| {
            (setup.say)(&format!("{} pages", POPULATIONS[population]));
            curve(&draw(population, setup)?)
        })
        .collect::<Result<_, _>>()?;
    Ok(Report::new("Staleness against crawls per page")
        .lead(verdict(&curves))
        .fact("pages", format!("{PAGES} a population, window {WINDOW} days"))
        .fact("seed", setup.seed.to_string())
        .section("Average embarrassment-weighted staleness", |section| {
            section.table(table(&curves));
            for (name, curve) in POPULATIONS.iter().zip(&curves) {
                section.chart(chart(name, curve));
            }
        }))
}

fn verdict(curves: &[Vec<Point>]) -> String {
    let all = || curves.iter().flatten();
    let higher = all().filter(|p| p.best > p.uniform.min(p.proportional)).count();
    let worse = all().filter(|p| p.proportional > p.uniform).count();
    let points = all().count();
    format!(
        "The best allocation is staler than the uniform or the proportional one at {higher} of \
         {points} points; proportional crawls are worse than equal ones at {worse}."
    )
}

fn draw(population: usize, setup: &Setup<'_>) -> Result<Vec<Page>, LabError> {
    let rates = GammaRates::new(RATES.0, RATES.1)?;
    let label = purpose("staleness-curves.page");
    let clicks = ClickCurve::default();
    (0..PAGES as u64)
        .map(|page| {
            let mut draws = Draws::keyed(setup.seed, label, page);
            // Gamma rates come arbitrarily close to zero; this is one change in 274 years.
            let rate = rates.sample(&mut draws).max(1e-5);
            let position = 1 + draws.below(50) as u32;
            let shown = 1.0 / (page + 1) as f64;
            let weight = embarrassment(draws.uniform(), &clicks, &[(position, shown)]);
            let kind = if population == 3 { draws.below(3) as usize } else { population };
            Ok(Page { weight, rate, kind: kind_of(kind, rate, &mut draws)? })
        })
        .collect()
}

fn kind_of(kind: usize, rate: f64, draws: &mut Draws) -> Result<Kind, LabError> {
    Ok(match kind {
        0 => Kind::Poisson(Poisson::new(rate)?),
        // Mean gap a·s/(a − 1) = 1/rate.
        1 => Kind::Pareto(Pareto::new(PARETO_SHAPE, (PARETO_SHAPE - 1.0) / PARETO_SHAPE / rate)?),
        _ => {
            let mut times: Vec<f64> = (0..SLOTS).map(|_| WINDOW * draws.uniform()).collect();
            times.sort_by(f64::total_cmp);
            times.dedup();
            let chance = (rate * WINDOW / SLOTS as f64).min(1.0);
            let chances = vec![chance; times.len()];
            Kind::Quasi(Box::new(UpdateTimes::new(WINDOW, &times, &chances)?.exact()))
        }
    })
}

fn curve(pages: &[Page]) -> Result<Vec<Point>, LabError> {
    let laws: Vec<Law<'_>> = pages.iter().map(Page::law).collect();
    let weight: Vec<f64> = pages.iter().map(|page| page.weight).collect();
    let gain = PageLaws { weight: &weight, law: &laws, window: WINDOW };
    let total_weight: f64 = weight.iter().sum();
    let (min, max) = (vec![0; PAGES], vec![MOST; PAGES]);
    DEPTHS
        .iter()
        .map(|&depth| {
            let total = (depth * PAGES as f64).round() as u64;
            let problem = Crawls { gain: &gain, min: &min, max: &max, total };
            let best = solve(&problem, Solver::Relax)?;
            let uniform = shares(&vec![1.0; PAGES], total);
            let rates: Vec<f64> = pages.iter().map(|page| page.rate).collect();
            let proportional = shares(&rates, total);
            let staleness = |crawls: &[u32]| gain.total(crawls) / total_weight;
            Ok(Point {
                depth,
                best: staleness(&best),
                uniform: staleness(&uniform),
                proportional: staleness(&proportional),
            })
        })
        .collect()
}

/// `total` crawls in proportion to `of`, in whole numbers. Rounding the cumulative sum keeps every
/// page within one of its share.
fn shares(of: &[f64], total: u64) -> Vec<u32> {
    let sum: f64 = of.iter().sum();
    let (mut before, mut cumulated) = (0u64, 0.0);
    of.iter()
        .map(|share| {
            cumulated += share;
            let upto = (total as f64 * cumulated / sum).round() as u64;
            let given = upto - before;
            before = upto;
            given as u32
        })
        .collect()
}

fn table(curves: &[Vec<Point>]) -> Table {
    let mut table = Table::new([
        Column::text("population"),
        Column::number("crawls per page"),
        Column::number("best"),
        Column::number("uniform"),
        Column::number("proportional"),
    ]);
    for (name, curve) in POPULATIONS.iter().zip(curves) {
        for point in curve {
            table.push([
                Cell::text(*name),
                Cell::number(point.depth, 2),
                Cell::number(point.best, 4),
                Cell::number(point.uniform, 4),
                Cell::number(point.proportional, 4),
            ]);
        }
    }
    table
}

fn chart(name: &str, curve: &[Point]) -> Chart {
    let axes = (Axis::new("crawls per page"), Axis::new("staleness").from_zero());
    let series = |label, of: fn(&Point) -> f64| {
        Series::line(label, curve.iter().map(|p| (p.depth, of(p))).collect::<Vec<_>>())
    };
    Chart::new(format!("{name} pages"), axes.0, axes.1)
        .series(series("best", |p| p.best))
        .series(series("uniform", |p| p.uniform))
        .series(series("proportional", |p| p.proportional))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_stay_near() {
        let of = [0.1, 2.0, 0.0, 3.3, 0.7];
        let given = shares(&of, 100);
        assert_eq!(given.iter().sum::<u32>(), 100);
        for (share, given) in of.iter().zip(given) {
            assert!((f64::from(given) - 100.0 * share / 6.1).abs() <= 1.0);
        }
    }

    #[test]
    fn the_verdict_follows_the_points() {
        let point = |best| Point { depth: 1.0, best, uniform: 0.3, proportional: 0.4 };
        let text = verdict(&[vec![point(0.2), point(0.1)]]);
        assert!(text.contains("at 0 of 2 points") && text.ends_with("at 2."), "{text}");
        assert!(verdict(&[vec![point(0.35), point(0.1)]]).contains("at 1 of 2 points"));
    }

    #[test]
    fn best_is_below_both_everywhere() {
        let setup = Setup::small(3, 2, 1.0);
        for population in 0..POPULATIONS.len() {
            for point in curve(&draw(population, &setup).unwrap()).unwrap() {
                assert!(point.best <= point.uniform.min(point.proportional));
            }
        }
    }
}
