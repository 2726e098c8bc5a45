//! The time between two requests to a host.
//!
//! After an answer that took `t`, a host rests for
//!
//! > gap = max(Crawl-delay, clamp(10·t, least, most))
//!
//! so a slow server gets fewer requests, whatever its robots.txt allows. A 429 or 503 closes the host
//! for its Retry-After. Without one, and after no answer at all, the host is closed for a time that
//! doubles with each such error in a row. A page that cannot be read is not its host's fault.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};

/// The operator's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Politeness {
    /// Least time between two requests to one host.
    pub least_gap: Span,
    /// Longest gap because of slow answers alone.
    pub most_gap: Span,
    /// The gap as a multiple of the last response time.
    pub patience: u64,
    /// Least time between two requests to one address, whatever the host.
    pub address_gap: Span,
    /// A longer Crawl-delay counts as this.
    pub most_delay: Span,
    /// First rest after an error; doubles with each error in a row.
    pub first_rest: Span,
    /// Longest rest after errors, and longest Retry-After obeyed.
    pub most_rest: Span,
}

impl Politeness {
    /// Waits for Crawl-delay only, and obeys it to the letter.
    pub const CRAWL_DELAY_ONLY: Politeness = Politeness {
        least_gap: Span::ZERO,
        most_gap: Span::ZERO,
        patience: 0,
        address_gap: Span::ZERO,
        most_delay: Span::FOREVER,
        first_rest: Span::ZERO,
        most_rest: Span::FOREVER,
    };
}

impl Default for Politeness {
    fn default() -> Self {
        Politeness {
            least_gap: Span::SECOND.times(2),
            most_gap: Span::MINUTE,
            patience: 10,
            address_gap: Span::from_micros(500_000),
            most_delay: Span::MINUTE.times(5),
            first_rest: Span::SECOND.times(30),
            most_rest: Span::DAY,
        }
    }
}

/// How a request went, as far as politeness is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Any answer but 429 and 503, bad ones included.
    Usual,
    /// 429 or 503, with Retry-After if given.
    Overloaded(Option<Span>),
    /// No answer: refused, reset, timed out, too slow.
    Nothing,
}

/// What politeness remembers of a host, also across restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMemo {
    /// No request before this time.
    pub opens: Time,
    /// The gap kept after the last answer.
    pub gap: Span,
    /// Crawl-delay from robots.txt.
    pub crawl_delay: Span,
    /// Until when robots.txt, as last read, holds.
    pub robots_until: Time,
    /// Errors in a row.
    pub troubles: u8,
    /// Least time between two requests, if the operator set one for this host.
    pub own_gap: Option<Span>,
}

impl HostMemo {
    /// Updates the state after an answer that took `took` and ended at `now`.
    pub fn answered(&mut self, rules: &Politeness, answer: Answer, took: Span, now: Time) {
        let least = self.own_gap.unwrap_or(rules.least_gap);
        let slowness = took.times(rules.patience).clamp(least, rules.most_gap.max(least));
        self.gap = slowness.max(self.crawl_delay.min(rules.most_delay));
        let rest = match answer {
            Answer::Usual => {
                self.troubles = 0;
                Span::ZERO
            }
            Answer::Overloaded(asked) => {
                let rest = self.rest(rules);
                asked.map_or(rest, |asked| asked.min(rules.most_rest))
            }
            Answer::Nothing => self.rest(rules),
        };
        self.opens = now + self.gap.max(rest);
    }

    /// Counts an error and returns the rest after it.
    fn rest(&mut self, rules: &Politeness) -> Span {
        let doubled = rules.first_rest.times(1 << self.troubles.min(32));
        self.troubles = self.troubles.saturating_add(1);
        doubled.min(rules.most_rest)
    }

    /// The shortest gap that can follow a request.
    pub(crate) fn least_gap(&self, rules: &Politeness) -> Span {
        let least = self.own_gap.unwrap_or(rules.least_gap);
        least.max(self.crawl_delay.min(rules.most_delay))
    }

