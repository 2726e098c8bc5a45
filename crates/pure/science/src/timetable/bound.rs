//! A lower bound on the cost of every timetable, from prices of the slots.
//!
//! Weak duality: with a price vₛ ≥ 0 on every slot, a fetch costs at least uᵢ = minₛ (cᵢₛ + vₛ)
//! including its slot's price, so no timetable costs less than Σ uᵢ − Σ vₛ. Any prices give a bound; the right ones give the cost itself.
//!
//! The prices come from the timetable's flow along the axis. π(p) is what it would cost to bring one
//! more fetch, standing at p, to an unused slot, undoing flow on the way where that pays. π changes
//! by at most the distance, so |t − t\*| + π(t) ≥ π(t\*) and vₛ = max(0, π) is a price with
//! uᵢ ≥ π(t\*ᵢ). A slot in the middle of a queue of fetches that must not be early is dearer: its
//! price exceeds the price of the next slot of the queue by the time between them.

use tidewatch_math::Sum;

use super::{Fetch, Punctuality, Slot, of_kind, sorted};

/// The bound from the prices that a timetable suggests.
pub(super) fn lower(
    fetches: &[Fetch],
    slots: &[Slot],
    by_time: &[usize],
    placed: &[Option<usize>],
) -> f64 {
    let near = of_kind(fetches, Punctuality::Near);
    let axis = Axis::new(fetches, slots, &near, by_time, placed);
    let mut price = vec![0.0; slots.len()];
    let mut queue: Option<(f64, f64, f64)> = None;
    for &slot in by_time.iter().rev() {
        let at = slots[slot].at;
        let mut own = axis.slot_potential[slot].max(0.0);
        if let Some(fetch) = is_late_kind(fetches, placed[slot]) {
            if let Some((next_at, next_price, ideal)) = queue
                && ideal <= at
            {
                own = own.max(next_price + (next_at - at));
            }
            queue = Some((at, own, fetches[fetch].ideal_at));
        }
        price[slot] = own;
    }
    let mut total = Sum::new();
    total.extend(near.iter().map(|&fetch| axis.fetch_potential[fetch]));
    total.extend(price.iter().map(|price| -price));
    late_costs(fetches, slots, by_time, &price, &mut total);
    total.value()
}

fn is_late_kind(fetches: &[Fetch], fetch: Option<usize>) -> Option<usize> {
    fetch.filter(|&fetch| fetches[fetch].punctuality == Punctuality::NotBefore)
}

/// Adds min over slots t ≥ t\* of t − t\* + v for every fetch that must not be early.
fn late_costs(
    fetches: &[Fetch],
    slots: &[Slot],
    by_time: &[usize],
    price: &[f64],
    total: &mut Sum,
) {
    let mut late = of_kind(fetches, Punctuality::NotBefore);
    let mut cheapest = f64::INFINITY;
    for &slot in by_time.iter().rev() {
        while let Some(fetch) = late.pop_if(|fetch| fetches[*fetch].ideal_at > slots[slot].at) {
            total.add(cheapest - fetches[fetch].ideal_at);
        }
        cheapest = cheapest.min(slots[slot].at + price[slot]);
    }
    total.extend(late.iter().map(|&fetch| cheapest - fetches[fetch].ideal_at));
}

/// π at every fetch of kind `Near` and at every slot.
struct Axis {
    fetch_potential: Vec<f64>,
    slot_potential: Vec<f64>,
}

/// What stands at a point of the axis.
#[derive(Clone, Copy)]
enum Stand {
    Fetch(usize),
    Slot(usize),
}

impl Axis {
    fn new(
        fetches: &[Fetch],
        slots: &[Slot],
        near: &[usize],
        by_time: &[usize],
        placed: &[Option<usize>],
    ) -> Self {
        let stands: Vec<Stand> = near
            .iter()
            .map(|&fetch| Stand::Fetch(fetch))
            .chain(by_time.iter().map(|&slot| Stand::Slot(slot)))
            .collect();
        let time = |stand: Stand| match stand {
            Stand::Fetch(fetch) => fetches[fetch].ideal_at,
            Stand::Slot(slot) => slots[slot].at,
        };
        let order = sorted(stands.len(), |k| time(stands[k]));
        let stands: Vec<Stand> = order.into_iter().map(|k| stands[k]).collect();
        let is_exit = |stand: Stand| matches!(stand, Stand::Slot(slot) if placed[slot].is_none());
        let flow = |stand: Stand| match stand {
            Stand::Fetch(_) => 1,
            Stand::Slot(slot) => {
                let near = placed[slot].is_some() && is_late_kind(fetches, placed[slot]).is_none();
                -i64::from(near)
            }
        };
        let mut potential = sweep(&stands, time, flow, is_exit);
        if !stands.iter().any(|&stand| is_exit(stand)) {
            lift(&stands, &mut potential);
        }
        let mut axis = Self {
            fetch_potential: vec![0.0; fetches.len()],
            slot_potential: vec![0.0; slots.len()],
        };
        for (stand, potential) in stands.into_iter().zip(potential) {
            match stand {
                Stand::Fetch(fetch) => axis.fetch_potential[fetch] = potential,
                Stand::Slot(slot) => axis.slot_potential[slot] = potential,
            }
        }
        axis
    }
}

/// Shortest way to an exit from every stand, to the right or to the left. Against the flow a
/// step saves its length. Without an exit the first stand serves as one.
fn sweep(
    stands: &[Stand],
    time: impl Fn(Stand) -> f64,
    flow: impl Fn(Stand) -> i64,
    is_exit: impl Fn(Stand) -> bool,
) -> Vec<f64> {
    let none = !stands.iter().any(|&stand| is_exit(stand));
    let mut potential: Vec<f64> = Vec::with_capacity(stands.len());
    let mut right_costs = Vec::with_capacity(stands.len());
    let mut carried = 0;
    for (k, &stand) in stands.iter().enumerate() {
        let mut here = if is_exit(stand) || (none && k == 0) { 0.0 } else { f64::INFINITY };
        if k > 0 {
            let length = time(stand) - time(stands[k - 1]);
            right_costs.push(if carried < 0 { -length } else { length });
            here = here.min(potential[k - 1] + if carried > 0 { -length } else { length });
        }
        carried += flow(stand);
        potential.push(here);
    }
    let mut from_right = f64::INFINITY;
    for k in (0..stands.len()).rev() {
        from_right += right_costs.get(k).copied().unwrap_or(0.0);
        if is_exit(stands[k]) {
            from_right = from_right.min(0.0);
        }
        potential[k] = potential[k].min(from_right);
    }
    potential
}

/// With every slot used only differences of prices matter; make the cheapest slot free.
fn lift(stands: &[Stand], potential: &mut [f64]) {
    let slots = stands.iter().zip(potential.iter()).filter(|(s, _)| matches!(s, Stand::Slot(_)));
    let least = slots.map(|(_, &p)| p).fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        for p in potential {
            *p -= least;
        }
    }
}
