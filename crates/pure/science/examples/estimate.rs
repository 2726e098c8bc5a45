//! How often do pages change? Three logs of visits, every estimator, and what a host teaches.

#![allow(clippy::print_stdout, reason = "an example prints")]

use tidewatch_science::estimate::{Counts, Gamma, Member, Method, Pool, Visits, estimate};

/// Visits every `gap` days to a page, and which of them saw a change.
fn visits(gap: f64, changed: &[bool]) -> Visits {
    let mut visits = Visits::new();
    visits.record(0.0, false, None); // the first visit only starts the clock
    for (k, &changed) in changed.iter().enumerate() {
        visits.record(gap * (k + 1) as f64, changed, None);
    }
    visits
}

fn main() {
    let (yes, no) = (true, false);
    let pages = [
        ("never changed", visits(1.0, &[no; 10])),
        ("changed now and then", visits(1.0, &[no, no, yes, no, no, no, yes, no, yes, no])),
        ("changed every time", visits(1.0, &[yes; 10])),
    ];

    // The pages of one host: what they have in common becomes the prior of each.
    let member = |counts: &Counts| Member { host: 0, pattern: 0, counts: *counts };
    let members: Vec<Member> = pages.iter().map(|(_, visits)| member(visits.counts())).collect();
    let prior = Pool::fit(&members).map_or(Gamma::with_mean(0.1, 1.0), |pool| pool.prior(0, 0));
    println!("a page of this host changes about {:.2} times a day\n", prior.mean());

    for (name, visits) in &pages {
        println!("{name}:");
        for method in Method::ALL {
            match estimate(method, visits, &prior) {
                Some(found) => println!(
                    "  {:<14} {:.2} a day, 95 % between {:.2} and {:.2}",
                    method.name(),
                    found.rate,
                    found.low,
                    found.high
                ),
                None => println!("  {:<14} no usable visit", method.name()),
            }
        }
    }
}
