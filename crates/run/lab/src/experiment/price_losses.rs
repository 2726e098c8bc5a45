//! Worlds on which one price was seen to lose to simpler rules: pages that stop changing, rates that
//! drift, pages too fast to follow, sources that start without a record; and with `--data` a site
//! whose pages vanish. Pages have equal weights: with weights price wins by them alone.

use rayon::prelude::*;
use tidewatch_core::{Rate, Span};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::price::{Price, Settings as Pricing};
use tidewatch_report::{Cell, Column, Report, Table};

use super::echo::{Run, conditions, simulate, webs};
use super::refresh_on_line::recorded;
use super::{Setup, cell, signed};
use crate::engine::{self, Measures, Settings};
use crate::generate::renewal;
use crate::{LabError, World, policies};

/// Simple rules, then one price, then its yardstick.
const RULES: [&str; 4] = ["uniform", "nutch-adaptive", "storm-adaptive", "cgm"];
const PRICE: &str = "price";
const ORACLE: &str = "cgm-oracle";
/// Fetches per page and day.
const BUDGETS: [f64; 3] = [0.01, 0.1, 1.0];
/// Size of the first two worlds at `--scale 1`, as a multiple of the generator's default: 1,000 pages.
const SCALE: f64 = 0.1;
/// Budget of the webs of sources, fetches a second, and their scale at `--scale 1`.
const SOURCE_BUDGET: f64 = 0.05;
const SOURCE_SCALE: f64 = 0.1;
/// Fetches per page on the recorded site.
const DEPTHS: [f64; 3] = [2.5, 8.0, 25.0];

/// A world of refreshing: name, configuration and scale.
type Refreshed = (&'static str, fn() -> renewal::Config, f64);
const WORLDS: [Refreshed; 3] = [
    ("pages that stop changing", renewal::Config::stopping, SCALE),
    ("drifting rates", renewal::Config::drifting, SCALE),
    ("very fast pages", renewal::Config::fast, 0.5),
];

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let mut report = Report::new("Where one price loses")
        .lead("Freshness over the second half of sixty days, except where stated.")
        .fact("seeds", format!("{} from {}", setup.repeat, setup.seed));
    for (name, config, scale) in WORLDS {
        let weights = renewal::Weights::Equal;
        let config = renewal::Config { scale: scale * setup.scale, weights, ..config() };
        config.check()?;
        let table = refreshing(setup, name, &config)?;
        report = report.section(name, |section| {
            section.table(table);
        });
    }
    let cold = cold_start(setup)?;
    report = report.section("sources without a record", |section| {
        section.table(cold);
    });
    if let Some(folder) = setup.data {
        (setup.say)("reading the recorded site");
        let world = World::new(recorded(folder)?)?;
        let table = vanishing(setup, &world)?;
        report = report.section("pages that vanish", |section| {
            section.table(table);
        });
    }
    Ok(report)
}

fn names() -> impl Iterator<Item = &'static str> {
    RULES.into_iter().chain([PRICE, ORACLE])
}

fn measure(world: &World, name: &str, budget: f64, seed: u64) -> Result<Measures, LabError> {
    let half = Span::from_micros(world.trace().duration.as_micros() / 2);
    let contestant = policies::find(name)?;
    let settings = Settings {
        measure_last: Some(half),
        ..Settings::new(Rate::per_second(budget).unwrap_or(Rate::ZERO))
    };
    engine::run(world, contestant.make(world, seed).as_mut(), &settings)
}

