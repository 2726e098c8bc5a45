//! Interval rules of today's crawlers: shorter after a change, longer without.
//!
//! Facts taken from the projects' own documentation and sources: Apache Nutch's
//! `AdaptiveFetchSchedule` and StormCrawler's `AdaptiveScheduler`. Both fetch only
//! what is due; when more is due than the budget allows, the longest overdue comes
//! first.

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Reason, Span, Time};

use crate::due::DueQueue;
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::{Choice, Gate, Policy};

/// How long a page waits for its next visit, by what visits saw.
pub trait IntervalRule: Send {
    /// What is kept of a page.
    type Past: Copy + Send;
    /// The rule in a sentence.
    const RULE: &'static str;

    /// The past of a page that becomes known.
    fn found(&self, at: Time) -> Self::Past;

    /// The past after a visit that saw a change or not.
    fn visited(&self, past: Self::Past, at: Time, changed: bool) -> Self::Past;

    /// The interval of a page with this past.
    fn interval(&self, past: Self::Past, now: Time) -> Span;
}

/// How an interval follows from the last one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveRule {
    /// Interval before anything is known.
    pub start: Span,
    /// Never shorter than this.
    pub min: Span,
    /// Never longer than this.
    pub max: Span,
    /// After a change the interval is (1 − `decrease`)·I + `decrease`·`towards`.
    pub decrease: f64,
    /// Where a change pulls the interval.
    pub towards: Span,
    /// Without a change it is I·(1 + `increase`).
    pub increase: f64,
}

impl AdaptiveRule {
    /// Apache Nutch: ×0.8 after a change, ×1.4 without, within [60 s, 365 d], start 30 d.
    pub const NUTCH: AdaptiveRule = AdaptiveRule {
        start: Span::DAY.times(30),
        min: Span::MINUTE,
        max: Span::DAY.times(365),
        decrease: 0.2,
        towards: Span::ZERO,
        increase: 0.4,
    };

    /// `StormCrawler`: half-way to the minimum after a change, ×1.5 without,
    /// within [60 min, 14 d], start 1 d.
    pub const STORM: AdaptiveRule = AdaptiveRule {
        start: Span::DAY,
        min: Span::HOUR,
        max: Span::DAY.times(14),
        decrease: 0.5,
        towards: Span::HOUR,
        increase: 0.5,
    };

    /// The interval after a visit that saw a change or not.
    pub fn next(&self, interval: Span, changed: bool) -> Span {
        let seconds = interval.seconds();
        let next = if changed {
            (1.0 - self.decrease) * seconds + self.decrease * self.towards.seconds()
        } else {
            seconds * (1.0 + self.increase)
        };
        Span::from_seconds(next).unwrap_or(self.max).clamp(self.min, self.max)
    }
}

impl IntervalRule for AdaptiveRule {
    type Past = Span;
    const RULE: &'static str =
        "its interval shrinks when a visit sees a change and grows otherwise";

    fn found(&self, _: Time) -> Span {
        self.start
    }

    fn visited(&self, interval: Span, _: Time, changed: bool) -> Span {
        self.next(interval, changed)
    }

    fn interval(&self, interval: Span, _: Time) -> Span {
        interval
    }
}

/// A policy that visits every page at intervals by an [`IntervalRule`]. What was due first comes first;
/// without a due page it is idle.
pub struct Adaptive<R: IntervalRule> {
    rule: R,
    pages: Vec<Known<R::Past>>,
    agenda: DueQueue<Time>,
}

struct Known<P> {
    host: HostId,
    past: P,
    /// When it is fetched next; `None` once it is gone.
    due: Option<Time>,
}

impl<R: IntervalRule> Adaptive<R> {
    /// A policy that follows `rule`.
    pub fn new(rule: R) -> Self {
        Adaptive { rule, pages: Vec::new(), agenda: DueQueue::default() }
    }

    fn settle(&mut self, seen: &Observation<'_>) {
        let changed = match seen.outcome {
            Outcome::Gone => {
                self.pages[seen.page.index()].due = None;
                return;
            }
            Outcome::Fetched(content) => content.changed,
            // The peers retry a failed page after its interval.
            Outcome::Failed(_) => None,
        };
        let known = &mut self.pages[seen.page.index()];
        if let Some(changed) = changed {
            known.past = self.rule.visited(known.past, seen.at, changed);
        }
        // An interruption of ours is no visit.
        let is_tried = seen.outcome != Outcome::Failed(Reason::OwnStop);
        let rest = if is_tried { self.rule.interval(known.past, seen.at) } else { Span::ZERO };
        let due = seen.at + rest;
        known.due = Some(due);
        self.agenda.put(due, known.host, seen.page);
    }
}

impl<R: IntervalRule> Policy for Adaptive<R> {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                let (past, due) = (self.rule.found(found.at), Some(found.at));
                self.pages.push(Known { host: found.host, past, due });
                if !found.is_held {
                    self.agenda.put(found.at, found.host, found.page);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen),
            Event::Log(_)
            | Event::Asked(_)
            | Event::Hinted(_)
            | Event::Budget(_)
            | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let due = self.agenda.take_if(now, gate, |due| due <= now);
        due.map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }

    fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        let known = self.pages.get(page.index())?;
        let due = known.due.map_or(Due::Never, Due::At);
        let merit = Merit::Every(self.rule.interval(known.past, now));
        let explanation = Explanation::new(page, R::RULE, merit, due);
        let is_gone = known.due.is_none();
        Some(Explanation { is_gone, sooner: &[Lever::Changes], ..explanation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_the_peers_own() {
        let nutch = AdaptiveRule::NUTCH;
        assert_eq!(nutch.next(Span::DAY.times(30), true), Span::DAY.times(24));
        assert_eq!(nutch.next(Span::DAY.times(30), false), Span::DAY.times(42));
        assert_eq!(nutch.next(Span::MINUTE, true), Span::MINUTE);
        assert_eq!(nutch.next(Span::DAY.times(365), false), Span::DAY.times(365));
        let storm = AdaptiveRule::STORM;
        assert_eq!(storm.next(Span::HOUR.times(25), true), Span::HOUR.times(13));
        assert_eq!(storm.next(Span::DAY, false), Span::HOUR.times(36));
        assert_eq!(storm.next(Span::DAY.times(13), false), Span::DAY.times(14));
    }
}
