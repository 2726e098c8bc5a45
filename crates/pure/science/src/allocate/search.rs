//! The price at which demand meets the budget.
//!
//! Demand falls as the price rises, and over most of its course it is close to a power of the
//! price, so the search runs on ln demand − ln budget against ln price. One evaluation is a pass
//! over all pages; the aim is few of them. From a good start with a known slope (a sample of the
//! pages gives both) the first step errs by the product of both errors; after it, interpolation
//! through the last three points triples the digits' growth. A bracket is kept from the first
//! sign change on; when interpolation leaves it or stops paying, the bracket is halved, so the
//! worst case is that of bisection. It ends when demand is met, or when the bracket is narrower than
//! [`NARROW`]: then both sides are handed back to be mixed. Mixing meets the budget exactly, at
//! prices that differ by so little that the loss, of second order in the difference, is far below
//! rounding. Without it the last digits would cost many passes: the few pages at the edge of being
//! given up rise so steeply that over such distances demand is anything but smooth.

/// Demand within this of the budget is met: what the sum of ~10⁸ rounded rates can resolve.
pub(super) const MET: f64 = 1e-12;
/// Width of a bracket of ln price that ends the search.
pub(super) const NARROW: f64 = 1e-10;
/// Bisection of the whole range of ln price to neighbouring numbers takes fewer passes.
const PASSES: u32 = 200;
/// Farthest first step outwards in ln price while there is no bracket; doubles with each.
const REACH: f64 = 2.0;
/// Beyond these the price itself is not a positive number.
const FARTHEST: (f64, f64) = (-744.0, 709.0);

/// A price and the demand at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// ln price.
    pub(super) at: f64,
    /// Demand at the price.
    pub(super) demand: f64,
    /// ln demand − ln budget; falls with the price.
    excess: f64,
}

impl Trial {
    pub(super) fn new(at: f64, demand: f64, budget: f64) -> Self {
        Self { at, demand, excess: demand.ln() - budget.ln() }
    }
}

/// Where to look first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// ln price.
    pub(super) at: f64,
    /// d ln demand / d ln price there.
    pub(super) slope: f64,
}

impl Default for Start {
    /// Freshness, age, harmonic and memoryless demand all go as price^−½ at low prices.
    fn default() -> Self {
        Self { at: 0.0, slope: -0.5 }
    }
}

/// The end of a search: demand is at least the budget at `low`, at most at `high`. Both are the
/// same point when one price meets the budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracket {
    pub(super) low: Trial,
    pub(super) high: Trial,
    pub(super) passes: u32,
    /// d ln demand / d ln price near the end.
    pub(super) slope: f64,
}

/// The state of a search. Give it points, ask it for the next.
pub(super) struct Search {
    slope: f64,
    low: Option<Trial>,
    high: Option<Trial>,
    /// The latest points, newest last.
    recent: [Option<Trial>; 3],
    reach: f64,
    /// Whether the latest point was the middle of the bracket.
    halved: bool,
}

/// Searches for the price; `demand` is a pass. The budget is positive.
pub(super) fn find(start: Start, budget: f64, mut demand: impl FnMut(f64) -> f64) -> Bracket {
    let mut search = Search::new(start.slope);
    let mut at = start.at;
    for passes in 1..PASSES {
        let demand = demand(at.exp());
        let point = Trial::new(at, demand, budget);
        search.note(point);
        if (demand - budget).abs() <= MET * budget {
            return Bracket { low: point, high: point, passes, slope: search.slope };
        }
        match search.next_at() {
            Some(next) => at = next,
            None => return search.end(passes),
        }
    }
    search.end(PASSES)
}

impl Search {
    pub(super) fn new(slope: f64) -> Self {
        Self { slope, low: None, high: None, recent: [None; 3], reach: REACH, halved: false }
    }

    /// Takes in the demand at a price.
    pub(super) fn note(&mut self, point: Trial) {
        if point.excess > 0.0 {
            self.low = Some(point);
        } else {
            self.high = Some(point);
        }
        if let Some(last) = self.recent[2] {
            let slope = (point.excess - last.excess) / (point.at - last.at);
            if slope.is_finite() && slope < 0.0 {
                self.slope = slope;
            }
        }
        self.recent = [self.recent[1], self.recent[2], Some(point)];
    }

