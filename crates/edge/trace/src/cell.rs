//! Parses a cell to a value, or explains why it is invalid.
//!
//! The limits of single values live here too, so that traces built in memory obey the same ones ([`time_within_limit`], [`not_negative`],
//! [`positive_rate`]).

use std::fmt::Write;

use tidewatch_core::{Rate, Time};

/// A cell of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Text(&'a str),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
}

/// Why a value is invalid: the end of a sentence that begins with the place.
pub(crate) type Refusal = String;

/// The latest time of a trace. Later times are in the wrong unit (milliseconds, a spreadsheet's date).
pub(crate) const LATEST: Time = Time::from_micros(1000 * 31_557_600 * 1_000_000);

/// Characters of a value shown in errors.
const SHOWN: usize = 60;

impl Cell<'_> {
    /// The value as the file has it, quoted and cut short.
    fn shown(self) -> String {
        match self {
            Cell::Missing => "an empty cell".to_owned(),
            Cell::Text(text) => shown(text),
            Cell::Signed(number) => format!("'{number}'"),
            Cell::Unsigned(number) => format!("'{number}'"),
            Cell::Float(number) => format!("'{number}'"),
            Cell::Bool(flag) => format!("'{flag}'"),
        }
    }

    pub(crate) fn is_missing(self) -> bool {
        matches!(self, Cell::Missing | Cell::Text(""))
    }

    pub(crate) fn id(self) -> Result<u64, Refusal> {
        let id = match self {
            Cell::Text(text) => text.parse().ok(),
            Cell::Signed(number) => u64::try_from(number).ok(),
            Cell::Unsigned(number) => Some(number),
            Cell::Float(number) => whole(number),
            Cell::Missing | Cell::Bool(_) => None,
        };
        id.ok_or_else(|| {
            self.refused("is not a page id", "write a whole number from 0 to 18446744073709551615")
        })
    }

    pub(crate) fn maybe_count(self) -> Result<Option<u32>, Refusal> {
        if self.is_missing() {
            return Ok(None);
        }
        let count = self.id().ok().and_then(|count| u32::try_from(count).ok());
        count.map(Some).ok_or_else(|| {
            self.refused("is not a position", "write a whole number from 0 to 4294967295")
        })
    }

    pub(crate) fn time(self) -> Result<Time, Refusal> {
        let time = match self {
            Cell::Text(text) => plain_time(text).or_else(|| text.parse().ok()),
            Cell::Signed(number) => u64::try_from(number).ok().map(whole_seconds),
            Cell::Unsigned(number) => Some(whole_seconds(number)),
            Cell::Float(number) if number.is_finite() => Time::from_seconds(number),
            Cell::Float(_) | Cell::Missing | Cell::Bool(_) => None,
        };
        let time = time.ok_or_else(|| {
            self.refused("is not a time", "write seconds since the start, like 86400 or 12.5")
        })?;
        time_within_limit(time).map_err(|refusal| format!("{} {refusal}", self.shown()))
    }

    pub(crate) fn maybe_time(self) -> Result<Option<Time>, Refusal> {
        if self.is_missing() { Ok(None) } else { self.time().map(Some) }
    }

    /// A count or weight.
    pub(crate) fn amount(self) -> Result<f64, Refusal> {
        let number = self.number().filter(|&n| not_negative(n)).ok_or_else(|| {
            self.refused("is not an amount", "write a finite number that is not negative")
        })?;
        // −0 becomes 0, so that equal traces are equal bytes.
        Ok(number + 0.0)
    }

    pub(crate) fn rate(self) -> Result<Rate, Refusal> {
        self.number().and_then(positive_rate).ok_or_else(|| {
            self.refused(
                "is not a rate",
                "write fetches per second above 0, or leave the cell empty for no limit",
            )
        })
    }

    pub(crate) fn flag(self) -> Result<bool, Refusal> {
        match self {
            Cell::Bool(flag) => Ok(flag),
            Cell::Text("0") | Cell::Signed(0) | Cell::Unsigned(0) | Cell::Float(0.0) => Ok(false),
            Cell::Text("1") | Cell::Signed(1) | Cell::Unsigned(1) | Cell::Float(1.0) => Ok(true),
            _ => Err(self.refused("is neither yes nor no", "write 1 or 0")),
        }
    }

    /// The error for a value that is not text.
    pub(crate) fn not_text(self) -> Refusal {
        self.refused("is not text", "store the column as strings")
    }

    fn number(self) -> Option<f64> {
        match self {
            Cell::Text(text) => plain_number(text).or_else(|| text.parse().ok()),
            Cell::Signed(number) => Some(number as f64),
            Cell::Unsigned(number) => Some(number as f64),
            Cell::Float(number) => Some(number),
            Cell::Missing | Cell::Bool(_) => None,
        }
    }

    fn refused(self, what: &str, instead: &str) -> Refusal {
        if self.is_missing() {
            return format!("the cell is empty; {instead}");
        }
        format!("{} {what}; {instead}", self.shown())
    }
}

