//! Fetches per second: the budget, kept moment by moment.
//!
//! An allowance comes every 1/budget seconds. What nothing was worth fetching
//! for lapses, but for a short grace, so that a busy moment can make up for
//! a late timer and a night with nothing to do does not end in a burst.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Rate, Span, Time};

/// How far back unused allowances stay good.
const GRACE: Span = Span::SECOND;

/// When the next fetch is paid for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pacer {
    gap: Span,
    next: Time,
}

impl Pacer {
    /// A pacer whose first allowance comes at `now`.
    pub fn new(budget: Rate, now: Time) -> Self {
        Pacer { gap: budget.gap(), next: now }
    }

    /// The budget: one fetch a gap.
    pub fn budget(&self) -> Rate {
        let gap = self.gap.seconds();
        let rate = if gap > 0.0 { Rate::per_second(gap.recip()) } else { None };
        rate.unwrap_or(Rate::ZERO)
    }

    /// Sets another budget. What is still unused stays good.
    pub fn set(&mut self, budget: Rate, now: Time) {
        self.gap = budget.gap();
        self.next = self.next.min(now + self.gap);
    }

    /// When the next allowance is there.
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Uses the allowance that is there at `now`.
    pub fn spend(&mut self, now: Time) {
        self.next = self.next.max(now - GRACE) + self.gap;
    }

    /// Gives back an allowance that led to no request.
    pub fn refund(&mut self) {
        self.next = self.next - self.gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(pacer: &mut Pacer, from: Time, until: Time, step: Span) -> usize {
        let (mut now, mut count) = (from, 0);
        while now < until {
            while pacer.next() <= now {
                pacer.spend(now);
                count += 1;
            }
            now = now + step;
        }
        count
    }

    fn rate(per_second: f64) -> Rate {
        Rate::per_second(per_second).expect("a rate")
    }

    #[test]
    fn the_budget_is_spent_in_full_however_coarse_the_timer() {
        for step in [1_000, 7_000, 300_000] {
            let mut pacer = Pacer::new(rate(40.0), Time::ZERO);
            let end = Time::ZERO + Span::MINUTE;
            let count = spent(&mut pacer, Time::ZERO, end, Span::from_micros(step));
            assert!((2_380..=2_402).contains(&count), "{count} fetches at steps of {step} µs");
        }
    }

    #[test]
    fn an_idle_night_does_not_end_in_a_burst() {
        let mut pacer = Pacer::new(rate(10.0), Time::ZERO);
        let morning = Time::ZERO + Span::HOUR.times(8);
        let burst = spent(&mut pacer, morning, morning + Span::from_micros(1), Span::SECOND);
        assert_eq!(burst, 11, "the grace of a second and the one due now");
    }

    #[test]
    fn a_budget_raised_or_cut_tenfold_takes_effect_at_once() {
        let mut pacer = Pacer::new(rate(1.0), Time::ZERO);
        pacer.spend(Time::ZERO);
        pacer.set(rate(10.0), Time::ZERO);
        assert_eq!(pacer.next(), Time::ZERO + Span::from_micros(100_000));
        pacer.set(Rate::ZERO, Time::ZERO);
        pacer.spend(pacer.next());
        assert_eq!(pacer.next(), Time::NEVER);
        pacer.set(rate(1.0), Time::ZERO + Span::DAY);
        assert_eq!(pacer.next(), Time::ZERO + Span::DAY + Span::SECOND);
    }

    #[test]
    fn what_led_to_no_request_is_given_back() {
        let mut pacer = Pacer::new(rate(1.0), Time::ZERO);
        pacer.spend(Time::ZERO);
        pacer.refund();
        assert_eq!(pacer.next(), Time::ZERO);
    }
}
