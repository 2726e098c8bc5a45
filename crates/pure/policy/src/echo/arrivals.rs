//! How many new links a source shows per second, λ(t).
//!
//! The rate is the number of links found in the last T visits over the time that they span
//! `[LOSS13, §4.2.2]`. Half a link at the rate of an average source is added, so that a source that showed
//! nothing keeps a small rate and one never visited has the average rate.
//!
//! **With the rhythm.** Newsrooms sleep. With each host's hours of the week
//! ([`tidewatch_science::rhythm`]), time counts in expected links, and the rate is that of the hour to
//! come.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use tidewatch_core::{HostId, Time};

use tidewatch_science::rhythm::{ChangesSeen, Habits};

/// Rate of sources before any was visited: a new link a day.
const UNKNOWN_RATE: f64 = 1.0 / 86_400.0;
/// Links added to what was found.
const PRIOR_LINKS: f64 = 0.5;

/// How rates follow from visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pace {
    /// The mean over the last visits.
    Steady,
    /// That mean, scaled to the hour of the week.
    Rhythm,
}

/// New-link rates of all sources.
#[derive(Debug, Serialize, Deserialize)]
pub struct Arrivals {
    /// T: visits remembered.
    memory: usize,
    sources: Vec<Visits>,
    habits: Habits,
    /// Over all sources: links found, seconds watched.
    found: f64,
    watched: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Visits {
    host: HostId,
    /// The last T + 1 visits with what each found; the oldest only marks the beginning.
    last: VecDeque<(Time, u32)>,
}

impl Arrivals {
    /// No sources yet; T ≥ 1 visits are remembered.
    pub fn new(memory: usize, pace: Pace) -> Self {
        let habits = Habits::new(pace == Pace::Rhythm);
        let sources = Vec::new();
        Arrivals { memory: memory.max(1), sources, habits, found: 0.0, watched: 0.0 }
    }

    /// Adds the next source.
    pub fn add_source(&mut self, host: u32) {
        self.sources.push(Visits { host: HostId(host), last: VecDeque::new() });
    }

    /// A visit to a source found `found` new links. The first visit only marks the beginning; a visit
    /// that is not after the one before adds its links to that.
    pub fn visit(&mut self, source: usize, at: Time, found: u32) {
        let rate = self.mean_rate(source, at);
        let visits = &mut self.sources[source];
        let Some(last) = visits.last.back_mut() else {
            visits.last.push_back((at, 0));
            return;
        };
        let before = last.0;
        self.found += f64::from(found);
        if at <= before {
            last.1 = last.1.saturating_add(found);
            return;
        }
        self.watched += at.since(before).seconds();
        visits.last.push_back((at, found));
        while visits.last.len() > self.memory + 1 {
            visits.last.pop_front();
        }
        self.habits.note(visits.host, before, at, rate, ChangesSeen::Count(found.into()));
    }

    /// λ of a source at a time, new links a second.
    pub fn rate(&self, source: usize, now: Time) -> f64 {
        self.habits.level(self.sources[source].host, now) * self.mean_rate(source, now)
    }

    /// Links over expected time, which is plain time without a rhythm.
    fn mean_rate(&self, source: usize, now: Time) -> f64 {
        let usual = self.usual_rate();
        let visits = &self.sources[source];
        let (Some(first), Some(last)) = (visits.last.front(), visits.last.back()) else {
            return usual;
        };
        let found: u32 = visits.last.iter().skip(1).map(|visit| visit.1).sum();
        let to = last.0.min(now.max(first.0));
        let span = self.habits.elapsed(visits.host, first.0, to);
        (f64::from(found) + PRIOR_LINKS) / (span + PRIOR_LINKS / usual)
    }

    fn usual_rate(&self) -> f64 {
        (self.found + PRIOR_LINKS) / (self.watched + PRIOR_LINKS / UNKNOWN_RATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;
    use tidewatch_math::sample::Rhythm;

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds).unwrap()
    }

    #[test]
    fn the_last_visits_tell_the_rate() {
        let mut arrivals = Arrivals::new(3, Pace::Steady);
        arrivals.add_source(0);
        let before = arrivals.rate(0, at(0.0));
        assert!((before - UNKNOWN_RATE).abs() < 1e-18);
        arrivals.visit(0, at(0.0), 99);
        for (i, found) in [50, 10, 20, 30].iter().enumerate() {
            arrivals.visit(0, at(3600.0 * (i + 1) as f64), *found);
        }
        // Three visits spanning three hours found 60; the fourth back is forgotten.
        let rate = arrivals.rate(0, at(14_400.0));
        assert!((rate * 10_800.0 / 60.0 - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn silence_lowers_the_rate_but_not_to_zero() {
        let mut arrivals = Arrivals::new(5, Pace::Steady);
        (0..2).for_each(|_| arrivals.add_source(0));
        for visit in 0..50 {
            arrivals.visit(0, at(3600.0 * f64::from(visit)), 10);
            arrivals.visit(1, at(3600.0 * f64::from(visit)), 0);
        }
        let (busy, quiet) = (arrivals.rate(0, at(2e5)), arrivals.rate(1, at(2e5)));
        assert!(quiet > 0.0 && quiet < busy / 50.0, "{quiet} {busy}");
    }

    #[test]
    fn clocks_that_jump_keep_rates_finite() {
        let mut arrivals = Arrivals::new(3, Pace::Rhythm);
        arrivals.add_source(0);
        for (seconds, found) in [(1e6, 0), (5.0, 7), (1e12, 3), (10.0, u32::MAX), (10.0, 9)] {
            arrivals.visit(0, at(seconds), found);
            for now in [0.0, 1e6, 1e12] {
                let rate = arrivals.rate(0, at(now));
                assert!(rate.is_finite() && rate >= 0.0, "{rate}");
            }
        }
    }

    #[test]
    fn the_rhythm_is_learnt_and_foretold() {
        let hours = std::array::from_fn(|hour| if hour % 24 < 12 { 0.2 } else { 1.8 });
        let truth = Rhythm::new(&hours).unwrap();
        let mut arrivals = Arrivals::new(7, Pace::Rhythm);
        (0..20).for_each(|_| arrivals.add_source(0));
        let end = 21.0 * 86_400.0;
        for source in 0..20 {
            let draws = Draws::of(1, "links", source as u64);
            let links: Vec<f64> = truth.arrivals(0.001, 0.0, end, draws).unwrap().collect();
            let mut last = 0.0;
            arrivals.visit(source, at(0.0), 0);
            for visit in 1..(end / 5400.0) as u32 {
                let now = 5400.0 * f64::from(visit);
                let found = links.iter().filter(|&&link| link > last && link <= now).count();
                arrivals.visit(source, at(now), found as u32);
                last = now;
            }
        }
        let (night, day) =
            (arrivals.rate(3, at(end + 3600.0)), arrivals.rate(3, at(end + 60_000.0)));
        // The truth has a ratio of nine. Visits every 1½ hours blur it and what is learnt is held to
        // flat; half of it on the scale of logarithms is three.
        assert!(day / night > 3.0, "{night} {day}");
    }
}
