//! The least time between two fetches of a page.
//!
//! A policy with budget to spare would fetch a small site again and again. So every page rests after a
//! fetch, whatever the policy thinks and however much budget is left. How long depends on what its
//! visits saw:
//!
//! > rest = clamp(`usual` · 2ˡ, `least`, `most`)
//!
//! The level `l` begins at 0, or at −4 for a source. A visit that saw a change or a new link lowers it
//! by one, a visit that saw neither raises it by one. So it settles where every second visit finds
//! something: a quiet page is left alone for longer and longer, a busy one may be visited every
//! `least`.
//!
//! A hint that the page has changed shortens one rest, to
//!
//! > rest = min(`least` · 2ᵉ, the page's own rest)
//!
//! where `e` counts visits after a hint that saw no change, less those that saw one. So a sitemap that
//! dates every page to now does not bring a crawler that comes every five minutes.
//!
//! A failed fetch is no visit. Its page rests for half a minute, doubled by every failure in a row, up
//! to the rest of a visit. A page that its owner refuses, as by 403, rests as after a visit, doubled by
//! every refusal in a row: asking again soon would change nothing and fill the server's log.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};

/// Rest after a first failure.
const RETRY: Span = Span::SECOND.times(30);
/// The level of a source before its second visit.
const SOURCE_LEVEL: i8 = -4;
/// Levels end here, on both sides: 2²⁰ · 1 s is 12 days.
const MOST_LEVEL: i8 = 20;

/// The operator's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revisit {
    /// Rest of a page after its first visit; zero if no page rests.
    pub usual: Span,
    /// Shortest rest, of a page that changed at every visit; at most `usual`.
    pub least: Span,
    /// Longest rest, of a page that never changed; at least `usual`.
    pub most: Span,
    /// Failures in a row after which a page is not tried again; 0 for no limit.
    pub attempts: u8,
}

impl Revisit {
    /// No page rests.
    pub const NONE: Revisit =
        Revisit { usual: Span::ZERO, least: Span::ZERO, most: Span::ZERO, attempts: 0 };

    /// No page is fetched again; one that fails gets three attempts.
    pub const ONCE: Revisit =
        Revisit { usual: Span::FOREVER, least: Span::FOREVER, most: Span::FOREVER, attempts: 3 };

    fn rest(&self, level: i8) -> Span {
        let scaled = if level < 0 {
            Span::from_micros(self.usual.as_micros() >> level.unsigned_abs())
        } else {
            self.usual.times(1 << level)
        };
        scaled.min(self.most.max(self.usual)).max(self.least.min(self.usual))
    }
}

impl Default for Revisit {
    fn default() -> Self {
        Revisit {
            usual: Span::HOUR.times(4),
            least: Span::MINUTE.times(5),
            most: Span::WEEK,
            attempts: 0,
        }
    }
}

/// What the rule remembers of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rest {
    /// When its last fetch ended.
    last: Time,
    level: i8,
    /// Failures in a row.
    failures: u8,
    is_fetched: bool,
    is_hinted: bool,
    /// Whether the last failure was a refusal.
    is_refused: bool,
    /// Hints that proved empty, less those that proved right.
    empty_hints: u8,
}

impl Rest {
    /// A page never visited.
    pub(crate) fn new(is_source: bool) -> Rest {
        Rest { level: if is_source { SOURCE_LEVEL } else { 0 }, ..Rest::default() }
    }

    /// The rest after a visit as things are; `None` before the first one.
    pub(crate) fn length(&self, rule: &Revisit) -> Option<Span> {
        self.is_fetched.then(|| rule.rest(self.level))
    }

    /// When the page may be fetched again.
    pub(crate) fn until(&self, rule: &Revisit) -> Time {
        if !self.is_fetched {
            return Time::ZERO;
        }
        if self.failures > 0 {
            if rule.attempts > 0 && self.failures >= rule.attempts {
                return Time::NEVER;
            }
            let doublings = self.failures - 1;
            if self.is_refused {
                let level = self.level.max(0).saturating_add_unsigned(doublings);
                return self.last + rule.rest(level.min(MOST_LEVEL));
            }
            let retry = RETRY.times(1 << doublings.min(32));
            return self.last + retry.min(rule.rest(self.level));
        }
        let usual = rule.rest(self.level);
        let rest = if self.is_hinted {
            rule.rest(-MOST_LEVEL).times(1 << self.empty_hints).min(usual)
        } else {
            usual
        };
        self.last + rest
    }

