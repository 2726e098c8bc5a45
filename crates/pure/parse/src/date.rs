//! Dates as feeds, sitemaps and HTTP headers write them.
//!
//! Accepts RFC 3339 and the shorter forms of W3C's note on dates (`2024`, `2024-05`,
//! `2024-05-01`), RFC 822 with its successors and common errors, RFC 850 and the C
//! library's `asctime`. A time without a zone is UTC.

use tidewatch_core::calendar::{self, DAY_S, days};

/// Longest text that can be a date.
const MAX_BYTES: usize = 64;

/// The Unix time in seconds of a date in any of the known forms.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_BYTES || !text.is_ascii() {
        return None;
    }
    numeric(text).or_else(|| named_month(text))
}

/// `2024-05-01T10:00:00.5+02:00` and its prefixes.
fn numeric(text: &str) -> Option<i64> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, ""),
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |month| number(month, 2))?;
    let day = parts.next().map_or(Some(1), |day| number(day, 2))?;
    if parts.next().is_some() {
        return None;
    }
    Some(days(year, month, day)? * DAY_S + time_and_zone(time)?)
}

/// Parses one to `most` digits, exactly four if `most` is 4.
fn number(text: &str, most: usize) -> Option<i64> {
    let fits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let exact = most != 4 || text.len() == 4;
    (fits && exact).then(|| text.parse().ok()).flatten()
}

/// Seconds of the day in UTC of `10:00`, `10:00:30.25Z`, `10:00 +0200`, or an empty text.
fn time_and_zone(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(text.len());
    Some(clock(&text[..end])? - zone(text[end..].trim())?)
}

fn clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let hour = number(parts.next()?, 2)?;
    let minute = number(parts.next()?, 2)?;
    let seconds = parts.next().unwrap_or("0").split('.').next().unwrap_or_default();
    let second = number(seconds, 2)?;
    let is_valid = hour < 24 && minute < 60 && second <= 60 && parts.next().is_none();
    is_valid.then_some(hour * 3600 + minute * 60 + second)
}

/// Seconds east of Greenwich.
fn zone(text: &str) -> Option<i64> {
    let hours = |h: i64| Some(h * 3600);
    match text.to_ascii_uppercase().as_str() {
        "" | "Z" | "GMT" | "UT" | "UTC" => Some(0),
        "PST" => hours(-8),
        "PDT" | "MST" => hours(-7),
        "MDT" | "CST" => hours(-6),
        "CDT" | "EST" => hours(-5),
        "EDT" => hours(-4),
        "BST" | "CET" => hours(1),
        "CEST" => hours(2),
        "JST" => hours(9),
        other => offset(other),
    }
}

/// `+0200`, `-05:30`, `GMT+2`.
fn offset(text: &str) -> Option<i64> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|&c| c != ':').collect();
    let value = number(&digits, if digits.len() == 4 { 4 } else { 2 })?;
    let (hours, minutes) = if digits.len() > 2 { (value / 100, value % 100) } else { (value, 0) };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Forms with the month in letters: RFC 822, RFC 850, `asctime`.
fn named_month(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let split: Vec<&str> = words.iter().flat_map(|word| dashed(word)).collect();
    let at = split.iter().position(|word| month(word).is_some())?;
    let month = month(split[at])?;
    let is_day = |word: &&str| number(word, 2).is_some();
    if at > 0 && is_day(&split[at - 1]) {
        let year = year(split.get(at + 1)?)?;
        let time = split[at + 2..].join(" ");
        return Some(days(year, month, number(split[at - 1], 2)?)? * DAY_S + time_and_zone(&time)?);
    }
    // asctime: month, day, time, perhaps a zone, year.
    let day = number(split.get(at + 1)?, 2)?;
    let year = year(split.last()?)?;
    let time = split.get(at + 2..split.len() - 1).unwrap_or_default().join(" ");
    Some(days(year, month, day)? * DAY_S + time_and_zone(&time)?)
}

/// Splits `06-Nov-94` into its parts; leaves other words whole.
fn dashed(word: &str) -> Vec<&str> {
    let parts: Vec<&str> = word.split('-').collect();
    if parts.len() == 3 && month(parts[1]).is_some() { parts } else { vec![word] }
}

fn month(word: &str) -> Option<i64> {
    let is_word = word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'.');
    calendar::month(word.get(..3).filter(|_| is_word)?)
}

/// Two-digit years are 1950 to 2049 (RFC 2822 §4.3).
fn year(word: &str) -> Option<i64> {
    match (word.len(), number(word, if word.len() == 4 { 4 } else { 2 })?) {
        (2, short) if short < 50 => Some(2000 + short),
        (2, short) => Some(1900 + short),
        (4, year) => Some(year),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_forms() {
        let cases = [
            ("1970-01-01", 0),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("2024", 1_704_067_200),
            ("2024-05", 1_714_521_600),
            ("2024-05-01T10:00:00.5+02:00", 1_714_550_400),
            ("2024-05-01 08:00", 1_714_550_400),
            ("Wed, 01 May 2024 10:00:00 +0200", 1_714_550_400),
            ("1 May 2024 08:00 GMT", 1_714_550_400),
            ("Wed, 1 May 24 04:00:00 EDT", 1_714_550_400),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("1969-12-31T23:59:59Z", -1),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Some(want), "{text}");
        }
    }

    #[test]
    fn no_dates() {
        let cases = ["", "soon", "2024-13-01", "2023-02-29", "2024-05-01T25:00Z", "99 May 2024"];
        for text in cases.iter().chain(&["1e3", "2024-05-01T10:00:00Q", "\u{fc}", "---", "May"]) {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
