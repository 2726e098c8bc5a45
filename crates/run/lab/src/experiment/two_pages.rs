//! The web of two pages `[CGM03]`: expected benefits and best splits, next to the published ones.

use tidewatch_report::{Cell, Column, Report, Table};
use tidewatch_science::allocate::two_pages::{ROWS, best, split};

use super::Setup;
use crate::LabError;

/// Published benefit of rows (a) to (j), in days per day.
const BENEFIT: [f64; 10] = [
    1.0 / 36.0,
    9.0 / 36.0,
    2.0 / 36.0,
    10.0 / 36.0,
    12.0 / 36.0,
    30.0 / 72.0,
    31.0 / 72.0,
    36.0 / 72.0,
    41.0 / 72.0,
    40.0 / 72.0,
];
/// Published best splits by total visits.
const BEST: [(u32, [u32; 2]); 4] = [(1, [0, 1]), (2, [0, 2]), (5, [2, 3]), (10, [7, 3])];

pub(super) fn run(_: &Setup<'_>) -> Result<Report, LabError> {
    let mut rows = Table::new([
        Column::text("row"),
        Column::number("total"),
        Column::number("fast page"),
        Column::number("slow page"),
        Column::number("benefit, published"),
        Column::number("benefit, ours"),
    ]);
    for ((row, visits), published) in ROWS.iter().zip(BENEFIT) {
        rows.push([
            Cell::text(format!("({row})")),
            Cell::count(u64::from(visits[0] + visits[1])),
            Cell::count(visits[0].into()),
            Cell::count(visits[1].into()),
            Cell::number(published, 4),
            Cell::number(split(*visits).benefit, 4),
        ]);
    }
    let mut splits = Table::new([
        Column::number("total"),
        Column::text("best, published"),
        Column::text("best, ours"),
        Column::number("benefit, ours"),
    ]);
    for (total, published) in BEST {
        let ours = best(total)?;
        splits.push([
            Cell::count(total.into()),
            Cell::text(format!("({}, {})", published[0], published[1])),
            Cell::text(format!("({}, {})", ours.visits[0], ours.visits[1])),
            Cell::number(ours.benefit, 4),
        ]);
    }
    let benefit = |row: char| {
        ROWS.iter().find(|(name, _)| *name == row).map_or(f64::NAN, |(_, v)| split(*v).benefit)
    };
    Ok(Report::new("Two pages, one budget")
        .lead(format!(
            "One page changes nine times a day, the other once. {}",
            verdict(benefit('h'), benefit('j'))
        ))
        .section("Expected benefit", |section| {
            section.table(rows);
        })
        .section("Best splits", |section| {
            section.table(splits);
        }))
}

fn verdict(proportional: f64, equal: f64) -> String {
    let compared = if proportional < equal { "less" } else { "no less" };
    format!("Proportional visits, row (h), bring {compared} than equal visits, row (j).")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_compares() {
        assert!(verdict(0.50, 0.55).contains("bring less"));
        assert!(verdict(0.55, 0.50).contains("bring no less"));
    }

    #[test]
    fn published_table_is_reproduced() {
        for ((row, visits), published) in ROWS.iter().zip(BENEFIT) {
            let ours = split(*visits).benefit;
            // Fractions of 72 in floating point.
            assert!((ours - published).abs() < 1e-12, "row {row}: {ours}");
        }
        for (total, published) in BEST {
            let ours = best(total).unwrap();
            // Equal benefit elsewhere would be a tie, not a difference.
            assert!(ours.benefit >= split(published).benefit - 1e-12);
            assert_eq!(ours.visits, published, "total {total}");
        }
    }
}
