//! Reads robots.txt, `X-Robots-Tag` and meta robots, by RFC 9309 and, where that leaves room, as
//! Google documents its own reading; and what owners say about the use of their content ([`Wishes`]).
//!
//! ```
//! use tidewatch_robots::Robots;
//!
//! let text = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2\n";
//! let robots = Robots::of_response(200, text, "ExampleBot");
//! assert!(robots.allows("/public?page=2"));
//! let verdict = robots.decide("/private/x");
//! assert!(!verdict.allowed);
//! assert_eq!(verdict.decided_by.unwrap().number, 2);
//! ```
//!
//! [`Robots`] is one host's robots.txt as one crawler reads it. Only the rules for that crawler are
//! kept, so a cached [`Robots`] is small.
//!
//! # How a URL is decided
//!
//! A group that names the crawler replaces the group for everybody (`*`); groups that name the same
//! crawler are merged. Among the rules that match path and query, the one with the longest pattern
//! wins, and `Allow` wins a tie.
//!
//! Rules and URLs are compared in one normal form (RFC 9309 §2.2.2): `Disallow: /*[` matches
//! `/a%5B0%5D`. In one point this is stricter than Google: percent-encoded letters, digits and
//! `-._~` of a `Disallow` match both as written and decoded, because crawlers request decoded URLs;
//! those of an `Allow` match as written only. `Allow: /a/index.html` does not allow `/a/`.
//!
//! # Limits
//!
//! The first [`MAX_BYTES`] are read, up to the last whole line; deciding takes time linear in rules
//! and path. No input panics.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

mod directives;
mod lines;
mod pattern;
mod usage;

use std::time::Duration;

pub use self::directives::Directives;
pub use self::usage::{Use, Wishes};

use self::{
    lines::{Field, Lines},
    pattern::Pattern,
};

/// Bytes of a robots.txt that are read; RFC 9309 §2.5 asks for at least this. Of a file with as many
/// or more, a last line that does not end is left out.
pub const MAX_BYTES: usize = 500 * 1024;

/// Sitemaps remembered of one robots.txt.
pub const MAX_SITEMAPS: usize = 1000;

/// Longest crawl delay that is taken at its word; a longer one counts as this.
const MAX_CRAWL_DELAY: Duration = Duration::from_hours(24);

/// A host's robots.txt as one crawler reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Robots {
    rules: Vec<Rule>,
    usages: Vec<Usage>,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
    denies_all: bool,
}

/// A `Content-Signal` or `Content-Usage` line.
#[derive(Debug, Clone, PartialEq)]
struct Usage {
    pattern: Pattern,
    wishes: Wishes,
}

#[derive(Debug, Clone, PartialEq)]
struct Rule {
    allows: bool,
    line: u32,
    pattern: Pattern,
}

/// Whether a URL may be fetched, and which line says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The line that decides; without one, nothing forbids the URL (or the whole file
    /// was out of reach).
    pub decided_by: Option<DecidingLine<'a>>,
}

/// A line of a robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecidingLine<'a> {
    /// Counted from 1.
    pub number: u32,
    /// Whether it is an `Allow` line.
    pub allows: bool,
    /// Its path, in the spelling that was compared.
    pub path: &'a str,
}

impl Robots {
    /// Reads a robots.txt for the crawler with the product token `agent` ("Tidewatch").
    /// A version ("Tidewatch/1.0") is left out of account.
    pub fn parse(bytes: &[u8], agent: &str) -> Self {
        let text = lines::decode(&bytes[..bytes.len().min(MAX_BYTES)]);
        // Whoever fetched a longer file may have cut it there.
        let text = if bytes.len() >= MAX_BYTES { lines::whole(&text) } else { &text };
        let agent = agent.split('/').next().unwrap_or_default();
        let mut reading = Reading::default();
        for (number, field) in Lines::new(text) {
            reading.take(number, &field, agent);
        }
        reading.finish()
    }

    /// What the answer to a request for robots.txt means (RFC 9309 §2.3.1): success is
    /// read, a file that is not there allows everything, and a server in trouble
    /// forbids everything. 429 counts as trouble, as Google has it.
    pub fn of_response(status: u16, body: &[u8], agent: &str) -> Self {
        match status {
            200..=299 => Self::parse(body, agent),
            429 | 500.. => Self::unreachable(),
            _ => Self::absent(),
        }
    }

    /// No robots.txt: everything is allowed. Also what too many redirects mean.
    pub fn absent() -> Self {
        Self {
            rules: Vec::new(),
            usages: Vec::new(),
            crawl_delay: None,
            sitemaps: Vec::new(),
            denies_all: false,
        }
    }

    /// A robots.txt that could not be had: everything is forbidden until it can.
    pub fn unreachable() -> Self {
        Self { denies_all: true, ..Self::absent() }
    }

