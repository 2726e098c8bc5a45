//! Every target for a little while.

use std::time::Duration;

use tidewatch_fuzz::{TARGETS, run};

/// Enough for thousands of inputs; the example runs millions.
const A_WHILE: Duration = Duration::from_secs(2);

/// No input may take longer, unoptimised and on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn no_input_panics_or_hangs() {
    std::thread::scope(|scope| {
        for target in &TARGETS {
            scope.spawn(move || {
                let tally = run(target, 1, u64::MAX, A_WHILE);
                eprintln!(
                    "{}: {} inputs, the slowest {:?}",
                    target.name, tally.runs, tally.slowest
                );
                assert!(tally.runs >= target.least_runs, "{} is slow", target.name);
                assert!(tally.slowest < PATIENCE, "{} input {}", target.name, tally.slowest_run);
            });
        }
    });
}
