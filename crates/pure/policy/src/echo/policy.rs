//! The policies of `[LOSS13]` on line: they learn the profit of sources while they crawl.

use rustc_hash::FxHashMap;
use tidewatch_core::{
    Discovery, Event, FetchKind, HostId, Observation, Outcome, PageId, PageKey, Span, Time,
};

use super::arrivals::Pace;
use super::beliefs::{Beliefs, Counting};
use super::curve::ProfitCurve;
use super::profit::{Assumed, Pooling};
use super::solve::{Charge, Schedule, Terms, solve};
use super::watch::Watch;
use crate::explanation::{Belief, Due, Early, Explanation, Lever, Merit};
use crate::{Agenda, Choice, Gate, Policy};

/// How the budget is spent, given beliefs about sources `[LOSS13, §4.2.3, §5.2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// ECHO-newpages: new pages at once, in the order of discovery; otherwise the source that is
    /// furthest behind its schedule, largest elapsed/Iᵢ.
    NewPages,
    /// ECHO-schedule: sources exactly at their intervals; what is left goes to new pages, the most
    /// recently discovered first.
    Schedule,
    /// ECHO-schedule with half of the budget for sources and half for new pages.
    FixedQuota,
    /// ECHO-schedule with the same profit and decay for all sources.
    Frequency,
    /// ECHO-greedy: the source with the highest λᵢPᵢ·elapsed, then all its new pages.
    Greedy,
}

/// How the policy learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// T: visits from which new-link rates are estimated. 7 in the paper's comparison; 3 to 10 make no
    /// difference there.
    pub memory: usize,
    /// How new-link rates follow from visits.
    pub pace: Pace,
    /// Which links count.
    pub counting: Counting,
    /// Whether sources learn profits from one another.
    pub pooling: Pooling,
    /// Whether the log also has the clicks of pages never fetched, as in the paper's experiments.
    /// Otherwise only pages in the collection can be clicked.
    pub logs_all: bool,
    /// Time between two solutions of Algorithm 1; half an hour in the paper.
    pub solve_every: Span,
    /// Whether every source gets a *first look*: one visit, ahead of everything else, after which it
    /// has a record of its own. The paper has none. Then a source that was never visited since its
    /// links were new keeps the pessimistic profit, the schedule leaves it out, and so it stays.
    pub first_look: bool,
}

impl Settings {
    /// The default.
    pub const DEFAULT: Settings = Settings {
        memory: 7,
        pace: Pace::Steady,
        counting: Counting::Discoveries,
        pooling: Pooling::All,
        logs_all: false,
        solve_every: Span::MINUTE.times(30),
        first_look: true,
    };
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Attempts at the fetch of a new page.
const ATTEMPTS: u8 = 3;
/// Stands for "not a source".
const NONE: u32 = u32::MAX;

/// What an oracle tells of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// Profit and decay of its pages.
    pub curve: Option<ProfitCurve>,
    /// New links a second.
    pub arrivals: Option<f64>,
}

/// A crawler that watches sources for new pages, by one of the [`Rule`]s.
///
/// Pages that are in the collection and are not sources are left alone: this is a policy for what is
/// new. Pages found elsewhere than on a source wait until there is nothing better, and so do sources
/// that are not worth their visits: the spare fetch goes to the one not seen for longest.
pub struct Echo {
    rule: Rule,
    settings: Settings,
    budget: f64,
    pages: Vec<Known>,
    sources: Vec<Source>,
    beliefs: Beliefs,
    /// New pages, by place in the queue.
    new: Agenda<u64>,
    /// Other pages never fetched.
    others: Agenda<u64>,
    watch: Watch,
    /// Sources without a place in the schedule, by last visit.
    spare: Agenda<(Time, u32)>,
    /// Sources that wait for their first look, by their first visit.
    looks: Agenda<(Time, u32)>,
    next_solve: Option<Time>,
    now: Time,
    /// What is told of sources instead of learnt, by page key.
    truth: FxHashMap<PageKey, Told>,
}

