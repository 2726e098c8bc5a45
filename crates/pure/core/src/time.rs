//! Instants, spans and rates that cannot be negative, NaN or out of order.
//!
//! A [`Time`] counts whole microseconds from an origin that the caller chose:
//! the Unix epoch in the live crawler, the start of the trace in the lab. Whole
//! numbers make equality, ordering and replay exact; a microsecond is far below
//! what any crawl can tell apart, and 2⁶⁴ of them are more than half a million
//! years. Arithmetic saturates, so a hostile date never overflows.
//!
//! Formulas work in `f64` seconds; [`Time::seconds`], [`Span::seconds`] and
//! [`Rate::per_second`] lead there, and the checked constructors lead back.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

const MICROS_PER_SECOND: f64 = 1e6;

/// An instant: microseconds since the origin of the crawl or trace.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(u64);

/// A length of time, never negative. [`Span::FOREVER`] stands for "never ends".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Span(u64);

/// Events per second: finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Rate(f64);

/// Microseconds for a number of seconds: `None` for NaN or below zero, saturating above.
fn micros(seconds: f64) -> Option<u64> {
    // The cast saturates at u64::MAX, which is what "forever" means here.
    (seconds >= 0.0).then(|| (seconds * MICROS_PER_SECOND).round() as u64)
}

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(0);
    /// Later than every instant that can occur; the due time of "never".
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `micros` after the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Time(micros)
    }

    /// The instant `seconds` after the origin, rounded to a microsecond.
    /// `None` if `seconds` is NaN or negative; too large a value becomes [`Time::NEVER`].
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        micros(seconds).map(Time)
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Seconds since the origin.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND
    }

    /// How long after `earlier` this is; zero if it is not after.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than anything that ends.
    pub const FOREVER: Span = Span(u64::MAX);
    /// One second.
    pub const SECOND: Span = Span(1_000_000);
    /// One minute.
    pub const MINUTE: Span = Span(60 * Self::SECOND.0);
    /// One hour.
    pub const HOUR: Span = Span(60 * Self::MINUTE.0);
    /// One day.
    pub const DAY: Span = Span(24 * Self::HOUR.0);
    /// One week.
    pub const WEEK: Span = Span(7 * Self::DAY.0);

    /// A span of `micros`.
    pub const fn from_micros(micros: u64) -> Self {
        Span(micros)
    }

    /// A span of `seconds`, rounded to a microsecond. `None` if NaN or negative;
    /// infinity and anything too large become [`Span::FOREVER`].
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        micros(seconds).map(Span)
    }

    /// Microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Seconds; infinite for [`Span::FOREVER`].
    pub fn seconds(self) -> f64 {
        if self == Span::FOREVER { f64::INFINITY } else { self.0 as f64 / MICROS_PER_SECOND }
    }

    /// This span `times` over, saturating.
    pub const fn times(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Rate {
    /// Nothing ever happens.
    pub const ZERO: Rate = Rate(0.0);

    /// A rate in events per second; `None` unless finite and not negative.
    pub fn per_second(rate: f64) -> Option<Self> {
        // `+ 0.0` turns −0 into 0, so that equal rates have equal bits.
        (rate.is_finite() && rate >= 0.0).then_some(Rate(rate + 0.0))
    }

    /// Events per second.
    pub const fn as_per_second(self) -> f64 {
        self.0
    }

    /// The mean gap between two events; [`Span::FOREVER`] when the rate is zero.
    pub fn gap(self) -> Span {
        Span::from_seconds(1.0 / self.0).unwrap_or(Span::FOREVER)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    /// Saturates at the origin.
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Time {
    /// Seconds since the origin, without trailing zeros: `12.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_seconds(self.0, f)
    }
}

impl fmt::Display for Span {
    /// Seconds with a unit, `12.5s`, or `forever`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Span::FOREVER {
            return f.write_str("forever");
        }
        fmt_seconds(self.0, f)?;
        f.write_str("s")
    }
}

fn fmt_seconds(micros: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    if part == 0 {
        return write!(f, "{whole}");
    }
    let digits = format!("{part:06}");
    write!(f, "{whole}.{}", digits.trim_end_matches('0'))
}