    /// The next price to try; `None` when the bracket is narrow.
    pub(super) fn next_at(&mut self) -> Option<f64> {
        match (self.low, self.high) {
            (Some(low), Some(high)) => {
                if high.at - low.at <= NARROW {
                    return None;
                }
                let inside = |x: f64| low.at < x && x < high.at;
                let guess = self.guess().filter(|&x| inside(x) && self.is_paying());
                self.halved = guess.is_none();
                Some(guess.map_or(f64::midpoint(low.at, high.at), |x| enclosing(x, low, high)))
            }
            _ => self.outwards(),
        }
    }

    /// d ln demand / d ln price between the last two points.
    pub(super) fn slope(&self) -> f64 {
        self.slope
    }

    /// Whether interpolation deserves another step: the last one cut the excess to a quarter or
    /// less (near the end it is cut far more), or was a halving.
    fn is_paying(&self) -> bool {
        let [_, Some(before), Some(last)] = self.recent else { return true };
        self.halved || last.excess.abs() <= 0.25 * before.excess.abs()
    }

    /// Inverse quadratic interpolation through three points, the secant or slope with fewer.
    fn guess(&self) -> Option<f64> {
        let last = self.recent[2]?;
        let step = match self.recent {
            [Some(a), Some(b), Some(c)] => {
                let (r, s, t) = (a.excess, b.excess, c.excess);
                a.at * s * t / ((r - s) * (r - t))
                    + b.at * r * t / ((s - r) * (s - t))
                    + c.at * r * s / ((t - r) * (t - s))
            }
            _ => last.at - last.excess / self.slope,
        };
        let secant = last.at - last.excess / self.slope;
        [step, secant].into_iter().find(|x| x.is_finite())
    }

    /// A step towards the side not yet seen, at most `reach` long.
    fn outwards(&mut self) -> Option<f64> {
        let last = self.recent[2]?;
        let newton = (last.excess / -self.slope).abs().max(f64::EPSILON * (1.0 + last.at.abs()));
        // A little beyond the guess, so that the root is likely enclosed.
        let step = (1.02 * newton).min(self.reach);
        self.reach *= 2.0;
        let at = (last.at + step.copysign(last.excess)).clamp(FARTHEST.0, FARTHEST.1);
        (at != last.at).then_some(at)
    }

    /// Only with both sides seen, or at the end of the range of prices.
    fn end(&self, passes: u32) -> Bracket {
        let last = self.recent[2].expect("at least one pass was made");
        let (low, high) = (self.low.unwrap_or(last), self.high.unwrap_or(last));
        Bracket { low, high, passes, slope: self.slope }
    }
}

/// A guess so close to one end that the root may lie on either side of it is moved far enough
/// from that end to make the other side the likelier: the bracket is then narrow.
fn enclosing(guess: f64, low: Trial, high: Trial) -> f64 {
    let least = 0.5 * NARROW;
    if guess - low.at < least {
        low.at + least
    } else if high.at - guess < least {
        high.at - least
    } else {
        guess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(start: Start, demand: impl Fn(f64) -> f64) -> Bracket {
        find(start, 1.0, demand)
    }

    #[test]
    fn power_laws_take_few_passes() {
        for scale in [1e-60, 1e-3, 1.0, 1e60_f64] {
            let found = passes(Start::default(), |p| (scale / p).sqrt());
            assert!((found.low.at - scale.ln()).abs() <= 4.0 * MET, "{found:?}");
            assert!(found.passes <= 12, "{found:?}");
        }
        let near = Start { at: 0.02, slope: -0.45 };
        let found = passes(near, |p| 0.5 / p.sqrt() + 0.5 / (p * p));
        assert!(found.passes <= 6, "{found:?}");
    }

    #[test]
    fn a_jump_is_enclosed_narrowly() {
        let found = passes(Start::default(), |p| if p < 3.0 { 2.0 } else { 0.0 });
        assert!((found.low.demand, found.high.demand) == (2.0, 0.0));
        assert!(found.high.at - found.low.at <= NARROW, "{found:?}");
        assert!(found.low.at <= 3.0_f64.ln() && 3.0_f64.ln() <= found.high.at);
    }

    #[test]
    fn infinite_and_vanishing_demand_do_not_confuse_it() {
        let wall = |p: f64| if p < 1e-30 { f64::INFINITY } else { (1e-20 - p).max(0.0) * 1e21 };
        let found = passes(Start::default(), wall);
        assert!((found.low.at - (0.9e-20_f64).ln()).abs() < 10.0 * NARROW, "{found:?}");
    }
}
