//! One price against every fixed split of the budget, on a mixed web.

use rayon::prelude::*;
use tidewatch_core::{FetchKind, Rate, Span};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_report::{Cell, Column, Report, Table};

use super::{Setup, cell};
use crate::engine::{self, Measures, Settings};
use crate::generate::mixed::{self, MixedConfig};
use crate::split::Split;
use crate::{LabError, World, policies};

/// Fetches a second at scale 1 (about a tenth of the pages and changes of the web of `[LOSS13]`):
/// scarce, fair, ample.
const BUDGETS: [f64; 3] = [0.01, 0.03, 0.1];
/// The policy of each part: the best practical one of its kind.
const PARTS: [&str; 3] = ["embarrassment", "echo-newpages", "indegree"];
/// Step sizes of the search, in per cent: first coarse, then around the best.
const COARSE: i32 = 20;
const FINE: i32 = 5;

/// Name and value of a measure of clicks served.
type Measure = (&'static str, fn(&Measures) -> f64);
/// One price maximises the first; the second counts nothing for a copy with any difference.
const MEASURES: [Measure; 2] = [
    ("weighted by the share of the copy that is up to date", |m| {
        m.served_in_parts_per_s.unwrap_or(0.0)
    }),
    ("only by fully fresh copies", |m| m.served_per_s.unwrap_or(0.0)),
];

/// A split of the budget in per cent, and its run on every web.
struct Tried {
    split: [i32; 3],
    runs: Vec<Measures>,
}

impl Tried {
    fn mean(&self, (_, served): Measure) -> f64 {
        self.runs.iter().map(served).sum::<f64>() / self.runs.len() as f64
    }
}

fn best(tried: &[Tried], measure: Measure) -> &Tried {
    let better = |a: &&Tried, b: &&Tried| a.mean(measure).total_cmp(&b.mean(measure));
    tried.iter().max_by(better).expect("some were tried")
}

/// Runs at one budget.
struct Row {
    budget: f64,
    priced: Vec<Measures>,
    tried: Vec<Tried>,
}

impl Row {
    /// Mean ratio of one price to the best split, web by web.
    fn ratio(&self, measure: Measure) -> Estimate {
        let best = best(&self.tried, measure);
        let pairs = self.priced.iter().zip(&best.runs);
        pairs.map(|(a, b)| measure.1(a) / measure.1(b)).collect::<Moments>().estimate()
    }
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let config = MixedConfig { scale: setup.scale, ..MixedConfig::default() };
    config.check()?;
    (setup.say)("preparing the webs");
    let webs: Vec<(u64, World)> = setup
        .seeds()
        .map(|seed| Ok((seed, World::new(mixed::generate(&config, seed).trace)?)))
        .collect::<Result<_, LabError>>()?;
    let row = |budget: f64| {
        let priced = each(&webs, |seed, world| {
            (setup.say)(&format!("one price at {budget}"));
            let mut policy = policies::find("price")?.make(world, seed);
            engine::run(world, policy.as_mut(), &conditions(setup, budget))
        })?;
        Ok(Row { budget, priced, tried: search(setup, &webs, budget)? })
    };
    let rows = BUDGETS.into_iter().map(row).collect::<Result<Vec<Row>, LabError>>()?;
    let mut report = Report::new("One price against fixed splits of the budget")
        .lead(verdict(&rows))
        .fact("webs", format!("{} of scale {}", webs.len(), setup.scale));
    for measure in MEASURES {
        report = report.section(format!("Clicks served, {}", measure.0), |section| {
            section.table(table(&rows, measure));
        });
    }
    Ok(report
        .section("Search for the best split", |section| {
            section.note(format!(
                "A fixed split gives each part its share: refreshes by {}, sources and new pages by {}, \
                 the frontier by {}; unused budget goes to the other parts. Splits are searched in \
                 steps of {COARSE}%, then of {FINE}% around the best, on the webs on which they are \
                 judged, which favours them.",
                PARTS[0], PARTS[1], PARTS[2]
            ));
        })
        .section("All splits tried", |section| {
            for row in &rows {
                section.table(all(row));
            }
        }))
}

fn table(rows: &[Row], measure: Measure) -> Table {
    let mut table = Table::new([
        Column::number("budget").unit("fetches/s"),
        Column::number("one price").unit("clicks/s").highest(),
        Column::number("best split").unit("clicks/s"),
        Column::text("its shares: refresh / news / frontier"),
        Column::number("one price / best split"),
        Column::text("shares of one price: refresh / source / new / frontier"),
    ])
    .caption("Clicks a second on pages in the collection.");
    for row in rows {
        let best = best(&row.tried, measure);
        let ours: f64 = row.priced.iter().map(measure.1).sum();
        table.push([
            Cell::number(row.budget, 3),
            Cell::number(ours / row.priced.len() as f64, 4),
            Cell::number(best.mean(measure), 4),
            Cell::text(best.split.map(|share| share.to_string()).join(" / ")),
            cell(&row.ratio(measure), 3),
            Cell::text(spent(&row.priced)),
        ]);
    }
    table
}

fn conditions(setup: &Setup<'_>, budget: f64) -> Settings {
    let budget = Rate::per_second(budget * setup.scale).unwrap_or(Rate::ZERO);
    Settings { measure_last: Some(Span::WEEK), ..Settings::new(budget) }
}

fn each(
    webs: &[(u64, World)],
    run: impl Fn(u64, &World) -> Result<Measures, LabError> + Sync,
) -> Result<Vec<Measures>, LabError> {
    webs.par_iter().map(|(seed, world)| run(*seed, world)).collect()
}

fn try_split(
    setup: &Setup<'_>,
    webs: &[(u64, World)],
    budget: f64,
    split: [i32; 3],
) -> Result<Tried, LabError> {
    (setup.say)(&format!("split {split:?} at {budget}"));
    let runs = each(webs, |seed, world| {
        let [a, b, c] = PARTS.map(|name| policies::own(name, seed));
        let mut policy = Split::new([a?, b?, c?], split.map(|share| f64::from(share) / 100.0));
        engine::run(world, &mut policy, &conditions(setup, budget))
    })?;
    Ok(Tried { split, runs })
}

/// Tries coarse splits, then fine steps around the best until no neighbour is better.
fn search(setup: &Setup<'_>, webs: &[(u64, World)], budget: f64) -> Result<Vec<Tried>, LabError> {
    let steps = 100 / COARSE;
    let coarse: Vec<[i32; 3]> = (0..=steps)
        .flat_map(|a| (0..=steps - a).map(move |b| [a, b, steps - a - b].map(|s| s * COARSE)))
        .collect();
    let attempt = |split: &[i32; 3]| try_split(setup, webs, budget, *split);
    let mut tried: Vec<Tried> = coarse.par_iter().map(attempt).collect::<Result<_, _>>()?;
    loop {
        let near = MEASURES.iter().flat_map(|&measure| neighbours(best(&tried, measure).split));
        let mut new: Vec<[i32; 3]> =
            near.filter(|split| tried.iter().all(|tried| tried.split != *split)).collect();
        new.sort_unstable();
        new.dedup();
        if new.is_empty() {
            return Ok(tried);
        }
        let more: Vec<Tried> = new.par_iter().map(attempt).collect::<Result<_, _>>()?;
        tried.extend(more);
    }
}

/// Splits that move one fine step from one part to another.
fn neighbours(split: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    let pairs = (0..3).flat_map(|from| (0..3).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).filter_map(move |(from, to)| {
        let mut other = split;
        other[from] -= FINE;
        other[to] += FINE;
        (other[from] >= 0).then_some(other)
    })
}

fn spent(runs: &[Measures]) -> String {
    let sum = |kind: FetchKind| runs.iter().map(|run| run.fetches[kind as usize]).sum::<u64>();
    let counts = FetchKind::ALL.map(sum);
    let all = counts.iter().sum::<u64>().max(1) as f64;
    counts.map(|count| format!("{:.0}%", 100.0 * count as f64 / all)).join(" / ")
}

fn all(row: &Row) -> Table {
    let [first, _] = MEASURES;
    let mut tried: Vec<&Tried> = row.tried.iter().collect();
    tried.sort_by(|a, b| b.mean(first).total_cmp(&a.mean(first)));
    let mut columns = vec![Column::text("refresh / news / frontier, %")];
    columns.extend(MEASURES.map(|(name, _)| Column::number(name).unit("clicks/s")));
    let mut table = Table::new(columns)
        .caption(format!("Clicks served at {} fetches/s, best first.", row.budget));
    for tried in tried.iter().take(12) {
        let split = tried.split.map(|share| share.to_string()).join(" / ");
        let mut cells = vec![Cell::text(split)];
        cells.extend(MEASURES.map(|measure| Cell::number(tried.mean(measure), 4)));
        table.push(cells);
    }
    table
}

fn verdict(rows: &[Row]) -> String {
    let [first, _] = MEASURES;
    sentence(&rows.iter().map(|row| row.ratio(first).mean).collect::<Vec<f64>>())
}

/// `gains` holds the ratio of one price to the best split at every budget.
fn sentence(gains: &[f64]) -> String {
    let list: Vec<String> =
        gains.iter().zip(BUDGETS).map(|(gain, n)| format!("{gain:.3} at {n}")).collect();
    let won = gains.iter().filter(|gain| **gain > 1.0).count();
    format!(
        "One price beats the best fixed split at {won} of {} budgets. Ratio of clicks served: {}.",
        gains.len(),
        list.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_the_whole() {
        let all: Vec<_> = neighbours([100, 0, 0]).collect();
        assert_eq!(all, [[95, 5, 0], [95, 0, 5]]);
        assert!(neighbours([40, 40, 20]).all(|s| s.iter().sum::<i32>() == 100));
    }

    #[test]
    fn the_verdict_follows_the_gains() {
        assert!(sentence(&[1.1, 1.01, 1.2]).contains("at 3 of 3 budgets"));
        assert!(sentence(&[1.1, 0.99, 1.2]).contains("at 2 of 3 budgets"));
    }

    #[test]
    fn a_tiny_web_gives_every_table() {
        let text = run(&Setup::small(1, 1, 0.03)).unwrap().to_text(200);
        assert!(
            text.contains("best split") && text.contains("refresh / news / frontier"),
            "{text}"
        );
    }
}
