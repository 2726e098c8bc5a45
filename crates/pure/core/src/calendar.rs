//! The proleptic Gregorian calendar in UTC: dates, and how the web writes them.
//!
//! | form | example | where |
//! |---|---|---|
//! | HTTP date | `Sun, 06 Nov 1994 08:49:37 GMT` | RFC 9110 §5.6.7 |
//! | RFC 3339 | `1994-11-06T08:49:37.5Z` | feeds, sitemaps, data sets |
//! | WARC date | `1994-11-06T08:49:37.500000Z` | WARC/1.1 §5.4 |
//! | CDX date | `19941106084937` | indexes of archives |
//!
//! Times are `i64` since 1970-01-01T00:00:00Z, in the unit that a name ends in. Reading is strict;
//! for dates as people write them there is a lenient reader beside the parsers.

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;
/// Microseconds of a second.
const SECOND: i64 = 1_000_000;

/// Days of 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Days from 1970-01-01 to a date; `None` if there is no such date. Months and days count from 1.
/// Years are those of four digits, and the year 0.
///
/// ```
/// use tidewatch_core::calendar::{date, days};
/// assert_eq!(days(2000, 2, 29), Some(11_016));
/// assert_eq!(date(11_016), (2000, 2, 29));
/// assert_eq!(days(1900, 2, 29), None);
/// ```
pub fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_date = (0..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day);
    if !is_date {
        return None;
    }
    // Years begin in March, so that the leap day comes last.
    let year = year - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * DAYS_PER_ERA + year * 365 + year / 4 - year / 100 + day_of_year - EPOCH)
}

