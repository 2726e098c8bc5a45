//! Do the integer solvers agree on a million pages, and how long does each take?
//!
//! ```text
//! cargo run --release -p tidewatch-science --example crawls_speed [-- PAGES]
//! ```
//!
//! Poisson pages with log-uniform rates and exponential weights, two crawls a page on average, at
//! most 200. Every solver must return the same numbers as Fox's greedy method.

#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::time::Instant;

use tidewatch_math::Draws;
use tidewatch_science::allocate::crawls::{Crawls, PageLaws, Solver, solve};
use tidewatch_science::law::Poisson;

fn main() {
    let pages =
        std::env::args().nth(1).map_or(1_000_000, |n| n.parse().expect("a number of pages"));
    let draw = |page: usize| Draws::of(1, "crawls.speed", page as u64);
    let weight: Vec<f64> = (0..pages).map(|page| draw(page).exponential(1.0)).collect();
    let rate = |page: usize| 10_f64.powf(draw(page).uniform_at(1) * 5.0 - 3.0);
    let law: Vec<Poisson> =
        (0..pages).map(|page| Poisson::new(rate(page)).expect("a positive rate")).collect();
    let gain = PageLaws { weight: &weight, law: &law, window: 1.0 };
    let (min, max) = (vec![0; pages], vec![200; pages]);
    let problem = Crawls { gain: &gain, min: &min, max: &max, total: 2 * pages as u64 };
    let mut first: Option<(f64, Vec<u32>)> = None;
    for solver in [Solver::Fox, Solver::Relax, Solver::FredericksonJohnson, Solver::GalilMegiddo] {
        let start = Instant::now();
        let crawls = solve(&problem, solver).expect("the bounds leave room");
        let seconds = start.elapsed().as_secs_f64();
        let (fox, expected) = first.get_or_insert_with(|| (seconds, crawls.clone()));
        let same = if crawls == *expected { "the same numbers" } else { "OTHER NUMBERS" };
        let total = gain.total(&crawls);
        println!(
            "{:<22} {:>8.0} ms, {:>5.2} × fox, Σ wA = {total:.6}, {same}",
            solver.name(),
            seconds * 1e3,
            seconds / *fox
        );
        assert_eq!(crawls, *expected, "{}", solver.name());
    }
}
