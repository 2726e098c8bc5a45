//! `curve-fit` and `bound-based`: refresh a page when its expected divergence × time reaches a threshold.
//!
//! The life of a page here: fetched as soon as it is known; then due its *period* φ after every
//! fetch, with φ computed from the profiles each time. Two limits guard against ignorance: after n
//! fetches φ ≤ l·n, and the worst that a wait can cost is ρ·T, so that φ ≤ ρT/w (divergence is at most 1).
//!
//! The threshold T is either given, as in the paper, and then pages are fetched when due and not
//! before; or it follows the budget: at the start of every round (as many fetches as pages) it is the
//! one at which the demand Σ1/φ is the budget, and the page due first is fetched whether its time has
//! come or not. Before anything is known all periods are the same, so the first round is uniform.

use tidewatch_core::sketch::SKETCH_LEN;
use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Reason, Span, Time};

use crate::due::DueQueue;
use crate::explanation::{Due, Early, Explanation, Lever, Merit};
use crate::rounds::Rounds;
use crate::{Choice, Gate, Policy};
use tidewatch_science::divergence::{ExpectedWorth, Profiles, expected_worth, utility_bounds};

/// How a page's period is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodMethod {
    /// From curves weighed by the profiles `[OP08, §4.2]`.
    CurveFit,
    /// By doubling and halving between bounds on the worth `[OP08, §4.3]`.
    BoundBased,
}

/// Where the threshold comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Given, in seconds (divergence × time).
    Fixed(f64),
    /// Such that the budget is spent.
    Budget,
}

/// How periods are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The method.
    pub method: PeriodMethod,
    /// T.
    pub threshold: Threshold,
    /// h: profiles kept of a page.
    pub profiles: usize,
    /// m: hashes compared.
    pub hashes: usize,
    /// ρ: the worst that waiting may cost, as a multiple of T.
    pub risk: f64,
    /// l/T: the longest first period, and its growth with every fetch, as a multiple of T.
    pub learning: f64,
}

impl Settings {
    /// Eight hashes and one profile, as many as a page record has room for.
    pub fn new(method: PeriodMethod, threshold: Threshold) -> Self {
        let (risk, learning) = (40.0, 4.0);
        Settings { method, threshold, profiles: 1, hashes: SKETCH_LEN, risk, learning }
    }
}

/// First guess of T where the budget decides: a tenth of a page stale for a day.
const FIRST_GUESS: f64 = 0.1 * 86_400.0;
/// Most that T is moved in a step towards spending the budget, and steps at most. Demand falls with
/// a power of T between ½ and 1, so a step by the ratio of demand to budget at least halves the
/// logarithm of what is amiss.
const MOST_MOVE: f64 = 16.0;
const MOST_STEPS: usize = 12;
/// Demand is met when it is this near to the budget: estimates are worse than that.
const MET: f64 = 0.02;
/// Points after which a bound-based search starts over, whatever the bounds say.
const MOST_POINTS: usize = 16;

/// A policy by information longevity.
pub struct Longevity {
    settings: Settings,
    threshold: f64,
    budget: f64,
    pages: Vec<Known>,
    due: DueQueue,
    rounds: Rounds,
}

struct Known {
    host: HostId,
    weight: f64,
    last: Option<Time>,
    visits: u32,
    profiles: Profiles,
    worth: ExpectedWorth,
    /// φ, seconds, before the limits; bound-based only.
    period: f64,
    is_gone: bool,
}

