//! Weighted coverage over time of every frontier order, between random and omniscient `[ON10]`.

use rayon::prelude::*;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_graph::Graph;
use tidewatch_graph::walk::{ALPHA, Stop, pagerank};
use tidewatch_math::sum::{Estimate, Moments};
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Series, Table};
use tidewatch_trace::Trace;

use super::expected;
use super::witness::{Spent, Witness};
use crate::engine::{self, Measures, Settings, Start};
use crate::experiment::{Setup, cell};
use crate::generate::graph::{self, generate_web};
use crate::words::{Question, Words};
use crate::{LabError, World, policies};

/// Every frontier order. The oracle comes last.
const ORDERS: [&str; 20] = [
    "frontier-random",
    "frontier-bfs",
    "indegree",
    "pagerank",
    "opic",
    "opic-refresh",
    "rank-mass",
    "site-size",
    "spawning-rate",
    "rw",
    "rw-eg",
    "q-overlap",
    "q-hybrid",
    "ml",
    "ml-online",
    "fish-search",
    "shark-search",
    "classifier",
    "price",
    "omniscient",
];
/// Lines of the plot; the table has all orders.
const DRAWN: [&str; 11] = [
    "frontier-random",
    "frontier-bfs",
    "indegree",
    "pagerank",
    "opic",
    "rank-mass",
    "site-size",
    "rw-eg",
    "ml",
    "price",
    "omniscient",
];
/// Fetches of the whole run, as a share of the pages.
const FETCHES: f64 = 0.6;
/// Time between fetches of a host: the largest hosts cannot be fetched completely.
const HOST_GAP: Span = Span::from_micros(10 * Span::MINUTE.as_micros());
/// Times at which coverage is tabled, as shares of the run.
const MOMENTS: [f64; 4] = [0.1, 0.25, 0.5, 1.0];
/// Points of a line in the plot.
const POINTS: usize = 60;

/// Result of one order on one web.
#[derive(Clone)]
pub(super) struct Run {
    /// Weight covered by each of [`POINTS`] times, as a share of all.
    pub(super) curve: Vec<f64>,
    /// Clicks still to come at first fetches, as a share of all clicks.
    pub(super) clicks: Option<f64>,
    pub(super) spent: Spent,
    pub(super) wall_s: f64,
}

impl Run {
    pub(super) fn at(&self, moment: f64) -> f64 {
        let place = (moment * POINTS as f64).round() as usize;
        self.curve[place.clamp(1, POINTS) - 1]
    }

    /// Mean coverage over the run: the area under the curve.
    pub(super) fn area(&self) -> f64 {
        self.curve.iter().sum::<f64>() / POINTS as f64
    }
}

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let seeds: Vec<u64> = setup.seeds().collect();
    let jobs: Vec<(u64, &str)> =
        seeds.iter().flat_map(|&seed| ORDERS.iter().map(move |&name| (seed, name))).collect();
    let worlds: Vec<[World; 2]> =
        seeds.iter().map(|&seed| worlds(setup, seed)).collect::<Result<_, _>>()?;
    let runs: Vec<Run> = jobs
        .par_iter()
        .map(|&(seed, name)| {
            (setup.say)(&format!("{name}, seed {seed}"));
            let at = seeds.iter().position(|&s| s == seed).unwrap_or(0);
            // The oracle maximises weight only where the trace has no clicks.
            let world = &worlds[at][usize::from(name == "omniscient")];
            one(world, name, seed, FETCHES)
        })
        .collect::<Result<_, _>>()?;
    let of = |order: usize| runs.iter().skip(order).step_by(ORDERS.len());
    let pages = worlds[0][0].len();
    let curves: Vec<(&str, Vec<&Run>)> =
        ORDERS.iter().enumerate().map(|(i, &name)| (name, of(i).collect())).collect();
    let report = Report::new("Coverage of a growing web, order by order")
        .lead(
            "Each order starts from a few seeds and makes fetches for 60% of the pages, under \
             politeness, while the web grows. Coverage is the share of all PageRank on pages \
             fetched at least once; the oracle knows every page from its birth.",
        )
        .fact("pages", pages.to_string())
        .fact("politeness", "one fetch per host in ten minutes")
        .fact("repetitions", setup.repeat.to_string())
        .section("Weighted coverage", |section| {
            section.table(table(&curves)).chart(chart(&curves)).note(
                "All orders spend 10% of fetches on source visits, except spawning-rate (30%), \
                 opic-refresh, which decides by cash, and price, which decides by what a visit brings \
                 and aims at clicks, not at weight.",
            );
        });
    (setup.say)("expected clicks");
    let asked = expected::ask_all(&worlds[0][0], setup.seed)?;
    Ok(report.section("Expected clicks", |section| expected::show(section, &asked)))
}

/// The web with PageRank as weights; and the same without clicks, for the oracle.
fn worlds(setup: &Setup<'_>, seed: u64) -> Result<[World; 2], LabError> {
    let config = graph::Config { scale: setup.scale * 0.5, ..graph::Config::web_crawl() };
    config.check()?;
    let web = generate_web(&config, seed);
    let mut trace = web.generated.trace;
    weigh_by_pagerank(&mut trace)?;
    be_polite(&mut trace, HOST_GAP);
    let questions = web.queries.into_iter().map(|q| Question {
        words: q.terms,
        count: 1e4 * q.frequency,
        need: 1.0,
    });
    let words = Words { questions: questions.collect(), anchors: Vec::new() };
    let blind = Trace { clicks: None, views: None, ..trace.clone() };
    Ok([World::new(trace)?.with_words(words), World::new(blind)?])
}

