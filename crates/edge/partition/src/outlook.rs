//! What another budget would bring, beside how the crawl stands.

use std::fmt;
use std::str::FromStr;

use tidewatch_core::Rate;
use tidewatch_policy::WhatIf;

use crate::Status;

/// Another budget: a multiple such as `2x`, or a rate such as `5/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OtherBudget {
    /// A multiple of the current one.
    Times(f64),
    /// This one.
    To(Rate),
}

impl OtherBudget {
    /// The other budget, where the current one is `now`; `None` if it is too large.
    pub fn of(self, now: Rate) -> Option<Rate> {
        match self {
            OtherBudget::Times(times) => Rate::per_second(times * now.as_per_second()),
            OtherBudget::To(rate) => Some(rate),
        }
    }
}

impl FromStr for OtherBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<OtherBudget, String> {
        if let Some(times) = text.strip_suffix(['x', '×']) {
            return match times.parse() {
                Ok(times) if times > 0.0 && f64::is_finite(times) => Ok(OtherBudget::Times(times)),
                _ => Err("a multiple is a number above zero, such as 2x".to_owned()),
            };
        }
        text.parse().map(OtherBudget::To).map_err(|error| format!("{error}"))
    }
}

impl fmt::Display for OtherBudget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OtherBudget::Times(times) => write!(to, "{times}x"),
            OtherBudget::To(rate) => write!(to, "{}/s", rate.as_per_second()),
        }
    }
}

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
    fn budgets_are_multiples_or_rates() {
        assert_eq!("2x".parse(), Ok(OtherBudget::Times(2.0)));
        assert_eq!("0.5×".parse(), Ok(OtherBudget::Times(0.5)));
        assert_eq!("5/s".parse(), Ok(OtherBudget::To(Rate::per_second(5.0).unwrap())));
        for bad in ["x", "-1x", "infx", "NaNx", "fast"] {
            assert!(bad.parse::<OtherBudget>().is_err(), "{bad}");
        }
        for text in ["2x", "0.25x", "5/s", "0.5/s"] {
            assert_eq!(text.parse::<OtherBudget>().unwrap().to_string(), text);
        }
    }

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