impl Longevity {
    /// A policy that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        let threshold = match settings.threshold {
            Threshold::Fixed(threshold) => threshold.max(0.0),
            Threshold::Budget => FIRST_GUESS,
        };
        let (pages, due, rounds) = (Vec::new(), DueQueue::default(), Rounds::default());
        Longevity { settings, threshold, budget: 0.0, pages, due, rounds }
    }

    /// T now, seconds.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The time between fetches of a page, limits included.
    fn period(&self, known: &Known) -> f64 {
        if known.weight <= 0.0 {
            return f64::INFINITY;
        }
        let worth = self.threshold / known.weight;
        let wished = match self.settings.method {
            PeriodMethod::CurveFit => known.worth.elapsed_at(worth),
            PeriodMethod::BoundBased => known.period,
        };
        let learning = self.settings.learning * worth * f64::from(known.visits.max(1));
        wished.min(learning).min(self.settings.risk * worth)
    }

    fn due(&self, known: &Known) -> Option<Time> {
        let due = match known.last {
            None => Some(Time::ZERO),
            Some(last) => Span::from_seconds(self.period(known)).map(|period| last + period),
        };
        due.filter(|_| !known.is_gone)
    }

    fn enqueue(&mut self, page: PageId) {
        let known = &self.pages[page.index()];
        if let Some(due) = self.due(known) {
            self.due.push(due, known.host, page);
        }
    }

    fn note(&mut self, seen: &Observation<'_>) {
        let settings = self.settings;
        let known = &mut self.pages[seen.page.index()];
        match seen.outcome {
            Outcome::Gone => known.is_gone = true,
            // An interruption of ours is no visit.
            Outcome::Failed(Reason::OwnStop) => known.is_gone = false,
            // Tried, but nothing learned: due again after its period.
            Outcome::Failed(_) => known.last = Some(seen.at),
            Outcome::Fetched(content) => {
                (known.last, known.is_gone) = (Some(seen.at), false);
                known.visits = known.visits.saturating_add(1);
                let at = seen.at.seconds();
                if settings.method == PeriodMethod::CurveFit {
                    known.learn_curve(at, content.sketch, &settings);
                } else {
                    let worth = self.threshold / known.weight.max(f64::MIN_POSITIVE);
                    known.learn_bounds(at, content.sketch, worth, &settings);
                }
            }
        }
        self.enqueue(seen.page);
    }

    /// Sets T so that the budget is spent, and queues every page again.
    fn start_round(&mut self) {
        if self.settings.threshold != Threshold::Budget || self.budget <= 0.0 {
            return;
        }
        for _ in 0..MOST_STEPS {
            let ratio = self.demand() / self.budget;
            if ratio <= 0.0 || (ratio - 1.0).abs() < MET {
                break;
            }
            self.threshold *= ratio.clamp(1.0 / MOST_MOVE, MOST_MOVE);
        }
        self.due = DueQueue::default();
        (0..self.pages.len() as u32).for_each(|page| self.enqueue(PageId(page)));
    }

    /// Σ1/φ, fetches per second that pages ask for at T.
    fn demand(&self) -> f64 {
        let live = self.pages.iter().filter(|known| !known.is_gone);
        live.map(|known| 1.0 / self.period(known)).sum()
    }
}

impl Known {
    fn learn_curve(&mut self, at: f64, sketch: &[u64], settings: &Settings) {
        self.profiles.add(at, sketch, settings.hashes, settings.profiles);
        let points = self.profiles.points();
        self.worth = expected_worth(points, settings.hashes, settings.profiles);
    }

    /// One step of the search: t_R is when the newest base was held.
    fn learn_bounds(&mut self, at: f64, sketch: &[u64], worth: f64, settings: &Settings) {
        let (m, h) = (settings.hashes, settings.profiles);
        self.profiles.extend(at, sketch, m, h);
        let Some((reference, seen)) = self.profiles.newest() else {
            self.period = settings.learning * worth;
            self.profiles.rebase(at, sketch, m, h);
            return;
        };
        let elapsed = at - reference;
        let Some(bounds) = utility_bounds(self.profiles.by_base(), elapsed) else { return };
        if bounds.high < worth {
            self.period = 2.0 * elapsed;
        } else if bounds.low >= worth {
            self.period /= 2.0;
            self.profiles.rebase(at, sketch, m, h);
        } else if seen >= MOST_POINTS {
            self.profiles.rebase(at, sketch, m, h);
        }
    }
}

impl Policy for Longevity {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                self.pages.push(Known {
                    host: found.host,
                    weight: found.weight,
                    last: None,
                    visits: 0,
                    profiles: Profiles::default(),
                    worth: ExpectedWorth::NOTHING,
                    period: 0.0,
                    is_gone: false,
                });
                if !found.is_held {
                    self.enqueue(found.page);
                }
            }
            Event::Held(seen) => self.note(seen),
            Event::Fetched(seen) => {
                self.rounds.count();
                self.note(seen);
            }
            Event::Budget(rate) => self.budget = rate.as_per_second(),
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if self.rounds.begins(self.pages.len()) {
            self.start_round();
        }
        let waits = self.settings.threshold != Threshold::Budget;
        let due = self.due.take_if(now, gate, |(due, _)| !waits || due <= now);
        due.map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str =
            "a page is fetched when its expected divergence × time reaches a threshold";
        let known = self.pages.get(page.index())?;
        let merit = Span::from_seconds(self.period(known)).map_or(Merit::Turn, Merit::Every);
        let due = self.due(known).map_or(Due::Never, Due::At);
        let is_early = due != Due::Never && self.settings.threshold == Threshold::Budget;
        Some(Explanation {
            since: known.last,
            is_gone: known.is_gone,
            early: if is_early { Early::Spare } else { Early::No },
            is_outdated: self.rounds.is_over(self.pages.len()),
            sooner: &[Lever::Changes, Lever::Weight, Lever::Budget],
            ..Explanation::new(page, RULE, merit, due)
        })
    }
}
