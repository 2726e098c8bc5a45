//! How much of the budget is spent, and why the rest is not.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};
use tidewatch_frontier::KeptBack;

use crate::explain::lasting;

/// Half-life of the figures, in seconds: what happened ten minutes ago counts a quarter.
const HALF_LIFE_S: f64 = 300.0;
/// How often resting pages are counted at most, which looks at all pages; never while the budget is
/// spent.
const COUNT_EVERY: Span = Span::SECOND;
/// A smaller unspent share is the grain of the pacing.
const NOTABLE: f64 = 0.05;

/// Fetches made and paid for lately.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spending {
    at: Option<Time>,
    fetches: u64,
    made: f64,
    paid_for: f64,
    counted: Option<Time>,
    resting: u32,
    next_s: f64,
    waiting: u32,
}

/// The part of the budget that was not spent lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unspent {
    /// As a share of the budget, over some minutes.
    pub share: f64,
    /// Pages that rest after a visit.
    pub resting: u32,
    /// Seconds until the first of them may be visited again.
    pub next_s: f64,
    /// Pages that wait for their hosts, which may be asked only so often.
    #[serde(default)]
    pub waiting: u32,
}

impl Spending {
    /// Counts on: `fetches` so far, at `budget` per second. `kept_back` counts pages.
    pub(crate) fn note(
        &mut self,
        fetches: u64,
        budget: f64,
        now: Time,
        kept_back: impl FnOnce() -> KeptBack,
    ) {
        let passed = self.at.map_or(0.0, |at| now.since(at).seconds());
        let made = if self.at.is_some() { fetches.saturating_sub(self.fetches) } else { 0 };
        let fade = (-passed / HALF_LIFE_S).exp2();
        self.made = fade * self.made + made as f64;
        self.paid_for = fade * self.paid_for + budget * passed;
        (self.at, self.fetches) = (Some(now), fetches);
        let is_idle = self.unspent().is_some_and(|unspent| unspent.share >= NOTABLE);
        if is_idle && self.counted.is_none_or(|at| now.since(at) >= COUNT_EVERY) {
            let KeptBack { resting, first, waiting } = kept_back();
            let next = if first == Time::NEVER { Span::ZERO } else { first.since(now) };
            (self.counted, self.resting, self.waiting) = (Some(now), resting, waiting);
            self.next_s = next.seconds();
        }
    }

    /// What was left; `None` before the first fetch was paid for.
    pub(crate) fn unspent(&self) -> Option<Unspent> {
        (self.paid_for >= 1.0).then(|| Unspent {
            share: (1.0 - self.made / self.paid_for).clamp(0.0, 1.0),
            resting: self.resting,
            next_s: self.next_s,
            waiting: self.waiting,
        })
    }
}

impl Unspent {
    /// The figures of two partitions together, whose budgets are `own` and `others`.
    pub(crate) fn join(self, other: Unspent, own: f64, others: f64) -> Unspent {
        let all = (own + others).max(f64::MIN_POSITIVE);
        Unspent {
            share: (self.share * own + other.share * others) / all,
            resting: self.resting + other.resting,
            next_s: if self.resting == 0 || (other.resting > 0 && other.next_s < self.next_s) {
                other.next_s
            } else {
                self.next_s
            },
            waiting: self.waiting + other.waiting,
        }
    }

    /// A sentence, if a part worth mentioning is left.
    pub fn told(&self) -> Option<String> {
        if self.share < NOTABLE {
            return None;
        }
        let pages = |count: u32, verb: &str| match count {
            1 => format!("1 page {verb}s"),
            count => format!("{count} pages {verb}"),
        };
        let mut reasons = Vec::new();
        if self.waiting > 0 {
            let waits = pages(self.waiting, "wait");
            reasons.push(format!("{waits} for their hosts, which may be asked only so often"));
        }
        if self.resting > 0 {
            let (rests, next) = (pages(self.resting, "rest"), lasting(self.next_s));
            reasons.push(format!("{rests} after a visit, the first for {next} more"));
        }
        reasons.push(if reasons.is_empty() {
            "nothing more is worth a fetch".to_owned()
        } else {
            "any others are not worth a fetch".to_owned()
        });
        let share = 100.0 * self.share;
        Some(format!("{share:.0}% of the budget is left unspent: {}", reasons.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_crawl_reports_unspent_budget_and_its_reason() {
        let mut spending = Spending::default();
        let at = |s: u64| Time::ZERO + Span::SECOND.times(s);
        assert_eq!(spending.unspent(), None);
        // 2 a second, of which a fetch a second is made for a minute, and none for an hour.
        for s in 0..60 {
            let kept = KeptBack { resting: 0, first: Time::NEVER, waiting: 40 };
            spending.note(s, 2.0, at(s), || kept);
        }
        let half = spending.unspent().unwrap();
        assert!((half.share - 0.5).abs() < 0.02, "{half:?}");
        let wanted = "of the budget is left unspent: 40 pages wait for their hosts, which may be asked \
                      only so often; any others are not worth a fetch";
        assert!(half.told().unwrap().ends_with(wanted), "{:?}", half.told());
        for s in 60..3660 {
            let kept = KeptBack { resting: 3, first: at(10_860), waiting: 0 };
            spending.note(59, 2.0, at(s), || kept);
        }
        let idle = spending.unspent().unwrap();
        assert!(idle.share > 0.99 && idle.resting == 3, "{idle:?}");
        let told = idle.told().unwrap();
        assert!(told.starts_with("100% of the budget is left unspent") && told.contains("2 hours"));
        let busy = Unspent { share: 0.01, ..idle };
        assert_eq!(busy.told(), None);
        assert_eq!(idle.join(busy, 1.0, 3.0).resting, 6);
    }
}
