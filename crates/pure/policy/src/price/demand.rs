//! Demand: fetches per second that are worth a price.
//!
//! Demand x(ω) = Σᵢ 1/Iᵢ(ω), with the pages that sources reveal, falls as the price rises, so one price
//! clears the market. Demand jumps where a source comes in, because its visits and all its pages come in
//! together; if the budget is within a jump, the price is at the jump and the source stays out.
//!
//! **Shards.** A shard sends its demand at 256 fixed prices ([`DemandCurve`]). Curves add up, so any
//! number of shards finds the common price from one small message each.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tidewatch_math::sum::Sum;

use super::clearing::{PRICES, clear};
use super::value::Value;

/// Items a thread takes at a time; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 12;
/// Fetches per second of all items at a price.
pub fn demand(items: &[Value], price: f64) -> f64 {
    // One item with a nonsensical value must not decide the price of all.
    let sound = |item: &Value| Some(item.demand(price)).filter(|demand| demand.is_finite());
    let of = |items: &[Value]| items.iter().filter_map(sound).sum::<f64>();
    if items.len() <= CHUNK {
        return of(items);
    }
    let parts: Vec<f64> = items.par_chunks(CHUNK).map(of).collect();
    parts.into_iter().collect::<Sum>().value()
}

/// Demand of many items at prices around one, for items whose demand moves slowly.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Nearby {
    about: f64,
    fetches: Vec<f64>,
}

/// Prices on either side, each half above the one before: a factor of 3.4 up and down. Demand falls
/// about as 1/√ω, which a straight line over such a step misses by half a per cent.
const NEARBY: i32 = 3;
const NEARBY_STEP: f64 = 1.5;

impl Nearby {
    /// The demand of items around a price, each standing for `scale` of them.
    pub fn of(items: &[Value], scale: f64, about: f64) -> Self {
        let price = |step: i32| about * NEARBY_STEP.powi(step);
        let fetches = (-NEARBY..=NEARBY).map(|step| scale * demand(items, price(step))).collect();
        Nearby { about, fetches }
    }

    /// Whether a price is near enough.
    pub fn covers(&self, price: f64) -> bool {
        (price / self.about).ln().abs() <= f64::from(NEARBY) * NEARBY_STEP.ln()
    }

    /// The price itself if it is covered, else the nearest that is.
    pub fn nearest(&self, price: f64) -> f64 {
        let reach = NEARBY_STEP.powi(NEARBY);
        price.clamp(self.about / reach, self.about * reach)
    }

    /// Demand at a price: linear in ln ω between two points, and that of the nearest end beyond.
    pub fn at(&self, price: f64) -> f64 {
        let place = (price / self.about).ln() / NEARBY_STEP.ln() + f64::from(NEARBY);
        between(&self.fetches, place)
    }
}

/// Linear interpolation between points; the ends beyond.
fn between(points: &[f64], place: f64) -> f64 {
    let last = points.len() - 1;
    let place = if place > 0.0 { place.min(last as f64) } else { 0.0 };
    let below = (place as usize).min(last - 1);
    points[below] + (place - below as f64) * (points[below + 1] - points[below])
}

/// Demand at fixed prices. Curves of shards add up.
///
/// A curve is a message: a shard sends its own, and [`DemandCurve::split`] finds every shard's budget
/// from all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemandCurve {
    fetches: Vec<f64>,
}

/// Points of a curve: prices from 10⁻¹⁵ to 10¹⁵ clicks, each 31% above the one before. Demand falls
/// about as 1/√ω, which a straight line in ln ω over such a step misses by (ln 1.31)²/32, a quarter of a
/// per cent.
pub const CURVE_POINTS: usize = 256;

impl DemandCurve {
    /// The curve of a demand in fetches per second, which must not rise with the price.
    pub fn new(demand: impl Fn(f64) -> f64 + Sync) -> Self {
        let points = (0..CURVE_POINTS).into_par_iter();
        DemandCurve { fetches: points.map(|point| demand(Self::price(point))).collect() }
    }

    /// The price of a point.
    pub fn price(point: usize) -> f64 {
        let (from, to) = (PRICES.0.log10(), PRICES.1.log10());
        10f64.powf(from + (to - from) * point as f64 / (CURVE_POINTS - 1) as f64)
    }

    /// Whether it can be reckoned with: a curve that came as a message may hold anything.
    pub fn is_sound(&self) -> bool {
        let is_sound = |fetches: &f64| fetches.is_finite() && *fetches >= 0.0;
        self.fetches.len() == CURVE_POINTS && self.fetches.iter().all(is_sound)
    }

