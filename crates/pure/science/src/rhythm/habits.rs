//! The rhythms of all hosts of a crawl.
//!
//! A [`Habit`] takes some kilobytes, so it is kept only for the first [`MOST_HOSTS`] hosts that have
//! shown [`FIRST_CHANGES`] changes between visits at most a week apart. For all other hosts time
//! passes by the clock.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Span, Time};
use tidewatch_math::sample::{HOUR, Rhythm};

use super::{ChangesSeen, EARLIER, Habit, LONG_WAIT, best_moment, elapsed, longest_wait};

/// A host gets a [`Habit`] after this many changes: fewer say too little to be worth the memory.
const FIRST_CHANGES: u8 = 16;
/// Most habits kept, of 5 kB each.
const MOST_HOSTS: usize = 1 << 13;

/// The rhythms of all hosts of a crawl, as far as visits have shown them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Habits {
    /// Whether rhythms are learnt at all.
    is_on: bool,
    hosts: FxHashMap<HostId, Habit>,
    /// Changes seen on hosts without a habit, below [`FIRST_CHANGES`].
    changes: FxHashMap<HostId, u8>,
}

impl Habits {
    /// No rhythm is known yet; none is ever learnt unless `is_on`.
    pub fn new(is_on: bool) -> Self {
        Habits { is_on, ..Habits::default() }
    }

    /// Learns from two successive visits, at `from` and `to`, to a page of `host` with `rate` changes a
    /// second on average.
    pub fn note(&mut self, host: HostId, from: Time, to: Time, rate: f64, seen: ChangesSeen) {
        let gap = to.since(from);
        if !self.is_on || gap <= Span::ZERO || gap > Span::WEEK {
            return;
        }
        if let Some(habit) = self.hosts.get_mut(&host) {
            habit.note(from.seconds(), to.seconds(), rate, seen);
        } else if self.hosts.len() < MOST_HOSTS {
            let changes = self.changes.entry(host).or_default();
            *changes = changes.saturating_add(seen.changes());
            if *changes >= FIRST_CHANGES {
                self.changes.remove(&host);
                self.hosts.insert(host, Habit::default());
            }
        }
    }

    /// The rhythm of a host, unless it is unknown or flat.
    fn rhythm(&self, host: HostId) -> Option<&Rhythm> {
        self.hosts.get(&host).filter(|habit| !habit.is_flat()).map(Habit::rhythm)
    }

    /// Seconds from `from` to `to`, counted in expected changes where the host's rhythm is known.
    pub fn elapsed(&self, host: HostId, from: Time, to: Time) -> f64 {
        match self.rhythm(host) {
            Some(rhythm) => elapsed(rhythm, from.seconds(), to.seconds()).max(0.0),
            None => to.since(from).seconds(),
        }
    }

    /// Mean intensity of a host in the hour after `from`; 1 without a rhythm.
    pub fn level(&self, host: HostId, from: Time) -> f64 {
        let from = from.seconds();
        self.rhythm(host).map_or(1.0, |rhythm| elapsed(rhythm, from, from + HOUR) / HOUR)
    }

    /// The best moment for a fetch that would be due `wait` seconds after `from` on a host without
    /// rhythm; `None` if it is never due.
    pub fn due(&self, host: HostId, from: Time, wait: f64) -> Option<Time> {
        let Some(rhythm) = self.rhythm(host) else { return by_the_clock(from, wait) };
        let due = best_moment(rhythm, from.seconds(), wait);
        Time::from_seconds(due).filter(|due| *due != Time::NEVER)
    }

    /// A moment not after [`Habits::due`], found without a search of hours if it is more than a day
    /// after `now`.
    pub fn due_at_least(&self, host: HostId, from: Time, wait: f64, now: Time) -> Option<Time> {
        if wait > LONG_WAIT && self.rhythm(host).is_some() {
            let early = by_the_clock(from, wait - EARLIER)?;
            if early > now + Span::DAY {
                return Some(early);
            }
        }
        self.due(host, from, wait)
    }

    /// The longest wait after `from`, in seconds, that is over at `now`.
    pub fn waited(&self, host: HostId, from: Time, now: Time) -> f64 {
        match self.rhythm(host) {
            Some(rhythm) => longest_wait(rhythm, from.seconds(), now.seconds()),
            None => now.since(from).seconds(),
        }
    }
}

