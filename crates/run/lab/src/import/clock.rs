//! Wall-clock times of data sets, and the window that a trace covers.

use std::fmt;
use std::str::FromStr;

use tidewatch_core::{Span, Time};

use super::{ImportArgs, ImportError};

const MICROS: i64 = 1_000_000;
const DAY_S: i64 = 86_400;
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

/// Days from 1970-01-01 to a date of the Gregorian calendar; months from 1.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day comes last; eras are 400 years.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date that many days after 1970-01-01.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

impl fmt::Display for Moment {
    /// RFC 3339, in UTC, with a fraction only where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(MICROS);
        let (year, month, day) = civil_from_days(seconds.div_euclid(DAY_S));
        let s = seconds.rem_euclid(DAY_S);
        let (hour, minute, second) = (s / 3600, s / 60 % 60, s % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        let micros = self.0.rem_euclid(MICROS);
        if micros > 0 {
            let digits = format!("{micros:06}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
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
    let (date, time) = text.split_at_checked(10)?;
    let days = parse_date(date)?;
    if time.is_empty() {
        return Moment::from_unix_seconds(days * DAY_S);
    }
    let time = time.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = time.split_at_checked(8)?;
    let [hour, minute, second] = split_digits(clock, ':', [2, 2, 2])?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let micros = parse_fraction(&rest[..zone_at])?;
    let offset = parse_offset(&rest[zone_at..])?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days * DAY_S + hour * 3600 + minute * 60 + second.min(59) - offset;
    Some(Moment(Moment::from_unix_seconds(seconds)?.0 + micros))
}

fn parse_date(text: &str) -> Option<i64> {
    let [year, month, day] = split_digits(text, '-', [4, 2, 2])?;
    let days = days_from_civil(year, month, day);
    // Invalid days and months convert to another date.
    let exists = (1..=12).contains(&month) && civil_from_days(days) == (year, month, day);
    exists.then_some(days)
}

fn parse_fraction(text: &str) -> Option<i64> {
    let Some(digits) = text.strip_prefix('.') else { return text.is_empty().then_some(0) };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let six: String = digits.chars().chain("000000".chars()).take(6).collect();
    six.parse().ok()
}

/// Seconds east of Greenwich.
fn parse_offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, clock) = text.split_at_checked(1)?;
    let [hour, minute] = split_digits(clock, ':', [2, 2])?;
    let seconds = hour * 3600 + minute * 60;
    (hour < 24 && minute < 60).then_some(if sign == "-" { -seconds } else { seconds })
}

/// Numbers of fixed widths between separators.
fn split_digits<const N: usize>(
    text: &str,
    separator: char,
    widths: [usize; N],
) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next()?;
        let plain = part.len() == width && part.bytes().all(|b| b.is_ascii_digit());
        *number = part.parse().ok().filter(|_| plain)?;
    }
    parts.next().is_none().then_some(numbers)
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
        fn what_is_printed_reads_back(micros in LIMITS_S.0 * MICROS..=LIMITS_S.1 * MICROS) {
            prop_assert_eq!(Moment(micros).to_string().parse(), Ok(Moment(micros)));
        }

        #[test]
        fn days_and_dates_are_inverse(days in -1_000_000_i64..3_000_000) {
            let (year, month, day) = civil_from_days(days);
            prop_assert_eq!(days_from_civil(year, month, day), days);
        }
    }
}
