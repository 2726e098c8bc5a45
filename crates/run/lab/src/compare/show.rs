//! A comparison as a table and as a report.

use tidewatch_core::{FetchKind, Span, Time};
use tidewatch_report::{Axis, Bar, BarChart, Cell, Chart, Column, Report, Series, Table};

use super::{Comparison, Standing};
use crate::engine::{FirstFetch, Measures};

/// A column of the table and a bar chart of the report.
struct Shown {
    name: &'static str,
    unit: &'static str,
    decimals: usize,
    is_better_high: bool,
    of: fn(&Measures) -> Option<f64>,
}

const SHOWN: [Shown; 6] = [
    Shown {
        name: "profit",
        unit: "clicks/s",
        decimals: 4,
        is_better_high: true,
        of: |m| m.profit_per_s,
    },
    Shown {
        name: "served",
        unit: "clicks/s",
        decimals: 4,
        is_better_high: true,
        of: |m| m.served_per_s,
    },
    Shown { name: "freshness", unit: "", decimals: 4, is_better_high: true, of: |m| m.freshness },
    Shown { name: "age", unit: "s", decimals: 0, is_better_high: false, of: |m| m.age_s },
    Shown {
        name: "fragment staleness",
        unit: "",
        decimals: 4,
        is_better_high: false,
        of: |m| m.fragment_staleness,
    },
    Shown { name: "coverage", unit: "", decimals: 4, is_better_high: true, of: |m| m.coverage },
];

/// Points of a curve over time. A screen shows no more.
const CURVE_POINTS: u64 = 300;

