//! Finds words that change although the page's content did not.
//!
//! These are clocks, "3 hours ago", counters of views and likes, request numbers and other
//! identifiers, the year of a copyright notice, and blocks that are only a date (mostly today's).
//! Each word is judged by its form and its neighbours. A date inside a sentence stays: "last
//! updated on 3 May" is worth knowing.

/// Marks noise words in `is_noise`, one entry per word. `suspects` must list, in order, at least
/// the words with a digit and those equal to [`AGO`]: all noise is one of these or next to one.
pub(crate) fn mark(words: &[&str], suspects: &[usize], is_noise: &mut Vec<bool>) {
    is_noise.clear();
    is_noise.resize(words.len(), false);
    if is_date_only(words) {
        is_noise.fill(true);
        return;
    }
    let mut has_year = false;
    for &i in suspects {
        let word = bare(words[i]);
        if word.eq_ignore_ascii_case(AGO) {
            mark_age(words, i, is_noise);
        } else if !word.is_empty() {
            is_noise[i] |= is_clock(word) || is_timestamp(word) || is_identifier(word);
            mark_counter(words, i, is_noise);
            has_year |= word.len() >= 4;
        }
    }
    let is_notice = |w: &&str| w.contains('©') || starts_with(w, "copyright") || **w == *"(c)";
    if has_year && words.iter().any(is_notice) {
        mark_years(words, suspects, is_noise);
    }
}

/// A word without surrounding punctuation.
fn bare(word: &str) -> &str {
    let bytes = word.as_bytes();
    let is_plain = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    if is_plain(bytes.first()) && is_plain(bytes.last()) {
        return word;
    }
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Makes the words before it noise even without digits: "an hour ago".
const AGO: &str = "ago";

fn starts_with(word: &str, prefix: &str) -> bool {
    word.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

fn is_any(list: &[&str], word: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(word))
}

/// `1,234`, `12`, `1.2k`, `3M`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['k', 'K', 'm', 'M', '+']).unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b',' | b'.'))
}

/// `9:05`, `09:05:59`, `9:05pm`, `12:00Z`.
fn is_clock(word: &str) -> bool {
    let end = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
    let (digits, suffix) = word.split_at(end);
    let mut fields = digits.split(':');
    let is_field = |f: &str, most: usize| {
        (1..=most).contains(&f.len()) && f.bytes().all(|b| b.is_ascii_digit())
    };
    let has_hour = fields.next().is_some_and(|hour| is_field(hour, 2));
    let mut rest = 0;
    let all = fields.all(|f| {
        rest += 1;
        f.len() == 2 && is_field(f, 2)
    });
    has_hour && all && (1..=2).contains(&rest) && is_any(&["", "am", "pm", "z", "h"], suffix)
}

/// `2026-06-17T14:29:19+02:00`.
fn is_timestamp(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 16
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && (bytes[4], bytes[7], bytes[10], bytes[13]) == (b'-', b'-', b'T', b':')
}

/// Hexadecimal strings, request numbers, times in seconds: long and alternating between letters and
/// digits, or ten or more digits only.
fn is_identifier(word: &str) -> bool {
    if word.len() < 10 || !word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
        return false;
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let kinds = word.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.is_ascii_digit());
    let turns = kinds.clone().zip(kinds.skip(1)).filter(|(a, b)| a != b).count();
    digits == word.len() || digits >= 4 && turns >= 3
}

const UNITS: [&str; 26] = [
    "second", "seconds", "sec", "secs", "minute", "minutes", "min", "mins", "hour", "hours", "hr",
    "hrs", "day", "days", "week", "weeks", "month", "months", "year", "years", "s", "m", "h", "d",
    "w", "y",
];

/// "3 hours ago", "an hour ago", "3h ago": word `i` is "ago".
fn mark_age(words: &[&str], i: usize, is_noise: &mut [bool]) {
    if i == 0 {
        return;
    }
    let before = bare(words[i - 1]);
    let digits = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_short =
        !digits.is_empty() && is_number(digits) && is_any(&UNITS, &before[digits.len()..]);
    let is_long = i > 1
        && is_any(&UNITS, before)
        && (is_number(bare(words[i - 2])) || is_any(&["a", "an", "one"], bare(words[i - 2])));
    is_noise[i - 1] |= is_short || is_long;
    if is_long {
        is_noise[i - 2] = true;
    }
}

const COUNTED: [&str; 24] = [
    "view",
    "views",
    "like",
    "likes",
    "comment",
    "comments",
    "share",
    "shares",
    "follower",
    "followers",
    "visitor",
    "visitors",
    "reply",
    "replies",
    "download",
    "downloads",
    "read",
    "reads",
    "vote",
    "votes",
    "rating",
    "ratings",
    "online",
    "stars",
];

/// "1,234 views" and "Views: 1,234": word `i` has the digits.
fn mark_counter(words: &[&str], i: usize, is_noise: &mut [bool]) {
    let counts = |j: Option<usize>| {
        j.and_then(|j| words.get(j)).is_some_and(|word| is_any(&COUNTED, bare(word)))
    };
    is_noise[i] |= is_number(bare(words[i])) && (counts(Some(i + 1)) || counts(i.checked_sub(1)));
}

/// Years 1900 to 2099, alone or as a range.
fn mark_years(words: &[&str], suspects: &[usize], is_noise: &mut [bool]) {
    let is_year = |w: &str| {
        w.len() == 4
            && (w.starts_with("19") || w.starts_with("20"))
            && w.bytes().all(|b| b.is_ascii_digit())
    };
    for &i in suspects {
        let word = bare(words[i]);
        let mut years = word.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let is_only_years = word.bytes().all(|b| !b.is_ascii_alphabetic());
        is_noise[i] |= is_only_years && years.next().is_some_and(is_year) && years.all(is_year);
    }
}