    /// Decides a URL by its path and query, as a request line carries them. `/robots.txt` itself
    /// is always allowed.
    pub fn decide(&self, target: &str) -> Verdict<'_> {
        let target = if target.is_empty() { "/" } else { target };
        if self.denies_all || target == "/robots.txt" {
            return Verdict { allowed: !self.denies_all, decided_by: None };
        }
        let target = pattern::normal(target);
        let matching = self.rules.iter().filter(|rule| rule.pattern.matches(&target));
        let best = matching.max_by_key(|rule| (rule.pattern.len(), rule.allows));
        Verdict {
            allowed: best.is_none_or(|rule| rule.allows),
            decided_by: best.map(|rule| DecidingLine {
                number: rule.line,
                allows: rule.allows,
                path: rule.pattern.as_str(),
            }),
        }
    }

    /// Whether a path and query may be fetched.
    pub fn allows(&self, target: &str) -> bool {
        self.decide(target).allowed
    }

    /// What the owner says about the use of what a path and query bring: `Content-Signal` and
    /// `Content-Usage` lines. Among lines with a path, the longest that matches counts; lines of equal
    /// length add up.
    pub fn wishes(&self, target: &str) -> Wishes {
        if self.usages.is_empty() {
            return Wishes::NONE;
        }
        let target = pattern::normal(if target.is_empty() { "/" } else { target });
        let matching = || self.usages.iter().filter(|usage| usage.pattern.matches(&target));
        let longest = matching().map(|usage| usage.pattern.len()).max();
        let said = matching().filter(|usage| Some(usage.pattern.len()) == longest);
        said.fold(Wishes::NONE, |all, usage| all.and(usage.wishes))
    }

    /// Whether nothing is allowed because the file could not be had.
    pub fn is_unreachable(&self) -> bool {
        self.denies_all
    }

    /// The gap that the host asks for between two fetches.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The sitemaps it names, as written, each once, at most [`MAX_SITEMAPS`].
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

/// The path and query of a URL as written, without normalising it. For URLs that people type; a
/// crawler has canonical ones.
pub fn target_of(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let after_scheme = match url.find("://") {
        Some(at) if !url[..at].contains(['/', '?', ';']) => &url[at + 3..],
        _ => url.strip_prefix("//").unwrap_or(url),
    };
    match after_scheme.find(['/', '?', ';']) {
        Some(at) if after_scheme.as_bytes()[at] == b'/' => after_scheme[at..].to_owned(),
        Some(at) => format!("/{}", &after_scheme[at..]),
        None => "/".to_owned(),
    }
}

/// The rules of one scope: groups that name the crawler, or groups for everybody.
#[derive(Default)]
struct Scope {
    is_open: bool,
    was_named: bool,
    rules: Vec<Rule>,
    usages: Vec<Usage>,
    crawl_delay: Option<Duration>,
}

impl Scope {
    fn rule(&mut self, allows: bool, line: u32, path: &str) {
        if !self.is_open || path.is_empty() {
            return;
        }
        let mut push = |pattern| self.rules.push(Rule { allows, line, pattern });
        let as_written = Pattern::new(path);
        if !allows && let Some(decoded) = as_written.decoded() {
            push(decoded);
        }
        push(as_written);
    }

    fn usage(&mut self, path: &str, wishes: Wishes) {
        if self.is_open && !wishes.is_empty() {
            self.usages.push(Usage { pattern: Pattern::new(path), wishes });
        }
    }

    fn delay(&mut self, delay: Duration) {
        if self.is_open {
            self.crawl_delay = self.crawl_delay.max(Some(delay.min(MAX_CRAWL_DELAY)));
        }
    }
}

/// A robots.txt half read.
#[derive(Default)]
struct Reading {
    own: Scope,
    everybody: Scope,
    in_rules: bool,
    sitemaps: Vec<String>,
}

impl Reading {
    fn take(&mut self, number: u32, field: &Field<'_>, agent: &str) {
        match *field {
            Field::UserAgent(name) => self.user_agent(name, agent),
            Field::Rule { allows, path } => {
                // A rule ends a run of user-agent lines; crawl delays and sitemaps do not.
                self.in_rules |= self.own.is_open || self.everybody.is_open;
                self.own.rule(allows, number, path);
                self.everybody.rule(allows, number, path);
            }
            Field::Usage { path, wishes } => {
                self.in_rules |= self.own.is_open || self.everybody.is_open;
                self.own.usage(path, wishes);
                self.everybody.usage(path, wishes);
            }
            Field::CrawlDelay(delay) => {
                self.own.delay(delay);
                self.everybody.delay(delay);
            }
            Field::Sitemap(url) => {
                let is_new = !self.sitemaps.iter().any(|known| known == url);
                if is_new && self.sitemaps.len() < MAX_SITEMAPS {
                    self.sitemaps.push(url.to_owned());
                }
            }
        }
    }

    fn user_agent(&mut self, name: &str, agent: &str) {
        if self.in_rules {
            self.own.is_open = false;
            self.everybody.is_open = false;
            self.in_rules = false;
        }
        if lines::is_everybody(name) {
            self.everybody.is_open = true;
            self.everybody.was_named = true;
        } else if lines::product_token(name).eq_ignore_ascii_case(agent) && !agent.is_empty() {
            self.own.is_open = true;
            self.own.was_named = true;
        }
    }

    fn finish(self) -> Robots {
        let scope = if self.own.was_named { self.own } else { self.everybody };
        Robots {
            rules: scope.rules,
            usages: scope.usages,
            crawl_delay: scope.crawl_delay,
            sitemaps: self.sitemaps,
            denies_all: false,
        }
    }
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
