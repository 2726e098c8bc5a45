//! At which hours does a host change its pages?
//!
//! A rate is not constant: newsrooms sleep. What a crawler can afford to learn is one profile per
//! host, the intensity φ of each of the 168 hours of the week relative to the mean, times each
//! page's own rate. With it time is counted in *expected changes*: Λ(t) = ∫φ ([`elapsed`]), which is
//! how rates are learnt, and fetches are placed where they save most ([`best_moment`]).
//!
//! **Learning** is an expectation–maximisation step a visit. Given the present belief, a gap without
//! change adds what was expected of each of its hours to the exposure; a change of unknown date adds
//! also the expected number of changes, x/(1 − e⁻ˣ) of them if x were expected, spread over the
//! hours in proportion to φ; a dated change goes to its hour, and only the time after it counts as
//! quiet.
//!
//! **Shrinkage.** An hour's φ is taken to be gamma distributed about one with strength κ, and κ
//! maximises the likelihood of what all hours saw. So few visits, or visits too far apart to tell
//! hours apart, leave the profile flat, and a marked rhythm shows itself as soon as it is more than
//! noise.

mod moment;

pub use moment::{best_moment, longest_wait};

use crate::estimate::{Evidence, Visit, fit_shape};
use serde::{Deserialize, Serialize};
use tidewatch_math::sample::{HOUR, HOURS, Rhythm, WEEK};

/// What the visits to the pages of one host say about the hours of its week.
///
/// Times are seconds from the origin, at which hour zero begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HourCounts {
    #[serde(with = "tidewatch_math::array")]
    hours: [Evidence; HOURS],
}

impl Default for HourCounts {
    fn default() -> Self {
        Self { hours: [Evidence::default(); HOURS] }
    }
}

impl HourCounts {
    /// Nothing seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a visit at time `at` to a page that changes `rate` times a second on average.
    /// `believed` is the host's present profile. Gaps of more than a week are left out: they say
    /// nothing about its hours.
    pub fn record(&mut self, at: f64, visit: &Visit, rate: f64, believed: &Rhythm) {
        let from = at - visit.gap;
        // Far from the origin a gap may vanish in rounding; it says nothing then.
        let sound = from < at && rate > 0.0 && rate.is_finite();
        if !sound || visit.gap > WEEK {
            return;
        }
        match visit.age {
            Some(age) if visit.changed => {
                self.hours[hour_of(at - age)].changes += 1.0;
                self.watch(at - age, at, rate);
            }
            _ => {
                self.watch(from, at, rate);
                if visit.changed {
                    self.spread(from, at, rate, believed);
                }
            }
        }
    }

    /// Adds the changes that a flat profile would expect between two times.
    fn watch(&mut self, from: f64, to: f64, rate: f64) {
        for_each_hour(from, to, |hour, start, end| self.hours[hour].time += rate * (end - start));
    }

    /// Adds the changes expected between two times, given that there was at least one.
    fn spread(&mut self, from: f64, to: f64, rate: f64, believed: &Rhythm) {
        let x = rate * (believed.expected(to) - believed.expected(from));
        if x <= 0.0 {
            // It changed although the profile said it never would: no hour is likelier.
            let share = (to - from).recip();
            for_each_hour(from, to, |hour, start, end| {
                self.hours[hour].changes += share * (end - start);
            });
            return;
        }
        let seen_over_expected = -(-x).exp_m1().recip();
        for_each_hour(from, to, |hour, start, end| {
            let level = believed.levels()[hour];
            self.hours[hour].changes += rate * level * (end - start) * seen_over_expected;
        });
    }

    /// Takes in that `found` events came between two times, where a page of `rate` events a second
    /// is watched that counts them all. Spans of more than a week are left out.
    pub fn record_count(&mut self, from: f64, to: f64, found: f64, rate: f64, believed: &Rhythm) {
        let sound = from < to && rate > 0.0 && rate.is_finite() && found >= 0.0;
        if !sound || to - from > WEEK {
            return;
        }
        self.watch(from, to, rate);
        let expected = believed.expected(to) - believed.expected(from);
        for_each_hour(from, to, |hour, start, end| {
            let level = if expected > 0.0 {
                believed.levels()[hour] / expected
            } else {
                (to - from).recip()
            };
            self.hours[hour].changes += found * level * (end - start);
        });
    }