impl Comparison {
    fn given(&self) -> impl Iterator<Item = &'static Shown> {
        let gives = |shown: &&Shown| self.standings.iter().any(|s| s.estimate(shown.of).is_some());
        SHOWN.iter().filter(gives)
    }

    /// One row per policy: every measure that the trace gives, and fetches by kind.
    pub fn table(&self) -> Table {
        let mut columns = vec![Column::text("policy")];
        columns.extend(self.given().map(|shown| {
            let column = Column::number(shown.name);
            let column = if shown.unit.is_empty() { column } else { column.unit(shown.unit) };
            if shown.is_better_high { column.highest() } else { column.lowest() }
        }));
        columns.extend(FetchKind::ALL.map(|kind| Column::number(kind.name())));
        columns.push(Column::number("idle"));
        let mut table = Table::new(columns);
        for standing in &self.standings {
            table.push(self.row(standing));
        }
        table
    }

    fn row(&self, standing: &Standing) -> Vec<Cell> {
        let cell = |shown: &Shown| match standing.estimate(shown.of) {
            None => Cell::missing(),
            Some(e) if e.half_width.is_nan() => Cell::number(e.mean, shown.decimals),
            Some(e) => Cell::plus_minus(e.mean, e.half_width, shown.decimals),
        };
        let idle = standing.runs.iter().map(|run| run.idle).sum::<u64>();
        let fetches = FetchKind::ALL.map(|kind| Cell::count(standing.fetches(kind).round() as u64));
        let mut cells = vec![Cell::text(standing.name)];
        cells.extend(self.given().map(cell));
        cells.extend(fetches);
        cells.push(Cell::count(idle / standing.runs.len() as u64));
        cells
    }

    /// The trace, the budget and the window, in a sentence.
    pub fn conditions(&self) -> String {
        // Four decimals of a day are nine seconds; trailing zeros say nothing.
        let days = |seconds: f64| (seconds / Span::DAY.seconds() * 1e4).round() / 1e4;
        let budget = self.budget;
        let (all, last) = (days(self.duration_s), days(self.measured_s));
        let bound = self.bounds.profit_per_s.map_or(String::new(), |bound| {
            format!(" With an unlimited budget the profit would be {bound:.4} clicks/s.")
        });
        format!(
            "{} at {budget} fetches/s over {all} days, the last {last} measured.{bound}",
            self.trace
        )
    }

    /// The comparison as a report.
    pub fn report(&self) -> Report {
        let mut report = Report::new(format!("Policies on {}", self.trace))
            .lead(self.conditions())
            .section("Results", |section| {
                section.table(self.table());
                if self.standings.iter().any(|s| s.runs.len() > 1) {
                    section.note("± is the half width of the 95% interval over repetitions.");
                }
            });
        report = report.section("At a glance", |section| {
            for shown in self.given() {
                section.chart(self.bars(shown));
            }
        });
        report.section("Over time", |section| {
            if self.bounds.profit_per_s.is_some() {
                section.chart(self.profit_over_time());
            }
            if self.standings.iter().any(|s| !s.runs[0].first_fetches.is_empty()) {
                section.chart(self.coverage_over_time());
            }
            section.chart(self.split());
        })
    }

    fn bars(&self, shown: &Shown) -> BarChart {
        let axis = Axis::new(shown.name).from_zero();
        let axis = if shown.unit.is_empty() { axis } else { axis.unit(shown.unit) };
        let mut chart = BarChart::new(shown.name, axis);
        for standing in &self.standings {
            let bar = standing.estimate(shown.of).map_or_else(Bar::missing, |e| {
                if e.half_width.is_nan() {
                    Bar::new(e.mean)
                } else {
                    Bar::plus_minus(e.mean, e.half_width)
                }
            });
            chart.push(standing.name, [bar]);
        }
        chart
    }

    fn split(&self) -> BarChart {
        let axis = Axis::new("fetches in the measured window").from_zero();
        let names = FetchKind::ALL.map(FetchKind::name);
        let mut chart = BarChart::new("What the budget was spent on", axis).groups(names);
        for standing in &self.standings {
            chart.push(standing.name, FetchKind::ALL.map(|kind| Bar::new(standing.fetches(kind))));
        }
        chart
    }

    /// Dynamic quality Q_T(t): profit per second of the fetches in the last T `[LOSS13, eq. 1]`.
    fn profit_over_time(&self) -> Chart {
        let window = Span::DAY.min(Span::from_seconds(self.duration_s / 10.0).unwrap_or(Span::DAY));
        let hours = (window.seconds() / 360.0).round() / 10.0;
        let title = format!("Profit of the last {hours} hours");
        let axes = (Axis::seconds("time"), Axis::new("profit").unit("clicks/s").from_zero());
        let mut chart = Chart::new(title, axes.0, axes.1);
        for standing in &self.standings {
            let curve = dynamic_quality(&standing.runs[0].first_fetches, window, self.duration_s);
            chart.push(Series::line(standing.name, curve));
        }
        chart
    }

    fn coverage_over_time(&self) -> Chart {
        let axes = (Axis::seconds("time"), Axis::new("weight of pages fetched").from_zero());
        let mut chart = Chart::new("Coverage", axes.0, axes.1);
        for standing in &self.standings {
            let curve = covered(&standing.runs[0].first_fetches, self.duration_s);
            chart.push(Series::line(standing.name, curve));
        }
        chart
    }
}

/// Times at which curves are drawn.
fn grid(duration_s: f64) -> impl Iterator<Item = Time> {
    (0..=CURVE_POINTS)
        .filter_map(move |i| Time::from_seconds(duration_s * i as f64 / CURVE_POINTS as f64))
}

/// Q_T at [`CURVE_POINTS`] times, from T on: Q_T(t) = (1/T) Σ profit of fetches in (t − T, t].
pub fn dynamic_quality(fetches: &[FirstFetch], window: Span, duration_s: f64) -> Vec<(f64, f64)> {
    let mut sums = Vec::with_capacity(fetches.len() + 1);
    sums.push(0.0);
    fetches.iter().for_each(|f| sums.push(sums[sums.len() - 1] + f.profit));
    let before = |at: Time| fetches.partition_point(|f| f.at <= at);
    let start = Time::ZERO + window;
    grid(duration_s)
        .filter(move |&at| at >= start)
        .map(move |at| {
            let profit = sums[before(at)] - sums[before(at - window)];
            (at.seconds(), profit / window.seconds())
        })
        .collect()
}

fn covered(fetches: &[FirstFetch], duration_s: f64) -> Vec<(f64, f64)> {
    let (mut next, mut weight) = (0, 0.0);
    grid(duration_s)
        .map(|at| {
            while let Some(fetch) = fetches.get(next).filter(|f| f.at <= at) {
                weight += fetch.weight;
                next += 1;
            }
            (at.seconds(), weight)
        })
        .collect()
}
