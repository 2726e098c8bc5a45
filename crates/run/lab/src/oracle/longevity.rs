//! The off-line policies of information longevity `[OP08, §3.4]`.
//!
//! *Static* knowledge is a page's average behaviour over the whole run: each page gets the period at
//! which its worth U reaches a threshold, and the threshold is the one that spends the budget.
//! *Dynamic* knowledge is what has happened since the last refresh, seen without fetching: U as of
//! now, and the page with the highest goes first.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tidewatch_core::{Event, Observation, Outcome, PageKey, Span, Time};
use tidewatch_math::roots::{Stop, bisect};
use tidewatch_policy::{Agenda, Choice, Gate, Highest, Policy};
use tidewatch_science::law::{LossCurve, Poisson};

use super::Timed;
use super::met::{Met, Upcoming};
use crate::engine::contents::Contents;
use crate::snapshots::{MOST_SNAPSHOTS, PageSnapshots, SnapshotWorth};
use crate::world::World;

/// What a static policy knows of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Which pages ever change; those share the budget evenly.
    Changing,
    /// How often each changes; a copy is stale or it is not.
    Rates,
    /// How each diverges; a copy may be stale in part.
    Divergence,
}

/// Number and spacing of the snapshots of a world: two days apart, from 3 to [`MOST_SNAPSHOTS`].
fn snapshots(world: &World) -> (usize, Span) {
    let days = world.trace().duration.seconds() / Span::DAY.seconds();
    let count = ((days / 2.0) as usize).clamp(3, MOST_SNAPSHOTS);
    (count, Span::from_micros(world.trace().duration.as_micros() / count as u64))
}

/// A page's period at a threshold.
enum Periods {
    Even,
    Poisson(Poisson),
    Snapshots(SnapshotWorth),
}

impl Periods {
    fn at(&self, threshold: f64) -> f64 {
        match self {
            Periods::Even => threshold,
            Periods::Poisson(law) => law.elapsed_at(threshold),
            Periods::Snapshots(worth) => worth.elapsed_at(threshold),
        }
    }
}

/// Periods from static knowledge.
pub struct KnownLongevity {
    pages: Vec<(PageKey, f64, Periods)>,
    seed: u64,
    timed: Option<Timed>,
}

impl KnownLongevity {
    /// For a run over `world`.
    pub fn new(world: &World, knowledge: Knowledge) -> Self {
        let (count, spacing) = snapshots(world);
        let pages = (0..world.len() as u32).into_par_iter().filter_map(|page| {
            let row = &world.trace().pages[page as usize];
            let life = Time::ZERO + world.trace().duration;
            let changes = world.changes_of(page);
            let life = row.died.unwrap_or(life).since(row.born).seconds();
            if changes == 0 || life <= 0.0 {
                return None;
            }
            let periods = match knowledge {
                Knowledge::Changing => Periods::Even,
                Knowledge::Rates => Periods::Poisson(Poisson::new(f64::from(changes) / life).ok()?),
                Knowledge::Divergence => {
                    let worth =
                        SnapshotWorth::of(&PageSnapshots::of(world, page, count, spacing), spacing);
                    (!worth.is_static()).then_some(Periods::Snapshots(worth))?
                }
            };
            Some((world.key(page), row.weight, periods))
        });
        KnownLongevity { pages: pages.collect(), seed: 1, timed: None }
    }

    /// The schedule that spends `budget`: demand falls with the threshold, so bisection finds it.
    fn schedule(&self, budget: f64) -> Timed {
        let period = |log: f64, weight: f64, periods: &Periods| periods.at(log.exp() / weight);
        let demand = |log: f64| -> f64 {
            self.pages.iter().map(|(_, weight, periods)| 1.0 / period(log, *weight, periods)).sum()
        };
        let root =
            bisect(|log| budget - demand(log).min(f64::MAX), (-20.0, 40.0), Stop::absolute(1e-9));
        // The budget exceeds all demand: refresh as often as is worth anything at all.
        let log = root.map_or(-20.0, |root| root.x);
        let intervals: FxHashMap<PageKey, Span> = self
            .pages
            .iter()
            .filter_map(|(key, weight, periods)| {
                Some((*key, Span::from_seconds(period(log, *weight, periods))?))
            })
            .collect();
        Timed::new(intervals, self.seed)
    }
}