/// A piece of text as errors show it: quoted, escaped, cut short.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::from("'");
    for (i, c) in text.chars().enumerate() {
        if i == SHOWN {
            shown.push('…');
            break;
        }
        if c.is_control() {
            // Writing to a String cannot fail.
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.push('\'');
    shown
}

/// Refuses what lies beyond [`LATEST`].
pub(crate) fn time_within_limit(time: Time) -> Result<Time, Refusal> {
    if time <= LATEST {
        return Ok(time);
    }
    Err("is more than 1000 years after the start; times are in seconds".to_owned())
}

pub(crate) fn not_negative(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

pub(crate) fn positive_rate(number: f64) -> Option<Rate> {
    Rate::per_second(number).filter(|rate| rate.as_per_second() > 0.0)
}

/// Saturates, to be refused as beyond [`LATEST`].
fn whole_seconds(seconds: u64) -> Time {
    Time::from_micros(seconds.saturating_mul(1_000_000))
}

/// The whole number that a float represents, as data frames store ids when some are missing; `None`
/// where floats skip whole numbers.
fn whole(number: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && (0.0..EXACT).contains(&number)).then_some(number as u64)
}

/// Fast path for short plain decimals, which nearly all times are: the same values as [`Time`]'s
/// parser, without its allocation.
fn plain_time(text: &str) -> Option<Time> {
    const LONGEST: usize = 18;
    let point = text.bytes().position(|byte| byte == b'.');
    let (whole, part) = point.map_or((text, ""), |point| (&text[..point], &text[point + 1..]));
    if whole.is_empty() || part.len() > 6 || text.len() > LONGEST {
        return None;
    }
    let seconds = digits(whole)?.checked_mul(1_000_000)?;
    let scale = 10_u64.pow(6 - part.len() as u32);
    seconds.checked_add(digits(part)? * scale).map(Time::from_micros)
}

/// Fast path for short whole numbers, which most counts are and floats hold exactly.
fn plain_number(text: &str) -> Option<f64> {
    const LONGEST: usize = 15;
    (1..=LONGEST).contains(&text.len()).then(|| digits(text)).flatten().map(|n| n as f64)
}

/// The number that up to 18 decimal digits stand for; 0 for none.
fn digits(text: &str) -> Option<u64> {
    text.bytes().try_fold(0_u64, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The fast path agrees with the general parser.
        #[test]
        fn plain_times_are_read_as_the_core_reads_them(text in "[0-9]{0,14}(\\.[0-9]{0,8})?") {
            if let Some(time) = plain_time(&text) {
                prop_assert_eq!(text.parse(), Ok(time));
            }
        }

        #[test]
        fn plain_numbers_are_read_as_floats_are(text in "[0-9.e-]{0,17}") {
            if let Some(number) = plain_number(&text) {
                prop_assert_eq!(text.parse(), Ok(number));
            }
        }

        #[test]
        fn printed_times_take_the_shortcut(micros in 0..=LATEST.as_micros()) {
            let time = Time::from_micros(micros);
            prop_assert_eq!(plain_time(&time.to_string()), Some(time));
        }
    }

    #[test]
    fn times_end_after_a_thousand_years() {
        assert_eq!(Cell::Text("31557600000").time(), Ok(LATEST));
        assert_eq!(
            Cell::Text("31557600000.000001").time().unwrap_err(),
            "'31557600000.000001' is more than 1000 years after the start; times are in seconds"
        );
        assert!(Cell::Unsigned(u64::MAX).time().is_err());
        assert!(Cell::Float(f64::MAX).time().is_err());
    }

    #[test]
    fn floats_stand_for_ids_only_where_they_are_exact() {
        assert_eq!(Cell::Float(7.0).id(), Ok(7));
        for bad in [7.5, -1.0, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0] {
            assert!(Cell::Float(bad).id().is_err(), "{bad}");
        }
    }

    #[test]
    fn long_and_odd_values_are_cut_and_escaped() {
        assert_eq!(shown("a\tb\u{0}"), "'a\\tb\\u{0}'");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), SHOWN + 3);
    }
}
