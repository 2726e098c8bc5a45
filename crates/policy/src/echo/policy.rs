//! The policies of `[LOSS13]`, on line: they learn what sources are worth while they crawl.

use tidewatch_core::{
    Discovery, Event, HostId, LinkSeen, Observation, Outcome, PageId, Span, Time,
};

use super::arrivals::{Arrivals, Pace};
use super::clicks::Ledger;
use super::curve::Curve;
use super::profit::{DEFAULT, HORIZON, Pooling, Profits};
use super::solve::{Charge, Schedule, Terms, solve};
use super::watch::Watch;
use crate::{Agenda, Choice, Gate, Policy};

/// How the budget is spent, given what is believed of sources `[LOSS13, §4.2.3, §5.2]`.
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

/// Which links count as new when λ is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Links to pages that nobody knew before: what a visit adds. Sources that repeat one another
    /// share their links, and Σλᵢ is the rate at which pages are really found.
    Discoveries,
    /// Links that this source had not shown before, known from elsewhere or not.
    Links,
}

/// What can be chosen about the learning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// T: visits from which new-link rates are told. 7 in the paper's comparison; 3 to 10 make no
    /// difference there.
    pub memory: usize,
    /// How new-link rates follow from visits.
    pub pace: Pace,
    /// Which links count.
    pub counting: Counting,
    /// Whether sources learn profits from one another.
    pub pooling: Pooling,
    /// Time between two solutions of Algorithm 1; half an hour in the paper.
    pub solve_every: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            memory: 7,
            pace: Pace::Steady,
            counting: Counting::Discoveries,
            pooling: Pooling::All,
            solve_every: Span::MINUTE.times(30),
        }
    }
}

/// Times that the fetch of a new page is tried.
const ATTEMPTS: u8 = 3;
/// A page found after a long time is taken to be so old: lists show the latest links, and half of all
/// links leave a list within some six hours (`[DEN22]`: 4.6 on front pages, 26 on sections).
const USUAL_AGE: Span = Span::HOUR.times(3);
/// When visits come so late on average (a half is in time), more was planned than the budget bears…
const LATE: f64 = 1.0;
/// …and when they come so soon, more could be planned; beyond this lateness makes no difference.
const SOON: f64 = 0.6;
const MOST_LATE: f64 = 10.0;
/// By how much more or less is counted on from one plan to the next, and at most: a day up and down.
const TIGHTEN: f64 = 1.1;
const LOOSEN: f64 = 0.97;
const MOST_STRAIN: f64 = 100.0;
/// Stands for "not a source".
const NONE: u32 = u32::MAX;

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
    profits: Profits,
    arrivals: Arrivals,
    ledger: Ledger,
    /// New pages, by place in the queue.
    new: Agenda<u64>,
    /// Other pages never fetched.
    others: Agenda<u64>,
    watch: Watch,
    /// Sources without a place in the schedule, by last visit.
    spare: Agenda<(Time, u32)>,
    next_solve: Option<Time>,
    /// New links for one that was counted on.
    strain: f64,
    now: Time,
}

#[derive(Clone, Copy)]
struct Known {
    host: HostId,
    /// Number among sources, or [`NONE`].
    source: u32,
    attempts: u8,
}

