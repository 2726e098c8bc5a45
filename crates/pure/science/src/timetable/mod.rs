//! Which crawler makes which fetch, and when? \[WSY02\]
//!
//! C crawlers have slots at given times; every fetch has an ideal time t\* and takes one slot t at
//! a cost of |t − t\*| ([`Punctuality::Near`]: the page changes at random) or t − t\* with t ≥ t\*
//! ([`Punctuality::NotBefore`]: the page changes on a timetable, and before the update a fetch is
//! useless). Least total cost is a transportation problem, which general methods solve in O(n²m).
//! [`schedule`] uses that all times lie on one axis and is exact in O((n + m) log(n + m)):
//!
//! 1. *Fetches that must not be early go first.* If one of them waits at a slot that somebody else
//!    has, or nobody, and gets a later one, let it have the slot and hand on its own: it gains the
//!    difference of the two times and the other loses at most as much. So some optimum gives every
//!    slot to a waiting fetch of this kind while there is one.
//! 2. *The others share the remaining slots* at cost |t − t\*|, by a sweep with regrets (`line`).
//!
//! Nothing is taken on trust: from its answer it derives prices of the slots, which by weak duality
//! bound every timetable's cost from below ([`Timetable::lower_bound`]). If the bound meets the cost
//! the timetable is proved optimal.

#![allow(clippy::float_cmp, reason = "exact zeros and infinities are cases of their own")]

mod bound;
mod error;
mod line;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod transport;

pub use error::TimetableError;

/// How a fetch feels about its ideal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Punctuality {
    /// Early and late cost alike: |t − t\*|.
    Near,
    /// Early is useless, late costs t − t\*.
    NotBefore,
}

/// A fetch to be placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fetch {
    /// t\*, the time it should have.
    pub ideal_at: f64,
    /// What another time costs.
    pub punctuality: Punctuality,
}

/// A moment at which a crawler can make one fetch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// The crawler.
    pub crawler: u32,
    /// Number of the slot with its crawler.
    pub slot: u32,
    /// Its time.
    pub at: f64,
}

/// Every fetch in its slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Timetable {
    /// Index of the slot of each fetch.
    pub slots: Vec<usize>,
    /// Total cost, in units of time.
    pub cost: f64,
    /// No timetable costs less than this.
    pub lower_bound: f64,
}

impl Timetable {
    /// How far from optimal this timetable can be at most; zero up to rounding when it is proved
    /// optimal.
    pub fn gap(&self) -> f64 {
        (self.cost - self.lower_bound).max(0.0)
    }
}

impl Fetch {
    /// What a fetch at `at` costs; infinite where it is useless.
    pub fn cost(&self, at: f64) -> f64 {
        match self.punctuality {
            Punctuality::NotBefore if at < self.ideal_at => f64::INFINITY,
            _ => (at - self.ideal_at).abs(),
        }
    }
}

/// The ideal times of `crawls` fetches in a window: evenly spaced, j·T/(x + 1) \[WSY02\].
pub fn ideal_times(crawls: u32, window: f64) -> impl Iterator<Item = f64> {
    (1..=crawls).map(move |j| window * (f64::from(j) / (f64::from(crawls) + 1.0)))
}

/// The slots of a crawler that makes `count` fetches in a window: slot l starts at l·T/count.
pub fn even_slots(crawler: u32, count: u32, window: f64) -> impl Iterator<Item = Slot> {
    (0..count).map(move |slot| Slot {
        crawler,
        slot,
        at: window * (f64::from(slot) / f64::from(count)),
    })
}

/// The timetable of least cost; equal slots go by time, then in the order given.
///
/// ```
/// use tidewatch_science::timetable::{Fetch, Punctuality, even_slots, schedule};
/// let fetch = |ideal_at, punctuality| Fetch { ideal_at, punctuality };
/// let fetches = [fetch(2.2, Punctuality::Near), fetch(2.2, Punctuality::NotBefore)];
/// let slots: Vec<_> = even_slots(0, 8, 8.0).collect(); // one an hour
/// let timetable = schedule(&fetches, &slots)?;
/// assert_eq!(timetable.slots, [2, 3]);
/// assert!(timetable.gap() < 1e-9); // proved optimal
/// # Ok::<(), tidewatch_science::timetable::TimetableError>(())
/// ```
pub fn schedule(fetches: &[Fetch], slots: &[Slot]) -> Result<Timetable, TimetableError> {
    check(fetches, slots)?;
    let by_time = sorted(slots.len(), |slot| slots[slot].at);
    let mut placed: Vec<Option<usize>> = vec![None; slots.len()];
    place_waiting(fetches, slots, &by_time, &mut placed)?;
    line::place(fetches, slots, &by_time, &mut placed)?;
    let lower_bound = bound::lower(fetches, slots, &by_time, &placed);
    let mut chosen = vec![0; fetches.len()];
    for (slot, fetch) in placed.iter().enumerate() {
        if let Some(fetch) = fetch {
            chosen[*fetch] = slot;
        }
    }
    let cost = total_cost(fetches, slots, &chosen);
    Ok(Timetable { slots: chosen, cost, lower_bound })
}

/// Gives every slot to the fetch of kind [`Punctuality::NotBefore`] that waits longest.
fn place_waiting(
    fetches: &[Fetch],
    slots: &[Slot],
    by_time: &[usize],
    placed: &mut [Option<usize>],
) -> Result<(), TimetableError> {
    let mut waiting = of_kind(fetches, Punctuality::NotBefore).into_iter().peekable();
    for &slot in by_time {
        placed[slot] = waiting.next_if(|&fetch| fetches[fetch].ideal_at <= slots[slot].at);
    }
    match waiting.next() {
        None => Ok(()),
        Some(fetch) => Err(TimetableError::NoSlotAfter {
            fetch,
            ideal_at: fetches[fetch].ideal_at,
            last: by_time.last().map_or(f64::NEG_INFINITY, |&slot| slots[slot].at),
        }),
    }
}

fn check(fetches: &[Fetch], slots: &[Slot]) -> Result<(), TimetableError> {
    let ideals = fetches.iter().map(|fetch| fetch.ideal_at);
    finite("fetch", ideals)?;
    finite("slot", slots.iter().map(|slot| slot.at))
}

fn finite(what: &'static str, times: impl Iterator<Item = f64>) -> Result<(), TimetableError> {
    match times.enumerate().find(|(_, at)| !at.is_finite()) {
        None => Ok(()),
        Some((row, at)) => Err(TimetableError::NotATime { what, row, at }),
    }
}

/// Indices 0..count by key, equal keys in order of index.
fn sorted(count: usize, key: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
    order
}

/// Fetches of one kind by ideal time.
fn of_kind(fetches: &[Fetch], kind: Punctuality) -> Vec<usize> {
    let mut order = sorted(fetches.len(), |fetch| fetches[fetch].ideal_at);
    order.retain(|&fetch| fetches[fetch].punctuality == kind);
    order
}

fn total_cost(fetches: &[Fetch], slots: &[Slot], chosen: &[usize]) -> f64 {
    let costs = fetches.iter().zip(chosen).map(|(fetch, &slot)| fetch.cost(slots[slot].at));
    tidewatch_math::sum::sum(costs)
}
