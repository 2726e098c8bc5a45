//! Calendar days, for filters by date and for logs kept by day.

use tidewatch_core::calendar::days;
pub(crate) use tidewatch_core::calendar::{DAY_S, day_name as name_of};

/// Days since 1970 of a date such as `2026-11-16`; a month or year stands for its first day.
pub(crate) fn day_of(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year: i64 = number(parts.next()?, 4)?;
    let month: i64 = parts.next().map_or(Some(1), |part| number(part, 2))?;
    let day: i64 = parts.next().map_or(Some(1), |part| number(part, 2))?;
    days(year, month, day).filter(|_| parts.next().is_none())
}

fn number(text: &str, most: usize) -> Option<i64> {
    let is_number =
        !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
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