struct Source {
    page: PageId,
    host: HostId,
    /// Last visit, good or not.
    last: Option<Time>,
    /// What it showed at the last good visit, sorted.
    shown: Vec<PageId>,
    is_gone: bool,
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
            profits: Profits::new(settings.pooling),
            arrivals: Arrivals::new(settings.memory, settings.pace),
            ledger: Ledger::new(HORIZON),
            new: Agenda::default(),
            others: Agenda::default(),
            watch: Watch::default(),
            spare: Agenda::default(),
            next_solve: None,
            strain: 1.0,
            now: Time::ZERO,
        }
    }

    fn discover(&mut self, found: &Discovery<'_>) {
        debug_assert_eq!(found.page.index(), self.pages.len());
        let source = if found.is_source { self.sources.len() as u32 } else { NONE };
        self.pages.push(Known { host: found.host, source, attempts: 0 });
        if found.is_source {
            self.add_source(found);
        }
        if found.is_held {
            return;
        }
        let via = found.via.and_then(|via| self.pages.get(via.index())).map(|via| via.source);
        let from_source = via.is_none_or(|source| source != NONE);
        if let Some(source) = via.filter(|&source| source != NONE && !found.is_source) {
            // Born some time since the source was seen last. What a first visit shows is old.
            if let Some(before) = self.sources[source as usize].last {
                let half = Span::from_micros(found.at.since(before).as_micros() / 2);
                self.ledger.expect(found.page, found.at - half.min(USUAL_AGE));
            }
        }
        self.enqueue(found.page, from_source);
    }

    fn add_source(&mut self, found: &Discovery<'_>) {
        let (page, host) = (found.page, found.host);
        self.sources.push(Source { page, host, last: None, shown: Vec::new(), is_gone: false });
        self.profits.add_source(host.0);
        self.arrivals.add_source(host.0);
    }

    /// Puts a page that was never fetched in its queue.
    fn enqueue(&mut self, page: PageId, from_source: bool) {
        let newest_first = matches!(self.rule, Rule::Schedule | Rule::FixedQuota | Rule::Frequency);
        let number = u64::from(page.0);
        let place = if newest_first { u64::MAX - number } else { number };
        let queue = if from_source { &mut self.new } else { &mut self.others };
        queue.push(place, self.pages[page.index()].host, page);
    }

    /// A page came, or did not.
    fn note(&mut self, seen: &Observation<'_>) {
        let source = self.pages[seen.page.index()].source;
        if source != NONE {
            self.note_source(source, seen);
            return;
        }
        let known = &mut self.pages[seen.page.index()];
        match seen.outcome {
            Outcome::Fetched(_) => self.ledger.open(seen.page, seen.at),
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
        let source = &mut self.sources[number as usize];
        let first = source.last.is_none();
        source.last = Some(seen.at);
        match seen.outcome {
            Outcome::Gone => {
                source.is_gone = true;
                self.watch.drop(number);
                return;
            }
            Outcome::Fetched(content) => self.note_links(number, seen.at, content.links, first),
            // Nothing was seen; due again after its interval.
            Outcome::Failed(_) => {}
        }
        self.watch.visited(number, seen.at);
        if self.rule == Rule::Greedy {
            self.watch.set_pace(number, self.expected_profit(number as usize, seen.at));
        }
        if !self.watch.has(number) {
            self.spare.push((seen.at, number), self.sources[number as usize].host, seen.page);
        }
    }

    /// What a visit to a source showed. A first visit only tells what is old.
    fn note_links(&mut self, number: u32, at: Time, links: &[LinkSeen], is_first: bool) {
        let index = number as usize;
        let before = std::mem::take(&mut self.sources[index].shown);
        let mut found = 0;
        for link in links.iter().filter(|_| !is_first) {
            let is_here_new = before.binary_search(&link.page).is_err()
                && self.ledger.follows(link.page)
                && !self.profits.has(index, link.page);
            if is_here_new {
                self.profits.add_page(index, link.page, link.is_new);
            }
            found += u32::from(match self.settings.counting {
                Counting::Discoveries => link.is_new,
                Counting::Links => is_here_new,
            });
        }
        self.arrivals.visit(index, at, found);
        let mut shown = before;
        shown.clear();
        shown.extend(links.iter().map(|link| link.page));
        shown.sort_unstable();
        self.sources[index].shown = shown;
    }

    /// λᵢPᵢ.
    fn expected_profit(&self, source: usize, now: Time) -> f64 {
        self.arrivals.rate(source, now) * self.profits.curve(source).profit
    }

    /// What is believed of a source; nothing for one that is gone.
    fn terms(&self, source: usize, now: Time) -> Terms {
        let curve = match self.rule {
            Rule::Frequency => Curve { profit: 1.0, ..DEFAULT },
            _ => self.profits.curve(source),
        };
        let arrivals = self.strain * self.arrivals.rate(source, now);
        let profit = if self.sources[source].is_gone { 0.0 } else { curve.profit };
        Terms { profit, decay: curve.decay, arrivals }
    }

    /// Algorithm 1 for what is believed at `now`.
    pub fn schedule(&self, now: Time) -> Schedule {
        let terms: Vec<Terms> = (0..self.sources.len()).map(|s| self.terms(s, now)).collect();
        match self.rule {
            Rule::FixedQuota => solve(&terms, 0.5 * self.budget, Charge::Visits),
            _ => solve(&terms, self.budget, Charge::VisitsAndPages),
        }
    }

    /// What is believed of a source, for reports: profit and decay of its pages, new links a second.
    pub fn belief(&self, page: PageId, now: Time) -> Option<Terms> {
        let source = self.pages.get(page.index())?.source;
        (source != NONE).then(|| self.terms(source as usize, now))
    }

    /// Lists scroll: a visit after a long time shows the latest links only, so that new links are
    /// undercounted where visits are rare. A plan that counts on too few takes in too many sources, all
    /// come late, and their links stay undercounted. So where visits come late, more links are counted
    /// on than were seen, until what is planned can be done.
    fn adjust(&mut self, now: Time) {
        if self.rule == Rule::NewPages
            && let Some(late) = self.watch.lateness(now, MOST_LATE)
        {
            let factor = if late > LATE {
                TIGHTEN
            } else if late < SOON {
                LOOSEN
            } else {
                1.0
            };
            self.strain = (self.strain * factor).clamp(1.0, MOST_STRAIN);
        }
    }

    /// Plans visits anew.
    fn plan(&mut self, now: Time) {
        self.adjust(now);
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
            let Some(last) = source.last.filter(|_| !source.is_gone) else { continue };
            if pace > 0.0 {
                self.watch.add(number, source.host, pace, last);
            } else {
                self.spare.push((last, number), source.host, source.page);
            }
        }
    }

    fn is_plan_old(&self, now: Time) -> bool {
        // A clock that went back by more than a period must not leave the plan for ever.
        self.next_solve.is_none_or(|next| now >= next || now + self.settings.solve_every < next)
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
                self.ledger.push(rows, self.now);
                if self.rule != Rule::Frequency {
                    self.profits.refit(&mut self.ledger, self.now);
                }
            }
            Event::Budget(rate) => {
                self.budget = rate.as_per_second();
                self.next_solve = None;
            }
            Event::Asked(_) | Event::Hinted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.now = now;
        if self.is_plan_old(now) {
            self.plan(now);
        }
        let by_interval = matches!(self.rule, Rule::Schedule | Rule::FixedQuota | Rule::Frequency);
        if by_interval && let Some(source) = self.watch.due(now, gate) {
            return self.take(source, now);
        }
        if let Some((_, page)) = self.new.pop(now, gate) {
            return Choice::Fetch(page);
        }
        if !by_interval && let Some(source) = self.watch.furthest(now, gate, 0.0) {
            return self.take(source, now);
        }
        let spare = self.others.pop(now, gate).map(|(_, page)| page);
        let spare = spare.or_else(|| self.spare.pop(now, gate).map(|(_, page)| page));
        spare.map_or(Choice::Idle, Choice::Fetch)
    }
}