    /// The state after a restart at `now`. A request may have been in flight when the crawler died, so
    /// the host is treated as if it had just answered.
    pub(crate) fn resumed(mut self, rules: &Politeness, now: Time) -> Self {
        let gap = self.gap.max(self.least_gap(rules));
        self.opens = self.opens.max(now + gap);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memo(answer: Answer, took: Span) -> HostMemo {
        let mut memo = HostMemo::default();
        memo.answered(&Politeness::default(), answer, took, Time::ZERO);
        memo
    }

    #[test]
    fn the_gap_follows_the_time_an_answer_took_within_bounds() {
        let rules = Politeness::default();
        assert_eq!(memo(Answer::Usual, Span::ZERO).gap, rules.least_gap);
        assert_eq!(memo(Answer::Usual, Span::SECOND).gap, Span::SECOND.times(10));
        assert_eq!(memo(Answer::Usual, Span::HOUR).gap, rules.most_gap);
    }

    #[test]
    fn crawl_delay_stretches_the_gap_but_not_for_ever() {
        let rules = Politeness::default();
        let mut memo = HostMemo { crawl_delay: Span::MINUTE, ..HostMemo::default() };
        memo.answered(&rules, Answer::Usual, Span::ZERO, Time::ZERO);
        assert_eq!(memo.opens, Time::ZERO + Span::MINUTE);
        memo.crawl_delay = Span::WEEK;
        memo.answered(&rules, Answer::Usual, Span::ZERO, Time::ZERO);
        assert_eq!(memo.gap, rules.most_delay);
    }

    #[test]
    fn an_own_gap_replaces_the_least_gap() {
        let rules = Politeness::default();
        for own in [Span::from_micros(100_000), Span::MINUTE.times(3)] {
            let mut memo = HostMemo { own_gap: Some(own), ..HostMemo::default() };
            memo.answered(&rules, Answer::Usual, Span::ZERO, Time::ZERO);
            assert_eq!((memo.gap, memo.least_gap(&rules)), (own, own));
        }
    }

    #[test]
    fn retry_after_is_kept_and_trouble_doubles() {
        let rules = Politeness::default();
        let asked = memo(Answer::Overloaded(Some(Span::HOUR)), Span::ZERO);
        assert_eq!(asked.opens, Time::ZERO + Span::HOUR);
        let mut memo = HostMemo::default();
        let mut rests = Vec::new();
        for _ in 0..4 {
            memo.answered(&rules, Answer::Nothing, Span::ZERO, Time::ZERO);
            rests.push(memo.opens.since(Time::ZERO).seconds());
        }
        assert_eq!(rests, [30.0, 60.0, 120.0, 240.0]);
        for _ in 0..300 {
            memo.answered(&rules, Answer::Nothing, Span::ZERO, Time::ZERO);
        }
        assert_eq!(memo.opens, Time::ZERO + rules.most_rest);
        memo.answered(&rules, Answer::Usual, Span::ZERO, Time::ZERO);
        assert_eq!(memo.troubles, 0);
    }

    #[test]
    fn a_retry_after_shorter_than_the_gap_does_not_shorten_it() {
        let rules = Politeness::default();
        let asked = memo(Answer::Overloaded(Some(Span::ZERO)), Span::ZERO);
        assert_eq!(asked.opens, Time::ZERO + rules.least_gap);
    }

    #[test]
    fn after_a_restart_every_host_counts_as_just_asked() {
        let rules = Politeness::default();
        let now = Time::ZERO + Span::DAY;
        let memo = HostMemo { opens: Time::ZERO, gap: Span::MINUTE, ..HostMemo::default() };
        assert_eq!(memo.resumed(&rules, now).opens, now + Span::MINUTE);
        let closed = HostMemo { opens: now + Span::HOUR, ..memo };
        assert_eq!(closed.resumed(&rules, now).opens, now + Span::HOUR);
    }
}
