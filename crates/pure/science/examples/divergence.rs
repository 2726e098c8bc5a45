//! A page was fetched five times. How much of it lasts, and when is the next fetch worth its price?

#![allow(clippy::print_stdout, reason = "an example prints")]

use tidewatch_science::divergence::{Profiles, expected_worth, fit};
use tidewatch_science::law::LossCurve;

const DAY: f64 = 86_400.0;
/// Hashes compared between two versions.
const HASHES: usize = 8;

fn main() {
    // The smallest hashes of the page's text at each fetch: two are replaced every few days, the
    // others stay.
    let fetches: [(f64, [u64; HASHES]); 5] = [
        (0.0, [1, 2, 3, 4, 5, 6, 70, 80]),
        (1.0, [1, 2, 3, 4, 5, 6, 70, 80]),
        (3.0, [1, 2, 3, 4, 5, 6, 71, 80]),
        (6.0, [1, 2, 3, 4, 5, 6, 72, 81]),
        (9.0, [1, 2, 3, 4, 5, 6, 73, 82]),
    ];
    let mut profiles = Profiles::default();
    for (day, sketch) in &fetches {
        profiles.add(day * DAY, sketch, HASHES, 1);
    }
    for point in profiles.points() {
        println!(
            "after {:.0} days {:.0} % was gone",
            point.elapsed / DAY,
            100.0 * point.divergence
        );
    }

    let found = fit(profiles.points(), HASHES, 1);
    let [still, churn, scroll] = found.chances.map(|chance| 100.0 * chance);
    println!("static {still:.0} %, churning {churn:.0} %, scrolling {scroll:.0} %");
    let curve = found.changing;
    println!(
        "if it changes: {:.2} updates a day, never more than {:.0} % gone",
        curve.rate() * DAY,
        100.0 * curve.limit()
    );

    // A fetch is due when it is worth the price, here in days of a whole stale page.
    let worth = expected_worth(profiles.points(), HASHES, 1);
    for price in [0.1, 0.3, 1.0, 10.0] {
        let (sure, unsure) = (curve.elapsed_at(price * DAY), worth.elapsed_at(price * DAY));
        println!(
            "at a price of {price}: every {:.1} days; {:.1} with all doubt counted",
            sure / DAY,
            unsure / DAY
        );
    }
}
