//! Calendar days, for filters by date and for logs kept by day.

/// Seconds of a day.
pub(crate) const DAY_S: i64 = 86_400;

/// Days since 1970 of a date such as `2026-11-16`; a month or year stands for its first day.
pub(crate) fn day_of(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year: i64 = number(parts.next()?, 4)?;
    let month: i64 = parts.next().map_or(Some(1), |part| number(part, 2))?;
    let day: i64 = parts.next().map_or(Some(1), |part| number(part, 2))?;
    let is_day = parts.next().is_none() && (1..=12).contains(&month);
    (is_day && (1..=days_in(year, month)).contains(&day)).then(|| days(year, month, day))
}

fn number(text: &str, most: usize) -> Option<i64> {
    let is_number =
        !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of the proleptic Gregorian calendar, for years from 0 on.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let before = (1..month).map(|month| days_in(year, month)).sum::<i64>();
    let past = year - 1;
    365 * year + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400) + before + day
        - 719_528
}

/// The date of a number of days since 1970.
pub(crate) fn name_of(day: i64) -> String {
    let mut year = 1970 + day.div_euclid(366);
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let (mut month, mut rest) = (1, day - days(year, 1, 1));
    while rest >= days_in(year, month) {
        rest -= days_in(year, month);
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        assert_eq!(day_of("1970-01-01"), Some(0));
        assert_eq!(day_of("2000-03-01"), Some(11_017));
        assert_eq!(day_of("2026-11"), day_of("2026-11-01"));
        assert_eq!(day_of("2026"), day_of("2026-01-01"));
        for bad in ["", "2026-13-01", "2026-02-29", "26-1-1-1", "x", "2026-1-", "99999-01-01"] {
            assert_eq!(day_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_and_days_agree() {
        for day in (0..60_000).step_by(17) {
            assert_eq!(day_of(&name_of(day)), Some(day));
        }
    }
}
