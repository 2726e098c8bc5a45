//! Dates as HTTP, feeds and sitemaps write them.
//!
//! Days are converted by counting in eras of 400 years, which all have the
//! same number of days, with years that begin in March so that the leap day
//! comes last. Everything is UTC, whole seconds.

use std::fmt;

const DAY: i64 = 86_400;
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// An instant in whole seconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date(pub(crate) i64);

impl Date {
    /// Year, month 1–12, day 1–31.
    fn civil(self) -> (i64, i64, i64) {
        let days = self.0.div_euclid(DAY) + EPOCH;
        let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
        let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / (DAYS_PER_ERA - 1);
        let year_of_era = (day_of_era - leap_days) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (era * 400 + year_of_era + i64::from(month <= 2), month, day)
    }

    /// `None` for an impossible date.
    fn from_civil(year: i64, month: i64, day: i64, second_of_day: i64) -> Option<Self> {
        let is_plausible = (0..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..=DAY).contains(&second_of_day);
        if !is_plausible {
            return None;
        }
        let year = year - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Some(Date((era * DAYS_PER_ERA + day_of_era - EPOCH) * DAY + second_of_day))
    }

    fn clock(self) -> (i64, i64, i64) {
        let second = self.0.rem_euclid(DAY);
        (second / 3600, second / 60 % 60, second % 60)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, as HTTP writes it.
    pub(crate) fn http(self) -> impl fmt::Display {
        let ((year, month, day), (h, m, s)) = (self.civil(), self.clock());
        let weekday = WEEKDAYS[self.0.div_euclid(DAY).rem_euclid(7) as usize];
        let month = MONTHS[month as usize - 1];
        format!("{weekday}, {day:02} {month} {year:04} {h:02}:{m:02}:{s:02} GMT")
    }

    /// `1994-11-06T08:49:37Z`, as feeds and sitemaps write it.
    pub(crate) fn rfc3339(self) -> impl fmt::Display {
        let ((year, month, day), (h, m, s)) = (self.civil(), self.clock());
        format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
    }

    /// Parses an HTTP date; the two obsolete forms are not supported.
    pub(crate) fn from_http(text: &str) -> Option<Self> {
        let (weekday, rest) = text.strip_suffix(" GMT")?.split_once(", ")?;
        if !WEEKDAYS.contains(&weekday) {
            return None;
        }
        let mut parts = rest.splitn(4, ' ');
        let day = digits(parts.next()?)?;
        let month = parts.next()?;
        let (month, _) = (1..).zip(MONTHS).find(|(_, name)| *name == month)?;
        let year = digits(parts.next()?)?;
        Date::from_civil(year, month, day, time_of_day(parts.next()?)?)
    }

    /// Parses an RFC 3339 date with `Z` or a numeric offset; truncates fractions.
    pub(crate) fn from_rfc3339(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let mut parts = date.splitn(3, '-');
        let (year, month, day) =
            (digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?);
        let (time, zone) = rest.strip_prefix(['T', 't', ' '])?.split_at_checked(8)?;
        let zone = zone
            .strip_prefix('.')
            .map_or(zone, |z| z.trim_start_matches(|c: char| c.is_ascii_digit()));
        let date = Date::from_civil(year, month, day, time_of_day(time)?)?;
        Some(Date(date.0 - offset(zone)?))
    }
}

fn digits(text: &str) -> Option<i64> {
    let all = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

/// Seconds of `hh:mm:ss`.
fn time_of_day(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (h, m, s) = (digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?);
    (h < 24 && m < 60 && s <= 60).then_some(h * 3600 + m * 60 + s)
}

/// Seconds of `Z`, `+hh:mm` or `-hh:mm`.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (h, m) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    Some(sign * (digits(h)? * 3600 + digits(m)? * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 9110 §5.6.7.
    const EXAMPLE: Date = Date(784_111_777);

    #[test]
    fn the_rfcs_example() {
        assert_eq!(EXAMPLE.http().to_string(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(Date::from_http("Sun, 06 Nov 1994 08:49:37 GMT"), Some(EXAMPLE));
        assert_eq!(EXAMPLE.rfc3339().to_string(), "1994-11-06T08:49:37Z");
        assert_eq!(Date::from_rfc3339("1994-11-06T10:49:37.25+02:00"), Some(EXAMPLE));
    }

    #[test]
    fn every_day_of_four_centuries_reads_back() {
        for day in 0..DAYS_PER_ERA {
            let date = Date(day * DAY + day % DAY);
            assert_eq!(Date::from_http(&date.http().to_string()), Some(date));
            assert_eq!(Date::from_rfc3339(&date.rfc3339().to_string()), Some(date));
        }
    }

    #[test]
    fn leap_days() {
        for (text, is_leap) in [("2000", true), ("1900", false), ("2024", true), ("2023", false)] {
            let february = Date::from_rfc3339(&format!("{text}-02-28T00:00:00Z")).unwrap();
            let next = Date(february.0 + DAY).rfc3339().to_string();
            assert_eq!(next.contains("-02-29T"), is_leap, "{next}");
        }
    }

    #[test]
    fn hostile_dates_are_none() {
        for bad in [
            "",
            "Sun, 06 Nov 1994",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "é, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "aaaaaééééé GMT",
        ] {
            assert_eq!(Date::from_http(bad), None, "{bad}");
        }
        for bad in [
            "",
            "1994-11-06",
            "1994-13-06T00:00:00Z",
            "1994-11-06T00:00:00",
            "199é-11-06T00:00:00Z",
        ] {
            assert_eq!(Date::from_rfc3339(bad), None, "{bad}");
        }
    }
}