#[derive(Clone, Copy)]
struct Known {
    host: HostId,
    /// Number among sources, or [`NONE`].
    source: u32,
    attempts: u8,
    /// Whether it waits for a first fetch.
    is_waiting: bool,
}

struct Source {
    page: PageId,
    host: HostId,
    is_gone: bool,
    /// The first visit, if a first look follows.
    first: Option<Time>,
    told: Told,
}

impl Echo {
    /// A policy that knows nothing yet.
    pub fn new(rule: Rule, settings: Settings) -> Self {
        Echo {
            rule,
            settings,
            budget: 0.0,
            pages: Vec::new(),
            sources: Vec::new(),
            beliefs: Beliefs::new(
                settings.memory,
                settings.pace,
                settings.counting,
                settings.pooling,
            )
            .with_log_of_all(settings.logs_all),
            new: Agenda::default(),
            others: Agenda::default(),
            watch: Watch::default(),
            spare: Agenda::default(),
            looks: Agenda::default(),
            next_solve: None,
            now: Time::ZERO,
            truth: FxHashMap::default(),
        }
    }

    /// A policy that is told something of some sources and learns the rest.
    pub fn knowing(rule: Rule, settings: Settings, truth: FxHashMap<PageKey, Told>) -> Self {
        Echo { truth, ..Self::new(rule, settings) }
    }

    fn discover(&mut self, found: &Discovery<'_>) {
        debug_assert_eq!(found.page.index(), self.pages.len());
        let source = if found.is_source { self.sources.len() as u32 } else { NONE };
        self.pages.push(Known { host: found.host, source, attempts: 0, is_waiting: false });
        if found.is_source {
            self.add_source(found);
        }
        if found.is_held {
            return;
        }
        let via = found.via.and_then(|via| self.pages.get(via.index())).map(|via| via.source);
        let from_source = via.is_none_or(|source| source != NONE);
        if let Some(source) = via.filter(|&source| source != NONE && !found.is_source) {
            self.beliefs.found(source as usize, found.page, found.at);
        }
        self.enqueue(found.page, from_source);
    }

    fn add_source(&mut self, found: &Discovery<'_>) {
        let (page, host) = (found.page, found.host);
        let told = self.truth.get(&found.key).copied().unwrap_or_default();
        self.sources.push(Source { page, host, is_gone: false, first: None, told });
        self.beliefs.add_source(host.0);
    }

    /// Puts a page that was never fetched in its queue.
    fn enqueue(&mut self, page: PageId, from_source: bool) {
        let newest_first = matches!(self.rule, Rule::Schedule | Rule::FixedQuota | Rule::Frequency);
        let number = u64::from(page.0);
        let place = if newest_first { u64::MAX - number } else { number };
        let queue = if from_source { &mut self.new } else { &mut self.others };
        queue.push(place, self.pages[page.index()].host, page);
        self.pages[page.index()].is_waiting = true;
    }

    /// Takes note of an outcome.
    fn note(&mut self, seen: &Observation<'_>) {
        let source = self.pages[seen.page.index()].source;
        if source != NONE {
            self.note_source(source, seen);
            return;
        }
        let known = &mut self.pages[seen.page.index()];
        match seen.outcome {
            Outcome::Fetched(_) => self.beliefs.ledger.open(seen.page, seen.at),
            Outcome::Failed(_) if seen.previous.is_none() => {
                known.attempts += 1;
                if known.attempts < ATTEMPTS {
                    self.enqueue(seen.page, true);
                }
            }
            Outcome::Gone | Outcome::Failed(_) => {}
        }
    }

