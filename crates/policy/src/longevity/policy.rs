//! `curve-fit` and `bound-based`: refresh a page when what is expected of it reaches a threshold.
//!
//! The life of a page here: fetched as soon as it is known; then due its *period* φ after every
//! fetch, with φ found anew from the profiles each time. Two limits guard against what cannot be
//! known: while a page is being learned φ ≤ l·n after n fetches, and the worst that a wait can cost is
//! held to ρ·T, φ ≤ ρT/w (divergence is at most 1).
//!
//! The threshold T is either given, as in the paper, and then pages are fetched when due and not
//! before; or it follows the budget: after every round (as many fetches as pages) it is moved by the
//! ratio of the demand Σ1/φ to the budget, and the page due first is fetched whether its time has
//! come or not.

use tidewatch_core::record::SKETCH_LEN;
use tidewatch_core::{Event, HostId, Observation, Outcome, PageId, Span, Time};

use super::bounds::utility_bounds;
use super::curve::DivergenceCurve;
use super::fit::fit;
use super::profile::Profiles;
use crate::law::LossCurve;
use crate::{Agenda, Choice, Gate, Policy};

/// How a page's period is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From a curve fitted to the profiles `[OP08, §4.2]`.
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

/// What a policy is told beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How periods are found.
    pub method: Method,
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
    /// As a page record has room for: eight hashes, one profile.
    pub fn new(method: Method, threshold: Threshold) -> Self {
        let (risk, learning) = (40.0, 4.0);
        Settings { method, threshold, profiles: 1, hashes: SKETCH_LEN, risk, learning }
    }
}

/// First guess of T where the budget decides: a tenth of a page stale for a day.
const FIRST_GUESS: f64 = 0.1 * 86_400.0;
/// Most that T is moved in a round.
const MOST_MOVE: f64 = 2.0;
/// Points after which a bound-based search starts over, whatever the bounds say.
const MOST_POINTS: usize = 16;

/// A policy by information longevity.
pub struct Longevity {
    settings: Settings,
    threshold: f64,
    budget: f64,
    pages: Vec<Known>,
    due: Agenda<(Time, u32)>,
    fetches: usize,
    next_round: usize,
}

struct Known {
    host: HostId,
    weight: f64,
    last: Option<Time>,
    visits: u32,
    profiles: Profiles,
    curve: DivergenceCurve,
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
        let (pages, due) = (Vec::new(), Agenda::default());
        Longevity { settings, threshold, budget: 0.0, pages, due, fetches: 0, next_round: 0 }
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
            Method::CurveFit => known.curve.elapsed_at(worth),
            Method::BoundBased => known.period,
        };
        let learning = self.settings.learning * worth * f64::from(known.visits.max(1));
        wished.min(learning).min(self.settings.risk * worth)
    }

    fn enqueue(&mut self, page: PageId) {
        let known = &self.pages[page.index()];
        let due = match known.last {
            None => Some(Time::ZERO),
            Some(last) => Span::from_seconds(self.period(known)).map(|period| last + period),
        };
        if let Some(due) = due.filter(|_| !known.is_gone) {
            self.due.push((due, page.0), known.host, page);
        }
    }

    fn note(&mut self, seen: &Observation<'_>) {
        let settings = self.settings;
        let known = &mut self.pages[seen.page.index()];
        match seen.outcome {
            Outcome::Gone => known.is_gone = true,
            // Tried, but nothing learned: due again after its period.
            Outcome::Failed(_) => known.last = Some(seen.at),
            Outcome::Fetched(content) => {
                known.last = Some(seen.at);
                known.visits = known.visits.saturating_add(1);
                let at = seen.at.seconds();
                if settings.method == Method::CurveFit {
                    known.learn_curve(at, content.sketch, &settings);
                } else {
                    let worth = self.threshold / known.weight.max(f64::MIN_POSITIVE);
                    known.learn_bounds(at, content.sketch, worth, &settings);
                }
            }
        }
        self.enqueue(seen.page);
    }

    /// Moves T towards spending the budget, and every page to where it now belongs.
    fn start_round(&mut self) {
        self.next_round = self.fetches + self.pages.len();
        if self.settings.threshold != Threshold::Budget || self.budget <= 0.0 {
            return;
        }
        let live = self.pages.iter().filter(|known| !known.is_gone);
        let demand: f64 = live.map(|known| 1.0 / self.period(known)).sum();
        self.threshold *= (demand / self.budget).clamp(1.0 / MOST_MOVE, MOST_MOVE);
        self.due = Agenda::default();
        (0..self.pages.len() as u32).for_each(|page| self.enqueue(PageId(page)));
    }
}

impl Known {
    fn learn_curve(&mut self, at: f64, sketch: &[u64], settings: &Settings) {
        self.profiles.add(at, sketch, settings.hashes, settings.profiles);
        self.curve = fit(self.profiles.points(), settings.hashes, settings.profiles).curve;
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
                    curve: DivergenceCurve::STATIC,
                    period: 0.0,
                    is_gone: false,
                });
                self.next_round = self.next_round.max(self.pages.len());
                if !found.is_held {
                    self.enqueue(found.page);
                }
            }
            Event::Held(seen) => self.note(seen),
            Event::Fetched(seen) => {
                self.fetches += 1;
                self.note(seen);
            }
            Event::Budget(rate) => self.budget = rate.as_per_second(),
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if self.fetches >= self.next_round && !self.pages.is_empty() {
            self.start_round();
        }
        let waits = self.settings.threshold != Threshold::Budget;
        let due = self.due.pop_if(now, gate, |(due, _)| !waits || due <= now);
        due.map_or(Choice::Idle, |(_, page)| Choice::Fetch(page))
    }
}