    /// A visit ended at `at`; `news` says whether it saw a change or a new link, `None` if there was
    /// nothing to compare with.
    pub(crate) fn visited(&mut self, rule: &Revisit, news: Option<bool>, at: Time) {
        let level = match news {
            None => self.level,
            Some(true) => (self.level - 1).max(-MOST_LEVEL),
            Some(false) => (self.level + 1).min(MOST_LEVEL),
        };
        // A level beyond the last that counts would take as many visits to come back from.
        let level = if rule.rest(level) == rule.rest(self.level) { self.level } else { level };
        let empty_hints = match news.filter(|_| self.is_hinted) {
            None => self.empty_hints,
            Some(true) => self.empty_hints.saturating_sub(1),
            Some(false) => (self.empty_hints + 1).min(MOST_LEVEL.unsigned_abs()),
        };
        *self = Rest { last: at, level, is_fetched: true, empty_hints, ..Rest::default() };
    }

    /// A fetch failed at `at`.
    pub(crate) fn failed(&mut self, at: Time) {
        (self.last, self.is_fetched, self.is_refused) = (at, true, false);
        self.failures = self.failures.saturating_add(1);
    }

    /// The page's owner refused a fetch at `at`.
    pub(crate) fn refused(&mut self, at: Time) {
        self.failed(at);
        self.is_refused = true;
    }

