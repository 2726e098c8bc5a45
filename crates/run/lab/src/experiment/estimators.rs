//! Bias of every change-rate estimator `[CGM03e]`, `[UBRS20]`, `[APT20]`.

use tidewatch_report::{Axis, Cell, Chart, Column, Point, Report, Series, Table};
use tidewatch_science::estimate::{BiasRow, Method, bias_table};

use super::Setup;

const VISITS: u32 = 10;
const RATIOS: [f64; 4] = [0.3, 1.0, 2.0, 3.0];
const RUNS: u32 = 4000;

/// Published means for ten visits, relative to the true rate; the last-modified figure at r = 3 is
/// not published.
fn published(method: Method) -> Option<[Option<f64>; 4]> {
    match method {
        Method::Naive => Some([0.86, 0.63, 0.43, 0.32].map(Some)),
        Method::BiasReduced => Some([1.00, 1.00, 0.97, 0.85].map(Some)),
        Method::LastModified => Some([Some(1.00), Some(1.01), Some(1.01), None]),
        _ => None,
    }
}

pub(super) fn run(setup: &Setup<'_>) -> Report {
    (setup.say)("simulating visits");
    let rows = bias_table(VISITS, &RATIOS, RUNS, setup.seed);
    let by_method: Vec<&[BiasRow]> = rows.chunks(RATIOS.len()).collect();
    let mut columns = vec![Column::text("estimator")];
    for r in RATIOS {
        columns.push(Column::number(format!("r = {r}")));
        columns.push(Column::number("published"));
    }
    columns.push(Column::number("coverage"));
    let mut table = Table::new(columns);
    for rows in &by_method {
        let known = published(rows[0].method);
        let mut cells = vec![Cell::text(rows[0].method.name())];
        for (i, row) in rows.iter().enumerate() {
            cells.push(Cell::plus_minus(row.relative.mean, row.relative.half_width, 3));
            cells.push(Cell::maybe(known.and_then(|known| known[i]), 2));
        }
        let least = rows.iter().map(|row| row.coverage).fold(1.0, f64::min);
        cells.push(Cell::number(least, 3));
        table.push(cells);
    }
    Report::new("Bias of change-rate estimators")
        .lead(format!(
            "Mean estimate as a share of the true rate, for {VISITS} visits at equal intervals \
             with r changes in each on average."
        ))
        .fact("runs", RUNS.to_string())
        .section("Bias", |section| {
            section.table(table).note(
                "± is the 95% interval of the simulation. Coverage is the lowest share, over the \
                 four values of r, of runs whose 95% interval contains the true rate. The two \
                 constant-memory estimators assume visits at random times; here visits are at equal \
                 intervals.",
            );
            section.chart(chart(&by_method));
        })
}

fn chart(by_method: &[&[BiasRow]]) -> Chart {
    let axes = (Axis::new("changes per interval, r"), Axis::new("estimate / truth").include(1.0));
    let mut chart = Chart::new("Bias", axes.0, axes.1);
    for rows in by_method {
        let points = rows.iter().map(|row| {
            Point::new(row.changes_per_interval, row.relative.mean)
                .plus_minus(row.relative.half_width)
        });
        chart.push(Series::line(rows[0].method.name(), points));
    }
    chart
}
