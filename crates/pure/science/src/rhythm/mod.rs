//! At which hours does a host change its pages?
//!
//! Change rates vary over the week: newsrooms sleep. A crawler can afford to learn one [`Rhythm`] per
//! host, the intensity φ of each of the 168 hours of the week relative to their mean, which multiplies
//! each page's own rate. A [`Habit`] learns φ from visits; [`Habits`] keeps the habits of all hosts.
//!
//! With a rhythm, time is counted in *expected changes*, Λ(t) = ∫φ ([`elapsed`]), when rates are
//! estimated, and fetches are placed where they save most ([`best_moment`]). Times are seconds; hour
//! zero of the week begins at time zero.

mod habit;
mod habits;
mod moment;

pub use habit::{ChangesSeen, Habit};
pub use habits::{Habits, by_the_clock};
use moment::{EARLIER, LONG_WAIT};
pub use moment::{best_moment, longest_wait};
pub use tidewatch_math::sample::Rhythm;

/// Λ(`to`) − Λ(`from`): the seconds of a host of constant intensity in which as many changes are
/// expected as between the two moments.
pub fn elapsed(rhythm: &Rhythm, from: f64, to: f64) -> f64 {
    rhythm.expected(to) - rhythm.expected(from)
}
