//! Does hostile input ever panic, hang or break a promise?
//!
//! Every [`Target`] reads bytes that strangers write. [`Mutator`] makes inputs from a small corpus
//! in this crate with seeded randomness: the same seed gives the same inputs on any machine, so a
//! failure is a number. There is no instrumentation and no nightly compiler; the corpus and each
//! target's dictionary take the place of coverage. The tests run each target for seconds, the
//! example `fuzz` for as long as you like.
//!
//! Two targets read no bytes: they make up a world or a stream of events from the input as a seed and
//! try every policy on it.

mod mutate;
#[allow(clippy::unwrap_used, reason = "shared with the tests of the policies")]
#[path = "../../../pure/policy/tests/it/streams.rs"]
mod streams;
mod targets;
mod worlds;

pub use self::{
    mutate::Mutator,
    targets::{TARGETS, Target},
};

use std::time::{Duration, Instant};

/// Figures of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Inputs tried.
    pub runs: u64,
    /// Time of the slowest input.
    pub slowest: Duration,
    /// Number of the slowest input.
    pub slowest_run: u64,
}

/// Runs a target on inputs `first..` until there were `count` or time is up. A panic is the
/// target's own; the input of run `n` is `Mutator::input(n)`.
pub fn run(target: &Target, seed: u64, count: u64, limit: Duration) -> Tally {
    let mutator = Mutator::new(target, seed);
    let started = Instant::now();
    let mut tally = Tally::default();
    while tally.runs < count && started.elapsed() < limit {
        let input = mutator.input(tally.runs);
        let begun = Instant::now();
        (target.run)(&input);
        let took = begun.elapsed();
        if took > tally.slowest {
            (tally.slowest, tally.slowest_run) = (took, tally.runs);
        }
        tally.runs += 1;
    }
    tally
}
