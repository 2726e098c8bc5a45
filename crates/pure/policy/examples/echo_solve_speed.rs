//! How long does Algorithm 1 take, next to the time it takes merely to read its input?
//!
//! ```text
//! cargo run --release -p tidewatch-policy --example echo_solve_speed [-- SOURCES]
//! ```
//!
//! Sources are synthetic (profit, decay and new links spread over several decades). Measured: a
//! parallel sum over the input, and the whole solution at budgets from a hundredth of the rate of new
//! links to ten times it. Then both optimal conditions are checked on the answer.

#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::time::Instant;

use rayon::prelude::*;
use tidewatch_math::Draws;
use tidewatch_math::special::g;
use tidewatch_policy::echo::{Charge, Schedule, Terms, solve};

const SEED: u64 = 1;
/// Repetitions, of which the fastest counts.
const REPEATS: usize = 5;
/// Budgets as multiples of the rate of new links.
const BUDGETS: [f64; 4] = [0.01, 0.2, 1.0, 10.0];

fn main() {
    let sources: usize =
        std::env::args().nth(1).map_or(1_000_000, |n| n.parse().expect("a number of sources"));
    let terms: Vec<Terms> = (0..sources).into_par_iter().map(source).collect();
    let links: f64 = terms.iter().map(|t| t.arrivals).sum();
    println!("{sources} sources, {} threads", rayon::current_num_threads());
    let (pass, _) =
        fastest(|| terms.par_iter().map(|t| t.profit + t.decay + t.arrivals).sum::<f64>());
    println!("reading the input once: {:.2} ms", pass * 1e3);
    for share in BUDGETS {
        let budget = share * links;
        let (seconds, schedule) = fastest(|| solve(&terms, budget, Charge::VisitsAndPages));
        let [price, spent] = errors(&terms, budget, &schedule);
        println!(
            "budget {share} × new links: {seconds:.3} s, {:.0} × reading the input; {} visited; \
             p·g(μI) = ω to {price:.1e}, Σ1/I + Σλ = N to {spent:.1e}",
            seconds / pass,
            schedule.visited,
        );
    }
}

fn source(number: usize) -> Terms {
    let mut draws = Draws::of(SEED, "echo.speed", number as u64);
    let mut decades = |low: f64, high: f64| 10_f64.powf(low + (high - low) * draws.uniform());
    Terms { profit: decades(-3.0, 2.0), decay: decades(-6.0, -4.0), arrivals: decades(-7.0, -3.0) }
}

/// Largest relative error of the optimal condition, and that of the budget.
fn errors(terms: &[Terms], budget: f64, schedule: &Schedule) -> [f64; 2] {
    let (mut worst, mut spent) = (0.0_f64, 0.0);
    for (terms, &interval) in terms.iter().zip(&schedule.intervals) {
        if interval.is_finite() {
            let price = terms.worth() * g(terms.decay * interval);
            worst = worst.max((price / schedule.price - 1.0).abs());
            spent += interval.recip() + terms.arrivals;
        }
    }
    [worst, (spent / budget - 1.0).abs()]
}

/// Seconds of the fastest of a few runs, and its result.
fn fastest<T>(mut run: impl FnMut() -> T) -> (f64, T) {
    let mut best: Option<(f64, T)> = None;
    for _ in 0..REPEATS {
        let start = Instant::now();
        let result = std::hint::black_box(run());
        let seconds = start.elapsed().as_secs_f64();
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, result));
        }
    }
    best.expect("at least one repetition")
}