impl Policy for KnownLongevity {
    fn learn(&mut self, event: &Event<'_>) {
        if let Event::Budget(rate) = event {
            self.timed = Some(self.schedule(rate.as_per_second()));
        } else if let Some(timed) = &mut self.timed {
            timed.learn(event);
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.timed.as_mut().map_or(Choice::Idle, |timed| timed.choose(now, gate))
    }
}

/// Refreshes where most has been lost in a way that a refresh would mend: the highest U of the
/// divergence that truly happened since each copy was taken.
///
/// U = tD(t) − ∫D only moves when D does, so it is brought up to date at every version, and at no
/// other time.
pub struct SeenLongevity<'w> {
    world: &'w World,
    is_holistic: bool,
    contents: Contents,
    met: Met,
    copies: Vec<Option<Copied>>,
    agenda: Agenda<Highest>,
    /// Versions of all pages.
    versions: Upcoming,
}

/// What has become of a copy.
#[derive(Clone, Copy, Debug)]
struct Copied {
    taken: Time,
    upto: Time,
    area: f64,
    worth: f64,
}

impl<'w> SeenLongevity<'w> {
    /// For a run over `world`; holistic: a copy is stale or it is not.
    pub fn new(world: &'w World, is_holistic: bool) -> Self {
        let rows = world.trace().versions.iter().flat_map(|v| &v.rows);
        SeenLongevity {
            world,
            is_holistic,
            contents: Contents::new(world),
            met: Met::new(world),
            copies: vec![None; world.len()],
            agenda: Agenda::default(),
            versions: Upcoming::new(rows.map(|v| (v.at, v.page))),
        }
    }

    fn catch_up(&mut self, now: Time) {
        while let Some((at, page)) = self.versions.next_by(now) {
            self.look(page, at);
        }
    }

    /// Takes in the versions of a page up to `at`, and puts it where its worth now belongs.
    fn look(&mut self, page: u32, at: Time) {
        let Some(mut copy) = self.copies[page as usize] else { return };
        let (is_holistic, mut height) = (self.is_holistic, 0.0);
        self.contents.advance(self.world, page, copy.upto, at, |from, to, divergence| {
            height = if is_holistic && divergence > 0.0 { 1.0 } else { divergence };
            copy.area += height * to.since(from).seconds();
        });
        copy.upto = at.max(copy.upto);
        copy.worth = copy.upto.since(copy.taken).seconds() * height - copy.area;
        self.copies[page as usize] = Some(copy);
        let value = copy.worth * self.world.trace().pages[page as usize].weight;
        self.met.enter(page, value, &mut self.agenda);
    }

    fn settle(&mut self, seen: &Observation<'_>) {
        let page = self.met.page(seen.page);
        match seen.outcome {
            Outcome::Gone => self.copies[page as usize] = None,
            Outcome::Failed(_) => self.look(page, seen.at),
            Outcome::Fetched(_) => {
                let from = self.copies[page as usize].map_or(Time::ZERO, |copy| copy.upto);
                self.contents.advance(self.world, page, from, seen.at, |_, _, _| {});
                self.contents.take_copy(page);
                let copy = Copied { taken: seen.at, upto: seen.at, area: 0.0, worth: 0.0 };
                self.copies[page as usize] = Some(copy);
            }
        }
    }
}

impl Policy for SeenLongevity<'_> {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                self.met.meet(self.world, found);
                if !found.is_held {
                    self.agenda.push(Highest(f64::MAX), found.host, found.page);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen),
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.catch_up(now);
        while let Some((Highest(was), id)) = self.agenda.pop(now, gate) {
            let page = self.met.page(id) as usize;
            let weight = self.world.trace().pages[page].weight;
            let worth = self.copies[page].map_or(f64::MAX, |copy| copy.worth * weight);
            // Otherwise the entry is outdated, and the current one is in the queue as well.
            if worth.to_bits() == was.to_bits() {
                return Choice::Fetch(id);
            }
        }
        Choice::Idle
    }
}