    /// Adds the demand of another shard.
    pub fn add(&mut self, other: &DemandCurve) {
        self.fetches.iter_mut().zip(&other.fetches).for_each(|(ours, theirs)| *ours += theirs);
    }

    /// Demand at any price: linear in ln ω between two points, and that of the nearest end beyond.
    pub fn at(&self, price: f64) -> f64 {
        let (from, to) = (PRICES.0.log10(), PRICES.1.log10());
        between(&self.fetches, (price.log10() - from) / (to - from) * (CURVE_POINTS - 1) as f64)
    }

    /// The price at which demand is `budget` fetches per second; 0 if demand never is that much.
    pub fn clearing_price(&self, budget: f64) -> f64 {
        clear(|price| self.at(price), budget, 1.0)
    }

    /// The fair share of `budget` for each shard: its demand at the price at which the sum of all
    /// curves is `budget`. A budget beyond all demand is split evenly above it, so that the shares
    /// always add up.
    pub fn split(curves: &[DemandCurve], budget: f64) -> Vec<f64> {
        let Some((first, rest)) = curves.split_first() else { return Vec::new() };
        let mut sum = first.clone();
        rest.iter().for_each(|curve| sum.add(curve));
        let price = sum.clearing_price(budget);
        let mut shares: Vec<f64> = curves.iter().map(|curve| curve.at(price)).collect();
        let wanted: f64 = shares.iter().sum();
        if wanted > budget {
            // Some fetches are wanted at any price: sources never visited.
            shares.iter_mut().for_each(|share| *share *= budget.max(0.0) / wanted);
        } else {
            let left = (budget - wanted) / curves.len() as f64;
            shares.iter_mut().for_each(|share| *share += left);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::signals::Signalled;
    use crate::price::{Source, Staling};
    use tidewatch_math::Draws;
    use tidewatch_science::allocate::{Objective, Pages, allocate};
    use tidewatch_science::law::Poisson;

    fn copies(count: u64) -> (Vec<Value>, Vec<f64>, Vec<f64>) {
        let mut draws = Draws::of(3, "price.market", 0);
        let mut all = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let (weight, rate) = (draws.exponential(1.0), draws.exponential(1e5).max(1e-9));
            let staling = Staling::Whole(Poisson::new(rate).unwrap().into());
            all.0.push(Value::Refresh { weight, size: 1.0, staling });
            all.1.push(weight);
            all.2.push(rate);
        }
        all
    }

    fn source(arrivals: f64, profit: f64) -> Value {
        let (decay, spread) = (1e-5, 0.0);
        Value::Source(Source { arrivals, profit, decay, spread })
    }

    /// The rates at the price are the closed-form optimum of the classic theory.
    #[test]
    fn copies_get_the_classic_optimum() {
        let (items, weight, rate) = copies(1000);
        let budget = 0.01;
        let price = clear(|price| demand(&items, price), budget, 1.0);
        let best =
            allocate(&Pages::new(&weight, &rate), budget, Objective::Freshness, None).unwrap();
        for (item, best) in items.iter().zip(&best.rates) {
            let ours = item.demand(price);
            assert!((ours - best).abs() < 1e-6 * best.max(budget / 1000.0), "{ours} {best}");
        }
        assert!((demand(&items, price) / budget - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_budget_is_never_passed_where_demand_jumps() {
        let items: Vec<Value> = (1..=20).map(|i| source(0.01, f64::from(i))).collect();
        for budget in [0.02, 0.05, 0.111, 0.2] {
            let price = clear(|price| demand(&items, price), budget, 1.0);
            assert!(demand(&items, price) <= budget);
            assert!(demand(&items, price * (1.0 - 1e-6)) > budget * (1.0 - 1e-3), "{budget}");
        }
    }

    /// Relative error of a clearing price read off a curve: demand off by a quarter of a per cent
    /// ([`CURVE_POINTS`]) moves a price that demand falls with as 1/√ω by twice that, and by some
    /// more near the price at which a page is given up.
    const CURVE: f64 = 0.02;

    #[test]
    fn shards_add_up() {
        let (items, ..) = copies(600);
        let curve = |items: &[Value]| DemandCurve::new(|price| demand(items, price));
        let (some, rest, whole) = (curve(&items[..200]), curve(&items[200..]), curve(&items));
        let mut sum = some.clone();
        sum.add(&rest);
        let exact = clear(|price| demand(&items, price), 0.01, 1.0);
        for found in [&sum, &whole] {
            let ratio = found.clearing_price(0.01) / exact;
            assert!((ratio - 1.0).abs() < CURVE, "{ratio}");
        }
        let shares = DemandCurve::split(&[some, rest], 0.01);
        for (share, items) in shares.iter().zip([&items[..200], &items[200..]]) {
            assert!((share / demand(items, exact) - 1.0).abs() < CURVE, "{share}");
        }
        assert!((shares.iter().sum::<f64>() / 0.01 - 1.0).abs() < 1e-6, "{shares:?}");
    }

    /// Where demand jumps, as for many pages of which the same is expected, and where there is none,
    /// the shares still add up.
    #[test]
    fn shares_add_up_whatever_the_demand() {
        let jump =
            |pages: f64| DemandCurve::new(move |price| if price <= 1.0 { pages } else { 0.0 });
        let shares = DemandCurve::split(&[jump(30.0), jump(10.0)], 4.0);
        assert!((shares[0] - 3.0).abs() < 1e-6 && (shares[1] - 1.0).abs() < 1e-6, "{shares:?}");
        let shares = DemandCurve::split(&[jump(3.0), jump(1.0)], 8.0);
        assert!((shares[0] - 5.0).abs() < 1e-9 && (shares[1] - 3.0).abs() < 1e-9, "{shares:?}");
        assert_eq!(DemandCurve::split(&[jump(3.0)], 0.0), [0.0]);
        assert!(jump(3.0).is_sound() && !jump(f64::NAN).is_sound() && !jump(-1.0).is_sound());
        assert!(!DemandCurve { fetches: vec![1.0] }.is_sound());
        assert!(DemandCurve::split(&[], 1.0).is_empty());
    }

    #[test]
    fn demand_nearby_is_that_of_all() {
        let (items, ..) = copies(300);
        let nearby = Nearby::of(&items[..150], 2.0, 10.0);
        for price in [3.0, 5.0, 10.0, 15.0, 33.0] {
            assert!(nearby.covers(price) && nearby.nearest(price).to_bits() == price.to_bits());
            // Straight lines over steps of a half; half of the items stand for all.
            let exact = 2.0 * demand(&items[..150], price);
            assert!((nearby.at(price) / exact - 1.0).abs() < 0.02, "{price}");
        }
        assert!(!nearby.covers(1e-3) && nearby.nearest(1e-3) > 2.0);
    }

    /// Hints make fetches due, not demand: the price stays where it would be without.
    #[test]
    fn hints_and_nonsense_leave_the_price() {
        let copy = |weight, added| {
            let hints = Signalled { changes: 1e-6, recall: 0.5, noise: 1e-6, added };
            Value::Refresh { weight, size: 0.3, staling: Staling::Hinted(hints) }
        };
        let mut items: Vec<Value> = (1..40).map(|n| copy(f64::from(n), 0.0)).collect();
        let price = |items: &[Value]| clear(|price| demand(items, price), 1e-5, 1.0);
        let before = price(&items);
        items.iter_mut().step_by(2).for_each(|item| {
            let Value::Refresh { weight, .. } = *item else { unreachable!("all are copies") };
            let is_wanted = copy(weight, 0.0).wait(before).is_finite();
            *item = copy(weight, 1e9);
            assert!(!is_wanted || item.wait(before) <= 0.0, "due at once");
        });
        items.push(copy(f64::INFINITY, 0.0));
        items.push(copy(f64::NAN, 0.0));
        assert!((price(&items) / before - 1.0).abs() < 1e-9);
        assert!(Nearby::of(&items, 1.0, before).at(before).is_finite());
        // What is never worth the price is never wanted, however many hints come.
        assert!(copy(1.0, 0.0).demand(1e9) <= 0.0);
    }

    #[test]
    fn extremes_have_answers() {
        let (items, ..) = copies(10);
        let wanted = |price: f64| demand(&items, price);
        assert!(clear(wanted, 0.0, 1.0) >= PRICES.1 && clear(wanted, f64::NAN, 1.0) >= PRICES.1);
        assert!(clear(wanted, f64::INFINITY, 1.0) <= 0.0);
        assert!(clear(|_| 0.0, 1.0, 1.0) <= 0.0);
        assert!(clear(wanted, 1e-9, 1e300) > clear(wanted, 1.0, 1e-300));
    }
}
