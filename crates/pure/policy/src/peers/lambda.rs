//! `LambdaCrawl` `[K19]`: rates of least harmonic or binary cost; pages whose changes are announced are
//! fetched at an announcement, with a probability.
//!
//! Silent pages are fetched at random times, at rates from [`informed`] with change rates estimated so
//! far, found anew every round. Hosts whose hints tell at least nine of ten changes announce; where
//! hints are noisy, the rate of hints takes the place of the rate of changes, since empty ones cost a
//! fetch as well. New pages are fetched first.

use tidewatch_core::{Event, Outcome, PageId, Span, Time};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_science::allocate::{Objective, Pages, informed};

use crate::due::DueQueue;
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::observed::ObservedPages;
use crate::price::signals::Hints;
use crate::rounds::Rounds;
use crate::{Agenda, Choice, Gate, Policy};

const WAIT: u64 = purpose("lambda.wait");
const HEED: u64 = purpose("lambda.heed");
/// Share of its changes that a host must announce.
const ANNOUNCING: f64 = 0.9;

/// The policy.
pub struct Lambda {
    objective: Objective,
    seed: u64,
    copies: ObservedPages,
    hints: Hints,
    states: Vec<State>,
    budget: f64,
    rounds: Rounds,
    /// Pages never fetched and pages that were announced, in the order of time.
    at_once: Agenda<Time>,
    due: DueQueue,
}

/// How a page is treated.
#[derive(Default)]
struct State {
    plan: Plan,
    /// Fetches and hints so far: the draws of the page.
    fetches: u64,
    hints: u64,
    /// Whether it is in `at_once`, and so not in `due`.
    is_at_once: bool,
    /// Changes a second, as of the last round.
    change_rate: f64,
}

#[derive(Clone, Copy, Default)]
enum Plan {
    /// Before the first round ends.
    #[default]
    InTurn,
    /// Fetches per second.
    Silent(f64),
    /// Probability of a fetch at a hint.
    Announcing(f64),
}

impl Lambda {
    /// Least harmonic cost: no page is given up.
    pub fn harmonic(seed: u64) -> Self {
        Self::new(Objective::Harmonic, seed)
    }

    /// Least binary cost: the most pages fresh.
    pub fn binary(seed: u64) -> Self {
        Self::new(Objective::Memoryless, seed)
    }

    fn new(objective: Objective, seed: u64) -> Self {
        Lambda {
            objective,
            seed,
            copies: ObservedPages::default(),
            hints: Hints::by_rates(),
            states: Vec::new(),
            budget: 0.0,
            rounds: Rounds::default(),
            at_once: Agenda::default(),
            due: DueQueue::default(),
        }
    }

    /// Allocates the budget again, and queues every page again.
    fn start_round(&mut self) {
        let live = self.copies.live();
        let rates = self.copies.change_rates(&live);
        let (mut silent, mut loud) = (Vec::new(), Vec::new());
        for (&page, &rate) in live.iter().zip(&rates) {
            self.states[page].change_rate = rate;
            let host = self.copies.of(page).host();
            let signalled = self.hints.of(PageId(page as u32), host, rate);
            match signalled.filter(|signalled| signalled.recall >= ANNOUNCING) {
                Some(it) => loud.push((page, it.recall * it.changes + it.noise)),
                None => silent.push((page, rate)),
            }
        }
        let columns = |group: &[(usize, f64)]| -> (Vec<f64>, Vec<f64>) {
            group.iter().map(|&(page, rate)| (self.copies.of(page).weight(), rate)).unzip()
        };
        let (silent_columns, loud_columns) = (columns(&silent), columns(&loud));
        let Ok(plan) = informed(
            &Pages::new(&silent_columns.0, &silent_columns.1),
            &Pages::new(&loud_columns.0, &loud_columns.1),
            self.budget,
            self.objective,
        ) else {
            // Nothing changes or nothing matters: go on as before.
            return;
        };
        for (&(page, _), &rate) in silent.iter().zip(&plan.rates) {
            self.states[page].plan = Plan::Silent(rate);
        }
        for (&(page, _), &chance) in loud.iter().zip(&plan.probabilities) {
            self.states[page].plan = Plan::Announcing(chance);
        }
        self.due.clear();
        for &page in &live {
            self.enqueue(page, live.len());
        }
    }

