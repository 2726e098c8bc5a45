//! At which hours does a host change its pages?
//!
//! A rate is not constant: newsrooms sleep. What a crawler can afford to learn is one profile per
//! host, the intensity φ of each of the 168 hours of the week relative to the mean, times each
//! page's own rate. A [`Habit`] learns it from visits, [`Habits`] keeps those of all hosts. With it
//! time is counted in *expected changes*, Λ(t) = ∫φ ([`elapsed`]), which is how rates are learnt; and
//! fetches are placed where they save most ([`best_moment`]).

mod habit;
mod habits;
mod moment;

pub use habit::{Habit, Seen};
pub use habits::{Habits, by_the_clock};
pub use moment::{EARLIER, LONG_WAIT, best_moment, longest_wait};

pub use tidewatch_math::sample::Rhythm;

/// Λ(to) − Λ(from): the time between two moments in units of expected changes, seconds of a mean
/// hour.
pub fn elapsed(rhythm: &Rhythm, from: f64, to: f64) -> f64 {
    rhythm.expected(to) - rhythm.expected(from)
}
