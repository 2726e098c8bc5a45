//! Parses queries. Every text is a valid query.
//!
//! All words must occur; `"some words"` is a phrase; `-word` excludes; `site:HOST`, `lang:CODE`,
//! `after:DATE` and `before:DATE` filter. Anything else counts as words; what cannot be used is
//! ignored and reported.

use tidewatch_parse::links::three_letters;

use crate::date::{DAY_S, day_of};
use crate::document::cut;
use crate::words::words;

/// Most bytes of a query read.
pub const MOST_QUERY_BYTES: usize = 1_000;
/// Most words and phrases of a query used.
const MOST_UNITS: usize = 32;

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The text, as far as it was read.
    pub typed: String,
    /// Required words and phrases, each as its words in order.
    pub wanted: Vec<Vec<String>>,
    /// Excluded words and phrases.
    pub unwanted: Vec<Vec<String>>,
    /// Only this host or domain.
    pub host: Option<String>,
    /// Only pages in this language.
    pub language: Option<String>,
    /// Only pages that changed at or after this second of Unix time.
    pub after_s: Option<i64>,
    /// Only pages that changed before this second of Unix time.
    pub before_s: Option<i64>,
    /// What was ignored, each as a sentence.
    pub ignored: Vec<String>,
}

impl Query {
    /// Parses a query. Every text is valid.
    pub fn read(text: &str) -> Query {
        let typed = cut(text.trim(), MOST_QUERY_BYTES);
        let mut query = Query { typed: typed.to_owned(), ..Query::default() };
        if typed.len() < text.trim().len() {
            let rest = text.trim().len() - typed.len();
            query.ignored.push(format!(
                "Only the first {MOST_QUERY_BYTES} bytes were read; {rest} were left out."
            ));
        }
        for (part, is_quoted) in parts(typed) {
            query.take(part, is_quoted);
        }
        query
    }

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.host.is_none() && !self.is_dated()
    }

    fn is_dated(&self) -> bool {
        self.after_s.is_some() || self.before_s.is_some()
    }

    fn take(&mut self, part: &str, is_quoted: bool) {
        let (is_unwanted, rest) = match part.strip_prefix('-') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, part),
        };
        if !is_quoted && !is_unwanted && self.take_filter(rest) {
            return;
        }
        let unit: Vec<String> = words(rest).into_iter().map(|(word, _)| word).collect();
        if unit.is_empty() {
            if !rest.trim_matches(['"', '-', '+']).trim().is_empty() {
                self.ignored.push(format!("“{}” holds no word to look for.", cut(rest, 60)));
            }
        } else if self.wanted.len() + self.unwanted.len() >= MOST_UNITS {
            let told = format!("Only the first {MOST_UNITS} words count.");
            if self.ignored.last() != Some(&told) {
                self.ignored.push(told);
            }
        } else if is_unwanted {
            self.unwanted.push(unit);
        } else {
            self.wanted.push(unit);
        }
    }

    /// Parses `name:value`, if the word is a filter.
    fn take_filter(&mut self, part: &str) -> bool {
        let Some((name, value)) = part.split_once(':') else { return false };
        match name.to_ascii_lowercase().as_str() {
            "site" | "host" => match host(value) {
                Some(host) => self.host = Some(host),
                None => self.ignored.push(format!("“{}” names no host.", cut(part, 60))),
            },
            "lang" => match language(value) {
                Some(code) => self.language = Some(code),
                None => self.ignored.push(format!("“{}” names no language.", cut(part, 60))),
            },
            "after" | "before" => match day_of(value) {
                Some(day) if name.eq_ignore_ascii_case("after") => self.after_s = Some(day * DAY_S),
                Some(day) => self.before_s = Some(day * DAY_S),
                None => self.ignored.push(format!(
                    "“{}” is no date; write it like {name}:2026-11-30.",
                    cut(part, 60)
                )),
            },
            _ => return false,
        }
        true
    }
}

/// Parses a host as people write it: with or without scheme, path and capitals.
fn host(value: &str) -> Option<String> {
    let value = value.split_once("://").map_or(value, |(_, rest)| rest);
    let value = value.split(['/', '?', '#']).next()?.trim_matches('.').to_lowercase();
    let is_host = !value.is_empty() && value.len() <= 253 && !value.contains(char::is_whitespace);
    is_host.then_some(value)
}

fn language(value: &str) -> Option<String> {
    let is_code = (2..=3).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_alphabetic());
    is_code.then(|| three_letters(&value.to_ascii_lowercase()))
}

/// Splits a query at blanks and quotation marks. An unclosed quotation ends with the query.
fn parts(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let is_quote = |c: char| matches!(c, '"' | '“' | '”' | '„');
        let opening = rest.strip_prefix('-').unwrap_or(rest);
        let is_quoted = opening.starts_with(is_quote);
        let end = if is_quoted {
            let begin = rest.len() - opening.len();
            let first = opening.chars().next().map_or(1, char::len_utf8);
            let close = opening[first..].char_indices().find(|(_, c)| is_quote(*c));
            close.map_or(rest.len(), |(at, c)| begin + first + at + c.len_utf8())
        } else {
            rest.find(|c: char| c.is_whitespace() || is_quote(c)).unwrap_or(rest.len())
        };
        let (part, after) = rest.split_at(end);
        parts.push((part, is_quoted));
        rest = after.trim_start();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn words_phrases_and_filters_are_understood() {
        let query = Query::read(
            "Tide  \"high water\" -\"low tide\" -moon site:https://Example.org/x after:2026-11-16 before:2026-12 lang:DE",
        );
        assert_eq!(query.wanted, [unit(&["tide"]), unit(&["high", "water"])]);
        assert_eq!(query.unwanted, [unit(&["low", "tide"]), unit(&["moon"])]);
        assert_eq!(query.host.as_deref(), Some("example.org"));
        assert_eq!(query.after_s, Some(20_773 * DAY_S));
        assert_eq!(query.before_s, day_of("2026-12-01").map(|day| day * DAY_S));
        assert_eq!(query.language.as_deref(), Some("deu"));
        assert_eq!(query.ignored, Vec::<String>::new());
    }

    #[test]
    fn unusable_filters_become_words_or_are_reported() {
        let query = Query::read("after:soon ratio:3 ((( a AND) \"open");
        assert_eq!(
            query.wanted,
            [unit(&["ratio", "3"]), unit(&["a"]), unit(&["and"]), unit(&["open"])]
        );
        assert_eq!(query.ignored.len(), 2, "{:?}", query.ignored);
        assert!(query.ignored[0].contains("after:2026-11-30"));
        assert!(Query::read("").is_empty() && Query::read(" - \" \"\"").is_empty());
        assert!(!Query::read("site:example.org").is_empty());
    }

    #[test]
    fn long_queries_are_cut_and_say_so() {
        let query = Query::read(&"wörter ".repeat(2_000));
        assert_eq!(query.wanted.len(), MOST_UNITS);
        assert!(query.typed.len() <= MOST_QUERY_BYTES);
        assert_eq!(query.ignored.len(), 2);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_query(text in "\\PC{0,200}|[-\":a “”„\\t]{0,60}") {
            let query = Query::read(&text);
            proptest::prop_assert!(query.wanted.iter().all(|unit| !unit.is_empty()));
            // Parsing is idempotent.
            proptest::prop_assert_eq!(Query::read(&query.typed).wanted, query.wanted);
        }
    }
}