    /// Lets old evidence count for `share` in [0, 1] of what it did, so that habits may change.
    pub fn fade(&mut self, share: f64) {
        for hour in &mut self.hours {
            hour.changes *= share;
            hour.time *= share;
        }
    }

    /// Changes seen or inferred.
    pub fn changes(&self) -> f64 {
        self.hours.iter().map(|hour| hour.changes).sum()
    }

    /// The profile, and the strength κ with which it was held to flat.
    ///
    /// Exposure is first scaled so that changes and expectation agree over the week: rates that are
    /// wrong by a common factor must not look like a rhythm.
    pub fn fit(&self) -> (Rhythm, f64) {
        let (changes, time) =
            (self.changes(), self.hours.iter().map(|hour| hour.time).sum::<f64>());
        if changes <= 0.0 || time <= 0.0 {
            return (Rhythm::flat(), f64::INFINITY);
        }
        let scale = changes / time;
        let scaled = |hour: &Evidence| Evidence { time: hour.time * scale, ..*hour };
        let strength = fit_shape(|| self.hours.iter().map(|hour| (scaled(hour), 1.0)));
        let levels = std::array::from_fn(|h| scaled(&self.hours[h]).shrunk(strength, 1.0));
        (Rhythm::new(&levels).unwrap_or_else(|_| Rhythm::flat()), strength)
    }
}

/// A profile is fitted anew after so much time.
const FIT_EVERY: f64 = 6.0 * HOUR;

/// A host's hours as they are learnt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Habit {
    counts: HourCounts,
    rhythm: Rhythm,
    fitted: f64,
}

impl Default for Habit {
    fn default() -> Self {
        Habit { counts: HourCounts::new(), rhythm: Rhythm::flat(), fitted: 0.0 }
    }
}

impl Habit {
    /// The profile as of the last fit.
    pub fn rhythm(&self) -> &Rhythm {
        &self.rhythm
    }

    /// Takes in a visit, as [`HourCounts::record`] does.
    pub fn record(&mut self, at: f64, visit: &Visit, rate: f64) {
        self.counts.record(at, visit, rate, &self.rhythm);
        self.fit(at);
    }

    /// Takes in a count, as [`HourCounts::record_count`] does.
    pub fn record_count(&mut self, from: f64, to: f64, found: f64, rate: f64) {
        self.counts.record_count(from, to, found, rate, &self.rhythm);
        self.fit(to);
    }

    fn fit(&mut self, now: f64) {
        if now - self.fitted >= FIT_EVERY {
            self.fitted = now;
            self.rhythm = self.counts.fit().0;
        }
    }
}

/// The hour of the week at a time, from 0 to 167.
fn hour_of(at: f64) -> usize {
    ((at.rem_euclid(WEEK) / HOUR) as usize).min(HOURS - 1)
}

/// Calls `visit` with each hour of the week that the span touches and the part of it in the hour.
/// The span must not be longer than a week.
fn for_each_hour(from: f64, to: f64, mut visit: impl FnMut(usize, f64, f64)) {
    let mut start = from;
    // A week touches 169 hours at most; the bound also ends steps that rounding has stopped.
    for _ in 0..=HOURS + 1 {
        let next = ((start / HOUR).floor() + 1.0) * HOUR;
        let end = next.min(to);
        visit(hour_of(start), start, end);
        if end >= to {
            return;
        }
        start = next;
    }
}

