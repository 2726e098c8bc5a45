//! Effect of ECHO's settings `[LOSS13, §5.3.2 and Figure 8]`: the log push period, the number of
//! remembered visits, and choices that the paper leaves open.

use rayon::prelude::*;
use tidewatch_core::{Span, Time};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_policy::echo::{Counting, Echo, Pace, Pooling, Rule, Settings as Echoing};
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Series, Table};

use super::{AS_PUBLISHED, Run, conditions, estimate, simulate, webs};
use crate::compare::dynamic_quality;
use crate::experiment::{Setup, cell};
use crate::{LabError, World};

/// The budget at which the paper varies its parameters.
const BUDGET: f64 = 0.1;
const PUSHES: [(&str, Span); 4] = [
    ("1 hour", Span::HOUR),
    ("12 hours", Span::HOUR.times(12)),
    ("24 hours", Span::DAY),
    ("1 week", Span::WEEK),
];
const MEMORIES: [usize; 4] = [3, 5, 7, 10];
const RULES: [(&str, Rule); 2] =
    [("echo-newpages", Rule::NewPages), ("echo-schedule", Rule::Schedule)];

/// A setting to try.
struct Trial {
    group: &'static str,
    name: String,
    rule: Rule,
    rule_name: &'static str,
    echoing: Echoing,
    push: Span,
}

/// Runs of a trial, one per web, and their profit per second in each week.
struct Tried {
    runs: Vec<Run>,
    weeks: Vec<[f64; 3]>,
}

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let webs = webs(setup)?;
    let trials = trials();
    let jobs: Vec<(usize, usize)> =
        (0..trials.len()).flat_map(|t| (0..webs.len()).map(move |w| (t, w))).collect();
    let runs: Vec<Run> = jobs
        .par_iter()
        .map(|&(trial, web)| {
            (setup.say)(&format!("{} {}", trials[trial].rule_name, trials[trial].name));
            one_run(setup, &trials[trial], &webs[web].1)
        })
        .collect::<Result<_, _>>()?;
    let mut runs = runs.into_iter();
    let tried: Vec<Tried> = trials
        .iter()
        .map(|_| {
            let runs: Vec<Run> = runs.by_ref().take(webs.len()).collect();
            let weeks = runs.iter().map(|run| weekly(run, setup.scale)).collect();
            Tried { runs, weeks }
        })
        .collect();
    Ok(report(setup, &webs[0].1, &trials, &tried))
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (rule_name, rule) in RULES {
        let mut add = |group, name: String, echoing, push| {
            trials.push(Trial { group, name, rule, rule_name, echoing, push });
        };
        for (name, push) in PUSHES {
            add("log push period", name.to_owned(), AS_PUBLISHED, push);
        }
        for memory in MEMORIES {
            let echoing = Echoing { memory, ..AS_PUBLISHED };
            add("visits remembered", memory.to_string(), echoing, Span::HOUR);
        }
        let usual = AS_PUBLISHED;
        let open = [
            ("as published", usual),
            ("profits pooled", Echoing { pooling: Pooling::All, ..usual }),
            ("all new links counted", Echoing { counting: Counting::Links, ..usual }),
            ("with the rhythm", Echoing { pace: Pace::Rhythm, ..usual }),
        ];
        for (name, echoing) in open {
            add("open choices", name.to_owned(), echoing, Span::HOUR);
        }
    }
    trials
}

fn one_run(setup: &Setup<'_>, trial: &Trial, world: &World) -> Result<Run, LabError> {
    let settings = crate::engine::Settings { log_push: trial.push, ..conditions(setup, BUDGET) };
    simulate(world, &mut Echo::new(trial.rule, trial.echoing), &settings)
}

/// Profit per second in each of three weeks.
fn weekly(run: &Run, scale: f64) -> [f64; 3] {
    std::array::from_fn(|week| {
        let from = Time::ZERO + Span::WEEK.times(week as u64);
        let inside = |at: Time| at >= from && at < from + Span::WEEK;
        let profit: f64 = run.first_fetches.iter().filter(|f| inside(f.at)).map(|f| f.profit).sum();
        profit / Span::WEEK.seconds() / scale
    })
}