/// The moment `wait` seconds after `from`; `None` if it is [`Time::NEVER`] or `wait` is negative or
/// NaN.
pub fn by_the_clock(from: Time, wait: f64) -> Option<Time> {
    let due = from + Span::from_seconds(wait)?;
    Some(due).filter(|due| *due != Time::NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;

    /// Times are whole microseconds.
    const MICROSECOND: f64 = 1e-6;

    fn at(hours: f64) -> Time {
        Time::from_seconds(3600.0 * hours).unwrap()
    }

    /// A host whose thirty pages change at nine every day, seen every few hours for some weeks: what
    /// waits overnight is due about nine, and nights pass in no time.
    #[test]
    fn pages_that_change_in_the_morning_are_due_then() {
        let (mut habits, host) = (Habits::new(true), HostId(7));
        let mut draws = Draws::of(1, "price.habits", 0);
        let mut last = [0.0; 30];
        while last[0] < 24.0 * 60.0 {
            for last in &mut last {
                let now = *last + 1.0 + 5.0 * draws.uniform();
                let changed = ((now - 9.0) / 24.0).floor() > ((*last - 9.0) / 24.0).floor();
                habits.note(
                    host,
                    at(*last),
                    at(now),
                    1.0 / 86_400.0,
                    ChangesSeen::Changed(changed),
                );
                *last = now;
            }
        }
        let evening = 24.0 * 70.0 + 20.0;
        let night = habits.elapsed(host, at(evening), at(evening + 10.0));
        let morning = habits.elapsed(host, at(evening + 11.0), at(evening + 15.0));
        assert!(morning > 3.0 * night, "{morning} {night}");
        let due = habits.due(host, at(evening), 0.5 * 86_400.0).unwrap().seconds() / 3600.0 % 24.0;
        assert!((6.0..12.0).contains(&due), "due at {due}");
        assert_eq!(habits.due(host, at(evening), f64::INFINITY), None);
        for wait in (1..60).map(|days| 86_400.0 * f64::from(days)) {
            let (from, due) = (at(evening), habits.due(host, at(evening), wait));
            for passed in [0.0, 100.0, 1000.0] {
                let cheap = habits.due_at_least(host, from, wait, at(evening + passed));
                assert!(cheap.is_some() && cheap <= due, "{wait} {cheap:?} {due:?}");
            }
        }
    }

    /// A host with one busy hour a day, of which enough changes were seen.
    fn busy_at_nine(host: HostId) -> Habits {
        let mut habits = Habits::new(true);
        for day in (0..200).map(f64::from) {
            for (from, to) in [(0.0, 9.0), (9.0, 10.0), (10.0, 24.0)] {
                let (from, to) = (at(24.0 * day + from), at(24.0 * day + to));
                habits.note(
                    host,
                    from,
                    to,
                    1e-5,
                    ChangesSeen::Changed(to.since(from) == Span::HOUR),
                );
            }
        }
        habits
    }

    /// Whether or not a host has a rhythm, a wait of any magnitude ends at a moment or never.
    #[test]
    fn every_wait_ends_or_never_does() {
        let (rhythmic, other) = (HostId(7), HostId(8));
        let habits = busy_at_nine(rhythmic);
        assert!(habits.rhythm(rhythmic).is_some() && habits.rhythm(other).is_none());
        for host in [rhythmic, other] {
            let mut last = Some(Time::ZERO);
            for exponent in -30..=30 {
                let wait = 10_f64.powi(exponent);
                let due = habits.due(host, at(5000.0), wait);
                // 2⁶⁴ microseconds are 1.8·10¹³ s.
                assert_eq!(due.is_some(), exponent <= 13, "{wait}");
                assert!(due.is_none() || due >= last, "{wait}: {due:?} {last:?}");
                let early = habits.due_at_least(host, at(5000.0), wait, at(5001.0));
                assert!(due.is_none() || early <= due, "{wait}: {early:?} {due:?}");
                last = due;
            }
        }
    }

    #[test]
    fn others_live_by_the_clock() {
        let (mut habits, host) = (Habits::new(true), HostId(7));
        for day in (0..10).map(f64::from) {
            habits.note(
                host,
                at(24.0 * day),
                at(24.0 * day + 24.0),
                1e-5,
                ChangesSeen::Changed(true),
            );
        }
        assert!((habits.elapsed(host, at(3.0), at(5.0)) - 7200.0).abs() < MICROSECOND);
        assert_eq!(habits.due(host, at(3.0), 7200.0), Some(at(5.0)));
        assert_eq!(habits.due(host, at(3.0), f64::INFINITY), None);
    }
}