    fn note_source(&mut self, number: u32, seen: &Observation<'_>) {
        let links = match seen.outcome {
            Outcome::Gone => {
                self.sources[number as usize].is_gone = true;
                self.watch.drop(number);
                return;
            }
            Outcome::Fetched(content) => Some(content.links),
            // Failed: due again after its interval.
            Outcome::Failed(_) => None,
        };
        let is_first = self.beliefs.last(number as usize).is_none();
        self.beliefs.visited(number as usize, seen.at, links);
        self.watch.visited(number, seen.at);
        if is_first && self.settings.first_look {
            self.sources[number as usize].first = Some(seen.at);
            self.looks.push((seen.at, number), self.sources[number as usize].host, seen.page);
        }
        if self.rule == Rule::Greedy {
            self.watch.set_pace(number, self.expected_profit(number as usize, seen.at));
        }
        if !self.watch.has(number) {
            self.spare.push((seen.at, number), self.sources[number as usize].host, seen.page);
        }
    }

    /// λᵢPᵢ.
    fn expected_profit(&self, source: usize, now: Time) -> f64 {
        let terms = self.terms(source, now);
        terms.arrivals * terms.profit
    }

    /// The terms of a source; profit 0 if it is gone.
    fn terms(&self, source: usize, now: Time) -> Terms {
        let Source { told, is_gone, .. } = self.sources[source];
        let curve = told.curve.unwrap_or_else(|| match self.rule {
            Rule::Frequency => Assumed::A_CLICK.curve,
            _ => self.beliefs.curve(source),
        });
        let arrivals = told.arrivals.unwrap_or_else(|| self.beliefs.arrivals(source, now));
        let profit = if is_gone { 0.0 } else { curve.profit };
        Terms { profit, decay: curve.decay, arrivals }
    }

    /// Algorithm 1 for the beliefs at `now`.
    pub fn schedule(&self, now: Time) -> Schedule {
        let terms: Vec<Terms> = (0..self.sources.len()).map(|s| self.terms(s, now)).collect();
        match self.rule {
            Rule::FixedQuota => solve(&terms, 0.5 * self.budget, Charge::Visits),
            _ => solve(&terms, self.budget, Charge::VisitsAndPages),
        }
    }

    /// The terms of a source, for reports.
    pub fn belief(&self, page: PageId, now: Time) -> Option<Terms> {
        let source = self.pages.get(page.index())?.source;
        (source != NONE).then(|| self.terms(source as usize, now))
    }

    /// Solves for the schedule again.
    fn plan(&mut self, now: Time) {
        self.next_solve = Some(now + self.settings.solve_every);
        self.watch.clear(self.sources.len());
        let paces: Vec<f64> = match self.rule {
            Rule::Greedy => {
                (0..self.sources.len()).map(|source| self.expected_profit(source, now)).collect()
            }
            _ => self.schedule(now).intervals.iter().map(|interval| interval.recip()).collect(),
        };
        self.spare = Agenda::default();
        for (number, (source, &pace)) in (0..).zip(self.sources.iter().zip(&paces)) {
            // Sources never visited wait among new pages.
            let last = self.beliefs.last(number as usize);
            let Some(last) = last.filter(|_| !source.is_gone) else { continue };
            if pace > 0.0 {
                self.watch.add(number, (source.host, source.page), pace, last);
            } else {
                self.spare.push((last, number), source.host, source.page);
            }
        }
    }

    fn is_plan_old(&self, now: Time) -> bool {
        // If the clock went back by more than a period, plan again rather than wait.
        self.next_solve.is_none_or(|next| now >= next || now + self.settings.solve_every < next)
    }

    /// The next source without a first look. One that the schedule has visited since needs none.
    fn next_look(&mut self, now: Time, gate: &dyn Gate) -> Option<u32> {
        while let Some(((_, source), _)) = self.looks.pop(now, gate) {
            if self.waits_for_look(source) {
                return Some(source);
            }
        }
        None
    }

    fn waits_for_look(&self, source: u32) -> bool {
        let Source { first, is_gone, .. } = self.sources[source as usize];
        !is_gone && first.is_some() && first == self.beliefs.last(source as usize)
    }

