//! How long does an allocation take, next to the time it takes merely to read its input?
//!
//! ```text
//! cargo run --release -p tidewatch-science --example allocate_speed [-- PAGES [OBJECTIVE]]
//! ```
//!
//! Pages are synthetic (exponential weights, change rates spread over five decades), the budget is
//! one fetch for five pages and unit of time. Measured: the time to stream both input columns from
//! memory once (the bound: a parallel sum of them), the search for the price per pass, and the whole
//! call. Results are ratios, which carry over between machines better than seconds; where the system
//! counts processor time they are ratios of that, so that a busy machine does not spoil them. The
//! same problem in numpy is `benches/allocate_numpy.py`.

#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::time::Instant;

use rayon::prelude::*;
use tidewatch_math::Draws;
use tidewatch_science::allocate::{Allocation, Objective, Pages, allocate};

const SEED: u64 = 1;
/// Most repetitions, of which the fastest counts, and the time after which no other is begun.
const REPEATS: usize = 5;
const ENOUGH_SECONDS: f64 = 20.0;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let pages: usize =
        arguments.next().map_or(10_000_000, |n| n.parse().expect("a number of pages"));
    let name = arguments.next();
    let objectives =
        Objective::ALL.into_iter().filter(|o| name.as_deref().is_none_or(|n| n == o.name()));
    let (weight, change_rate) = population(pages);
    let columns = Pages::new(&weight, &change_rate);
    println!(
        "{pages} pages, {} threads, {} MB of input",
        rayon::current_num_threads(),
        pages * 16 / 1_000_000
    );
    let (stream, _) = fastest(|| read(&weight) + read(&change_rate));
    let speed = pages as f64 * 16e-9 / stream.wall;
    println!("reading the input once: {stream}, {speed:.1} GB/s");
    for objective in objectives {
        measure(&columns, objective, stream);
    }
    println!("peak memory: {}", peak_memory());
}

fn measure(pages: &Pages<'_>, objective: Objective, stream: Span) {
    let budget = 0.2 * pages.len() as f64;
    let solve = || allocate(pages, budget, objective, None).expect("the columns are sound");
    let (whole, Allocation { passes, residual, price, given_up, .. }) = fastest(solve);
    // The passes of the search, one that checks the input, and one that writes the rates.
    let all = f64::from(passes + 2);
    println!(
        "{objective}: {whole}, {passes} passes + 2; by processor time {:.2} × reading the input once \
         a pass, by the clock {:.2} ×; price {price:.6e}, residual {:.1e} of the budget, \
         {given_up} given up",
        whole.processor / (all * stream.processor),
        whole.wall / (all * stream.wall),
        residual.abs() / budget,
    );
}

/// Seconds that something took.
#[derive(Clone, Copy)]
struct Span {
    wall: f64,
    /// Of all threads together.
    processor: f64,
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ms ({:.1} ms of processor time)", self.wall * 1e3, self.processor * 1e3)
    }
}

/// Processor time of all threads so far, where the system counts it; NaN elsewhere.
fn processor_seconds() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let times = tasks.flatten().filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() * 1e-9
}

/// Exponential weights; change rates log-uniform from 10⁻³ to 10².
fn population(pages: usize) -> (Vec<f64>, Vec<f64>) {
    let draw = |page: usize| Draws::of(SEED, "allocate.speed", page as u64);
    let weight = (0..pages).into_par_iter().map(|page| draw(page).exponential(1.0)).collect();
    let rate = |page: usize| 10_f64.powf(draw(page).uniform_at(1) * 5.0 - 3.0);
    (weight, (0..pages).into_par_iter().map(rate).collect())
}

/// The cheapest use of a column: a parallel sum in eight lanes.
fn read(column: &[f64]) -> f64 {
    column
        .par_chunks(1 << 16)
        .map(|block| {
            let mut lanes = [0.0; 8];
            for eight in block.as_chunks::<8>().0 {
                lanes.iter_mut().zip(eight).for_each(|(lane, x)| *lane += x);
            }
            lanes.iter().sum::<f64>()
        })
        .sum()
}

/// The fastest of a few runs.
fn fastest<T>(mut run: impl FnMut() -> T) -> (Span, T) {
    let mut best: Option<(Span, T)> = None;
    let begun = Instant::now();
    for _ in 0..REPEATS {
        if best.is_some() && begun.elapsed().as_secs_f64() > ENOUGH_SECONDS {
            break;
        }
        let (start, used) = (Instant::now(), processor_seconds());
        let result = std::hint::black_box(run());
        let wall = start.elapsed().as_secs_f64();
        let span = Span { wall, processor: processor_seconds() - used };
        if best.as_ref().is_none_or(|(least, _)| span.wall < least.wall) {
            best = Some((span, result));
        }
    }
    best.expect("at least one repetition")
}

/// As the operating system counts it, where it does.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |kilobytes| kilobytes.trim().to_owned())
}