/// The year, month and day that many days after 1970-01-01. Inverse of [`days`]; for |`days`| up to
/// 10¹⁵.
pub const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, day) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / (DAYS_PER_ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let is_next = month >= 10;
    let month = if is_next { month - 9 } else { month + 3 };
    (year + 400 * era + is_next as i64, month, day)
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The month that an English name of three letters means, in any case.
pub fn month(name: &str) -> Option<i64> {
    (1..).zip(MONTHS).find(|(_, month)| month.eq_ignore_ascii_case(name)).map(|(number, _)| number)
}

/// `2026-11-16`.
pub fn day_name(days: i64) -> String {
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn http_date(unix_s: i64) -> String {
    let (days, (h, m, s)) = (unix_s.div_euclid(DAY_S), clock(unix_s));
    let (year, month, day) = date(days);
    let (weekday, month) = (WEEKDAYS[days.rem_euclid(7) as usize], MONTHS[month as usize - 1]);
    format!("{weekday}, {day:02} {month} {year:04} {h:02}:{m:02}:{s:02} GMT")
}

/// `1994-11-06T08:49:37Z`, with a fraction only where there is one.
pub fn rfc3339(unix_micros: i64) -> String {
    let micros = unix_micros.rem_euclid(SECOND);
    let seconds = seconds(unix_micros);
    if micros == 0 {
        return seconds + "Z";
    }
    format!("{seconds}.{}Z", format!("{micros:06}").trim_end_matches('0'))
}

/// `1994-11-06T08:49:37.000000Z`.
pub fn warc_date(unix_micros: i64) -> String {
    format!("{}.{:06}Z", seconds(unix_micros), unix_micros.rem_euclid(SECOND))
}

/// `19941106084937`.
pub fn cdx_date(unix_micros: i64) -> String {
    seconds(unix_micros).replace(['-', 'T', ':'], "")
}

/// `1994-11-06T08:49:37`.
fn seconds(unix_micros: i64) -> String {
    let unix_s = unix_micros.div_euclid(SECOND);
    let (h, m, s) = clock(unix_s);
    format!("{}T{h:02}:{m:02}:{s:02}", day_name(unix_s.div_euclid(DAY_S)))
}

/// Hour, minute and second.
const fn clock(unix_s: i64) -> (i64, i64, i64) {
    let second = unix_s.rem_euclid(DAY_S);
    (second / 3600, second / 60 % 60, second % 60)
}

/// Reads an HTTP date, in seconds. The two obsolete forms are not read.
pub fn from_http_date(text: &str) -> Option<i64> {
    let (weekday, rest) = text.strip_suffix(" GMT")?.split_once(", ")?;
    if !WEEKDAYS.contains(&weekday) {
        return None;
    }
    let mut parts = rest.splitn(4, ' ');
    let (day, month_name, year) = (parts.next()?, parts.next()?, parts.next()?);
    let days = days(digits(year, 4)?, month(month_name)?, digits(day, 2)?)?;
    Some(days * DAY_S + time_of_day(parts.next()?)?)
}

/// Reads an RFC 3339 time with its offset, or a date alone, in microseconds.
pub fn from_rfc3339(text: &str) -> Option<i64> {
    let (date, time) = text.split_at_checked(10)?;
    let [year, month, day] = split(date, '-', [4, 2, 2])?;
    let day_s = days(year, month, day)? * DAY_S;
    if time.is_empty() {
        return Some(day_s * SECOND);
    }
    let (time, rest) = time.strip_prefix(['T', 't', ' '])?.split_at_checked(8)?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let unix_s = day_s + time_of_day(time)? - offset(&rest[zone_at..])?;
    Some(unix_s * SECOND + fraction(&rest[..zone_at])?)
}

/// Seconds of `hh:mm:ss`; a leap second counts as the next.
fn time_of_day(text: &str) -> Option<i64> {
    let [hour, minute, second] = split(text, ':', [2, 2, 2])?;
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Microseconds of `.25`, or of nothing; more digits are cut off.
fn fraction(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let places = text.strip_prefix('.')?;
    let kept = &places[..places.floor_char_boundary(6)];
    let is_number = !places.is_empty() && places.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{kept:0<6}").parse().ok())?
}

/// Seconds of `Z`, `+hh:mm` or `-hh:mm`.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let [hours, minutes] = split(zone.strip_prefix(['+', '-'])?, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Numbers of exactly so many digits each.
fn split<const N: usize>(text: &str, by: char, widths: [usize; N]) -> Option<[i64; N]> {
    let (mut parts, mut numbers) = (text.split(by), [0; N]);
    for (number, width) in numbers.iter_mut().zip(widths) {
        *number = digits(parts.next()?, width)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str, width: usize) -> Option<i64> {
    let is_number = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 9110 §5.6.7.
    const EXAMPLE_S: i64 = 784_111_777;

    #[test]
    fn one_moment_in_all_forms() {
        assert_eq!(http_date(EXAMPLE_S), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(rfc3339(EXAMPLE_S * SECOND), "1994-11-06T08:49:37Z");
        assert_eq!(rfc3339(EXAMPLE_S * SECOND + 250_000), "1994-11-06T08:49:37.25Z");
        assert_eq!(warc_date(EXAMPLE_S * SECOND + 1), "1994-11-06T08:49:37.000001Z");
        assert_eq!(cdx_date(EXAMPLE_S * SECOND), "19941106084937");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999999Z");
        let offset = "1994-11-06T10:49:37.25+02:00";
        assert_eq!(from_rfc3339(offset), Some(EXAMPLE_S * SECOND + 250_000));
        assert_eq!(from_rfc3339("1994-11-06"), days(1994, 11, 6).map(|days| days * DAY_S * SECOND));
    }

    /// Counts every day of the years 0 to 9999 by the rules of the calendar.
    #[test]
    fn every_date_reads_back() {
        let mut count = days(0, 1, 1).unwrap();
        assert_eq!(date(0), (1970, 1, 1));
        for year in 0..=9999 {
            for month in 1..=12 {
                let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                let length = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
                let length = length[month as usize - 1];
                for day in 1..=length {
                    assert_eq!(days(year, month, day), Some(count));
                    assert_eq!(date(count), (year, month, day));
                    count += 1;
                }
                assert_eq!(days(year, month, 0), None);
                assert_eq!(days(year, month, length + 1), None);
            }
        }
        assert_eq!(days(10_000, 1, 1), None);
    }

    #[test]
    fn every_printed_moment_reads_back() {
        // A prime number of seconds, so that all hours and minutes come up.
        for unix_s in (-62_000_000_000..=253_402_300_799).step_by(86_400 * 97 + 7_919) {
            assert_eq!(from_http_date(&http_date(unix_s)), Some(unix_s));
            let micros = unix_s * SECOND + unix_s.rem_euclid(SECOND);
            assert_eq!(from_rfc3339(&rfc3339(micros)), Some(micros));
            assert_eq!(from_rfc3339(&warc_date(micros)), Some(micros));
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for micros in [i64::MIN, i64::MAX] {
            assert!(!rfc3339(micros).is_empty() && !cdx_date(micros).is_empty());
            assert!(!http_date(micros).is_empty());
        }
    }

    #[test]
    fn invalid_dates_give_none() {
        for bad in [
            "",
            "Sun, 06 Nov 1994",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "é, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "aaaaaééééé GMT",
        ] {
            assert_eq!(from_http_date(bad), None, "{bad}");
        }
        for bad in [
            "",
            "1994-13-06T00:00:00Z",
            "1994-11-06T00:00:00",
            "1994-11-06T00:00:00.Z",
            "1994-11-06T24:00:00Z",
            "1994-11-06T00:00:00+24:00",
            "199é-11-06T00:00:00Z",
            "2023-02-29",
        ] {
            assert_eq!(from_rfc3339(bad), None, "{bad}");
        }
    }
}
