//! Answers for people: why a page is fetched when it is, how the crawl stands, what another budget
//! would bring.
//!
//! Every policy fills the same [`Explanation`], as far as it knows: a price says what a fetch is worth
//! and what it must be worth, a ranking says the score, a refresher the interval.

use serde::{Deserialize, Serialize};
use tidewatch_core::{FetchKind, HostId, PageId, Span, Time};

/// What decides about one page.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The page.
    pub page: PageId,
    /// The purpose of its next fetch; `None` if the policy does not tell fetches apart.
    pub kind: Option<FetchKind>,
    /// Last good fetch, or when the page became known; `None` if the policy does not keep it.
    pub since: Option<Time>,
    /// Whether the page is known to be gone.
    pub is_gone: bool,
    /// Failed fetches in a row.
    pub failures: u8,
    /// The policy's rule for such a page: a sentence without its full stop.
    pub rule: &'static str,
    /// What the rule says of this page.
    pub merit: Merit,
    /// When it is fetched next, if nothing is in the way.
    pub due: Due,
    /// Whether it may be fetched before that.
    pub early: Early,
    /// Whether the policy plans anew before its next choice, so that this is the plan of before.
    pub is_outdated: bool,
    /// Chance that a fetch brings nothing of its own, by which the merit is lowered already; 0 for
    /// policies that do not weigh doubts.
    pub doubt: f64,
    /// What is in the way now. The frontier fills it in.
    pub obstacle: Option<Obstacle>,
    /// What would bring that forward.
    pub sooner: &'static [Lever],
    /// What the policy believes of the page.
    pub belief: Belief,
    /// Visits so far, for policies that count them.
    pub history: Option<History>,
}

impl Explanation {
    /// An explanation that gives the rule, its result and the due time; the caller adds what else it
    /// knows.
    pub fn new(page: PageId, rule: &'static str, merit: Merit, due: Due) -> Self {
        Explanation {
            page,
            kind: None,
            since: None,
            is_gone: false,
            failures: 0,
            rule,
            merit,
            due,
            early: Early::No,
            is_outdated: false,
            doubt: 0.0,
            obstacle: None,
            sooner: &[],
            belief: Belief::Unstated,
            history: None,
        }
    }

    /// Adds the last fetch, whether the page is gone, and that a page with a due time may be fetched
    /// before if budget is left.
    pub(crate) fn visited(self, since: Option<Time>, is_gone: bool) -> Self {
        let early = if self.due.time().is_some() { Early::Spare } else { Early::No };
        Explanation { since, is_gone, early, ..self }
    }

    /// Whether it says that the page is due at `now` and nothing is in the way.
    pub fn is_due(&self, now: Time) -> bool {
        self.is_firm() && self.due.time().is_some_and(|due| due <= now)
    }

    /// Whether it says for certain what a question at this time would bring.
    fn is_firm(&self) -> bool {
        self.obstacle.is_none() && !self.is_outdated
    }

    /// Whether it says that the page is fetched at `now` if nothing better waits: what idle budget is
    /// spent on.
    pub fn is_next(&self, now: Time) -> bool {
        let is_wanted = self.due == Due::InTurn || self.early == Early::Spare;
        self.is_due(now) || (self.is_firm() && is_wanted && self.due != Due::UnderWay)
    }

    /// Whether it allows that the page is fetched at `now`.
    pub fn allows(&self, now: Time) -> bool {
        let is_open = self.early == Early::Probe || self.is_outdated;
        self.is_next(now) || (self.obstacle.is_none() && is_open)
    }
}

/// What a policy's rule says of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Merit {
    /// A fetch now brings `worth` clicks and is made once that is `host_price`; a page of which nothing is
    /// known is fetched whatever it is worth.
    Clicks {
        /// Clicks that a fetch would bring now; `None` if nothing is known of the page.
        worth: Option<f64>,
        /// Clicks that the marginal fetch of the whole crawl brings.
        price: f64,
        /// The price on the page's host: above `price` if the host's crawl delay, not the budget, is
        /// the limit.
        host_price: f64,
    },
    /// The highest score is fetched first.
    Score(f64),
    /// Fetched at even intervals.
    Every(Span),
    /// Fetched when its turn comes.
    Turn,
}

/// When a page is fetched next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At this time, if the budget allows.
    At(Time),
    /// When every page before it has been fetched.
    InTurn,
    /// It is being fetched.
    UnderWay,
    /// Not at all as things are.
    Never,
}

impl Due {
    /// The time, if there is one.
    pub fn time(self) -> Option<Time> {
        match self {
            Due::At(time) => Some(time),
            _ => None,
        }
    }
}

/// Whether a page may be fetched before it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Early {
    /// It is not.
    No,
    /// Only as a random probe.
    Probe,
    /// When the budget has nothing better to pay for.
    Spare,
}

/// Why a page may not be fetched now, whatever it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It was fetched lately and rests; [`Time::NEVER`] if it is not fetched again.
    Rest(Time),
    /// Its host rests after errors.
    Trouble {
        /// When it is asked again.
        until: Time,
        /// Errors in a row.
        errors: u8,
    },
    /// Its host was asked lately and is left alone for a moment.
    Gap(Time),
    /// Another page of its host is being fetched.
    Busy,
}

impl Obstacle {
    /// When it is out of the way, if that is known.
    pub fn until(self) -> Option<Time> {
        match self {
            Obstacle::Rest(until) | Obstacle::Trouble { until, .. } | Obstacle::Gap(until) => {
                Some(until)
            }
            Obstacle::Busy => None,
        }
    }
}

