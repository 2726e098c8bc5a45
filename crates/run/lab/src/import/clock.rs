//! Wall-clock times of data sets, and the window that a trace covers.

use std::fmt;
use std::str::FromStr;

use tidewatch_core::{Span, Time, calendar};

use super::{ImportArgs, ImportError};

const MICROS: i64 = 1_000_000;
/// The years 1500 to 9999: enough for every data set, and sums do not overflow.
const LIMITS_S: (i64, i64) = (-14_831_769_600, 253_402_300_799);

/// A wall-clock time: microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    pub(super) const MAX: Moment = Moment(i64::MAX);

    /// `None` outside the years 1500 to 9999.
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        (LIMITS_S.0..=LIMITS_S.1).contains(&seconds).then(|| Moment(seconds * MICROS))
    }

    /// `None` outside the years 1500 to 9999.
    pub(super) fn from_unix_millis(millis: i64) -> Option<Self> {
        let limits = LIMITS_S.0 * 1000..=LIMITS_S.1 * 1000;
        limits.contains(&millis).then(|| Moment(millis * 1000))
    }

    /// This much later; saturates at the end of the year 9999.
    pub(super) fn plus(self, span: Span) -> Self {
        let end = LIMITS_S.1 * MICROS;
        let span = i64::try_from(span.as_micros()).unwrap_or(end);
        Moment(self.0.saturating_add(span).min(end))
    }

    /// Time since `earlier`; zero if that is later.
    pub(super) fn since(self, earlier: Moment) -> Span {
        Span::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The midpoint to a later moment.
    pub(super) fn middle(self, later: Moment) -> Self {
        Moment(self.0 + (later.0 - self.0) / 2)
    }
}

impl fmt::Display for Moment {
    /// RFC 3339, in UTC, with a fraction only where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&calendar::rfc3339(self.0))
    }
}

/// A text that is not a time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a time; write it like 2022-03-01, 2022-03-01T06:00:00Z or 1646092800")]
pub struct NotATime(String);

impl FromStr for Moment {
    type Err = NotATime;

    /// Reads a date, a date and time with offset (RFC 3339), or seconds since 1970.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        let text = text.trim();
        let seconds = || {
            let value: f64 = text.parse().ok()?;
            let whole =
                Moment::from_unix_seconds(value.floor() as i64).filter(|_| value.is_finite());
            Some(Moment(whole?.0 + (value.fract().rem_euclid(1.0) * MICROS as f64) as i64))
        };
        let moment = seconds().or_else(|| parse_rfc3339(text));
        moment.ok_or_else(|| NotATime(text.chars().take(60).collect()))
    }
}

fn parse_rfc3339(text: &str) -> Option<Moment> {
    let micros = calendar::from_rfc3339(text)?;
    Moment::from_unix_seconds(micros.div_euclid(MICROS)).map(|_| Moment(micros))
}

/// The part of the data that a trace covers; its start is the origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) start: Moment,
    pub(super) end: Moment,
}

impl Window {
    /// The window that the options select from data between `first` and `last`; by default all.
    pub(super) fn choose(
        args: &ImportArgs,
        first: Moment,
        last: Moment,
    ) -> Result<Self, ImportError> {
        let start = args.from.unwrap_or(first);
        let end = args.length.map_or(last, |length| start.plus(length)).min(last);
        if first <= start && start < end {
            return Ok(Window { start, end });
        }
        let length = args.length.map_or("the rest".to_owned(), |s| s.to_string());
        let [from, first, last] = [start, first, last].map(|moment| moment.to_string());
        Err(ImportError::Window { from, length, first, last })
    }

    /// A moment in the trace's time; moments before the start map to the start.
    pub(super) fn at(&self, moment: Moment) -> Time {
        Time::ZERO + moment.since(self.start)
    }

    /// Whether a moment lies after the start and before the end.
    pub(super) fn sees(&self, moment: Moment) -> bool {
        self.start < moment && moment < self.end
    }

    pub(super) fn duration(&self) -> Span {
        self.end.since(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_read_in_three_forms() {
        let same = Moment::from_unix_seconds(1_646_092_800).unwrap();
        for text in
            ["2022-03-01", "2022-03-01T00:00:00Z", "1646092800", "2022-03-01T02:30:00+02:30"]
        {
            assert_eq!(text.parse(), Ok(same), "{text}");
        }
        assert_eq!("2022-03-01T00:00:00.25Z".parse::<Moment>(), Ok(Moment(same.0 + 250_000)));
        assert_eq!(same.to_string(), "2022-03-01T00:00:00Z");
        assert_eq!("2000-02-29".parse::<Moment>().unwrap().0, 951_782_400 * MICROS);
    }

    #[test]
    fn invalid_times_are_refused() {
        let bad = ["", "x", "2022-02-30", "2022-13-01", "2022-3-1", "2022-03-01T00:00:00", "1e99"];
        for text in bad.into_iter().chain(["NaN", "2022-03-01T24:00:00Z", "ééééééé", "-inf"])
        {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_window_lies_within_the_data() {
        let at = |s| Moment::from_unix_seconds(s).unwrap();
        let choose = |from: Option<i64>, length: Option<u64>| {
            let (from, length) = (from.map(at), length.map(|s| Span::SECOND.times(s)));
            let args = ImportArgs { from, length, ..ImportArgs::default() };
            Window::choose(&args, at(100), at(200))
        };
        assert_eq!(choose(None, None).unwrap().duration(), Span::SECOND.times(100));
        assert_eq!(choose(Some(150), Some(500)).unwrap().duration(), Span::SECOND.times(50));
        assert!(choose(Some(200), None).is_err());
        assert!(choose(Some(99), None).is_err());
        let text = choose(Some(300), Some(5)).unwrap_err().to_string();
        assert!(text.contains("1970-01-01T00:05:00Z") && text.contains("00:03:20Z"), "{text}");
    }

    proptest! {
        #[test]
        fn printed_values_parse_again(micros in LIMITS_S.0 * MICROS..=LIMITS_S.1 * MICROS) {
            prop_assert_eq!(Moment(micros).to_string().parse(), Ok(Moment(micros)));
        }
    }
}