    /// A hint says that the page has changed.
    pub(crate) fn hinted(&mut self) {
        self.is_hinted = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits a page whenever it may be, for 30 days; `news` tells what the visit at a time sees.
    fn visits(is_source: bool, rule: &Revisit, news: impl Fn(Time) -> bool) -> Vec<Time> {
        let (mut rest, mut visits) = (Rest::new(is_source), vec![Time::ZERO]);
        rest.visited(rule, None, Time::ZERO);
        while let Some(now) =
            Some(rest.until(rule)).filter(|at| *at < Time::ZERO + Span::DAY.times(30))
        {
            visits.push(now);
            rest.visited(rule, Some(news(now)), now);
        }
        visits
    }

    #[test]
    fn a_page_that_never_changes_is_left_alone_for_longer_and_longer() {
        let rule = Revisit::default();
        let seen = visits(false, &rule, |_| false);
        // After 0, 4, 12, 28, 60, 124 and 252 hours, and then every week.
        assert_eq!(seen.len(), 9, "{seen:?}");
        let source = visits(true, &rule, |_| false);
        let first_day = source.iter().filter(|at| **at < Time::ZERO + Span::DAY).count();
        assert_eq!((source.len(), first_day), (13, 7), "{source:?}");
    }

    #[test]
    fn a_page_that_always_changes_comes_down_to_the_shortest_rest() {
        let rule = Revisit::default();
        let seen = visits(false, &rule, |_| true);
        let gaps: Vec<Span> = seen.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        assert_eq!(gaps[..3], [4, 2, 1].map(|hours| Span::HOUR.times(hours)));
        assert!(gaps.iter().all(|gap| *gap >= rule.least) && gaps.last() == Some(&rule.least));
    }

    /// A page that changes every n hours is visited about that often: no more than three times as
    /// often, since a floor only has to be of the right order.
    #[test]
    fn the_rest_follows_the_page() {
        for hours in [1, 3, 9, 27] {
            let every = Span::HOUR.times(hours);
            let turn = |at: Time| at.as_micros() / every.as_micros();
            let last = std::cell::Cell::new(0);
            let seen = visits(false, &Revisit::default(), |at| last.replace(turn(at)) != turn(at));
            let changes = turn(Time::ZERO + Span::DAY.times(30)) as usize;
            assert!((changes / 3..=changes * 3).contains(&seen.len()), "{hours} h: {}", seen.len());
        }
    }

    #[test]
    fn failures_double_the_rest_and_end_after_the_attempts() {
        let mut rest = Rest::new(false);
        let mut rests = Vec::new();
        for _ in 0..12 {
            rest.failed(Time::ZERO);
            rests.push(rest.until(&Revisit::default()).since(Time::ZERO));
        }
        assert_eq!(rests[..3], [30, 60, 120].map(|seconds| Span::SECOND.times(seconds)));
        assert_eq!(rests[11], Revisit::default().usual);
        let mut once = Rest::new(true);
        let tries: Vec<bool> = (0..4)
            .map(|_| {
                once.failed(Time::ZERO);
                once.until(&Revisit::ONCE) < Time::NEVER
            })
            .collect();
        assert_eq!(tries, [true, true, false, false]);
        once.visited(&Revisit::ONCE, None, Time::ZERO);
        assert_eq!(once.until(&Revisit::ONCE), Time::NEVER);
    }

    /// A 403 is an answer, and the same one a minute later.
    #[test]
    fn a_refused_page_rests_as_after_a_visit() {
        let (rule, mut rest) = (Revisit::default(), Rest::new(true));
        let mut rests = Vec::new();
        for _ in 0..200 {
            rest.refused(Time::ZERO);
            rests.push(rest.until(&rule).since(Time::ZERO));
        }
        assert_eq!(rests[..3], [4, 8, 16].map(|hours| Span::HOUR.times(hours)));
        assert_eq!(rests[199], rule.most);
        rest.refused(Time::ZERO);
        assert_eq!(rest.until(&Revisit::ONCE), Time::NEVER);
        let mut late = Rest::new(false);
        late.refused(Time::ZERO);
        late.failed(Time::ZERO);
        assert_eq!(late.until(&rule), Time::ZERO + Span::MINUTE, "the server is in trouble now");
    }

    #[test]
    fn a_hint_shortens_one_rest() {
        let (rule, mut rest) = (Revisit::default(), Rest::new(false));
        rest.visited(&rule, None, Time::ZERO);
        rest.hinted();
        assert_eq!(rest.until(&rule), Time::ZERO + rule.least);
        rest.visited(&rule, Some(false), Time::ZERO);
        assert_eq!(rest.until(&rule), Time::ZERO + Span::HOUR.times(8));
    }

    /// A sender hints at a page after every visit.
    #[test]
    fn empty_hints_shorten_a_rest_less_and_less() {
        let rule = Revisit::default();
        let visits = |is_right: bool| {
            let (mut rest, mut at, mut rests) = (Rest::new(false), Time::ZERO, Vec::new());
            rest.visited(&rule, None, at);
            while at < Time::ZERO + Span::WEEK {
                rest.hinted();
                let next = rest.until(&rule);
                rests.push(next.since(at));
                rest.visited(&rule, Some(is_right), next);
                at = next;
            }
            rests
        };
        let empty = visits(false);
        assert_eq!(empty[..4], [5, 10, 20, 40].map(|minutes| Span::MINUTE.times(minutes)));
        assert!(empty.len() <= 13, "{} visits in a week: {empty:?}", empty.len());
        assert!(visits(true).iter().all(|rest| *rest == rule.least));
    }

    #[test]
    fn without_a_rule_no_page_rests() {
        let mut rest = Rest::new(false);
        rest.visited(&Revisit::NONE, Some(false), Time::ZERO);
        assert_eq!(rest.until(&Revisit::NONE), Time::ZERO);
        rest.failed(Time::ZERO);
        assert_eq!(rest.until(&Revisit::NONE), Time::ZERO);
    }

    /// `least` and `most` give way to `usual`.
    #[test]
    fn one_setting_is_enough() {
        for usual in [Span::ZERO, Span::SECOND, Span::WEEK.times(3)] {
            let (rule, mut rest) = (Revisit { usual, ..Revisit::default() }, Rest::new(false));
            rest.visited(&rule, None, Time::ZERO);
            assert_eq!(rest.until(&rule), Time::ZERO + usual);
        }
    }
}