/// Freshness of every rule, and how price compares with the best simple one, web by web.
fn refreshing(setup: &Setup<'_>, name: &str, config: &renewal::Config) -> Result<Table, LabError> {
    let seeds: Vec<u64> = setup.seeds().collect();
    let worlds: Vec<(u64, World)> = seeds
        .par_iter()
        .map(|&seed| Ok((seed, World::new(renewal::generate(config, seed).trace)?)))
        .collect::<Result<_, LabError>>()?;
    let mut columns = vec![Column::number("fetches a page and day")];
    columns.extend(names().map(Column::number));
    columns.extend([Column::text("best rule"), Column::number("price against it")]);
    columns.push(Column::text("web by web"));
    let mut table = Table::new(columns);
    for budget in BUDGETS {
        let fresh = |rule: &str| -> Result<Vec<f64>, LabError> {
            (setup.say)(&format!("{name}: {rule} at {budget}"));
            let one = |(seed, world): &(u64, World)| {
                let rate = budget * world.len() as f64 / Span::DAY.seconds();
                Ok(measure(world, rule, rate, *seed)?.freshness.unwrap_or(f64::NAN))
            };
            worlds.par_iter().map(one).collect()
        };
        let all: Vec<Vec<f64>> = names().map(fresh).collect::<Result<_, _>>()?;
        let mean = |runs: &Vec<f64>| runs.iter().copied().collect::<Moments>().mean();
        let best = (0..RULES.len()).max_by(|&a, &b| mean(&all[a]).total_cmp(&mean(&all[b])));
        let best = best.unwrap_or_default();
        let pairs = all[RULES.len()].iter().zip(&all[best]);
        let gains: Vec<f64> = pairs.map(|(ours, theirs)| 100.0 * (ours / theirs - 1.0)).collect();
        let gain: Estimate = gains.iter().copied().collect::<Moments>().estimate();
        let mut cells = vec![Cell::number(budget, 2)];
        cells.extend(all.iter().map(|runs| Cell::number(mean(runs), 4)));
        cells.extend([Cell::text(RULES[best]), Cell::text(format!("{} %", signed(&gain, 1)))]);
        let list: Vec<String> = gains.iter().map(|gain| format!("{gain:+.1}")).collect();
        cells.push(Cell::text(list.join(" ")));
        table.push(cells);
    }
    Ok(table)
}

/// One price on webs of sources, web by web: does it leave them alone?
fn cold_start(setup: &Setup<'_>) -> Result<Table, LabError> {
    let small = Setup { scale: SOURCE_SCALE * setup.scale, ..*setup };
    let setup = &small;
    let webs = webs(setup)?;
    let columns = [
        Column::number("seed"),
        Column::number("of the bound"),
        Column::number("budget for sources"),
        Column::number("sources hardly visited"),
    ];
    let mut table = Table::new(columns).caption(format!(
        "price at N = {SOURCE_BUDGET} fetches/s on ECHO's web, the last week; only fetched pages can be \
         clicked."
    ));
    let settings = Settings { logged: engine::Logged::Held, ..conditions(setup, SOURCE_BUDGET) };
    let runs: Vec<Run> = webs
        .par_iter()
        .map(|(seed, world)| {
            (setup.say)(&format!("price on sources of seed {seed}"));
            simulate(world, &mut Price::new(Pricing::DEFAULT, *seed), &settings)
        })
        .collect::<Result<_, LabError>>()?;
    for ((seed, _), run) in webs.iter().zip(&runs) {
        table.push([
            Cell::count(*seed),
            Cell::number(run.share(), 3),
            Cell::number(run.on_sources(), 3),
            Cell::number(run.hardly(), 3),
        ]);
    }
    let shares: Estimate = runs.iter().map(Run::share).collect::<Moments>().estimate();
    table.push([Cell::text("mean"), cell(&shares, 3), Cell::missing(), Cell::missing()]);
    Ok(table)
}

/// Fetches that found a page gone, on a recorded site.
fn vanishing(setup: &Setup<'_>, world: &World) -> Result<Table, LabError> {
    let mut columns = vec![Column::text("policy")];
    for depth in DEPTHS {
        columns.push(Column::number(format!("gone at {depth}")).lowest());
        columns.push(Column::number("of fetches"));
        columns.push(Column::number("freshness").highest());
    }
    let mut table = Table::new(columns).caption(
        "Fetches per page over the run; fetches in the second half that found the page gone, their share, \
         and weighted freshness.",
    );
    for name in names() {
        let mut cells = vec![Cell::text(name)];
        for depth in DEPTHS {
            (setup.say)(&format!("recorded site: {name} at {depth}"));
            let rate = depth * world.len() as f64 / world.trace().duration.seconds();
            let run = measure(world, name, rate, setup.seed)?;
            let all = run.fetches.iter().sum::<u64>().max(1);
            cells.push(Cell::count(run.gone));
            cells.push(Cell::number(run.gone as f64 / all as f64, 4));
            cells.push(Cell::maybe(run.freshness, 4));
        }
        table.push(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_worlds_give_every_table() {
        let text = run(&Setup::small(1, 2, 0.1)).unwrap().to_text(200);
        for name in WORLDS.map(|world| world.0).iter().chain(&["sources without a record", "mean"])
        {
            assert!(text.contains(name), "no {name} in {text}");
        }
    }
}
