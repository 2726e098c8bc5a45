//! Common Crawl's generator: the highest score among the pages that are due.
//!
//! `score + 0.01·days overdue − 0.005·days since a link was last seen`, `+ 0.2` for a page never fetched
//! and due for at most a week, `− 0.1` per failed attempt before the first fetch. A page is due thirty
//! days after its last fetch, a day after a failure; the interval of a page that is gone grows by half.
//! The score of a page is its weight.
//!
//! Overdue pages all gain alike with time, so their order changes only with events: `score − 0.01·due +
//! 0.005·seen` in days is a fixed key. Only the boost ends by itself; it is dropped when the page comes
//! up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Span, Time};

use crate::agenda::Highest;
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::{Agenda, Choice, Gate, Policy};

const OVERDUE_A_DAY: f64 = 0.01;
const UNSEEN_A_DAY: f64 = 0.005;
const NEW_BOOST: f64 = 0.2;
const RETRY_PENALTY: f64 = 0.1;
const NEW_FOR: Span = Span::WEEK;
const INTERVAL: Span = Span::DAY.times(30);
const RETRY_AFTER: Span = Span::DAY;
/// Growth of the interval of a page that is gone, and its limit.
const GONE_GROWTH: f64 = 1.5;
const MOST_INTERVAL: Span = Span::DAY.times(365);

/// The policy.
#[derive(Default)]
pub struct CommonCrawl {
    pages: Vec<Known>,
    /// Pages that are not due yet.
    later: BinaryHeap<Reverse<(Time, PageId)>>,
    /// Pages that are due; entries that are not a page's latest are skipped.
    ready: Agenda<Highest>,
}

struct Known {
    host: HostId,
    weight: f64,
    interval: Span,
    due: Time,
    /// When a link to it was last seen.
    seen: Time,
    failures: u8,
    is_fetched: bool,
    /// Its key in `ready`; `None` while it is not due or is being fetched.
    key: Option<f64>,
}

fn days(at: Time) -> f64 {
    at.seconds() / Span::DAY.seconds()
}

impl Known {
    /// Score less what grows for all overdue pages alike.
    fn key(&self, now: Time) -> f64 {
        let mut score =
            self.weight - OVERDUE_A_DAY * days(self.due) + UNSEEN_A_DAY * days(self.seen);
        if !self.is_fetched {
            score += match self.failures {
                0 if now.since(self.due) <= NEW_FOR => NEW_BOOST,
                failures => -RETRY_PENALTY * f64::from(failures),
            };
        }
        score
    }

    fn score(&self, now: Time) -> f64 {
        self.key(now) + (OVERDUE_A_DAY - UNSEEN_A_DAY) * days(now)
    }
}

impl CommonCrawl {
    fn schedule(&mut self, page: PageId, due: Time) {
        let known = &mut self.pages[page.index()];
        (known.due, known.key) = (due, None);
        self.later.push(Reverse((due, page)));
    }

    /// Puts a due page where its score belongs.
    fn rank(&mut self, page: PageId, now: Time) {
        let known = &mut self.pages[page.index()];
        let key = known.key(now);
        if known.key != Some(key) {
            known.key = Some(key);
            self.ready.push(Highest(key), known.host, page);
        }
    }

    fn settle(&mut self, seen: &Observation<'_>) {
        let known = &mut self.pages[seen.page.index()];
        let wait = match seen.outcome {
            Outcome::Fetched(_) => {
                (known.is_fetched, known.failures) = (true, 0);
                INTERVAL
            }
            Outcome::Failed(_) => {
                known.failures = known.failures.saturating_add(1);
                RETRY_AFTER
            }
            Outcome::Gone => {
                let grown = Span::from_seconds(known.interval.seconds() * GONE_GROWTH);
                known.interval = grown.unwrap_or(MOST_INTERVAL).min(MOST_INTERVAL);
                known.interval
            }
        };
        self.schedule(seen.page, seen.at + wait);
        if let Outcome::Fetched(content) = seen.outcome {
            for link in content.links {
                self.see(link.page, seen.at);
            }
        }
    }

    /// A link to the page was seen. Days are counted whole.
    fn see(&mut self, page: PageId, at: Time) {
        let known = &mut self.pages[page.index()];
        if at.since(known.seen) < Span::DAY {
            return;
        }
        known.seen = at;
        if known.key.is_some() {
            self.rank(page, at);
        }
    }
}

impl Policy for CommonCrawl {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                self.pages.push(Known {
                    host: found.host,
                    weight: found.weight,
                    interval: INTERVAL,
                    due: found.at,
                    seen: found.at,
                    failures: 0,
                    is_fetched: false,
                    key: None,
                });
                if !found.is_held {
                    self.later.push(Reverse((found.at, found.page)));
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
        while let Some(&Reverse((due, page))) = self.later.peek().filter(|next| next.0.0 <= now) {
            self.later.pop();
            if self.pages[page.index()].due == due {
                self.rank(page, now);
            }
        }
        while let Some((Highest(key), page)) = self.ready.pop(now, gate) {
            let known = &mut self.pages[page.index()];
            if known.key.map(f64::to_bits) != Some(key.to_bits()) {
                continue;
            }
            if known.key(now) < key {
                // Its boost has ended.
                known.key = None;
                self.rank(page, now);
                continue;
            }
            known.key = None;
            return Choice::Fetch(page);
        }
        Choice::Idle
    }

    fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        const RULE: &str = "the highest score of weight, days overdue and days since a link was seen is fetched first";
        let known = self.pages.get(page.index())?;
        let due = if known.due > now { Due::At(known.due) } else { Due::InTurn };
        let explanation = Explanation::new(page, RULE, Merit::Score(known.score(now)), due);
        let failures = known.failures;
        Some(Explanation { failures, sooner: &[Lever::Weight, Lever::InLinks], ..explanation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_generator() {
        let day = |n: u64| Time::ZERO + Span::DAY.times(n);
        let page = |due, seen, is_fetched, failures| Known {
            host: HostId(0),
            weight: 0.5,
            interval: INTERVAL,
            due,
            seen,
            failures,
            is_fetched,
            key: None,
        };
        // Rounding of a few sums.
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}");
        close(page(day(30), day(20), true, 0).score(day(40)), 0.5 + 0.01 * 10.0 - 0.005 * 20.0);
        close(page(day(39), day(40), false, 0).score(day(40)), 0.5 + 0.01 + 0.2);
        close(page(day(30), day(40), false, 0).score(day(40)), 0.5 + 0.1);
        close(page(day(40), day(40), false, 2).score(day(40)), 0.5 - 0.2);
    }
}