/// Why a time or rate in text was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not an instant.
    #[error("'{0}' is not a time; write seconds since the start, like 86400 or 12.5")]
    Time(String),
    /// Not a span.
    #[error("'{0}' is not a length of time; write it like 90s, 30m, 6h or 7d")]
    Span(String),
    /// Not a rate.
    #[error("'{0}' is not a rate; write it like 5/s, 300/min, 2/h or 0.05 (per second)")]
    Rate(String),
}

impl std::str::FromStr for Time {
    type Err = Unreadable;

    /// Reads seconds since the origin, `12.5`. Plain decimals are read exactly,
    /// digit by digit; further digits than a microsecond holds are rounded.
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let exact = || {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            let all_digits = !whole.is_empty() && whole.bytes().all(|b| b.is_ascii_digit());
            if !all_digits || part.len() > 6 || !part.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let micros = format!("{part:0<6}").parse::<u64>().ok()?;
            whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)
        };
        let rounded = || text.parse().ok().filter(|s: &f64| s.is_finite()).and_then(micros);
        exact().or_else(rounded).map(Time).ok_or_else(|| Unreadable::Time(text.to_owned()))
    }
}

impl std::str::FromStr for Span {
    type Err = Unreadable;

    /// Reads `90s`, `30m`, `6h`, `7d`, `2w`; decimals are allowed, a bare number is seconds.
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let wrong = || Unreadable::Span(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = match unit {
            "" | "s" => 1.0,
            "ms" => 1e-3,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 604_800.0,
            _ => return Err(wrong()),
        };
        let value: f64 = number.trim().parse().map_err(|_| wrong())?;
        Span::from_seconds(value * unit).filter(|&s| s != Span::FOREVER).ok_or_else(wrong)
    }
}

impl std::str::FromStr for Rate {
    type Err = Unreadable;

    /// Reads `5/s`, `300/min`, `2/h`, `10/d`; a bare number is per second.
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let wrong = || Unreadable::Rate(text.to_owned());
        let (number, unit) = text.trim().split_once('/').unwrap_or((text.trim(), "s"));
        let seconds = match unit.trim() {
            "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" | "day" => 86_400.0,
            _ => return Err(wrong()),
        };
        let value: f64 = number.trim().parse().map_err(|_| wrong())?;
        Rate::per_second(value / seconds).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_floats_have_no_time() {
        for bad in [f64::NAN, -1e-9 - 1.0, f64::NEG_INFINITY] {
            assert_eq!(Time::from_seconds(bad), None);
            assert_eq!(Span::from_seconds(bad), None);
        }
        assert_eq!(Rate::per_second(f64::INFINITY), None);
        assert_eq!(Rate::per_second(-0.0).map(|r| r.0.to_bits()), Some(0));
        assert_eq!(Span::from_seconds(f64::INFINITY), Some(Span::FOREVER));
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::NEVER + Span::DAY, Time::NEVER);
        assert_eq!(Time::ZERO - Span::DAY, Time::ZERO);
        assert_eq!(Time::ZERO.since(Time::NEVER), Span::ZERO);
        assert_eq!(Rate::ZERO.gap(), Span::FOREVER);
    }

    #[test]
    fn text_forms() {
        assert_eq!("90s".parse(), Ok(Span::from_micros(90_000_000)));
        assert_eq!("1.5h".parse(), Ok(Span::MINUTE.times(90)));
        assert_eq!("7d".parse(), Ok(Span::WEEK));
        for bad in ["", "h", "-3s", "1e999d", "5 parsecs", "NaN"] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
        assert_eq!("1e3".parse(), Ok(Time(1_000_000_000)));
        assert_eq!("0.0000014".parse(), Ok(Time(1)));
        for bad in ["", ".", "-1", "NaN", "inf", "1.2.3", "12s"] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
        assert_eq!("300/min".parse(), Ok(Rate(5.0)));
        assert_eq!("0.05".parse(), Ok(Rate(0.05)));
        for bad in ["", "x/s", "5/fortnight", "-1/s", "inf"] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
        assert_eq!(Time::from_micros(12_500_000).to_string(), "12.5");
        assert_eq!(Span::FOREVER.to_string(), "forever");
    }

    proptest! {
        #[test]
        fn printed_values_parse_again(micros: u64) {
            let time = Time::from_micros(micros);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }

        #[test]
        fn since_undoes_add(t in 0u64..1 << 60, s in 0u64..1 << 60) {
            let (t, s) = (Time::from_micros(t), Span::from_micros(s));
            prop_assert_eq!((t + s).since(t), s);
        }
    }
}
