//! A crawl's own time, which starts at zero and may run faster than ours.

use tidewatch_core::{Rate, Time, calendar};

/// Where the crawl's time zero lies in Unix time, and how fast its time runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    /// Unix time of the crawl's time zero, in microseconds.
    epoch: i64,
    /// Seconds of crawl time in one second of real time.
    pace: f64,
    /// The calendar year at the start.
    year: u16,
}

impl Timeline {
    /// A crawl that began at `epoch` and is opened at `unix_micros`.
    pub(crate) fn new(epoch: i64, pace: f64, unix_micros: i64) -> Timeline {
        let days = unix_micros.div_euclid(1_000_000 * calendar::DAY_S);
        let year = u16::try_from(calendar::date(days).0).unwrap_or(u16::MAX);
        Timeline { epoch, pace, year }
    }

    /// The crawl's time at a moment of Unix time.
    pub(crate) fn time(&self, unix_micros: i64) -> Time {
        let passed = u64::try_from(unix_micros - self.epoch).unwrap_or(0);
        Time::from_micros((passed as f64 * self.pace) as u64)
    }

    /// Unix time of a crawl's time, in microseconds.
    pub(crate) fn unix_micros(&self, time: Time) -> i64 {
        self.epoch.saturating_add_unsigned(self.lived(time))
    }

    /// Moves the epoch so that `last` is not after `unix_micros`: a clock that was set back must not
    /// make time run backwards.
    pub(crate) fn not_before(&mut self, last: Time, unix_micros: i64) {
        if self.unix_micros(last) > unix_micros {
            self.epoch = unix_micros.saturating_sub_unsigned(self.lived(last));
        }
    }

    /// Microseconds of real time from time zero to `time`.
    fn lived(&self, time: Time) -> u64 {
        (time.as_micros() as f64 / self.pace) as u64
    }

    /// Seconds of crawl time in one second of real time.
    pub(crate) const fn pace(&self) -> f64 {
        self.pace
    }

    /// Sets the pace; anything but a positive number counts as 1.
    pub(crate) fn set_pace(&mut self, pace: f64) {
        self.pace = if pace > 0.0 && pace.is_finite() { pace } else { 1.0 };
    }

    /// The calendar year at the start, for detecting endless calendars.
    pub(crate) const fn year(&self) -> u16 {
        self.year
    }

    /// Converts a rate per real second to one per second of crawl time.
    pub(crate) fn own_rate(&self, rate: Rate) -> Rate {
        Rate::per_second(rate.as_per_second() / self.pace).unwrap_or(rate)
    }

    /// Converts a rate per second of crawl time to one per real second.
    pub(crate) fn our_rate(&self, rate: Rate) -> Rate {
        Rate::per_second(rate.as_per_second() * self.pace).unwrap_or(rate)
    }
}