    /// Queues a page that was fetched before and is not to be fetched at once.
    fn enqueue(&mut self, page: usize, pages: usize) {
        let copy = self.copies.of(page);
        let Some(last) = copy.last_if_live() else { return };
        let longest = self.copies.longest_wait(page, self.budget, pages);
        let state = &self.states[page];
        if state.is_at_once {
            return;
        }
        let wait = match state.plan {
            Plan::InTurn => Span::ZERO,
            Plan::Announcing(_) => longest,
            Plan::Silent(rate) => {
                let mut draws = Draws::keyed(self.seed, WAIT, copy.key().0);
                draws.seek(state.fetches);
                let wait = -draws.uniform_open().ln() / rate;
                Span::from_seconds(wait).unwrap_or(Span::FOREVER).min(longest)
            }
        };
        self.due.push(last + wait, copy.host(), PageId(page as u32));
    }
}

impl Policy for Lambda {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                self.copies.discovered(found);
                let is_at_once = !found.is_held;
                self.states.push(State { is_at_once, ..State::default() });
                self.rounds.wait_for(self.copies.len());
                if is_at_once {
                    self.at_once.push(found.at, found.host, found.page);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                if matches!(event, Event::Fetched(_)) {
                    self.rounds.count();
                }
                let page = seen.page.index();
                self.states[page].fetches += 1;
                self.due.remove(seen.page);
                if let (Outcome::Fetched(content), Some(gap)) = (seen.outcome, seen.gap()) {
                    let (host, changed) =
                        (self.copies.of(page).host(), content.changed == Some(true));
                    let rate = self.states[page].change_rate;
                    self.hints.fetched(seen.page, host, changed, rate, gap.seconds());
                }
                if self.copies.fetched(seen) {
                    self.enqueue(page, self.copies.len());
                } else {
                    self.hints.forget(seen.page);
                }
            }
            Event::Hinted(hint) => {
                let page = hint.page.index();
                let copy = self.copies.of(page);
                self.hints.hinted(hint.page, copy.host(), hint.kind, hint.at);
                let state = &mut self.states[page];
                state.hints += 1;
                if let Plan::Announcing(chance) = state.plan
                    && self.due.due(hint.page).is_some()
                    && Draws::keyed(self.seed, HEED, copy.key().0).uniform_at(state.hints) < chance
                {
                    state.is_at_once = true;
                    self.due.remove(hint.page);
                    self.at_once.push(hint.at, copy.host(), hint.page);
                }
            }
            Event::Budget(rate) => self.budget = rate.as_per_second(),
            Event::Log(_) | Event::Asked(_) | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if self.rounds.begins(self.copies.len()) {
            self.start_round();
        }
        if let Some((_, page)) = self.at_once.pop(now, gate) {
            self.states[page.index()].is_at_once = false;
            return Choice::Fetch(page);
        }
        self.due.pop(now, gate).map_or(Choice::Idle, Choice::Fetch)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str = "visits are at random times, at a rate from change rates and weights, or at \
                            an announced change";
        let copy = self.copies.get(page.index())?;
        let state = &self.states[page.index()];
        let due = match self.due.due(page) {
            _ if copy.is_gone() => Due::Never,
            _ if state.is_at_once => Due::InTurn,
            Some(due) => Due::At(due),
            None => Due::UnderWay,
        };
        let merit = match state.plan {
            Plan::Silent(rate) => {
                Span::from_seconds(rate.recip()).map_or(Merit::Turn, Merit::Every)
            }
            Plan::Announcing(chance) => Merit::Score(chance),
            Plan::InTurn => Merit::Turn,
        };
        let explanation = Explanation::new(page, RULE, merit, due);
        let sooner = &[Lever::Weight, Lever::Changes];
        Some(Explanation {
            sooner,
            is_outdated: self.rounds.is_over(self.copies.len()),
            ..explanation.visited(copy.last(), copy.is_gone())
        })
    }
}
