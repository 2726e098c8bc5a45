//! What another budget would bring, beside how the crawl stands.

use tidewatch_policy::WhatIf;

use crate::Status;

/// A crawl at its own budget and at another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// At its own.
    pub now: WhatIf,
    /// At the other one.
    pub then: WhatIf,
}

impl Outlook {
    /// Puts two predictions on the level of the crawl's figures: the policy predicts by how much price
    /// and staleness change with the budget, and the figures say what they are. So a prediction for the
    /// current budget shows the current price and freshness:
    ///
    /// > price' = price · p(then) / p(now),  1 − F' = (1 − F) · (1 − f(then)) / (1 − f(now))
    ///
    /// with p and f as predicted. A figure that is not known yet is as predicted. f is weighted by clicks and
    /// F is not, which the ratio mends as far as staleness changes alike for all copies.
    pub fn new(now: WhatIf, then: WhatIf, status: &Status) -> Outlook {
        let fresh = status.freshness.map(|freshness| freshness.share);
        let staler = now
            .freshness
            .zip(then.freshness)
            .map_or(1.0, |(now, then)| if now < 1.0 { (1.0 - then) / (1.0 - now) } else { 1.0 });
        let dearer = if now.price > 0.0 { then.price / now.price } else { 1.0 };
        let level = |found: WhatIf, staler: f64, dearer: f64| WhatIf {
            price: status.price.map_or(found.price, |price| price * dearer),
            freshness: match fresh {
                Some(fresh) => Some((1.0 - (1.0 - fresh) * staler).clamp(0.0, 1.0)),
                None => found.freshness,
            },
            ..found
        };
        Outlook { now: level(now, 1.0, 1.0), then: level(then, staler, dearer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Freshness, FreshnessMeasure};

    #[test]
    fn the_current_budget_shows_the_current_figures() {
        let at = |price, freshness| WhatIf {
            budget: 1.0,
            price,
            fetches: [0.0; 4],
            freshness: Some(freshness),
            profit: 0.0,
            weight: 1.0,
        };
        let by = FreshnessMeasure::Revisits;
        let freshness = Some(Freshness { share: 0.6, margin: 0.1, by });
        let status = Status { price: Some(0.1), freshness, ..Status::default() };
        let same = Outlook::new(at(0.03, 0.98), at(0.03, 0.98), &status);
        assert_eq!((same.now.price, same.now.freshness), (0.1, Some(0.6)));
        assert!((same.then.price - 0.1).abs() < 1e-12);
        let more = Outlook::new(at(0.03, 0.98), at(0.015, 0.99), &status);
        assert!((more.then.price - 0.05).abs() < 1e-12);
        assert!((more.then.freshness.unwrap() - 0.8).abs() < 1e-9, "half as stale");
        let perfect = Outlook::new(at(0.0, 1.0), at(0.0, 1.0), &status);
        assert_eq!((perfect.then.price, perfect.then.freshness), (0.1, Some(0.6)));
        let unknown = Outlook::new(at(0.03, 0.98), at(0.03, 0.98), &Status::default());
        assert_eq!(unknown.then.freshness, Some(0.98), "as predicted, before any is measured");
    }
}
