//! Globs over URLs.

use std::fmt;
use std::str::FromStr;

use tidewatch_core::url::{CanonicalUrl, percent_normal};

/// Longest pattern: longer ones are pasted by mistake.
const MOST_BYTES: usize = 2_048;

/// A glob that a whole URL must match; `*` stands for any characters, slashes included.
///
/// | pattern | is compared with |
/// |---|---|
/// | `/docs/*` | path and query |
/// | `https://a.example/*` | the whole URL |
/// | `a.example/*`, `*.pdf` | the URL without its scheme |
///
/// Patterns are brought into the percent-encoding of canonical URLs; case matters, except in host
/// names, which are lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPattern {
    /// As the operator wrote it.
    text: String,
    /// The literal parts between stars.
    parts: Vec<String>,
    subject: Subject,
}

/// The part of a URL that a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    PathAndQuery,
    Whole,
    WithoutScheme,
}

/// Why a pattern was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// It is empty.
    #[error("a pattern must not be empty; `*` matches every URL")]
    Empty,
    /// It is too long.
    #[error("a pattern has at most 2048 bytes; this one begins with `{0}`")]
    TooLong(String),
}

impl UrlPattern {
    /// Whether a URL matches.
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        let subject = match self.subject {
            Subject::PathAndQuery => url.path_and_query(),
            Subject::Whole => url.as_str(),
            Subject::WithoutScheme => {
                url.as_str().split_once("://").map_or(url.as_str(), |(_, rest)| rest)
            }
        };
        is_match(&self.parts, subject)
    }
}

/// Whether `text` is the parts in order with anything between them.
fn is_match(parts: &[String], text: &str) -> bool {
    let [first, between @ .., last] = parts else {
        return parts.first().is_some_and(|only| only == text);
    };
    let rest = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()));
    let Some(mut rest) = rest else { return false };
    // The leftmost place of each part leaves most room for those after it.
    between.iter().all(|part| match rest.find(part.as_str()) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

impl FromStr for UrlPattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > MOST_BYTES {
            return Err(BadPattern::TooLong(text.chars().take(20).collect()));
        }
        let (subject, host, path) = if text.starts_with('/') {
            (Subject::PathAndQuery, String::new(), text)
        } else if let Some((scheme, rest)) = text.split_once("://") {
            let (host, path) = host_and_path(rest);
            (Subject::Whole, format!("{}://{}", scheme.to_lowercase(), host.to_lowercase()), path)
        } else {
            let (host, path) = host_and_path(text);
            // `*.PDF` has no host: its case matters.
            let host = if path.is_empty() { percent_normal(host) } else { host.to_lowercase() };
            (Subject::WithoutScheme, host, path)
        };
        let normal = host + &percent_normal(path);
        let parts = normal.split('*').map(str::to_owned).collect();
        Ok(UrlPattern { text: text.to_owned(), parts, subject })
    }
}

fn host_and_path(text: &str) -> (&str, &str) {
    text.split_at(text.find('/').unwrap_or(text.len()))
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_components() {
        let cases = [
            ("/docs/*", "https://a.example/docs/x?y=1", true),
            ("/docs/*", "https://a.example/old/docs/x", false),
            ("/docs", "https://a.example/docs/x", false),
            ("*/docs/*", "https://a.example/old/docs/x", true),
            ("*.pdf", "https://a.example/x.pdf", true),
            ("*.pdf", "https://a.example/x.pdf?page=2", false),
            ("*.PDF", "https://a.example/x.pdf", false),
            ("a.example/*", "http://a.example/", true),
            ("A.Example/*", "https://a.example/X", true),
            ("*.example/x", "https://a.b.example/x", true),
            ("https://a.example/*", "http://a.example/", false),
            ("HTTPS://A.example/*", "https://a.example/", true),
            ("/caf\u{e9}*", "https://a.example/caf%C3%A9/1", true),
            ("/*[*|*", "https://a.example/a[0]?b={|}", true),
            ("/*{*", "https://a.example/a%7b0%7D", true),
            ("/a*b*c", "https://a.example/a-b-b-c", true),
            ("/a*b*c", "https://a.example/a-c-b", false),
            // The star may be empty, but parts do not overlap.
            ("/aa*aa", "https://a.example/aaaa", true),
            ("/aa*aa", "https://a.example/aaa", false),
            ("*", "https://a.example/", true),
        ];
        for (pattern, url, expected) in cases {
            let pattern: UrlPattern = pattern.parse().unwrap();
            let url = CanonicalUrl::parse(url).unwrap();
            assert_eq!(pattern.matches(&url), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn an_empty_or_endless_pattern_is_refused() {
        assert_eq!(" ".parse::<UrlPattern>(), Err(BadPattern::Empty));
        assert!("/x".repeat(MOST_BYTES).parse::<UrlPattern>().is_err());
    }
}
