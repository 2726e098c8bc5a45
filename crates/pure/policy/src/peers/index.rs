//! Index policies: fetch what has the highest index now.
//!
//! | item | index, clicks | |
//! |---|---|---|
//! | copy, clicked at w, changes at Δ | (w/Δ)·g(Δτ), g(x) = 1 − (1 + x)e⁻ˣ | the periodic optimum as an index |
//! | copy whose changes are hinted at | w·V(ι), ι = τ + β·hints | `[BF25]` |
//! | source, new pages at λ of P clicks that are lost at c | (λP/c)·g(cτ) | Whittle index `[AB18]` |
//!
//! τ is the time since the last fetch. New pages that a source shows are fetched at once, as in the
//! model, where a visit collects them. Indices of all items grow, so "highest now" is "first above a
//! price": the price at which the items ask for exactly the budget, found anew every round.

use tidewatch_core::{Event, InterestKind, Outcome, PageId, Span, Time};
use tidewatch_science::allocate::{Objective, Pages, allocate};

use crate::due::DueQueue;
use crate::explanation::{Due, Explanation, Lever, Merit};
use crate::observed::ObservedPages;
use crate::price::signals::Hints;
use crate::rounds::Rounds;
use crate::{Agenda, Choice, Gate, Policy};

/// What a source is assumed to show before it is known, as if watched for this long.
const PRIOR_WATCH: f64 = 86_400.0;
/// Mean delay of clicks after a page became known before any is seen.
const PRIOR_DELAY: f64 = 86_400.0;
/// Least share of the budget left for refreshes and sources.
const LEAST_SHARE: f64 = 0.1;

/// The policy.
pub struct Index {
    hears: bool,
    copies: ObservedPages,
    states: Vec<State>,
    hints: Hints,
    /// Totals over all sources, and the sum of click delays in seconds.
    all: Watch,
    delays: f64,
    budget: f64,
    price: f64,
    rounds: Rounds,
    fetches: u64,
    first_fetches: u64,
    /// Pages never fetched, in the order of discovery.
    new: Agenda<u32>,
    due: DueQueue,
    now: Time,
}

#[derive(Default)]
struct State {
    is_source: bool,
    /// The page that revealed it, and when.
    finder: Option<u32>,
    found: Time,
    watch: Watch,
    change_rate: f64,
}

/// New pages and their clicks on a source.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    links: f64,
    clicks: f64,
    watched: f64,
}

impl Index {
    /// Indices of copies and sources, without hints.
    pub fn whittle() -> Self {
        Index {
            hears: false,
            copies: ObservedPages::default(),
            states: Vec::new(),
            hints: Hints::by_rates(),
            all: Watch::default(),
            delays: 0.0,
            budget: 0.0,
            price: 0.0,
            rounds: Rounds::default(),
            fetches: 0,
            first_fetches: 0,
            new: Agenda::default(),
            due: DueQueue::default(),
            now: Time::ZERO,
        }
    }

    /// The same, with hints.
    pub fn signalled() -> Self {
        Index { hears: true, ..Self::whittle() }
    }

    /// Weight in clicks per second and rate of loss of an item.
    fn item(&self, page: usize, now: Time) -> (f64, f64) {
        let state = &self.states[page];
        if !state.is_source {
            return (self.copies.click_rate(page, now), state.change_rate);
        }
        let links = self.all.links / self.all.watched.max(PRIOR_WATCH);
        let clicks = (self.all.clicks + 1.0) / (self.all.links + 1.0);
        let Watch { links: own, clicks: liked, watched } = state.watch;
        let arrivals = (own + links * PRIOR_WATCH) / (watched + PRIOR_WATCH);
        let profit = (liked + clicks) / (own + 1.0);
        let loss = (self.all.clicks + 1.0) / (self.delays + PRIOR_DELAY);
        (arrivals * profit, loss)
    }

    /// Finds the price and queues every page again.
    fn start_round(&mut self) {
        let live = self.copies.live();
        for (&page, rate) in live.iter().zip(self.copies.change_rates(&live)) {
            self.states[page].change_rate = rate;
        }
        let items: Vec<(f64, f64)> = live.iter().map(|&page| self.item(page, self.now)).collect();
        let (weight, loss): (Vec<f64>, Vec<f64>) = items.into_iter().unzip();
        let share = 1.0 - self.first_fetches as f64 / self.fetches.max(1) as f64;
        let budget = self.budget * share.max(LEAST_SHARE);
        (self.fetches, self.first_fetches) = (0, 0);
        let columns = Pages::new(&weight, &loss);
        let Ok(plan) = allocate(&columns, budget, Objective::Freshness, None) else { return };
        self.price = plan.price;
        self.due.clear();
        for (&page, &rate) in live.iter().zip(&plan.rates) {
            self.schedule(page, rate, live.len());
        }
    }