/// Λ(to) − Λ(from): the time between two moments in units of expected changes, seconds of a mean
/// hour.
pub fn elapsed(rhythm: &Rhythm, from: f64, to: f64) -> f64 {
    rhythm.expected(to) - rhythm.expected(from)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact by construction")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;

    /// Busy from 8 to 20 on weekdays: four times the night's intensity.
    fn office() -> Rhythm {
        Rhythm::new(&std::array::from_fn(|hour| match (hour / 24, hour % 24) {
            (0..5, 8..20) => 4.0,
            _ => 1.0,
        }))
        .unwrap()
    }

    /// Visits to `pages` pages every `gap` seconds for `weeks`, learnt with `rounds` refits.
    fn learn(truth: &Rhythm, pages: u64, gap: f64, weeks: u32, dated: bool) -> (Rhythm, f64) {
        let rate = 1.0 / (6.0 * HOUR);
        let (mut believed, mut strength) = (Rhythm::flat(), f64::INFINITY);
        let end = f64::from(weeks) * WEEK;
        for round in 0..6 {
            let mut counts = HourCounts::new();
            for page in 0..pages {
                let draws = Draws::of(4, "rhythm.test", page);
                let mut changes = truth.arrivals(rate, 0.0, end, draws).unwrap().peekable();
                let mut at = 0.31 * HOUR * page as f64 % gap;
                while at + gap < end {
                    at += gap;
                    let mut last = None;
                    while let Some(change) = changes.next_if(|&change| change <= at) {
                        last = Some(change);
                    }
                    let last = last.filter(|&change| change > at - gap);
                    let age = last.filter(|_| dated).map(|change| at - change);
                    let visit = Visit { gap, changed: last.is_some(), age };
                    counts.record(at, &visit, rate, &believed);
                }
            }
            (believed, strength) = counts.fit();
            assert!(round > 0 || counts.changes() > 0.0);
        }
        (believed, strength)
    }

    /// Mean absolute distance of the levels.
    fn distance(a: &Rhythm, b: &Rhythm) -> f64 {
        let gaps = a.levels().iter().zip(b.levels()).map(|(a, b)| (a - b).abs());
        gaps.sum::<f64>() / HOURS as f64
    }

    #[test]
    fn a_marked_rhythm_is_found() {
        let truth = office();
        let flat = distance(&truth, &Rhythm::flat());
        for (dated, share) in [(true, 0.3), (false, 0.45)] {
            let (found, strength) = learn(&truth, 40, 3.0 * HOUR, 4, dated);
            assert!(distance(&found, &truth) < share * flat, "{dated} {strength}");
            assert!(strength < 20.0, "{strength}");
        }
    }

    #[test]
    fn no_rhythm_stays_flat() {
        let (found, strength) = learn(&Rhythm::flat(), 40, 3.0 * HOUR, 4, true);
        assert!(strength > 50.0, "{strength}");
        assert!(distance(&found, &Rhythm::flat()) < 0.05);
    }

    #[test]
    fn little_data_leaves_the_profile_near_flat() {
        let (found, _) = learn(&office(), 1, 12.0 * HOUR, 1, false);
        assert!(distance(&found, &Rhythm::flat()) < 0.1);
        let (nothing, strength) = HourCounts::new().fit();
        assert_eq!((nothing.levels(), strength), (Rhythm::flat().levels(), f64::INFINITY));
    }

    #[test]
    fn hostile_visits_are_left_out() {
        let mut counts = HourCounts::new();
        let flat = Rhythm::flat();
        let visit = |gap: f64| Visit { gap, changed: true, age: None };
        counts.record(f64::NAN, &visit(1.0), 1.0, &flat);
        counts.record(1e9, &visit(f64::INFINITY), 1.0, &flat);
        counts.record(1e9, &visit(-5.0), 1.0, &flat);
        counts.record(1e9, &visit(2.0 * WEEK), 1.0, &flat);
        counts.record(1e9, &visit(5.0), f64::INFINITY, &flat);
        counts.record(1e300, &visit(5.0), 1.0, &flat);
        assert_eq!(counts.changes(), 0.0);
        let mut zero = [0.0; HOURS];
        zero[7] = 1.0;
        counts.record(1000.0, &visit(10.0), 1e-3, &Rhythm::new(&zero).unwrap());
        assert!(counts.changes().is_finite());
    }

    proptest! {
        /// The parts of a span add up to it and lie in their hours.
        #[test]
        fn hours_cover_the_span(from in -1e7..1e9_f64, share in 0.0001..1.0_f64) {
            let to = from + share * WEEK;
            let mut total = 0.0;
            for_each_hour(from, to, |hour, start, end| {
                total += end - start;
                assert!(hour_of(f64::midpoint(start, end)) == hour || end - start < 1e-6);
            });
            prop_assert!((total - (to - from)).abs() < 1e-5, "{total}");
        }
    }
}
