//! The price at which a falling demand meets a budget, with few evaluations of demand.
//!
//! An evaluation (a *look*) asks every page, so looks are what counts. Smooth demand falls about as 1/√ω
//! ([`super::demand`]), so the first look nearly tells the price; secants in ln ω and ln x then close in
//! from both sides. Where demand jumps, secants mislead: a step that does not halve the bracket is followed
//! by a bisection, hence at most two looks per halving.

/// Prices from 10⁻¹⁵ to 10¹⁵ clicks: more than any item can bring, less than any can be worth.
pub(super) const PRICES: (f64, f64) = (1e-15, 1e15);
/// Relative precision of the price: far finer than demand is known.
pub(super) const WIDTH: f64 = 1e-10;
/// Looks that suffice for any bracket at that width.
const LOOKS: usize = 128;
/// Bounds of the first step away from the initial guess, in ln ω.
const FIRST_STEP: (f64, f64) = (0.02, 10.0);

/// What was seen at a price.
#[derive(Clone, Copy)]
struct Look {
    /// ln ω.
    price: f64,
    /// ln of demand over budget: positive where the price is too low.
    excess: f64,
}

impl Look {
    fn is_too_low(self) -> bool {
        self.excess > 0.0
    }
}

/// The price at or just above which a falling demand meets the budget; the search starts at `near`. 0 if
/// demand is below the budget at any price; the largest price without a budget.
pub fn clear(demand: impl Fn(f64) -> f64, budget: f64, near: f64) -> f64 {
    clear_to(WIDTH, demand, budget, near)
}

/// The same, to a relative width.
pub fn clear_to(width: f64, demand: impl Fn(f64) -> f64, budget: f64, near: f64) -> f64 {
    if budget.is_nan() || budget <= 0.0 {
        return PRICES.1;
    }
    let look = |price: f64| Look { price, excess: (demand(price.exp()) / budget).ln() };
    let start = if near > 0.0 { near.clamp(PRICES.0, PRICES.1) } else { 1.0 };
    match bracket(&look, look(start.ln())) {
        Ok((low, high)) => narrow(&look, low, high, width).exp(),
        Err(end) => end,
    }
}

/// Two looks with the price between them, or the end of all prices if it is beyond.
fn bracket(look: &impl Fn(f64) -> Look, start: Look) -> Result<(Look, Look), f64> {
    let (lowest, highest) = (PRICES.0.ln(), PRICES.1.ln());
    let mut here = start;
    let mut step = FIRST_STEP.0;
    loop {
        // A little beyond where 1/√ω would have it.
        step = (2.2 * here.excess.abs()).clamp(step, FIRST_STEP.1.max(step));
        if start.is_too_low() {
            let next = look((here.price + step).min(highest));
            if !next.is_too_low() {
                return Ok((here, next));
            }
            if next.price >= highest {
                return Err(PRICES.1);
            }
            here = next;
        } else {
            let next = look((here.price - step).max(lowest));
            if next.is_too_low() {
                return Ok((next, here));
            }
            if next.price <= lowest {
                return Err(0.0);
            }
            here = next;
        }
        step *= 2.0;
    }
}

/// The upper end of a bracket no wider than `width`.
fn narrow(look: &impl Fn(f64) -> Look, mut low: Look, mut high: Look, width: f64) -> f64 {
    let mut by_line = true;
    let mut last_was_low = None;
    for _ in 0..LOOKS {
        let gap = high.price - low.price;
        if gap <= width {
            break;
        }
        let line = on_line(low, high, 0.45 * width).filter(|_| by_line);
        let next = look(line.unwrap_or(low.price + 0.5 * gap));
        let is_low = next.is_too_low();
        // An end that stays is taken for half as far off, so that the next line passes beyond the
        // price and moves it (the Illinois rule).
        if last_was_low == Some(is_low) {
            let stuck = if is_low { &mut high } else { &mut low };
            stuck.excess *= 0.5;
        }
        if is_low {
            low = next;
        } else {
            high = next;
        }
        last_was_low = Some(is_low);
        by_line = line.is_none() || high.price - low.price <= 0.5 * gap;
    }
    high.price
}

/// Where the secant through two looks meets the budget, moved by `margin` towards the farther of them, so
/// that the next look closes in from the other side if the secant is right.
fn on_line(low: Look, high: Look, margin: f64) -> Option<f64> {
    let gap = high.price - low.price;
    let share = low.excess / (low.excess - high.excess);
    let away = if share < 0.5 { margin } else { -margin };
    let place = (share * gap + away).clamp(0.0, gap);
    share.is_finite().then_some(low.price + place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn looks(demand: impl Fn(f64) -> f64, budget: f64, near: f64, width: f64) -> (f64, u32) {
        let count = Cell::new(0);
        let counted = |price: f64| {
            count.set(count.get() + 1);
            demand(price)
        };
        (clear_to(width, counted, budget, near), count.get())
    }

    #[test]
    fn smooth_demand_is_cleared_in_few_looks() {
        for (near, most) in [(1.0, 6), (0.9, 6), (1e-4, 9), (1e5, 9)] {
            // 1/√ω for cheap things and none at all above some price, as pages have.
            let demand = |price: f64| (1.0 / price.sqrt() - 0.1).max(0.0);
            let (price, looks) = looks(demand, 0.9, near, 1e-3);
            assert!((price - 1.0).abs() < 1e-3, "{price}");
            assert!(looks <= most, "{looks} looks from {near}");
        }
    }

    proptest! {
        /// Demand that jumps anywhere, or falls as any power: the price is where halving finds it, in at
        /// most twice as many looks.
        #[test]
        fn any_falling_demand_is_cleared(
            jump in -10.0..10.0f64, power in 0.01..3.0f64, floor in 0.0..2.0f64, near in -12.0..12.0f64,
        ) {
            let demand = |price: f64| {
                let ln = price.ln();
                (-power * ln).exp().min(1e9) * if ln < jump { 3.0 } else { 1.0 } + floor
            };
            let (price, looks) = looks(demand, 1.0, near.exp(), 1e-6);
            let (mut low, mut high) = (PRICES.0.ln(), PRICES.1.ln());
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if demand(middle.exp()) > 1.0 { low = middle } else { high = middle }
            }
            let slow = high.exp();
            prop_assert!(price >= slow * (1.0 - 1e-9) && price <= slow * (1.0 + 2e-6), "{price} {slow}");
            prop_assert!(looks <= 70, "{looks} looks");
        }
    }
}