    /// Queues a page that was fetched before; `rate` is what the price buys without hints.
    fn schedule(&mut self, page: usize, rate: f64, pages: usize) {
        let copy = self.copies.of(page);
        let Some(last) = copy.last_if_live() else { return };
        let age = self.hinted_age(page).unwrap_or_else(|| rate.recip());
        let wait = Span::from_seconds(age.max(0.0)).unwrap_or(Span::FOREVER);
        let wait = wait.min(self.copies.longest_wait(page, self.budget, pages));
        self.enqueue(page, last + wait);
    }

    /// Time after the last fetch at which the index of a hinted page meets the price.
    fn hinted_age(&self, page: usize) -> Option<f64> {
        if !self.hears || self.states[page].is_source || self.price <= 0.0 {
            return None;
        }
        let (id, host) = (PageId(page as u32), self.copies.of(page).host());
        let signalled = self.hints.of(id, host, self.states[page].change_rate)?;
        let (weight, _) = self.item(page, self.now);
        Some(signalled.age_at(self.price / weight) - signalled.added)
    }

    fn enqueue(&mut self, page: usize, due: Time) {
        self.due.push(due, self.copies.of(page).host(), PageId(page as u32));
    }

    /// Queues a page after its fetch.
    fn requeue(&mut self, page: usize, at: Time) {
        if self.price <= 0.0 {
            return self.enqueue(page, at);
        }
        let (weight, loss) = self.item(page, at);
        let rate = Objective::Freshness.rate(self.price, weight, loss);
        self.schedule(page, rate, self.copies.len());
    }
}

impl Policy for Index {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => {
                self.copies.discovered(found);
                let (is_source, finder) = (found.is_source, found.via.map(|page| page.0));
                self.states.push(State { is_source, finder, found: found.at, ..State::default() });
                self.rounds.wait_for(self.copies.len());
                if !found.is_held {
                    self.new.push(found.page.0, found.host, found.page);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                let page = seen.page.index();
                if matches!(event, Event::Fetched(_)) {
                    self.rounds.count();
                    self.fetches += 1;
                    self.first_fetches += u64::from(self.copies.of(page).last().is_none());
                }
                if let (Outcome::Fetched(content), Some(gap)) = (seen.outcome, seen.gap()) {
                    let links = content.links.iter().filter(|link| link.is_new).count() as f64;
                    for watch in [&mut self.states[page].watch, &mut self.all] {
                        watch.links += links;
                        watch.watched += gap.seconds();
                    }
                    let changed = content.changed == Some(true);
                    self.hints.fetched(
                        seen.page,
                        self.copies.of(page).host(),
                        changed,
                        self.states[page].change_rate,
                        gap.seconds(),
                    );
                }
                if self.copies.fetched(seen) {
                    self.requeue(page, seen.at);
                } else {
                    self.due.remove(seen.page);
                    self.hints.forget(seen.page);
                }
            }
            Event::Log(rows) => {
                self.copies.log(rows);
                for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
                    let state = &self.states[row.page.index()];
                    let delay = row.at.since(state.found).seconds();
                    if let Some(finder) = state.finder {
                        self.states[finder as usize].watch.clicks += row.count;
                        self.all.clicks += row.count;
                        self.delays += row.count * delay;
                    }
                }
            }
            Event::Hinted(hint) if self.hears => {
                let page = hint.page.index();
                self.hints.hinted(hint.page, self.copies.of(page).host(), hint.kind, hint.at);
                if self.due.due(hint.page).is_some() {
                    self.requeue(page, hint.at);
                }
            }
            Event::Budget(rate) => self.budget = rate.as_per_second(),
            Event::Asked(_) | Event::Hinted(_) | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.now = now;
        if self.rounds.begins(self.copies.len()) {
            self.start_round();
        }
        if let Some((_, page)) = self.new.pop(now, gate) {
            return Choice::Fetch(page);
        }
        self.due.pop(now, gate).map_or(Choice::Idle, Choice::Fetch)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str = "the first page whose index passes the price is fetched";
        let copy = self.copies.get(page.index())?;
        let due = match (copy.last(), self.due.due(page)) {
            _ if copy.is_gone() => Due::Never,
            (None, _) => Due::InTurn,
            (Some(_), Some(due)) => Due::At(due),
            (Some(_), None) => Due::UnderWay,
        };
        let explanation = Explanation::new(page, RULE, Merit::Turn, due);
        let sooner = &[Lever::Clicks, Lever::Changes];
        Some(Explanation {
            sooner,
            is_outdated: self.rounds.is_over(self.copies.len()),
            ..explanation.visited(copy.last(), copy.is_gone())
        })
    }
}