    fn take(&mut self, source: u32, now: Time) -> Choice {
        // Under way: not behind until the outcome is known.
        self.watch.visited(source, now);
        Choice::Fetch(self.sources[source as usize].page)
    }
}

impl Policy for Echo {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => self.discover(found),
            Event::Held(seen) => self.note(seen),
            Event::Fetched(seen) => {
                self.now = seen.at;
                self.note(seen);
            }
            Event::Log(rows) => {
                if self.rule != Rule::Frequency {
                    self.beliefs.take_log(rows, self.now);
                }
            }
            Event::Budget(rate) => {
                self.budget = rate.as_per_second();
                self.next_solve = None;
            }
            Event::Asked(_) | Event::Hinted(_) | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.now = now;
        if self.is_plan_old(now) {
            self.plan(now);
        }
        if let Some(source) = self.next_look(now, gate) {
            return self.take(source, now);
        }
        let by_interval = matches!(self.rule, Rule::Schedule | Rule::FixedQuota | Rule::Frequency);
        if by_interval && let Some(source) = self.watch.due(now, gate) {
            return self.take(source, now);
        }
        if let Some((_, page)) = self.new.pop(now, gate) {
            self.pages[page.index()].is_waiting = false;
            return Choice::Fetch(page);
        }
        if !by_interval && let Some(source) = self.watch.furthest(now, gate, 0.0) {
            return self.take(source, now);
        }
        let spare = self.others.pop(now, gate).map(|(_, page)| page);
        let spare = spare.or_else(|| self.spare.pop(now, gate).map(|(_, page)| page));
        let Some(page) = spare else { return Choice::Idle };
        self.pages[page.index()].is_waiting = false;
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        let known = self.pages.get(page.index())?;
        if known.source == NONE {
            const RULE: &str = "new pages are fetched once and never refreshed";
            let due = if known.is_waiting { Due::InTurn } else { Due::Never };
            return Some(Explanation::new(page, RULE, Merit::Turn, due));
        }
        let number = known.source as usize;
        let terms = self.terms(number, now);
        let is_gone = self.sources[number].is_gone;
        let last = self.beliefs.last(number);
        // Without a new page, the source furthest behind its interval is visited, due or not.
        let is_early = self.rule == Rule::NewPages && self.watch.pace(known.source).is_some();
        let (rule, merit, due) = match self.watch.pace(known.source) {
            _ if is_gone => ("sources that are gone are left alone", Merit::Turn, Due::Never),
            _ if last.is_none() || self.waits_for_look(known.source) => {
                let rule = if self.settings.first_look {
                    "sources are visited twice before they are scheduled"
                } else {
                    "sources are visited once before they are scheduled"
                };
                (rule, Merit::Turn, Due::InTurn)
            }
            None => (
                "its new pages do not pay for a visit; spare fetches visit it",
                Merit::Turn,
                Due::InTurn,
            ),
            Some(pace) if self.rule == Rule::Greedy => {
                let elapsed = last.map_or(0.0, |last| now.since(last).seconds());
                (
                    "the source with the highest expected profit comes first",
                    Merit::Score(pace * elapsed),
                    Due::InTurn,
                )
            }
            Some(pace) => {
                let interval = Span::from_seconds(pace.recip()).unwrap_or(Span::FOREVER);
                let due = last.map_or(Due::InTurn, |last| Due::At(last + interval));
                ("sources are visited at the intervals of Algorithm 1", Merit::Every(interval), due)
            }
        };
        Some(Explanation {
            kind: Some(FetchKind::Source),
            since: last,
            is_gone,
            early: if is_early { Early::Spare } else { Early::No },
            is_outdated: self.is_plan_old(now),
            sooner: &[Lever::NewLinks, Lever::Clicks, Lever::Budget],
            belief: Belief::Source {
                links_per_s: terms.arrivals,
                clicks_per_link: terms.profit,
                decay_per_s: terms.decay,
            },
            ..Explanation::new(page, rule, merit, due)
        })
    }
}
