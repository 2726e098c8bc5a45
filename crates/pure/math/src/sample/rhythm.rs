//! The rhythm of the week, and arrivals that follow it.
//!
//! Change and traffic come in hours of the week: an intensity that is constant within each of 168
//! hours, repeats every week, and averages one. Its integral Λ turns clock time into *expected*
//! time; a process that is Poisson (or any renewal process) in expected time, mapped back by Λ⁻¹,
//! is the same process with that rhythm. Time is in seconds since the start of some week, the
//! caller's choice; negative times belong to earlier weeks.

use crate::{Draws, MathError, sum::sum};
use serde::{Deserialize, Serialize};

/// Hours in a week.
pub const HOURS: usize = 168;
/// Seconds in an hour.
pub const HOUR: f64 = 3600.0;
/// Seconds in a week.
pub const WEEK: f64 = 604_800.0;

/// A periodic intensity by hour of the week with mean one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rhythm {
    #[serde(with = "crate::array")]
    levels: [f64; HOURS],
    /// Λ at the start of each hour, and at the end of the week, where it is exactly [`WEEK`].
    #[serde(with = "crate::array")]
    cumulative: [f64; HOURS + 1],
}

impl Rhythm {
    /// A rhythm with hourly levels in the given proportions: finite, not negative, not all zero.
    pub fn new(proportions: &[f64; HOURS]) -> Result<Self, MathError> {
        for &level in proportions {
            let sound = level >= 0.0 && level.is_finite();
            MathError::check(sound, "an hourly level", level, "finite and not negative")?;
        }
        let total = sum(proportions.iter().copied());
        let sound = total > 0.0 && total.is_finite();
        MathError::check(sound, "the sum of hourly levels", total, "positive and finite")?;
        let levels = proportions.map(|level| level * (HOURS as f64 / total));
        let mut cumulative = [0.0; HOURS + 1];
        let mut so_far = crate::Sum::new();
        for (hour, level) in levels.iter().enumerate() {
            so_far.add(level * HOUR);
            cumulative[hour + 1] = so_far.value().min(WEEK);
        }
        // The last hours of a quiet end keep the full week too, else Λ would fall there by rounding.
        let last = levels.iter().rposition(|&level| level > 0.0).unwrap_or(HOURS - 1);
        cumulative[last + 1..].fill(WEEK);
        Ok(Self { levels, cumulative })
    }

    /// The same intensity at all hours.
    pub fn flat() -> Self {
        let mut cumulative = [0.0; HOURS + 1];
        (0..=HOURS).for_each(|hour| cumulative[hour] = hour as f64 * HOUR);
        Self { levels: [1.0; HOURS], cumulative }
    }

    /// The hourly levels, of mean one.
    pub fn levels(&self) -> &[f64; HOURS] {
        &self.levels
    }

    /// The intensity at time t.
    pub fn level(&self, t: f64) -> f64 {
        self.levels[hour_of(t.rem_euclid(WEEK))]
    }

    /// Λ(t): expected time from 0 to t, in seconds. Rises with t, Λ(0) = 0, Λ(t + week) = Λ(t) + week.
    pub fn expected(&self, t: f64) -> f64 {
        let into = t.rem_euclid(WEEK);
        let hour = hour_of(into);
        let within = (into - hour as f64 * HOUR) * self.levels[hour];
        // Rounding must not carry an hour past its end.
        let part = (self.cumulative[hour] + within).min(self.cumulative[hour + 1]);
        (t / WEEK).floor() * WEEK + part
    }

    /// Λ⁻¹(y): the time at which expected time is y; over a stretch of intensity zero, its end.
    pub fn time_of(&self, y: f64) -> f64 {
        let into = y.rem_euclid(WEEK);
        // The last hour that starts at or before `into`: such an hour has a positive level,
        // except at a y that rounds to a full week.
        let after = self.cumulative.partition_point(|&start| start <= into);
        let hour = after.saturating_sub(1).min(HOURS - 1);
        let level = self.levels[hour];
        let within = if level > 0.0 { (into - self.cumulative[hour]) / level } else { 0.0 };
        (y / WEEK).floor() * WEEK + hour as f64 * HOUR + within.min(HOUR)
    }

    /// The times in (from, until\] of a Poisson process with `rate` events a second on average,
    /// following this rhythm. The rate must be finite and not negative. One draw an event.
    pub fn arrivals(
        &self,
        rate: f64,
        from: f64,
        until: f64,
        draws: Draws,
    ) -> Result<Arrivals<'_>, MathError> {
        let sound = rate >= 0.0 && rate.is_finite();
        MathError::check(sound, "the rate of arrivals", rate, "finite and not negative")?;
        Ok(Arrivals { rhythm: self, rate, y: self.expected(from), until, draws })
    }
}

fn hour_of(into_week: f64) -> usize {
    ((into_week / HOUR) as usize).min(HOURS - 1)
}

/// Iterator over the arrivals of a Poisson process with a [`Rhythm`].
#[derive(Debug, Clone)]
pub struct Arrivals<'a> {
    rhythm: &'a Rhythm,
    rate: f64,
    /// Expected time of the last arrival.
    y: f64,
    until: f64,
    draws: Draws,
}

