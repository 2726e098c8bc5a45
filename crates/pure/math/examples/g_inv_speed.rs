//! Time of one call of `g_inv` and its parts, as nanoseconds and as a ratio to `f64::exp`.
//!
//! `cargo run --release -p tidewatch-math --example g_inv_speed`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use tidewatch_math::Draws;
use tidewatch_math::special::{g, g_complement_inv, g_inv, g_inv_slice};

const VALUES: usize = 1 << 12;
const ROUNDS: usize = 1000;
const TRIALS: usize = 5;

/// Best of a few trials of calling `f` on every value, in nanoseconds a call.
fn nanoseconds(values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let trial = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            let total: f64 = black_box(values).iter().map(|&v| f(v)).sum();
            black_box(total);
        }
        start.elapsed().as_secs_f64() * 1e9 / (ROUNDS * values.len()) as f64
    };
    (0..TRIALS).map(|_| trial()).fold(f64::INFINITY, f64::min)
}

/// The same for the slice form, the copy of its input included.
fn slice_nanoseconds(values: &[f64]) -> f64 {
    let mut buffer = values.to_vec();
    let mut trial = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            buffer.copy_from_slice(black_box(values));
            g_inv_slice(&mut buffer);
            black_box(&buffer);
        }
        start.elapsed().as_secs_f64() * 1e9 / (ROUNDS * values.len()) as f64
    };
    (0..TRIALS).map(|_| trial()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut draws = Draws::of(1, "speed", 0);
    let uniform: Vec<f64> = (0..VALUES).map(|_| draws.uniform_open()).collect();
    let wide: Vec<f64> = uniform.iter().map(|u| (-27.6 * u).exp()).collect();
    let exp = nanoseconds(&uniform, |x| (-x).exp());
    let ratio = |name: &str, ns: f64| println!("{name:<34}{ns:8.2} ns {:8.2} × exp", ns / exp);
    ratio("f64::exp", exp);
    ratio("f64::ln_1p", nanoseconds(&uniform, |x| (-x).ln_1p()));
    ratio("g, x in (0, 1)", nanoseconds(&uniform, g));
    ratio("g, x in (0, 20)", nanoseconds(&uniform, |x| g(20.0 * x)));
    ratio("g_inv, y uniform", nanoseconds(&uniform, g_inv));
    ratio("g_inv, ln y uniform to 1e-12", nanoseconds(&wide, g_inv));
    let slice = slice_nanoseconds(&uniform);
    ratio("g_inv_slice, y uniform", slice);
    ratio("g_complement_inv, q uniform", nanoseconds(&uniform, g_complement_inv));
}
