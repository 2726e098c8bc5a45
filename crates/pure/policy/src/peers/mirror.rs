//! `AsyncMirrorSync` `[KBZ20]`: learns fetch rates by mirror descent, without a model of change.
//!
//! A page is fetched at even intervals (*syncs*), and with probability ε once at random in between (a
//! *probe*). What a copy costs is its weight while it is stale. The difference of the costs seen by probe
//! and sync estimates the slope of the mean cost in the rate, and rates follow it ([`mirror_step`]) every
//! round. Constants are those of the paper's Poisson experiment, in its unit of time: 0.4 fetches a page.

use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, PageKey, Span, Time};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sum::sum;
use tidewatch_science::allocate::mirror_step;

use crate::due::DueQueue;
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::rounds::Rounds;
use crate::{Agenda, Choice, Gate, Policy};

const PROBE: u64 = purpose("mirror.probe");
/// ε, the probability of a probe between two syncs.
const PROBES: f64 = 0.05;
/// Mean fetches a page and unit of time, and the share of them that are syncs.
const MEAN: f64 = 0.4;
const SYNCS: f64 = MEAN / (1.0 + PROBES);
/// Least and greatest rate of a page.
const BOUNDS: (f64, f64) = (0.025, 6.0);
/// η for one of the paper's hundred pages, whose gradient is averaged over all.
const LEARNING_RATE: f64 = 1.3 / 100.0;

/// The policy.
pub struct MirrorSync {
    seed: u64,
    pages: Vec<Known>,
    budget: f64,
    rounds: Rounds,
    /// Pages never fetched, in the order of discovery.
    new: Agenda<u32>,
    due: DueQueue,
}

struct Known {
    host: HostId,
    key: PageKey,
    weight: f64,
    is_gone: bool,
    /// Syncs a unit of time.
    rate: f64,
    /// When it was last synced; `None` before its first fetch.
    synced: Option<Time>,
    syncs: u64,
    next: Next,
    /// Estimates of the slope since the last step, and how many.
    slopes: f64,
    estimates: u32,
}

/// What the next fetch of a page is.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// A sync without a probe before it.
    Sync,
    Probe,
    /// A sync after a probe that saw a change or not.
    SyncAfter(bool),
}

impl MirrorSync {
    /// Probes follow from `seed`.
    pub fn new(seed: u64) -> Self {
        MirrorSync {
            seed,
            pages: Vec::new(),
            budget: 0.0,
            rounds: Rounds::default(),
            new: Agenda::default(),
            due: DueQueue::default(),
        }
    }

    /// Seconds of a unit of time.
    fn unit(&self) -> f64 {
        MEAN * self.pages.len() as f64 / self.budget
    }

    fn fetched(&mut self, seen: &Observation<'_>) {
        let known = &mut self.pages[seen.page.index()];
        known.is_gone = seen.outcome == Outcome::Gone;
        if known.is_gone {
            self.due.remove(seen.page);
            return;
        }
        let changed = match seen.outcome {
            Outcome::Fetched(content) => content.changed == Some(true),
            _ => false,
        };
        match known.next {
            Next::Probe => known.next = Next::SyncAfter(changed),
            next => {
                if let Next::SyncAfter(before) = next {
                    let probe = f64::from(u8::from(before));
                    let sync = f64::from(u8::from(before || changed));
                    known.slopes += known.weight * (probe - sync) / (PROBES * known.rate);
                }
                known.estimates += 1;
                known.synced = Some(seen.at);
                known.syncs += 1;
                let draws = Draws::keyed(self.seed, PROBE, known.key.0);
                let probes = draws.uniform_at(2 * known.syncs) < PROBES;
                known.next = if probes { Next::Probe } else { Next::Sync };
            }
        }
        self.enqueue(seen.page.index());
    }

    fn enqueue(&mut self, page: usize) {
        let unit = self.unit();
        let known = &self.pages[page];
        let Some(synced) = known.synced.filter(|_| !known.is_gone) else { return };
        let part = match known.next {
            Next::Probe => {
                Draws::keyed(self.seed, PROBE, known.key.0).uniform_at(2 * known.syncs + 1)
            }
            _ => 1.0,
        };
        let wait = Span::from_seconds(part * unit / known.rate).unwrap_or(Span::FOREVER);
        self.due.push(synced + wait, known.host, PageId(page as u32));
    }

    /// Moves the rates along the slopes seen since the last round.
    fn start_round(&mut self) {
        let live: Vec<usize> = (0..self.pages.len()).filter(|&p| !self.pages[p].is_gone).collect();
        let mean = sum(live.iter().map(|&page| self.pages[page].weight)) / live.len().max(1) as f64;
        let stepped: Vec<usize> =
            live.iter().copied().filter(|&page| self.pages[page].estimates > 0).collect();
        let mut rates: Vec<f64> = stepped.iter().map(|&page| self.pages[page].rate).collect();
        let slope = |&page: &usize| {
            let known = &self.pages[page];
            known.slopes / mean / f64::from(known.estimates)
        };
        let slopes: Vec<f64> = stepped.iter().map(slope).collect();
        mirror_step(&mut rates, &slopes, LEARNING_RATE, BOUNDS);
        for (&page, &rate) in stepped.iter().zip(&rates) {
            let known = &mut self.pages[page];
            (known.rate, known.slopes, known.estimates) = (rate, 0.0, 0);
        }
        // Pages come and go; the mean stays.
        let scale = SYNCS * live.len() as f64 / sum(live.iter().map(|&page| self.pages[page].rate));
        self.due.clear();
        for &page in &live {
            let rate = &mut self.pages[page].rate;
            *rate = (*rate * scale).clamp(BOUNDS.0, BOUNDS.1);
            self.enqueue(page);
        }
    }
}

impl Policy for MirrorSync {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                self.pages.push(Known {
                    host: found.host,
                    key: found.key,
                    weight: found.weight,
                    is_gone: false,
                    rate: SYNCS,
                    synced: None,
                    syncs: 0,
                    next: Next::Sync,
                    slopes: 0.0,
                    estimates: 0,
                });
                self.rounds.wait_for(self.pages.len());
                if !found.is_held {
                    self.new.push(found.page.0, found.host, found.page);
                }
            }
            Event::Held(seen) => self.fetched(seen),
            Event::Fetched(seen) => {
                self.rounds.count();
                self.fetched(seen);
            }
            Event::Budget(rate) => self.budget = rate.as_per_second(),
            Event::Log(_) | Event::Asked(_) | Event::Hinted(_) | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if self.rounds.begins(self.pages.len()) {
            self.start_round();
        }
        if let Some((_, page)) = self.new.pop(now, gate) {
            return Choice::Fetch(page);
        }
        self.due.pop(now, gate).map_or(Choice::Idle, Choice::Fetch)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str = "visits are at even intervals, learnt from what extra visits saw";
        let known = self.pages.get(page.index())?;
        let interval = Span::from_seconds(self.unit() / known.rate);
        let due = match (known.synced, self.due.due(page)) {
            _ if known.is_gone => Due::Never,
            (None, _) => Due::InTurn,
            (Some(_), Some(due)) => Due::At(due),
            (Some(_), None) => Due::UnderWay,
        };
        let merit = interval.map_or(Merit::Turn, Merit::Every);
        let explanation = Explanation::new(page, RULE, merit, due);
        let sooner = &[Lever::Weight, Lever::Changes];
        Some(Explanation {
            sooner,
            is_outdated: self.rounds.is_over(self.pages.len()),
            ..explanation.visited(known.synced, known.is_gone)
        })
    }
}
