//! Dates as archives write them.

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Year, month, day, hour, minute, second and microsecond of a Unix time in microseconds.
fn civil(unix_micros: i64) -> [i64; 7] {
    let seconds = unix_micros.div_euclid(1_000_000);
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    // Days since 1 March of the year 0, in cycles of 400 years: leap days come last.
    let z = days + 719_468;
    let (cycle, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let is_next = month >= 10;
    let month = if is_next { month - 9 } else { month + 3 };
    let year = year + 400 * cycle + i64::from(is_next);
    let micros = unix_micros.rem_euclid(1_000_000);
    [year, month, day, second / 3_600, second / 60 % 60, second % 60, micros]
}

/// `2026-11-16T09:30:00.123456Z`, as WARC/1.1 has it.
pub fn warc_date(unix_micros: i64) -> String {
    let [year, month, day, hour, minute, second, micros] = civil(unix_micros);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// `20261116093000`, as indexes have it.
pub(crate) fn cdx_date(unix_micros: i64) -> String {
    let [year, month, day, hour, minute, second, _] = civil(unix_micros);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        assert_eq!(warc_date(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(warc_date(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(warc_date(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(cdx_date(1_794_821_400_000_000), "20261116093000");
        assert_eq!(cdx_date(4_107_542_399_000_000), "21000228235959");
        assert_eq!(cdx_date(4_107_542_400_000_000), "21000301000000");
    }
}