/// Sets weights to PageRank over all links of the trace, with mean 1.
pub(super) fn weigh_by_pagerank(trace: &mut Trace) -> Result<(), LabError> {
    let links: Vec<(u32, u32)> = trace.links.iter().map(|l| (l.source, l.page)).collect();
    let n = trace.pages.len();
    let graph = Graph::from_links(n as u32, &links)?;
    let ranks = pagerank(&graph, ALPHA, Stop::ORDER, &[])?.values;
    for (page, rank) in trace.pages.iter_mut().zip(ranks) {
        page.weight = rank * n as f64;
    }
    Ok(())
}

/// Runs a policy from a cold start with a budget of `share` of the pages.
pub(super) fn one(world: &World, name: &str, seed: u64, share: f64) -> Result<Run, LabError> {
    let contestant = policies::find(name)?;
    let settings = Settings { reveal: contestant.is_oracle(), ..from_nothing(world, share) };
    let mut policy = contestant.make(world, seed);
    let early = Time::ZERO + Span::from_micros(world.trace().duration.as_micros() / 10);
    let mut witness = Witness::new(policy.as_mut(), early, contestant.is_oracle());
    let began = std::time::Instant::now();
    let measures = engine::run(world, &mut witness, &settings)?;
    let wall_s = began.elapsed().as_secs_f64();
    Ok(Run { spent: witness.spent(), wall_s, ..judge(world, &measures) })
}

/// Settings of a cold start whose budget is `share` of the pages over the trace.
pub(super) fn from_nothing(world: &World, share: f64) -> Settings {
    let budget = share * world.len() as f64 / world.trace().duration.seconds();
    let budget = Rate::per_second(budget).unwrap_or(Rate::ZERO);
    Settings { start: Start::Cold, ..Settings::new(budget) }
}

/// Limits every host to one fetch per `gap`.
pub(super) fn be_polite(trace: &mut Trace, gap: Span) {
    let rate = Rate::per_second(1.0 / gap.seconds());
    trace.hosts.iter_mut().for_each(|host| host.max_rate = rate);
}

/// The curve of a run's first fetches.
pub(super) fn judge(world: &World, measures: &Measures) -> Run {
    let trace = world.trace();
    let all: f64 = trace.pages.iter().filter(|p| !p.is_source).map(|p| p.weight).sum();
    let mut curve = vec![0.0; POINTS];
    for first in &measures.first_fetches {
        let moment = first.at.seconds() / trace.duration.seconds();
        let from = ((moment * POINTS as f64) as usize).min(POINTS - 1);
        curve[from] += first.weight / all;
    }
    for i in 1..POINTS {
        curve[i] += curve[i - 1];
    }
    let total: Option<f64> =
        trace.clicks.as_ref().map(|rows| rows.iter().map(|c| c.count).sum::<f64>());
    let profit: f64 = measures.first_fetches.iter().map(|f| f.profit).sum();
    let clicks = total.filter(|t| *t > 0.0).map(|t| profit / t);
    Run { curve, clicks, spent: Spent::default(), wall_s: 0.0 }
}

fn estimate(runs: &[&Run], value: impl Fn(&Run) -> f64) -> Estimate {
    runs.iter().map(|run| value(run)).collect::<Moments>().estimate()
}

fn table(curves: &[(&str, Vec<&Run>)]) -> Table {
    let mut columns = vec![Column::text("order")];
    for moment in MOMENTS {
        columns.push(
            Column::number(format!("at {:.0}%", 100.0 * moment)).unit("% of weight").highest(),
        );
    }
    columns.push(Column::number("area").unit("%").highest());
    columns.push(Column::number("clicks").unit("% of all").highest());
    columns.push(Column::number("time").unit("s"));
    let mut table = Table::new(columns).caption(
        "Coverage at shares of the run, mean coverage over the run (area), and clicks after first \
         fetches.",
    );
    for (name, runs) in curves {
        let mut cells = vec![Cell::text(*name)];
        for moment in MOMENTS {
            cells.push(cell(&estimate(runs, |run| 100.0 * run.at(moment)), 1));
        }
        cells.push(cell(&estimate(runs, |run| 100.0 * run.area()), 1));
        let has_clicks = runs.iter().all(|run| run.clicks.is_some());
        let clicks = estimate(runs, |run| 100.0 * run.clicks.unwrap_or(f64::NAN)).mean;
        cells.push(Cell::maybe(has_clicks.then_some(clicks), 1));
        cells.push(Cell::number(estimate(runs, |run| run.wall_s).mean, 2));
        table.push(cells);
    }
    table
}

pub(super) fn chart(curves: &[(&str, Vec<&Run>)]) -> Chart {
    let x = Axis::new("time").unit("% of the run").from_zero();
    let y = Axis::new("weight covered").unit("%").from_zero();
    let mut chart = Chart::new("Weighted coverage over time", x, y);
    for (name, runs) in curves.iter().filter(|(name, _)| DRAWN.contains(name)) {
        let points = (0..POINTS).map(|i| {
            let x = 100.0 * (i + 1) as f64 / POINTS as f64;
            (x, estimate(runs, |run| 100.0 * run.curve[i]).mean)
        });
        chart.push(Series::line(*name, std::iter::once((0.0, 0.0)).chain(points)));
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_lies_between_random_and_omniscient() {
        let worlds = worlds(&Setup::small(1, 2, 0.04), 1).unwrap();
        let area = |name: &str| {
            let world = &worlds[usize::from(name == "omniscient")];
            one(world, name, 1, FETCHES).unwrap().area()
        };
        let best = area("omniscient");
        for name in ORDERS {
            let ours = area(name);
            assert!(ours > 0.0 && ours <= best + 1e-9, "{name}: {ours} of {best}");
        }
        let floor = area("frontier-random");
        for name in ["indegree", "pagerank", "opic"] {
            assert!(area(name) > floor, "{name} is no better than chance");
        }
    }
}
