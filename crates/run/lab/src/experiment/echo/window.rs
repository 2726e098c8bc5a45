//! Figure 9 of `[LOSS13]`: dynamic profit over windows of five hours, by day and night, week and weekend.

use rayon::prelude::*;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Series, Table};

use super::{ALGORITHMS, Run, conditions, published, simulate, webs};
use crate::compare::dynamic_quality;
use crate::engine::FirstFetch;
use crate::experiment::Setup;
use crate::{LabError, World};

/// T of the figure.
const WINDOW: Span = Span::HOUR.times(5);
const BUDGET: f64 = 0.1;
/// Night, when little is published: hours from midnight.
const NIGHT: (f64, f64) = (0.0, 6.0);

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let one = Setup { repeat: 1, ..*setup };
    let webs = webs(&one)?;
    let world = &webs[0].1;
    let runs: Vec<Run> = ALGORITHMS
        .par_iter()
        .map(|name| {
            (setup.say)(name);
            let mut policy = (published(name)?.make)(world, setup.seed);
            simulate(world, policy.as_mut(), &conditions(setup, BUDGET))
        })
        .collect::<Result<_, _>>()?;
    let everything = at_once(world);
    let curves: Vec<(&str, &[FirstFetch])> = ALGORITHMS
        .iter()
        .zip(&runs)
        .map(|(name, run)| (*name, run.first_fetches.as_slice()))
        .chain([("upper bound", everything.as_slice())])
        .collect();
    let duration = world.trace().duration.seconds();
    Ok(Report::new("Dynamic profit over five hours")
        .lead(format!(
            "Profit of the fetches of the last five hours at N = {BUDGET} fetches/s, one web. {}",
            night(&curves, setup.scale)
        ))
        .fact("seed", setup.seed.to_string())
        .section("The last week", |section| {
            section.chart(chart(&curves, setup.scale, (duration - Span::WEEK.seconds(), duration)));
        })
        .section("All three weeks", |section| {
            section.chart(chart(&curves, setup.scale, (0.0, duration)));
        })
        .section("Day and night", |section| {
            section.table(table(&curves, setup.scale)).note(
                "Night is from midnight to six. A page published by day and fetched at night counts \
                 for the night.",
            );
        }))
}

/// Fetches of every page at the moment a source shows it: BFS with an unlimited budget.
fn at_once(world: &World) -> Vec<FirstFetch> {
    let trace = world.trace();
    let mut known = vec![Time::NEVER; trace.pages.len()];
    for link in &trace.links {
        let at = &mut known[link.page as usize];
        *at = link.appears.min(*at);
    }
    let new = |page: &usize| trace.pages[*page].born > Time::ZERO && known[*page] != Time::NEVER;
    let mut fetches: Vec<FirstFetch> = (0..trace.pages.len())
        .filter(new)
        .map(|page| {
            let (at, weight) = (known[page], trace.pages[page].weight);
            FirstFetch { at, profit: world.clicks_after(page as u32, at), weight }
        })
        .collect();
    fetches.sort_by_key(|fetch| fetch.at);
    fetches
}

fn chart(curves: &[(&str, &[FirstFetch])], scale: f64, (from, until): (f64, f64)) -> Chart {
    let axes = (Axis::seconds("time"), Axis::new("profit").unit("clicks/s").from_zero());
    let mut chart = Chart::new("Dynamic profit, window of five hours", axes.0, axes.1);
    for (name, fetches) in curves {
        // Shift the window to zero, so that all points of the curve fall into it.
        let start = Time::from_seconds(from).unwrap_or(Time::ZERO);
        let part: Vec<FirstFetch> = fetches
            .iter()
            .filter(|f| f.at >= start)
            .map(|f| FirstFetch { at: Time::ZERO + f.at.since(start), ..*f })
            .collect();
        let curve = dynamic_quality(&part, WINDOW, until - from);
        chart.push(Series::line(*name, curve.into_iter().map(|(t, q)| (from + t, q / scale))));
    }
    chart
}

