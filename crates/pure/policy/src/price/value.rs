//! What is a fetch worth?
//!
//! An item that loses value at rate w·D(τ) when τ has passed since its last fetch gains, by one more
//! fetch, V(τ) = w·U(τ) with U(τ) = τD(τ) − ∫₀^τ D: fetching it at every I such that V(I) = ω spends
//! the budget best when all items have the same ω (the derivation is that of `[OP08, eq. 4]` and
//! `[CGM03]`, with any D).
//!
//! | kind | w | D |
//! |---|---|---|
//! | copy that is right or wrong | clicks a second | 1 − e^(−λτ), λ uncertain: [`law::Lomax`](tidewatch_science::law::Lomax) |
//! | copy that goes stale in parts | clicks a second × the part that changes | the same, K times slower if it scrolls by K items |
//! | copy whose changes are hinted at | clicks a second | [`Signalled`] |
//! | source | λP, clicks born a second | see [`Source`] |
//! | page never fetched | — | brings its clicks once: V = P·e^(−μ·age) |

use super::signals::Signalled;
use super::source::Source;
use crate::explanation::Changes;
use tidewatch_science::law::{Curve, LossCurve};

/// How a copy goes stale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Staling {
    /// Right or wrong as a whole.
    Whole(Curve),
    /// The same where hints tell of some of the changes.
    Hinted(Signalled),
}

impl Staling {
    fn worth(&self, elapsed: f64) -> f64 {
        match self {
            Staling::Whole(curve) => curve.worth(elapsed),
            Staling::Hinted(page) => page.worth(elapsed),
        }
    }

    fn elapsed_at(&self, worth: f64) -> f64 {
        let added = self.hints().map_or(0.0, |hints| hints.added);
        (self.age_at(worth) - added).max(0.0)
    }

    /// The age, to which hints add, at which a fetch is worth `worth`; without hints the time since the
    /// last fetch.
    fn age_at(&self, worth: f64) -> f64 {
        match self {
            Staling::Whole(curve) => curve.elapsed_at(worth),
            Staling::Hinted(page) => page.age_at(worth),
        }
    }

    /// The hints, if there are any.
    const fn hints(&self) -> Option<Signalled> {
        match self {
            Staling::Whole(_) => None,
            Staling::Hinted(page) => Some(*page),
        }
    }

    /// A bound of D′, which falls.
    fn first_slope(&self) -> f64 {
        match self {
            Staling::Whole(curve) => curve.slope(0.0),
            // A hint may make it jump.
            Staling::Hinted(_) => f64::INFINITY,
        }
    }

    /// How often the copy changes, for explanations.
    pub fn changes(&self) -> Changes {
        let (interval_95, recall) = (None, None);
        match self {
            Staling::Whole(Curve::Lomax(rate)) => {
                Changes { per_s: rate.rate(), interval_95: Some(rate.interval_95()), recall }
            }
            Staling::Whole(curve) => Changes { per_s: curve.slope(0.0), interval_95, recall },
            Staling::Hinted(page) => {
                Changes { per_s: page.changes, interval_95, recall: Some(page.recall) }
            }
        }
    }

    /// Expected staleness `elapsed` seconds after a fetch.
    pub fn stale(&self, elapsed: f64) -> f64 {
        match self {
            Staling::Whole(curve) => curve.stale(elapsed),
            Staling::Hinted(page) => page.stale(elapsed),
        }
    }

    /// Mean staleness over time if the copy is fetched whenever that is worth `worth`; the limit if it is
    /// never fetched again.
    pub fn stale_mean_at(&self, worth: f64) -> f64 {
        let age = self.age_at(worth);
        match self {
            Staling::Whole(curve) if age.is_finite() => curve.stale_mean(age),
            Staling::Whole(curve) => curve.stale(age),
            Staling::Hinted(page) => page.stale_mean(age),
        }
    }
}

/// A copy that is due less than once in a century has a bound for its demand: the exact figure does not
/// matter.
const CENTURY: f64 = 100.0 * 365.25 * 86_400.0;

/// The value of fetches of one item, by kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A copy that goes stale, and then disappoints its clicks.
    Refresh {
        /// Clicks a second.
        weight: f64,
        /// The part of it that a change makes wrong; 1 if unknown.
        size: f64,
        /// How it goes stale.
        staling: Staling,
    },
    /// A page watched for new links.
    Source(Source),
    /// A page never fetched, whose clicks are lost while it waits.
    Once {
        /// Clicks.
        clicks: f64,
        /// Per second.
        decay: f64,
    },
}

impl Value {
    /// The value if a fetch brings something with this chance only.
    #[must_use]
    pub fn with_chance(self, chance: f64) -> Value {
        match self {
            Value::Refresh { weight, size, staling } => {
                Value::Refresh { weight: chance * weight, size, staling }
            }
            // The chance lowers the number of its pages, not what each of them is worth.
            Value::Source(source) => {
                Value::Source(Source { arrivals: chance * source.arrivals, ..source })
            }
            Value::Once { clicks, decay } => Value::Once { clicks: chance * clicks, decay },
        }
    }

    /// V: clicks that a fetch brings `elapsed` seconds after the last, or after birth if there was none.
    pub fn worth(&self, elapsed: f64, price: f64) -> f64 {
        match self {
            Value::Refresh { weight, size, staling } => weight * size * staling.worth(elapsed),
            Value::Source(source) => source.worth(elapsed, price),
            Value::Once { clicks, decay } => clicks * (-decay * elapsed).exp(),
        }
    }