/// A change of the facts that would bring a fetch forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lever {
    /// More clicks on the page, or on the pages it links to if it is a source.
    Clicks,
    /// More changes seen.
    Changes,
    /// More new links on it.
    NewLinks,
    /// More links to it, or from better pages.
    InLinks,
    /// A higher weight from outside.
    Weight,
    /// A larger budget.
    Budget,
}

/// What a policy believes of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Belief {
    /// The policy believes nothing beyond its merit.
    Unstated,
    /// A copy that goes stale.
    Copy {
        /// Clicks per second.
        clicks_per_s: f64,
        /// The part of the page that a change touches.
        size: f64,
        /// Probability that the page has changed since its last fetch.
        stale: f64,
        /// How often it changes.
        changes: Changes,
    },
    /// A page watched for new links.
    Source {
        /// New links per second.
        links_per_s: f64,
        /// Clicks of a new page fetched at birth.
        clicks_per_link: f64,
        /// The rate per second at which those clicks are lost.
        decay_per_s: f64,
    },
    /// A page never fetched.
    Unfetched {
        /// Clicks that it brings if fetched at birth.
        clicks: f64,
        /// The rate per second at which those clicks are lost.
        decay_per_s: f64,
        /// Pages that link to it; `None` if they are no longer counted.
        shown_by: Option<u16>,
    },
}

/// How often a page is believed to change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changes {
    /// Expected changes per second.
    pub per_s: f64,
    /// The 95% interval of that rate, where the rate is uncertain.
    pub interval_95: Option<(f64, f64)>,
    /// The share of changes that hints announce, on hosts that send hints.
    pub recall: Option<f64>,
}

/// Visits to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Visits that saw a change.
    pub changes: u64,
    /// Visits that could have seen one.
    pub visits: u64,
}

/// Precision and recall of the hints of one kind about one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HintRecord {
    /// The host.
    pub host: HostId,
    /// The kind: a list that gives dates, or a sender.
    pub kind: String,
    /// Hints that a visit has put to the test.
    pub hints: f64,
    /// Share of the hints behind which there was a change, as believed.
    pub precision: f64,
    /// Share of the changes that were hinted at, as believed.
    pub recall: f64,
}

/// The state of a crawl in two figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// ω: clicks that the marginal fetch brings.
    pub price: f64,
    /// Share of the copies that equal their page, with the half-width of its 95% interval; `None`
    /// without copies.
    pub freshness: Option<(f64, f64)>,
}

/// What another budget would bring in the coming week, for the same beliefs. It knows the frontier
/// pages that wait today, not those that will be found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// Fetches per second.
    pub budget: f64,
    /// The price.
    pub price: f64,
    /// Fetches per second that would be worth it, by kind in the order of [`FetchKind::ALL`]; probes
    /// are refreshes.
    pub fetches: [f64; 4],
    /// Share of the copies that would be fresh, weighted by clicks.
    pub freshness: Option<f64>,
    /// Clicks per second on pages never fetched before.
    pub profit: f64,
    /// Clicks per second on copies, by which freshness is weighted.
    pub weight: f64,
}

impl WhatIf {
    /// Fetches per second of all kinds. Less than the budget if nothing more is worth a fetch, or may be
    /// fetched.
    pub fn spent(&self) -> f64 {
        self.fetches.iter().sum()
    }

    /// The sum over the shards of a crawl, each with its share of the budget. The price is the mean of
    /// the prices of all fetches: a shard that fetches nothing has no say in it. `None` without a shard.
    pub fn sum(shards: &[WhatIf]) -> Option<WhatIf> {
        let of = |value: fn(&WhatIf) -> f64| shards.iter().map(value).sum::<f64>();
        let (first, spent) = (shards.first()?, of(WhatIf::spent));
        let paid = of(|shard| shard.price * shard.spent());
        let known = shards.iter().filter_map(|shard| Some((shard.freshness?, shard.weight)));
        let (fresh, weight) = known.fold((0.0, 0.0), |(fresh, all), (share, weight)| {
            (fresh + share * weight, all + weight)
        });
        Some(WhatIf {
            budget: of(|shard| shard.budget),
            price: if spent > 0.0 { paid / spent } else { first.price },
            fetches: std::array::from_fn(|kind| shards.iter().map(|s| s.fetches[kind]).sum()),
            freshness: (weight > 0.0).then(|| fresh / weight),
            profit: of(|shard| shard.profit),
            weight: of(|shard| shard.weight),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shard whose budget finds nothing to buy predicts the highest price of all.
    #[test]
    fn a_shard_that_fetches_nothing_does_not_move_the_price() {
        let shard = |budget, price, fetches| WhatIf {
            budget,
            price,
            fetches: [fetches, 0.0, 0.0, 0.0],
            freshness: None,
            profit: 0.0,
            weight: 0.0,
        };
        let sum =
            WhatIf::sum(&[shard(1.0, 1e15, 0.0), shard(4.0, 0.5, 3.0), shard(9.0, 0.25, 1.0)]);
        let sum = sum.unwrap();
        assert_eq!((sum.budget, sum.price, sum.spent()), (14.0, 0.4375, 4.0));
        let idle = WhatIf::sum(&[shard(1.0, 2.0, 0.0)]).unwrap();
        assert_eq!((idle.price, idle.spent()), (2.0, 0.0));
        assert!(WhatIf::sum(&[]).is_none());
    }
}
