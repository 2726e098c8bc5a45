//! Fragment lifetimes: simulated regions against the closed forms `[OP08, §3.3]`.

use tidewatch_core::Time;
use tidewatch_math::special::gamma_p;
use tidewatch_math::stats::{ks_distance, ks_limit, sorted};
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Series, Table};

use crate::experiment::Setup;
use crate::generate::longevity::{PageRegion, live};

/// Updates a day, as in the paper's figure.
const RATE: f64 = 0.25;
const ITEMS: [u32; 3] = [1, 2, 10];
/// Ages at which the distributions are tabled, days.
const AGES: [f64; 6] = [2.0, 5.0, 10.0, 20.0, 40.0, 80.0];
const DAY: f64 = 86_400.0;
/// Days simulated, and days at the end in which births do not count: a scroll of ten items lives 40
/// days on average, and longer than this once in 10⁷.
const DAYS: (f64, f64) = (20_000.0, 250.0);
/// Independent pages; one fragment per item, so that every lifetime counts once.
const PAGES: f64 = 4.0;
/// Significance level: the chance to reject a true law.
const LEVEL: f64 = 0.01;

pub(in crate::experiment) fn run(setup: &Setup<'_>) -> Report {
    let pages = (PAGES * setup.scale).ceil() as usize;
    let mut table = Table::new(
        [Column::text("region"), Column::number("lifetimes")]
            .into_iter()
            .chain(AGES.map(|age| Column::number(format!("by day {age}, simulated (exact)"))))
            .chain([Column::number("largest distance"), Column::number("allowed")]),
    );
    let mut chart = Chart::new(
        "Fragment lifetimes, update rate 0.25 a day",
        Axis::new("lifetime").unit("days").range(0.0, 80.0),
        Axis::new("share gone").range(0.0, 1.0),
    );
    let mut fits = Vec::new();
    for items in ITEMS {
        let name = if items == 1 { "churn".to_owned() } else { format!("scroll, K = {items}") };
        (setup.say)(&name);
        let lives = sorted(&lifetimes(items, pages, setup.seed));
        // P(lifetime ≤ t) = 1 − Σ_{i<K} (λt)^i e^(−λt)/i! = P(K, λt).
        let exact = |t: f64| gamma_p(f64::from(items), RATE * t);
        let distance = ks_distance(&lives, exact);
        // Neighbouring items of a scroll share K − 1 of their K gaps.
        let limit = ks_limit(lives.len() / items as usize, LEVEL);
        fits.push((distance, limit));
        let simulated = |t: f64| lives.partition_point(|&l| l <= t) as f64 / lives.len() as f64;
        let mut cells = vec![Cell::text(&name), Cell::count(lives.len() as u64)];
        cells.extend(
            AGES.map(|age| Cell::text(format!("{:.4} ({:.4})", simulated(age), exact(age)))),
        );
        cells.extend([Cell::number(distance, 4), Cell::number(limit, 4)]);
        table.push(cells);
        let ages = || (0..=160).map(|i| f64::from(i) / 2.0);
        chart.push(Series::step(
            format!("{name}, simulated"),
            ages().step_by(8).map(|t| (t, simulated(t))).collect::<Vec<_>>(),
        ));
        chart.push(Series::curve(
            format!("{name}, exact"),
            ages().map(|t| (t, exact(t))).collect::<Vec<_>>(),
        ));
    }
    Report::new("Fragment lifetimes")
        .lead(verdict(&fits))
        .fact("seed", setup.seed.to_string())
        .section("Distributions", |section| {
            section.chart(chart).table(table);
        })
}

/// `fits` holds pairs of Kolmogorov–Smirnov distance and limit.
fn verdict(fits: &[(f64, f64)]) -> String {
    let agrees = fits.iter().all(|(distance, limit)| distance < limit);
    let verdict = if agrees { "agree with" } else { "differ from" };
    format!(
        "Lifetimes in simulated churn and scroll regions {verdict} the closed forms of the \
         generative model (Kolmogorov–Smirnov, level {LEVEL})."
    )
}

/// Lifetimes in days of fragments born after the start.
fn lifetimes(items: u32, pages: usize, seed: u64) -> Vec<f64> {
    let region = PageRegion { rate: RATE / DAY, items, item_fragments: 1 };
    let versions = live(&vec![vec![region]; pages], DAYS.0 * DAY, seed.wrapping_add(items.into()));
    let mut born = rustc_hash::FxHashMap::<u64, Time>::default();
    let mut lives = Vec::new();
    for row in &versions.rows {
        for fragment in versions.removed(row) {
            let Some(&at) = born.get(fragment) else { continue };
            if at.seconds() < (DAYS.0 - DAYS.1) * DAY {
                lives.push(row.at.since(at).seconds() / DAY);
            }
        }
        if row.at > Time::ZERO {
            versions.added(row).iter().for_each(|&fragment| {
                born.insert(fragment, row.at);
            });
        }
    }
    lives
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_fit_is_a_difference() {
        assert!(verdict(&[(0.01, 0.02), (0.01, 0.02)]).contains("agree with"));
        assert!(verdict(&[(0.01, 0.02), (0.03, 0.02)]).contains("differ from"));
    }
}