    /// Seconds after which a fetch is worth the price; infinite if it never is. A page never fetched is due
    /// at once or never.
    pub fn wait(&self, price: f64) -> f64 {
        match self {
            Value::Refresh { weight, size, .. } if weight * size <= 0.0 => f64::INFINITY,
            Value::Refresh { weight, size, staling } => staling.elapsed_at(price / (weight * size)),
            Value::Source(source) => source.wait(price),
            Value::Once { clicks, .. } if *clicks >= price => 0.0,
            Value::Once { .. } => f64::INFINITY,
        }
    }

    /// A cheap lower bound of [`Value::wait`]: for copies D is concave and at most one, so that U(τ) ≤ τ/2
    /// and U(τ) ≤ D′(0)τ²/2.
    pub fn not_before(&self, price: f64) -> f64 {
        match self {
            Value::Refresh { weight, size, staling } if weight * size > 0.0 => {
                let worth = price / (weight * size);
                if staling.hints().is_some() {
                    return 0.0;
                }
                (2.0 * worth).max((2.0 * worth / staling.first_slope()).sqrt())
            }
            Value::Refresh { .. } => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// Fetches per second at a price in the long run, including the pages that a source reveals. A pending
    /// hint makes one fetch due and says nothing about later ones, so it does not count.
    pub fn demand(&self, price: f64) -> f64 {
        match self {
            Value::Once { .. } => 0.0,
            Value::Refresh { weight, size, staling } => {
                match (self.not_before(price), staling.hints()) {
                    (soonest, _) if soonest > CENTURY => soonest.recip(),
                    (_, Some(hints)) => {
                        hints.time_to(staling.age_at(price / (weight * size))).recip()
                    }
                    _ => self.wait(price).recip(),
                }
            }
            Value::Source(source) => {
                let wait = source.wait(price);
                wait.recip() + source.pages(wait, price)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_science::law::{Lomax, Poisson};

    /// Waits are known to this share ([`Signalled`] is the coarsest).
    const WIDTH: f64 = 1e-5;

    /// A number of any magnitude, by its decimal logarithm.
    fn power(range: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
        range.prop_map(|power| 10f64.powf(power))
    }

    fn copies() -> impl Strategy<Value = Staling> {
        let known = (power(-30.0..30.0), power(-30.0..30.0)).prop_map(|(shape, rate)| {
            Staling::Whole(Lomax::uncertain_rate(shape, rate).unwrap().into())
        });
        // Recall and the share of empty hints are bounded by what `Hints` takes for trustworthy.
        let hinted = (power(-30.0..30.0), 0.01..0.99_f64, 0.01..0.95_f64, power(-30.0..30.0));
        let hinted = hinted.prop_map(|(changes, recall, empty, added)| {
            let noise = recall * changes * empty / (1.0 - empty);
            Staling::Hinted(Signalled { changes, recall, noise, added })
        });
        prop_oneof![known, hinted]
    }

    fn values() -> impl Strategy<Value = super::Value> {
        let any = || power(-30.0..30.0);
        prop_oneof![
            (any(), power(-9.0..0.0), copies()).prop_map(|(weight, size, staling)| {
                super::Value::Refresh { weight, size, staling }
            }),
            (any(), any(), any(), 0.0..4.0_f64).prop_map(|(arrivals, profit, decay, spread)| {
                super::Value::Source(Source { arrivals, profit, decay, spread })
            }),
            (any(), any()).prop_map(|(clicks, decay)| super::Value::Once { clicks, decay }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        /// Over sixty decades every price has a wait, which rises with the price, and every time a worth.
        #[test]
        fn every_price_has_a_wait_and_every_time_a_worth(
            value in values(), price in power(-30.0..30.0), more in 0.0..3.0_f64,
            elapsed in power(-30.0..30.0),
        ) {
            let (wait, later) = (value.wait(price), value.wait(price * (1.0 + more)));
            prop_assert!(wait >= 0.0 && later >= wait * (1.0 - WIDTH), "{wait} {later}");
            prop_assert!(value.not_before(price) <= wait * (1.0 + WIDTH), "{}", value.not_before(price));
            let (demand, less) = (value.demand(price), value.demand(price * (1.0 + more)));
            // Up to a fetch a century is a bound.
            prop_assert!(demand >= 0.0 && less <= demand * (1.0 + WIDTH) + CENTURY.recip(), "{demand} {less}");
            let worth = value.worth(elapsed, price);
            prop_assert!(worth >= 0.0, "{worth}");
            prop_assert!(value.worth(f64::INFINITY, price) >= 0.0);
            if let super::Value::Refresh { staling, .. } = value {
                let (stale, mean) = (staling.stale(elapsed), staling.stale_mean_at(price));
                let is_share = |share: f64| (-WIDTH..=1.0 + WIDTH).contains(&share);
                prop_assert!(is_share(stale) && is_share(mean), "{stale} {mean}");
            }
        }
    }

    #[test]
    fn copies_wait_as_the_classic_optimum_says() {
        let curve = Poisson::new(1e-4).unwrap();
        let staling = Staling::Whole(curve.into());
        let value = Value::Refresh { weight: 2.0, size: 1.0, staling };
        let wait = value.wait(100.0);
        // w(1 − (1 + λI)e^(−λI))/λ = ω.
        let x = 1e-4 * wait;
        let worth = 2.0 * (1.0 - (1.0 + x) * (-x).exp()) / 1e-4;
        assert!((worth / 100.0 - 1.0).abs() < 1e-9, "{worth}");
        assert!(value.not_before(100.0) <= wait);
        assert!(Value::Refresh { weight: 0.0, size: 1.0, staling }.wait(1e-9).is_infinite());
    }
}
