//! Tries a target on many inputs: `cargo run --release --example fuzz -- robots 10000000 [SEED]`.
//!
//! Prints how many were tried and how long the slowest took; a panic names its input's
//! number in the last line printed before it.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::process::ExitCode;
use std::time::Duration;

use tidewatch_fuzz::{Mutator, TARGETS, run};

/// No input may take longer.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same for inputs that every policy is tried on.
const PATIENCE_FOR_ALL: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
    let count = number(args.next());
    let seed = number(args.next()).unwrap_or(1);
    let (Some(target), Some(count)) = (TARGETS.iter().find(|t| t.name == name), count) else {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("usage: fuzz {} COUNT [SEED]", names.join("|"));
        return ExitCode::from(2);
    };
    let tally = run(target, seed, count, Duration::MAX);
    let (runs, slowest) = (tally.runs, tally.slowest);
    println!(
        "{name}: {runs} inputs of seed {seed}, the slowest {slowest:?} (number {})",
        tally.slowest_run
    );
    let patience = if target.corpus.is_empty() { PATIENCE_FOR_ALL } else { PATIENCE };
    if slowest > patience {
        let input = Mutator::new(target, seed).input(tally.slowest_run);
        println!("too slow: {:?}", String::from_utf8_lossy(&input));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
