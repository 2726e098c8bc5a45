//! One price against ECHO in ECHO's setting, with ablations.

use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::echo::{Echo, Pooling, Rule, Settings as Echoing};
use tidewatch_policy::price::news::Parts;
use tidewatch_policy::price::{Price, Settings as Pricing};
use tidewatch_report::{Axis, BarChart, Cell, Column, Report, Table};

use super::{BUDGETS, Contender, Run, WITH_FIRST_LOOK, contender, contest, estimate, webs};
use crate::LabError;
use crate::engine::Logged;
use crate::experiment::{Setup, bar, cell};
use crate::oracle::known_sources;

/// Target: profit over ECHO's at the smallest budget, the gain of a prototype.
const AIM: f64 = 1.08;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let webs = webs(setup)?;
    let contenders = contenders()?;
    let runs = contest(setup, &webs, &contenders, &BUDGETS)?;
    let names: Vec<&str> = contenders.iter().map(|contender| contender.name).collect();
    Ok(Report::new("One price against ECHO")
        .lead(verdict(&runs))
        .fact("webs", format!("{} of scale {}", setup.repeat, setup.scale))
        .section("Profit as a share of the bound", |section| {
            section.table(table(&names, &runs)).chart(chart(&names, &runs)).note(
                "± is the 95% interval over webs from different seeds. × is the mean ratio, web by web, \
                 to echo-newpages with pooled profits, which learns from the same log. Own log: only \
                 fetched pages can be clicked.",
            );
        })
        .section("Where the budget goes", |section| {
            section.table(split(&names, &runs));
        }))
}

/// The first two are the baselines of gains, the third is the policy under test.
fn contenders() -> Result<Vec<Contender>, LabError> {
    // As in the paper the log covers every page, unless the name says "own log".
    let priced = |name, parts: Parts, logs_all: bool| {
        let settings = Pricing { parts, logs_all, ..Pricing::default() };
        Contender::new(name, move |_, seed| Box::new(Price::new(settings, seed)))
    };
    let echo = |name, echoing: Echoing| {
        Contender::new(name, move |_, _| Box::new(Echo::new(Rule::NewPages, echoing)))
    };
    let (own, usual) = (Logged::Held, Parts::DEFAULT);
    Ok(vec![
        echo("echo-newpages, pooled", Echoing { pooling: Pooling::All, ..WITH_FIRST_LOOK }),
        contender("echo-newpages", WITH_FIRST_LOOK)?,
        priced("price", usual, true),
        priced("price without page prediction", Parts { prediction: false, ..usual }, true),
        priced("price without pooling", Parts { pooling: false, ..usual }, true),
        Contender { logged: own, ..echo("echo-newpages, pooled, own log", Echoing::DEFAULT) },
        Contender { logged: own, ..priced("price, own log", usual, false) },
        Contender::new("echo-newpages, told", |world, _| {
            Box::new(known_sources(world, Rule::NewPages))
        }),
    ])
}

/// Mean ratio of profits, web by web.
fn gain(runs: &[Run], than: &[Run]) -> Estimate {
    let pairs = runs.iter().zip(than);
    pairs.map(|(ours, theirs)| ours.share / theirs.share).collect::<Moments>().estimate()
}

fn table(names: &[&str], runs: &[Vec<Vec<Run>>]) -> Table {
    let mut columns = vec![Column::text("policy")];
    for n in BUDGETS {
        columns.push(Column::number(format!("N = {n}")).highest());
        columns.push(Column::number("× echo-newpages"));
    }
    let mut table = Table::new(columns);
    for (i, name) in names.iter().enumerate() {
        let mut cells = vec![Cell::text(*name)];
        for (own, base) in runs[i].iter().zip(&runs[0]) {
            cells.push(cell(&estimate(own, |run| run.share), 3));
            cells.push(cell(&gain(own, base), 2));
        }
        table.push(cells);
    }
    table
}

fn chart(names: &[&str], runs: &[Vec<Vec<Run>>]) -> BarChart {
    let axis = Axis::new("share of the bound").from_zero();
    let groups = BUDGETS.iter().map(|n| format!("N = {n}"));
    let mut chart = BarChart::new("Profit as a share of the bound", axis).groups(groups);
    for (name, runs) in names.iter().zip(runs) {
        chart.push(*name, runs.iter().map(|runs| bar(&estimate(runs, |run| run.share))));
    }
    chart
}

fn split(names: &[&str], runs: &[Vec<Vec<Run>>]) -> Table {
    let mut columns = vec![Column::text("policy")];
    for n in BUDGETS {
        columns.push(Column::number(format!("sources at {n}")));
        columns.push(Column::number("new"));
        columns.push(Column::number("hardly visited"));
    }
    let mut table = Table::new(columns).caption(
        "Shares of the budget spent on sources and new pages, and of sources hardly visited.",
    );
    for (name, runs) in names.iter().zip(runs) {
        let mut cells = vec![Cell::text(*name)];
        for runs in runs {
            let mean = |of: &dyn Fn(&Run) -> f64| Cell::number(estimate(runs, of).mean, 3);
            cells.extend([mean(&|run| run.split[0]), mean(&|run| run.split[1])]);
            cells.push(mean(&|run| run.hardly));
        }
        table.push(cells);
    }
    table
}

fn verdict(runs: &[Vec<Vec<Run>>]) -> String {
    let gains: Vec<f64> = (0..BUDGETS.len())
        .map(|budget| {
            let gains = runs[..2].iter().map(|echo| gain(&runs[2][budget], &echo[budget]).mean);
            gains.fold(f64::INFINITY, f64::min)
        })
        .collect();
    let list: Vec<String> =
        gains.iter().zip(BUDGETS).map(|(gain, n)| format!("{gain:.2} at N = {n}")).collect();
    let aim = if gains[0] >= AIM { "reached" } else { "missed" };
    format!(
        "Profit of one price over that of the better echo-newpages: {}. The target of {AIM} at the \
         smallest budget is {aim}.",
        list.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small webs, the smallest budget, where it counts most.
    #[test]
    fn one_price_earns_more_than_echo() {
        let setup = Setup::small(11, 3, 0.05);
        let contenders: Vec<Contender> = contenders().unwrap().into_iter().take(3).collect();
        let runs = contest(&setup, &webs(&setup).unwrap(), &contenders, &BUDGETS[..1]).unwrap();
        let earned = |i: usize| estimate(&runs[i][0], |run: &Run| run.share).mean;
        let [pooled, published, price] = [0, 1, 2].map(earned);
        assert!(price >= AIM * pooled.max(published), "{price} {pooled} {published}");
    }

    #[test]
    fn a_tiny_web_gives_every_table() {
        let text = run(&Setup::small(1, 2, 0.01)).unwrap().to_text(200);
        for name in ["price without pooling", "own log", "told", "hardly visited", "N = 0.05"] {
            assert!(text.contains(name), "no {name} in {text}");
        }
    }

    #[test]
    fn the_verdict_follows_the_figures() {
        let runs = |share| vec![vec![Run::of_share(share)]; BUDGETS.len()];
        let text = |price| verdict(&[runs(0.5), runs(0.4), runs(price)]);
        assert!(text(0.6).contains("1.20 at N = 0.05") && text(0.6).contains("is reached"));
        assert!(text(0.5).contains("1.00 at N = 0.05") && text(0.5).contains("is missed"));
    }
}