/// Months and weekdays in the web's larger languages, in full and abbreviated.
const CALENDAR: &str = "january february march april may june july august september october november \
    december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday \
    saturday sunday mon tue wed thu fri sat sun januar februar märz mai juni juli oktober dezember \
    montag dienstag mittwoch donnerstag freitag samstag sonntag mo di mi do fr sa so janvier février \
    mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi \
    vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre octubre \
    noviembre diciembre lunes martes miércoles jueves viernes sábado domingo janeiro fevereiro março \
    maio junho julho setembro outubro novembro dezembro segunda terça quarta quinta sexta gennaio \
    febbraio aprile maggio giugno luglio settembre ottobre dicembre lunedì martedì mercoledì giovedì \
    venerdì sabato domenica";
/// Words of the longest date that forms a block: "Wednesday, 17 June 2026 at 14:29 UTC".
const DATE_WORDS: usize = 8;

/// Whether a block is only a date or time.
fn is_date_only(words: &[&str]) -> bool {
    if words.len() > DATE_WORDS {
        return false;
    }
    let mut names_day = false;
    let mut numbers = 0;
    for word in words.iter().map(|word| bare(word)).filter(|w| !w.is_empty()) {
        let is_calendar = is_calendar_word(word);
        let is_numeric = is_clock(word) || is_timestamp(word) || is_date_number(word);
        names_day |= is_calendar || is_clock(word) || word.len() >= 8 && is_numeric;
        numbers += usize::from(is_numeric);
        if !(is_calendar
            || is_numeric
            || is_any(&["at", "am", "pm", "utc", "gmt", "de", "of", "um"], word))
        {
            return false;
        }
    }
    names_day && numbers > 0
}

/// For each first letter, a bit set of the lengths of calendar words that begin with it.
const CALENDAR_LENGTHS: [u32; 32] = {
    let (names, mut lengths) = (CALENDAR.as_bytes(), [0; 32]);
    let (mut start, mut i) = (0, 0);
    while i <= names.len() {
        if i == names.len() || names[i] == b' ' {
            if i > start {
                lengths[(names[start] & 31) as usize] |= 1 << (i - start);
            }
            start = i + 1;
        }
        i += 1;
    }
    lengths
};

fn is_calendar_word(word: &str) -> bool {
    let first = word.bytes().next().unwrap_or_default() & 31;
    // Lower-casing may change the length beyond ASCII, but not of these words.
    if word.len() >= 32 || CALENDAR_LENGTHS[usize::from(first)] >> word.len() & 1 == 0 {
        return false;
    }
    let lower = word.to_lowercase();
    CALENDAR.split_ascii_whitespace().any(|name| name == lower)
}

/// `17`, `17th`, `2026`, `17/06/2026`, `2026-06-17`.
fn is_date_number(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &word[digits.len()..];
    !digits.is_empty()
        && digits.len() <= 10
        && is_any(&["", "st", "nd", "rd", "th"], suffix)
        && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'/' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(block: &str) -> String {
        let words: Vec<&str> = block.split_whitespace().collect();
        let mut is_noise = Vec::new();
        let all: Vec<usize> = (0..words.len()).collect();
        mark(&words, &all, &mut is_noise);
        let kept = words.iter().zip(&is_noise).filter(|(_, noise)| !**noise).map(|(w, _)| *w);
        kept.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn clocks_and_counters_are_noise() {
        for (block, rest) in [
            ("Updated 2 days ago by Ann", "Updated ago by Ann"),
            ("posted an hour ago", "posted ago"),
            ("3h ago", "ago"),
            ("It is 14:05:59 now (9:30pm).", "It is now"),
            ("1,234 views, 5.6k likes; Comments: 12", "views, likes; Comments:"),
            ("Incident Number: 18.cdb01302.1776602298.e06f78df", "Incident Number:"),
            ("id 550e8400-e29b-41d4-a716-446655440000 t=1776602298", "id t=1776602298"),
            ("at 1776602298 s", "at s"),
            ("Copyright © 1998 - 2026 Acme, est. 1998–2026", "Copyright © - Acme, est."),
            ("(c) 2026 Acme", "(c) Acme"),
            ("2026-06-17T14:29:19+02:00 done", "done"),
            ("Monday, 16 November 2026", ""),
            ("16/11/2026", ""),
            ("MÄRZ 3", ""),
            ("1 Miércoles Dezember", ""),
            ("Wed Jun 17th 2026 at 14:29 UTC", ""),
        ] {
            assert_eq!(kept(block), rest, "{block}");
        }
    }

    #[test]
    fn visible_differences_are_kept() {
        for block in [
            "Last updated: 3 May 2026",
            "We keep data for 30 days.",
            "Founded in 1998 by 12 people",
            "Call 555-0123 or 1800 123 456",
            "section 4.2.1 of ISO-27001 and RFC2119",
            "May the reader judge",
            "chapter 12",
            "2026",
            "costs 1,234 euros",
            "long ago",
        ] {
            assert_eq!(kept(block), block);
        }
    }

    proptest! {
        #[test]
        fn any_words_are_judged(block in ".{0,80}") {
            kept(&block);
        }

        #[test]
        fn any_lookalikes_are_judged(words in proptest::collection::vec("[0-9aTZ:.,/©-]{0,14}|ago|days|views|mon|é1", 0..9)) {
            kept(&words.join(" "));
        }
    }
}
