//! Fetches per second: when may the policy be asked for the next page?
//!
//! An allowance for one fetch comes every 1/budget seconds. The policy is asked when there is one;
//! [`Unused`] says what becomes of an allowance for which it has no page.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Rate, Span, Time};

/// How long unused allowances stay good under [`Unused::Keep`].
const GRACE: Span = Span::SECOND;
/// An idle policy is asked again after this long, and after twice as long each further time.
const FIRST_IDLE_LOOK: Span = Span::from_micros(25_000);
/// The longest time between two looks at an idle policy.
const LAST_IDLE_LOOK: Span = Span::SECOND;

/// What becomes of an allowance for which the policy has no page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unused {
    /// It stays good for a second, so that a busy moment makes up for a late timer, but an idle
    /// night does not end in a burst. The policy is asked again soon, and at once when it learns
    /// something.
    #[default]
    Keep,
    /// It lapses. The policy is asked once per allowance: k/budget seconds after the start, for
    /// k = 1, 2, …, to the microsecond.
    Lapse,
}

/// Paces the budget.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pacer {
    budget: Rate,
    unused: Unused,
    /// When the next allowance comes.
    next: Time,
    /// Under [`Unused::Lapse`]: when the budget was set, and which allowance since then is next.
    since: Time,
    turn: u64,
    /// An idle policy is not asked before this time.
    look: Time,
    idle_look: Span,
    /// When the policy was last asked and had no page.
    idled: Time,
}

impl Pacer {
    /// Starts at `now`: with an allowance if unused ones are kept, otherwise one gap before it.
    pub fn new(budget: Rate, unused: Unused, now: Time) -> Self {
        let (look, idle_look) = (Time::ZERO, FIRST_IDLE_LOOK);
        let (next, since, turn, idled) = (now, now, 0, Time::ZERO);
        let mut pacer = Pacer { budget, unused, next, since, turn, look, idle_look, idled };
        if unused == Unused::Lapse {
            pacer.lapse(now);
        }
        pacer
    }

    /// The budget.
    pub const fn budget(&self) -> Rate {
        self.budget
    }

    /// Sets another budget. Allowances that are still good stay so.
    pub fn set(&mut self, budget: Rate, now: Time) {
        self.budget = budget;
        match self.unused {
            Unused::Keep => self.next = self.next.min(now + budget.gap()),
            Unused::Lapse => {
                (self.since, self.turn) = (now, 0);
                self.lapse(now);
            }
        }
    }

    /// When to ask the policy next.
    pub fn next(&self) -> Time {
        self.next.max(self.look)
    }

    /// Uses the allowance that is there at `now`.
    pub fn spend(&mut self, now: Time) {
        match self.unused {
            Unused::Keep => self.next = self.next.max(now - GRACE) + self.budget.gap(),
            Unused::Lapse => self.lapse(now),
        }
    }

    /// The policy had no page at `now`; the next host opens at `opens`.
    pub fn idle(&mut self, now: Time, opens: Time) {
        self.idled = now;
        match self.unused {
            Unused::Keep => {
                self.look = opens.min(now + self.idle_look);
                self.idle_look = self.idle_look.times(2).min(LAST_IDLE_LOOK);
            }
            Unused::Lapse => self.lapse(now),
        }
    }

    /// Moves on to the next allowance that has not passed at `now`.
    fn lapse(&mut self, now: Time) {
        let at = |turn: u64| {
            let passed = Span::from_seconds(turn as f64 / self.budget.as_per_second());
            self.since + passed.unwrap_or(Span::FOREVER)
        };
        let mut turn = self.turn + 1;
        if at(turn) < now {
            turn = (now.since(self.since).seconds() * self.budget.as_per_second()).ceil() as u64;
        }
        (self.turn, self.next) = (turn, at(turn));
    }

    /// Gives back an allowance that led to no request.
    pub fn refund(&mut self, now: Time) {
        self.next = match self.unused {
            Unused::Keep => self.next - self.budget.gap(),
            Unused::Lapse => self.next.min(now),
        };
        self.turn = self.turn.saturating_sub(1);
    }

    /// When the policy was last asked, if it had no page then and has learned nothing since.
    pub fn idled(&self) -> Option<Time> {
        (self.look > Time::ZERO).then_some(self.idled)
    }

    /// An idle policy may be asked at once: the crawler has started again.
    pub fn look_now(&mut self) {
        self.look = Time::ZERO;
    }

    /// An idle policy may be asked at once, and often, as it has learned something.
    pub fn wake(&mut self) {
        (self.look, self.idle_look) = (Time::ZERO, FIRST_IDLE_LOOK);
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

    fn keeping(budget: f64) -> Pacer {
        Pacer::new(rate(budget), Unused::Keep, Time::ZERO)
    }

    #[test]
    fn the_budget_is_spent_in_full_however_coarse_the_timer() {
        for step in [1_000, 7_000, 300_000] {
            let end = Time::ZERO + Span::MINUTE;
            let count = spent(&mut keeping(40.0), Time::ZERO, end, Span::from_micros(step));
            assert!((2_380..=2_402).contains(&count), "{count} fetches at steps of {step} µs");
        }
    }

    #[test]
    fn an_idle_night_does_not_end_in_a_burst() {
        let morning = Time::ZERO + Span::HOUR.times(8);
        let soon = morning + Span::from_micros(1);
        let burst = spent(&mut keeping(10.0), morning, soon, Span::SECOND);
        assert_eq!(burst, 11, "the grace of a second and the one due now");
    }

    #[test]
    fn a_budget_raised_or_cut_tenfold_takes_effect_at_once() {
        let mut pacer = keeping(1.0);
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
    fn an_allowance_without_a_request_is_refunded() {
        for unused in [Unused::Keep, Unused::Lapse] {
            let mut pacer = Pacer::new(rate(1.0), unused, Time::ZERO);
            let (now, then) = (pacer.next(), pacer.next() + Span::SECOND);
            pacer.spend(now);
            assert_eq!(pacer.next(), then);
            pacer.refund(now);
            assert_eq!(pacer.next(), now);
            pacer.spend(now);
            assert_eq!(pacer.next(), then);
        }
    }

    /// A third of a second is no whole number of microseconds: the gaps must not drift.
    #[test]
    fn where_allowances_lapse_each_comes_once_and_on_time() {
        let mut pacer = Pacer::new(rate(3.0), Unused::Lapse, Time::ZERO);
        for turn in 1..=3_000_000u64 {
            let now = pacer.next();
            assert_eq!(Some(now), Time::from_seconds(turn as f64 / 3.0), "allowance {turn}");
            if turn % 2 == 0 { pacer.spend(now) } else { pacer.idle(now, now) }
        }
        let late = pacer.next() + Span::DAY + Span::from_micros(100_000);
        assert_eq!(spent(&mut pacer, late, late + Span::from_micros(1), Span::SECOND), 1);
        assert!(pacer.next() > late && pacer.next() < late + Span::SECOND);
    }
}