/// Mean profit per second of a part of the last week.
fn mean(fetches: &[FirstFetch], scale: f64, is_part: impl Fn(f64, bool) -> bool) -> f64 {
    let (mut profit, mut hours) = (0.0, 0.0);
    let week = 2 * 7 * 24..3 * 7 * 24_u32;
    let inside = |hour: u32| is_part(f64::from(hour % 24), (hour / 24) % 7 >= 5);
    for hour in week.clone().filter(|&hour| inside(hour)) {
        hours += 1.0;
        let from = Time::ZERO + Span::HOUR.times(hour.into());
        let first = fetches.partition_point(|f| f.at < from);
        let last = fetches.partition_point(|f| f.at < from + Span::HOUR);
        profit += fetches[first..last].iter().map(|f| f.profit).sum::<f64>();
    }
    Rate::per_second(profit / (hours * Span::HOUR.seconds()) / scale)
        .map_or(0.0, Rate::as_per_second)
}

fn is_night(hour: f64) -> bool {
    hour >= NIGHT.0 && hour < NIGHT.1
}

fn table(curves: &[(&str, &[FirstFetch])], scale: f64) -> Table {
    let mut table = Table::new([
        Column::text("algorithm"),
        Column::number("working days, by day").unit("clicks/s").highest(),
        Column::number("by night").unit("clicks/s"),
        Column::number("weekend, by day").unit("clicks/s"),
        Column::number("by night").unit("clicks/s"),
    ]);
    for (name, fetches) in curves {
        let part = |weekend: bool, night: bool| {
            Cell::number(mean(fetches, scale, |h, w| w == weekend && is_night(h) == night), 3)
        };
        table.push([
            Cell::text(*name),
            part(false, false),
            part(false, true),
            part(true, false),
            part(true, true),
        ]);
    }
    table
}

/// Whether BFS catches up at night, as in the paper.
fn night(curves: &[(&str, &[FirstFetch])], scale: f64) -> String {
    let of = |name: &str, night: bool| {
        let fetches = curves.iter().find(|curve| curve.0 == name).map_or(&[][..], |curve| curve.1);
        mean(fetches, scale, |hour, _| is_night(hour) == night)
    };
    let lead = |night: bool| of("echo-newpages", night) - of("bfs", night);
    let (day, at_night) = (lead(false), lead(true));
    let how = if at_night < 0.0 {
        "as in the paper, BFS earns more at night"
    } else {
        "unlike in the paper, BFS does not overtake it at night"
    };
    format!(
        "By day echo-newpages leads BFS by {day:.3} clicks/s and at night by {at_night:.3}: {how}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_web_gives_curves_and_the_bound_leads() {
        let text = run(&Setup::small(1, 2, 0.02)).unwrap().to_text(200);
        assert!(text.contains("upper bound") && text.contains("Day and night"), "{text}");
    }

    #[test]
    fn hours_are_told_apart() {
        let at = |hour: u64| Time::ZERO + Span::WEEK.times(2) + Span::HOUR.times(hour);
        let fetch = |hour, profit| FirstFetch { at: at(hour), profit, weight: 1.0 };
        let fetches = [fetch(3, 3600.0), fetch(12, 7200.0)];
        // Five nights of six hours on working days.
        let night = mean(&fetches, 1.0, |hour, weekend| !weekend && is_night(hour));
        assert!((night - 1.0 / 30.0).abs() < 1e-12, "{night}");
        let day = mean(&fetches, 1.0, |hour, weekend| !weekend && !is_night(hour));
        assert!((day - 2.0 / 90.0).abs() < 1e-12, "{day}");
    }

    #[test]
    fn the_verdict_follows_the_curves() {
        let fetches = |day: f64, night: f64| {
            let at = |hour: u64| Time::ZERO + Span::WEEK.times(2) + Span::HOUR.times(hour);
            let fetch = |hour, profit| FirstFetch { at: at(hour), profit, weight: 1.0 };
            [fetch(3, night), fetch(12, day)]
        };
        let (echo, slow, late) = (fetches(9e4, 5e4), fetches(5e4, 4e4), fetches(5e4, 9e4));
        let text = |bfs: &[FirstFetch]| night(&[("echo-newpages", &echo), ("bfs", bfs)], 1.0);
        assert!(text(&slow).contains("unlike in the paper"), "{}", text(&slow));
        assert!(text(&late).contains("as in the paper, BFS earns more"), "{}", text(&late));
    }
}