impl Iterator for Arrivals<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.y += self.draws.exponential(self.rate);
        let t = if self.y.is_finite() { self.rhythm.time_of(self.y) } else { f64::INFINITY };
        if t <= self.until {
            return Some(t);
        }
        self.rate = 0.0; // fused: every later gap is infinite
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moments;
    use proptest::prelude::*;

    /// Nights quiet, one hour dead, Sunday at half.
    fn office() -> Rhythm {
        Rhythm::new(&std::array::from_fn(|hour| {
            let day = if hour / 24 == 6 { 0.5 } else { 1.0 };
            match hour % 24 {
                3 => 0.0,
                8..20 => 4.0 * day,
                _ => day,
            }
        }))
        .unwrap()
    }

    #[test]
    fn levels_average_one_and_a_week_is_a_week() {
        let rhythm = office();
        let mean = sum(rhythm.levels().iter().copied()) / HOURS as f64;
        assert!((mean - 1.0).abs() < 1e-14);
        assert_eq!(rhythm.expected(WEEK), WEEK);
        assert_eq!(rhythm.expected(-3.0 * WEEK), -3.0 * WEEK);
        assert_eq!((rhythm.level(3.5 * HOUR), rhythm.level(-WEEK + 3.5 * HOUR)), (0.0, 0.0));
        let flat = Rhythm::flat();
        assert_eq!((flat.expected(12345.678), flat.time_of(12345.678)), (12345.678, 12345.678));
        assert_eq!(Rhythm::new(&[7.0; HOURS]).unwrap().levels(), flat.levels());
    }

    #[test]
    fn quiet_hours_are_skipped() {
        let mut only = [0.0; HOURS];
        only[10] = 2.0;
        let rhythm = Rhythm::new(&only).unwrap();
        assert_eq!(rhythm.expected(9.0 * HOUR), 0.0);
        assert_eq!(rhythm.expected(10.5 * HOUR), WEEK / 2.0);
        assert_eq!(rhythm.expected(100.0 * HOUR), WEEK);
        assert_eq!(rhythm.time_of(WEEK / 2.0), 10.5 * HOUR);
        for t in rhythm.arrivals(1e-4, 0.0, 3.0 * WEEK, Draws::of(1, "quiet", 0)).unwrap() {
            assert!((10.0..=11.0).contains(&(t.rem_euclid(WEEK) / HOUR)), "{t}");
        }
    }

    #[test]
    fn bad_levels_are_refused() {
        assert!(Rhythm::new(&[0.0; HOURS]).is_err());
        let mut levels = [1.0; HOURS];
        levels[5] = -1.0;
        assert!(Rhythm::new(&levels).is_err());
        levels[5] = f64::NAN;
        assert!(Rhythm::new(&levels).is_err());
    }

    /// A count of mean m has variance m; five standard deviations, 168 hours and one seed.
    #[test]
    fn arrivals_follow_the_rhythm() {
        const RATE: f64 = 0.01;
        const WEEKS: f64 = 30.0;
        let rhythm = office();
        let mut counts = [0.0; HOURS];
        let mut last = 0.0;
        for t in rhythm.arrivals(RATE, 0.0, WEEKS * WEEK, Draws::of(3, "rhythm", 0)).unwrap() {
            assert!(t > last && t <= WEEKS * WEEK);
            counts[hour_of(t.rem_euclid(WEEK))] += 1.0;
            last = t;
        }
        for (count, level) in counts.into_iter().zip(rhythm.levels()) {
            let mean: f64 = RATE * HOUR * WEEKS * level;
            assert!((count - mean).abs() <= 5.0 * mean.sqrt(), "{count} against {mean}");
        }
    }

    #[test]
    fn counts_are_poisson_and_keyed() {
        let rhythm = office();
        let (from, until) = (-2.0 * WEEK + 5.0 * HOUR, -WEEK + 80.0 * HOUR);
        let count = |item| {
            let draws = Draws::of(4, "count", item);
            rhythm.arrivals(1e-4, from, until, draws).unwrap().count() as f64
        };
        let mean = 1e-4 * (rhythm.expected(until) - rhythm.expected(from));
        let counts: Moments = (0..3000).map(count).collect();
        assert!(counts.estimate_at(1.0 - 1e-6).covers(mean), "{counts:?} against {mean}");
        // Var(s²) ≈ 2σ⁴/n + σ²/n for a Poisson number.
        let limit = 5.0 * ((2.0 * mean * mean + mean) / 3000.0).sqrt();
        assert!((counts.variance() - mean).abs() < limit, "{counts:?} against {mean}");
        let never = rhythm.arrivals(0.0, from, until, Draws::new(1, 1)).unwrap();
        assert_eq!(never.count(), 0);
        assert!(rhythm.arrivals(f64::INFINITY, from, until, Draws::new(1, 1)).is_err());
    }

    /// Rounding of times near 10⁷ s, and of a division by a level.
    const ROUNDING: f64 = 1e-6;

    proptest! {
        #[test]
        fn inverse_round_trips(
            levels in prop::collection::vec(0.0..10.0_f64, HOURS),
            t in -1e7..1e7_f64,
            step in 0.0..1e6_f64,
        ) {
            let levels: [f64; HOURS] = levels.try_into().unwrap();
            let rhythm = Rhythm::new(&levels).unwrap();
            let y = rhythm.expected(t);
            prop_assert!((rhythm.expected(rhythm.time_of(y)) - y).abs() < ROUNDING);
            prop_assert!(rhythm.expected(t + step) >= y);
            prop_assert!(rhythm.time_of(y + step) >= rhythm.time_of(y));
            prop_assert!((rhythm.expected(t + WEEK) - y - WEEK).abs() < ROUNDING);
        }
    }
}