fn report(setup: &Setup<'_>, world: &World, trials: &[Trial], tried: &[Tried]) -> Report {
    let mut report = Report::new("ECHO's parameters")
        .lead(format!("At N = {BUDGET} fetches/s. {}", verdict(trials, tried)))
        .fact("repetitions", setup.repeat.to_string());
    for group in ["log push period", "visits remembered", "open choices"] {
        let members: Vec<usize> = (0..trials.len()).filter(|&i| trials[i].group == group).collect();
        report = report.section(group, |section| {
            section.table(table(group, trials, tried, &members));
            if group == "log push period" {
                section.chart(warm_up(setup, world, trials, tried, &members));
            }
        });
    }
    report
}

fn table(group: &str, trials: &[Trial], tried: &[Tried], members: &[usize]) -> Table {
    let mut table = Table::new([
        Column::text("algorithm"),
        Column::text(group),
        Column::number("first week").unit("clicks/s"),
        Column::number("second week").unit("clicks/s"),
        Column::number("last week").unit("clicks/s"),
        Column::number("of the bound"),
        Column::number("last week against the first row"),
    ])
    .caption("± is the 95% interval over webs; the last column is the paired difference.");
    for &i in members {
        let first = members.iter().find(|&&j| trials[j].rule == trials[i].rule).unwrap_or(&i);
        let week = |w: usize| tried[i].weeks.iter().map(|weeks| weeks[w]).collect::<Moments>();
        let gain = gain(&tried[i], &tried[*first], 2);
        table.push([
            Cell::text(trials[i].rule_name),
            Cell::text(&trials[i].name),
            cell(&week(0).estimate(), 3),
            cell(&week(1).estimate(), 3),
            cell(&week(2).estimate(), 3),
            cell(&estimate(&tried[i].runs, |run| run.share), 3),
            cell(&gain, 3),
        ]);
    }
    table
}

/// Paired difference of two trials in a week.
fn gain(tried: &Tried, than: &Tried, week: usize) -> Estimate {
    let pairs = tried.weeks.iter().zip(&than.weeks);
    pairs.map(|(a, b)| a[week] - b[week]).collect::<Moments>().estimate()
}

/// Profit of the last two days over time, for the first web.
fn warm_up(
    setup: &Setup<'_>,
    world: &World,
    trials: &[Trial],
    tried: &[Tried],
    members: &[usize],
) -> Chart {
    let axes = (Axis::seconds("time"), Axis::new("profit").unit("clicks/s").from_zero());
    let mut chart =
        Chart::new("Warm-up of echo-newpages: profit of the last two days", axes.0, axes.1);
    let duration = world.trace().duration.seconds();
    for &i in members.iter().filter(|&&i| trials[i].rule == Rule::NewPages) {
        let Some(run) = tried[i].runs.first() else { continue };
        let curve = dynamic_quality(&run.first_fetches, Span::DAY.times(2), duration);
        let scaled = curve.into_iter().map(|(t, q)| (t, q / setup.scale));
        chart.push(Series::line(format!("pushed every {}", trials[i].name), scaled));
    }
    chart
}

/// Largest spread of mean profit among the trials of a rule in a group and week.
fn largest(trials: &[Trial], tried: &[Tried], group: &str, week: usize) -> f64 {
    let of_rule = |rule: Rule| {
        let means = trials.iter().zip(tried).filter(|(t, _)| t.group == group && t.rule == rule);
        let means =
            means.map(|(_, t)| t.weeks.iter().map(|weeks| weeks[week]).collect::<Moments>().mean());
        let (low, high) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
            (low.min(mean), high.max(mean))
        });
        high - low
    };
    RULES.iter().map(|&(_, rule)| of_rule(rule)).fold(0.0, f64::max)
}

fn verdict(trials: &[Trial], tried: &[Tried]) -> String {
    let effect = |group, week| largest(trials, tried, group, week);
    format!(
        "The log push period changes profit by up to {:.3} clicks/s in the first week and {:.3} in \
         the last (published: only in the warm-up); the number of remembered visits by up to {:.3} in \
         the last week (published: not at all).",
        effect("log push period", 0),
        effect("log push period", 2),
        effect("visits remembered", 2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_tried() {
        let text = run(&Setup::small(1, 2, 0.01)).unwrap().to_text(200);
        for part in ["1 week", "visits remembered", "with the rhythm", "echo-schedule"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}
